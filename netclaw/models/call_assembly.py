"""Puts tool calls together from the fragments in which providers stream them.

The dialects differ: most give an index, some leave it out or give 0 to every call; ids come once,
in every fragment, empty or the same for all calls; arguments come in pieces or whole. What a call
asks for is never guessed: a call that cannot be read carries a fault.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from netclaw.models.json_text import is_json_object
from netclaw.ports.model import WrittenCall

MAX_CALLS = 128
"""More calls than this in one answer are a runaway model."""
COMPLETENESS_CHECK_MAX_CHARS = 64 * 1024


class TooManyCallsError(Exception):
    """One answer asks for more than `MAX_CALLS` calls."""


@dataclass(slots=True)
class _Slot:
    """One call as far as it has arrived."""

    provider_id: str = ""
    name: str = ""
    parts: list[str] = field(default_factory=list)
    size: int = 0

    @property
    def arguments(self) -> str:
        return "".join(self.parts)

    def is_whole(self) -> bool:
        """Whether the arguments are a complete object; a whole one cannot be continued."""
        if not self.parts or self.size > COMPLETENESS_CHECK_MAX_CHARS:
            return False
        return self.parts[-1].rstrip().endswith("}") and is_json_object(self.arguments)


@dataclass(frozen=True, slots=True)
class Fragment:
    """A piece of one call, with the nulls and odd types of its dialect taken out.

    `index` tells the calls of one answer apart where the dialect counts; any number will do.
    """

    index: int | None = None
    provider_id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class Growth:
    """Which call grew, and by how many characters of arguments."""

    position: int
    name: str
    characters: int


class CallAssembly:
    """The tool calls of one answer."""

    __slots__ = ("_by_index", "_slots")

    def __init__(self) -> None:
        self._slots: list[_Slot] = []
        self._by_index: dict[int, int] = {}

    def __bool__(self) -> bool:
        return bool(self._slots)

    def feed(self, fragment: Fragment) -> Growth | None:
        """Take one fragment; None if it said nothing. Raises `TooManyCallsError`."""
        position = self._position(fragment)
        if position is None:
            return None
        slot = self._slots[position]
        slot.provider_id = slot.provider_id or fragment.provider_id
        if fragment.name and fragment.name != slot.name and not slot.parts:
            slot.name += fragment.name
        if fragment.arguments:
            slot.parts.append(fragment.arguments)
            slot.size += len(fragment.arguments)
        return Growth(position, slot.name, len(fragment.arguments))

    def calls(self) -> tuple[WrittenCall, ...]:
        """The calls in the order in which they began."""
        return tuple(_propose(slot) for slot in self._slots)

    def _position(self, fragment: Fragment) -> int | None:
        known = self._known(fragment)
        if known is not None and not self._begins_anew(fragment, self._slots[known]):
            return known
        if not (fragment.name or fragment.arguments or fragment.provider_id):
            return None
        if len(self._slots) >= MAX_CALLS:
            raise TooManyCallsError
        self._slots.append(_Slot())
        position = len(self._slots) - 1
        if fragment.index is not None:
            self._by_index[fragment.index] = position
        return position

    def _known(self, fragment: Fragment) -> int | None:
        """The call that the fragment would continue, if it does not begin one."""
        if fragment.index is not None:
            return self._by_index.get(fragment.index)
        if not self._slots:
            return None
        if fragment.provider_id and not fragment.name:
            for position in range(len(self._slots) - 1, -1, -1):
                if self._slots[position].provider_id == fragment.provider_id:
                    return position
        return len(self._slots) - 1

    @staticmethod
    def _begins_anew(fragment: Fragment, slot: _Slot) -> bool:
        if not fragment.name:
            return False
        if fragment.provider_id and slot.provider_id:
            if fragment.provider_id != slot.provider_id:
                return True
        elif fragment.index is None and slot.name:
            return True
        return bool(fragment.arguments.strip() or fragment.index is None) and slot.is_whole()


def _propose(slot: _Slot) -> WrittenCall:
    arguments = slot.arguments
    fault: str | None = None
    if not arguments.strip():
        arguments = "{}"
    elif not is_json_object(arguments):
        fault = "The arguments are not a valid JSON object."
    if not slot.name:
        fault = "The call names no tool."
    return WrittenCall(
        provider_call_id=slot.provider_id, name=slot.name, arguments=arguments, fault=fault
    )
