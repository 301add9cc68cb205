"""Cuts a reply into posts that a platform takes: the same cuts for the same text, every time.

A retry posts what is missing under the keys of its parts, so nothing here may depend on chance or
on the time. Lengths are counted in UTF-16 units: no platform counts a character as more of them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

MIN_LIMIT = 100
"""Below that a code fence with its language has no room for code."""
_OPENER = re.compile(r"^ {0,3}(?P<mark>`{3,12}|~{3,12})(?P<info>[^`\n]{0,64})$", re.MULTILINE)
_CLOSER = re.compile(r"^ {0,3}(?P<mark>`{3,}|~{3,})[ \t]*$", re.MULTILINE)
_LANGUAGE_CHARS = 32
_LONGEST_CLUSTER = 64
"""Code points of one visible character that are kept together."""
_JOINER = "\u200d"
_SKIN_TONES = range(0x1F3FB, 0x1F400)
_FLAG_LETTERS = range(0x1F1E6, 0x1F200)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fence:
    """A block of code in the text, from its opening line to behind its closing one."""

    start: int
    body: int
    close: int
    """Where the closing line begins; the text's end if nothing closes it."""
    end: int
    mark: str
    language: str

    @property
    def opening(self) -> str:
        return f"{self.mark}{self.language}\n"

    @property
    def closing(self) -> str:
        return f"\n{self.mark}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cut:
    """Where a part ends and the next one begins; `fence` goes on in the next."""

    end: int
    begin: int
    fence: _Fence | None = None
    is_in_fence: bool = False


def split(text: str, limit: int) -> tuple[str, ...]:
    """The parts of a text, each at most `limit` units long; none is blank.

    Cuts lie between paragraphs, lines or words, in this order, and never within a character. Code
    that does not fit is closed and opened again with its language. Only white space at a cut is
    left out. Raises `ValueError` for a limit under `MIN_LIMIT`.
    """
    if limit < MIN_LIMIT:
        raise ValueError(f"no text can be cut into parts of {limit}")
    text = text.replace("\r\n", "\n")
    return tuple(part for part in _parts(text, limit) if part.strip())


def units(text: str) -> int:
    """Length as platforms count it at most."""
    if text.isascii():
        return len(text)
    return len(text) + sum(char > "\uffff" for char in text)


def _parts(text: str, limit: int) -> Iterator[str]:
    fences = tuple(_fences(text))
    position, fence = 0, None
    while True:
        prefix = fence.opening if fence else ""
        room = limit - len(prefix)
        if len(text) - position <= room and units(text[position:]) <= room:
            yield prefix + text[position:]
            return
        cut = _cut(text, position, room, fences, limit)
        part = text[position : cut.end]
        if cut.is_in_fence:
            inside = cut.fence or _fence_at(fences, cut.end)
            yield f"{prefix}{part}{inside.closing if inside else ''}"
        else:
            yield prefix + part.rstrip()
        position, fence = cut.begin, cut.fence


def _cut(text: str, position: int, room: int, fences: tuple[_Fence, ...], limit: int) -> _Cut:
    """Where a part that begins at a position ends; what follows it does not fit."""
    reach = _reach(text, position, room)
    fence = _fence_at(fences, reach)
    if fence is None:
        behind = max((item.end for item in fences if item.end <= reach), default=0)
        return _plain_cut(text, position, max(position, behind), reach)
    if fence.start > position:
        fits_alone = units(text[fence.start : fence.end]) <= limit
        if fits_alone or fence.start - position >= room // 2:
            return _Cut(end=fence.start, begin=fence.start)
    inner_reach = _reach(text, position, room - len(fence.closing))
    floor = max(position, fence.body)
    if inner_reach <= floor:
        return _Cut(end=fence.start, begin=fence.start)
    return _code_cut(text, fence, floor, inner_reach)


def _plain_cut(text: str, position: int, floor: int, reach: int) -> _Cut:
    """The best place between `floor`, the end of the last code, and what the part can hold."""
    half = max(floor, position + (reach - position) // 2)
    for lowest in (half, floor):
        for boundary in ("\n\n", "\n", " "):
            found = text.rfind(boundary, lowest + 1, reach + len(boundary))
            if found > lowest:
                return _Cut(end=found, begin=_behind_blank(text, found, boundary))
    if floor > position:
        return _Cut(end=floor, begin=floor)
    end = _whole_character(text, position, reach)
    return _Cut(end=end, begin=end)


def _behind_blank(text: str, found: int, boundary: str) -> int:
    """Behind the white space at a cut; the indentation of a line belongs to the line."""
    blank = boundary[0]
    while found < len(text) and text[found] == blank:
        found += 1
    return found


def _code_cut(text: str, fence: _Fence, floor: int, reach: int) -> _Cut:
    """A cut between lines of code, or within a line that is too long for one part."""
    found = text.rfind("\n", floor, min(reach + 1, fence.close))
    if found > floor:
        return _resumed(fence, found, found + 1)
    if reach >= fence.close:
        return _resumed(fence, fence.close - 1, fence.close)
    end = _whole_character(text, floor, reach)
    return _resumed(fence, end, end)


def _resumed(fence: _Fence, end: int, begin: int) -> _Cut:
    """The cut; before a closing line nothing is opened again."""
    if begin >= fence.close:
        return _Cut(end=end, begin=fence.end, fence=None, is_in_fence=True)
    return _Cut(end=end, begin=begin, fence=fence, is_in_fence=True)


def _fences(text: str) -> Iterator[_Fence]:
    opener = _OPENER.search(text)
    while opener is not None:
        mark = opener["mark"]
        body = min(opener.end() + 1, len(text))
        closer = _CLOSER.search(text, body)
        while closer is not None and not closer["mark"].startswith(mark):
            closer = _CLOSER.search(text, closer.end())
        close = closer.start() if closer else len(text)
        end = min(closer.end() + 1, len(text)) if closer else len(text)
        language = (opener["info"].split() or [""])[0][:_LANGUAGE_CHARS]
        yield _Fence(
            start=opener.start(), body=body, close=close, end=end, mark=mark, language=language
        )
        opener = _OPENER.search(text, end) if closer else None


def _fence_at(fences: tuple[_Fence, ...], place: int) -> _Fence | None:
    return next((item for item in fences if item.start < place < item.end), None)


def _reach(text: str, position: int, room: int) -> int:
    """How far a part of so many units reaches."""
    end = min(position + room, len(text))
    while (excess := units(text[position:end]) - room) > 0:
        end -= (excess + 1) // 2
    return end


def _whole_character(text: str, floor: int, end: int) -> int:
    """The last place at or before `end` that divides no visible character."""
    for place in range(end, max(floor, end - _LONGEST_CLUSTER), -1):
        if not _is_joined(text, place):
            return place
    return end


def _is_joined(text: str, place: int) -> bool:
    """Whether the characters on both sides of a place are shown as one."""
    if place <= 0 or place >= len(text):
        return False
    after, before = text[place], text[place - 1]
    if unicodedata.category(after).startswith("M") or _JOINER in (after, before):
        return True
    if ord(after) in _SKIN_TONES:
        return True
    if ord(after) in _FLAG_LETTERS:
        letters = 0
        while letters < place and ord(text[place - 1 - letters]) in _FLAG_LETTERS:
            letters += 1
        return letters % 2 == 1
    return False
