"""The exempt output commands: what runs without coverage because it only prints, tests or jumps.

Data only; `shell_builtins` checks the examples when it loads (reference 3 "Exempt output
commands"). None of it is exempt with a redirect that writes; commands inside the operands need
coverage of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ExemptKind(StrEnum):
    """What the operands of an exempt command may be."""

    OUTPUT = "output"
    """Anything that can only be printed."""
    TEST = "test"
    """Proved words without a subscript."""
    JUMP = "jump"
    """Numbers, or nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExemptCommand:
    """One entry; examples are literal words with a space between."""

    name: str
    kind: ExemptKind
    match: tuple[str, ...]
    not_match: tuple[str, ...]


EXEMPT_COMMANDS = (
    ExemptCommand(
        name="echo",
        kind=ExemptKind.OUTPUT,
        match=("echo", "echo -n a[0] $x"),
        not_match=("cat a",),
    ),
    ExemptCommand(
        name="printf",
        kind=ExemptKind.OUTPUT,
        match=("printf hello", "printf %s%%n a", "printf %5d 7"),
        not_match=("printf", "printf -v x hi", "printf %n x", "printf %-5ln x"),
    ),
    ExemptCommand(name=":", kind=ExemptKind.OUTPUT, match=(": a",), not_match=("true",)),
    ExemptCommand(name="true", kind=ExemptKind.OUTPUT, match=("true",), not_match=("false",)),
    ExemptCommand(name="false", kind=ExemptKind.OUTPUT, match=("false",), not_match=("true",)),
    ExemptCommand(
        name="test",
        kind=ExemptKind.TEST,
        match=("test -f a", "test 3 -gt 2"),
        not_match=("test -v a[$(x)]", "test a[0] = b"),
    ),
    ExemptCommand(
        name="[",
        kind=ExemptKind.TEST,
        match=("[ -f a ]", "[ ]"),
        not_match=("[ -f a", "[ -v a[0] ]"),
    ),
    ExemptCommand(
        name="break", kind=ExemptKind.JUMP, match=("break", "break 2"), not_match=("break x",)
    ),
    ExemptCommand(
        name="continue", kind=ExemptKind.JUMP, match=("continue",), not_match=("continue a[0]",)
    ),
    ExemptCommand(name="exit", kind=ExemptKind.JUMP, match=("exit 1",), not_match=("exit $x",)),
)
