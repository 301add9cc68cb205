"""Decodes the literal parts of shell words: backslashes, quotes, `$'..'`, braces and globs.

A decoded word is a *shape*: its text, in which markers stand for what is not plain text. Markers
are control characters, which no command may hold (see `text_gate`), so they cannot be forged.
"""

from __future__ import annotations

import itertools
import re

UNKNOWN = "\0"
"""Any text: an expansion whose value is not proved."""
STAR = "\1"
ANY = "\2"
CLASS = "\3"
"""An unquoted `*`, `?` and `[`: a glob."""
_OPEN = "\4"
_COMMA = "\5"
_CLOSE = "\6"

GLOBS = frozenset({STAR, ANY, CLASS})
_SHOWN = {UNKNOWN: "*", STAR: "*", ANY: "?", CLASS: "[", _OPEN: "{", _COMMA: ",", _CLOSE: "}"}
_SPECIAL = {"*": STAR, "?": ANY, "[": CLASS, "{": _OPEN, ",": _COMMA, "}": _CLOSE}
_MARKERS = frozenset(_SHOWN)
_BRACES = {_OPEN: "{", _COMMA: ",", _CLOSE: "}"}

MAX_WORDS_OF_BRACES = 64

MAX_PATTERN_CHARS = 1024
"""A longer pattern for one name is taken to match."""

_ANSI_C = re.compile(
    r"\\(x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|U[0-9A-Fa-f]{1,8}|[0-7]{1,3}|c.|.)|(.)", re.DOTALL
)
_SIMPLE = {"n": "\n", "t": "\t", "\\": "\\", "'": "'", '"': '"', "?": "?"}


def is_plain(shape: str) -> bool:
    """Whether a shape is proved text."""
    return _MARKERS.isdisjoint(shape)


def has_glob(shape: str) -> bool:
    """Whether an unquoted glob character is in it."""
    return not GLOBS.isdisjoint(shape)


def shown(shape: str) -> str:
    """The shape as text for people and for text matches; unknown parts read `*`."""
    return "".join(_SHOWN.get(char, char) for char in shape)


def unquoted(text: str) -> str | None:
    """The shape of unquoted literal text; None if it ends in a lone backslash."""
    made: list[str] = []
    chars = iter(text)
    for char in chars:
        if char == "\\":
            following = next(chars, None)
            if following is None:
                return None
            made.append(following if following != "\n" else "")
        else:
            made.append(_SPECIAL.get(char, char))
    return "".join(made)


def double_quoted(text: str, *, escapes: str = '$`"\\') -> str:
    """Literal text between double quotes, or in a heredoc with its smaller set of escapes."""
    made: list[str] = []
    chars = iter(text)
    for char in chars:
        if char != "\\":
            made.append(char)
            continue
        following = next(chars, "")
        if following in escapes:
            made.append(following)
        elif following != "\n":
            made.append(char + following)
    return "".join(made)


def ansi_c(text: str) -> str | None:
    """The text of `$'..'`; None if it is no clean UTF-8 text (a control character, a cut byte)."""
    pieces: list[bytes] = []
    for found in _ANSI_C.finditer(text):
        piece = _ansi_c_piece(found)
        if piece is None:
            return None
        pieces.append(piece)
    try:
        decoded = b"".join(pieces).decode("utf-8")
    except UnicodeDecodeError:
        return None
    if any(ord(char) < 0x20 and char not in "\n\t" for char in decoded):
        return None
    return decoded


def _ansi_c_piece(found: re.Match[str]) -> bytes | None:
    escape, plain = found.group(1), found.group(2)
    if escape is None:
        return plain.encode()
    if escape[0] in "xuU" and len(escape) > 1:
        return _code(int(escape[1:], 16), is_byte=escape[0] == "x")
    if escape[0] in "01234567":
        return _code(int(escape, 8) & 0xFF, is_byte=True)
    simple = _SIMPLE.get(escape)
    return None if simple is None else simple.encode()


def _code(value: int, *, is_byte: bool) -> bytes | None:
    if is_byte:
        return bytes([value])
    try:
        return chr(value).encode()
    except (ValueError, OverflowError):
        return None


def close_classes(shape: str) -> str:
    """Makes a `[` that no `]` follows an ordinary character, as bash does."""
    at = shape.rfind("]")
    return shape[: at + 1] + shape[at + 1 :].replace(CLASS, "[")


def expand_braces(shape: str) -> tuple[str, ...] | None:
    """The words a shape becomes by brace expansion, itself alone if there is none.

    None when there is more to it than comma lists of a bounded number of words; the caller then
    knows that nothing is proved.
    """
    if shape.count(_OPEN) > MAX_WORDS_OF_BRACES:
        return None
    pending, done = [shape], list[str]()
    while pending:
        if len(pending) + len(done) > MAX_WORDS_OF_BRACES:
            return None
        current = pending.pop()
        group = _first_group(current)
        if group is None:
            done.append(without_braces(current))
            continue
        start, commas, end = group
        if not commas:
            return None
        edges = [start, *commas, end]
        pending.extend(
            current[:start] + current[left + 1 : right] + current[end + 1 :]
            for left, right in itertools.pairwise(edges)
        )
    return tuple(sorted(done))


def _first_group(shape: str) -> tuple[int, list[int], int] | None:
    """The first brace group that expands: where it opens, its own commas, where it closes."""
    for start in [at for at, char in enumerate(shape) if char == _OPEN]:
        depth, commas = 0, []
        for at in range(start, len(shape)):
            char = shape[at]
            depth += (char == _OPEN) - (char == _CLOSE)
            if char == _COMMA and depth == 1:
                commas.append(at)
            if depth == 0:
                if commas or ".." in shape[start:at]:
                    return start, commas, at
                break
    return None


def without_braces(shape: str) -> str:
    """A shape in which braces are what they look like."""
    return "".join(_BRACES.get(char, char) for char in shape)


def glob_matches(shape: str, name: str) -> bool:
    """Whether one component of a path, given as a shape, can match a name; case does not count.

    Wider than bash where it is simpler: a class stands for any character. A leading dot has to be
    written, as bash demands, but an unknown part stands for anything. Takes time in proportion to
    both lengths, whatever the pattern.
    """
    if len(shape) > MAX_PATTERN_CHARS:
        return True
    if has_glob(shape[:1]) and name.startswith("."):
        return False
    pattern = [_piece(found.group()) for found in _PIECES.finditer(shape)]
    text = name.casefold()
    at = here = 0
    star = resume = -1
    while here < len(text):
        if at < len(pattern) and pattern[at] == STAR:
            star, resume = at, here
            at += 1
        elif at < len(pattern) and pattern[at] in (ANY, text[here]):
            at += 1
            here += 1
        elif star >= 0:
            resume += 1
            at, here = star + 1, resume
        else:
            return False
    return all(piece == STAR for piece in pattern[at:])


_PIECES = re.compile(f"{CLASS}[^/]*?\\]|.", re.DOTALL)


def _piece(text: str) -> str:
    """One step of a pattern: a star, any character, or the character itself."""
    if text in (STAR, UNKNOWN):
        return STAR
    return ANY if text[0] in (ANY, CLASS) else text.casefold()
