"""Writes docs/developer/phases.md from the table of legal phase moves.

The moves stand in `netclaw.core.session.phase` alone, the meaning of each phase beside its name;
a test fails when the page was not written again after a change there.
"""

from __future__ import annotations

import ast
import inspect
import sys
from pathlib import Path

from netclaw.core.session import phase as source
from netclaw.core.session.phase import LEGAL_MOVES, Phase

PAGE = Path(__file__).resolve().parent.parent / "docs/developer/phases.md"
HEAD = """# Phases of a session

Written by `tools/gen_phase_diagram.py` from `netclaw/core/session/phase.py`; do not edit. A \
session process is in one of these phases. A move that is not drawn here is refused where it is \
tried, and the phase stays what it was. Listings show three more words for a session: *passive* \
without a process, *backoff* while it waits to be started after a crash, and *quarantined*. Words: \
[glossary](../../GLOSSARY.md).
"""


def meanings() -> dict[str, str]:
    """What each phase is, as the text below its name in the source says."""
    tree = ast.parse(inspect.getsource(source))
    enum = next(node for node in tree.body if isinstance(node, ast.ClassDef))
    found: dict[str, str] = {}
    for name, text in zip(enum.body, enum.body[1:], strict=False):
        match name, text:
            case (
                ast.Assign(targets=[ast.Name(id=member)]),
                ast.Expr(value=ast.Constant(value=str() as words)),
            ):
                found[Phase[member].value] = " ".join(words.split())
    return found


def page() -> str:
    """The whole page."""
    known = meanings()
    lines = [HEAD, "```mermaid", "stateDiagram-v2", f"    [*] --> {next(iter(LEGAL_MOVES)).value}"]
    for start, ends in LEGAL_MOVES.items():
        lines += [f"    {start.value} --> {end.value}" for end in Phase if end in ends]
    lines += [f"    {Phase.PASSIVATING.value} --> [*]", "```", ""]
    lines += ["| phase | what is happening | may become |", "|---|---|---|"]
    for start, ends in LEGAL_MOVES.items():
        targets = ", ".join(end.value for end in Phase if end in ends)
        lines.append(f"| {start.value} | {known[start.value]} | {targets} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Writes the page; with `--check` only says whether it is as it should be."""
    wanted = page()
    if sys.argv[1:] == ["--check"]:
        is_current = PAGE.exists() and PAGE.read_text() == wanted
        print("current" if is_current else f"run tools/{Path(__file__).name}: {PAGE.name} is stale")
        return 0 if is_current else 1
    PAGE.write_text(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
