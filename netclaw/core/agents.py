"""Agent definitions: files that say how a delegated task is worked on (S0 Sub-agents).

A file is front matter between two lines of `---`, then the body, which is used as it is. Of the
front matter only what is listed here is read: plain `key: value` lines, texts that go on on
indented lines, and lists of words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

FENCE = "---"
MAX_BYTES = 65_536
"""A larger file is no definition."""
TIMEOUT_S = (5, 600)
PREFILL_S = (5, 3600)
DESCRIPTION_CHARACTERS = 500

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_KEY = re.compile(r"([A-Za-z][A-Za-z0-9_-]*):(?:\s+(.*))?")
_FOLDED = frozenset({"", ">", "|", ">-", "|-"})


class ModelRole(StrEnum):
    """Whose model an agent uses."""

    MAIN = "Main"
    COMPACTION = "Compaction"


class Visibility(StrEnum):
    """Whether a conversation is offered the agent."""

    USER_FACING = "user-facing"
    INTERNAL = "internal"


_Choice = TypeVar("_Choice", ModelRole, Visibility)


class AgentFault(Exception):
    """A file is no definition; the sentence is fit to show."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDefinition:
    """One agent. Its name is compared without regard to case."""

    name: str
    description: str
    body: str
    role: ModelRole = ModelRole.COMPACTION
    timeout_s: int = 0
    """Without a sign of life for this long its model call is given up; 0: as configured."""
    prefill_s: int = 0
    """How long its model may take to the first word; 0: as in every session."""
    wants_findings: bool = False
    visibility: Visibility = Visibility.USER_FACING
    tools: tuple[str, ...] = ()
    """What its author thinks it needs; advice that restricts nothing."""
    source: str = ""
    """The file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentProblem:
    """A file that was left out, and why."""

    source: str
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentBook:
    """All usable definitions by name, and the files that are none."""

    agents: tuple[AgentDefinition, ...] = ()
    problems: tuple[AgentProblem, ...] = ()

    def find(self, name: str) -> AgentDefinition | None:
        """The agent of this name."""
        key = name.strip().casefold()
        return next((item for item in self.agents if item.name.casefold() == key), None)

    @property
    def offered(self) -> tuple[AgentDefinition, ...]:
        """Those that a conversation may choose from."""
        return tuple(item for item in self.agents if item.visibility is Visibility.USER_FACING)


def book_of(files: Iterable[tuple[str, bytes]]) -> AgentBook:
    """What the files define. They come in the order in which an earlier one wins a name.

    A bad file is left out alone; it takes no other with it.
    """
    agents: dict[str, AgentDefinition] = {}
    problems: list[AgentProblem] = []
    for source, data in files:
        try:
            agent = parse(source, data)
        except AgentFault as fault:
            problems.append(AgentProblem(source=source, sentence=fault.sentence))
            continue
        first = agents.setdefault(agent.name.casefold(), agent)
        if first is not agent:
            sentence = f"the name {agent.name} is taken by {first.source}"
            problems.append(AgentProblem(source=source, sentence=sentence))
    ordered = tuple(agents[name] for name in sorted(agents))
    return AgentBook(agents=ordered, problems=tuple(problems))


def parse(source: str, data: bytes) -> AgentDefinition:
    """The definition in a file. Raises `AgentFault`."""
    if len(data) > MAX_BYTES:
        raise AgentFault(f"it is larger than {MAX_BYTES} bytes")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise AgentFault("it is not valid UTF-8") from None
    matter, body = _split(text)
    values = _read(matter)
    if not body:
        raise AgentFault("it has no text below its front matter")
    return AgentDefinition(
        name=_name(values),
        description=_description(values),
        body=body,
        role=_choice(values, "modelRole", ModelRole, ModelRole.COMPACTION),
        timeout_s=_seconds(values, "timeoutSeconds", TIMEOUT_S, 0),
        prefill_s=_seconds(values, "prefillTimeoutSeconds", PREFILL_S, 0),
        wants_findings=_flag(values, "emitStructuredFindings"),
        visibility=_choice(values, "visibility", Visibility, Visibility.USER_FACING),
        tools=_words(values.get("tools", "")),
        source=source,
    )


def _split(text: str) -> tuple[list[str], str]:
    lines = text.removeprefix("\ufeff").splitlines()
    if not lines or lines[0].rstrip() != FENCE:
        raise AgentFault(f"it does not begin with a line of {FENCE}")
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() == FENCE:
            return lines[1:number], "\n".join(lines[number + 1 :]).strip()
    raise AgentFault(f"its front matter has no end: a line of {FENCE} is missing")


def _read(lines: Iterable[str]) -> Mapping[str, str]:
    values: dict[str, str] = {}
    key = ""
    for line in lines:
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if line[0] in " \t-":
            if not key:
                raise AgentFault(f"its front matter cannot be read at {line.strip()!r}")
            values[key] = f"{values[key]} {line.strip()}".strip()
            continue
        match = _KEY.fullmatch(line.rstrip())
        if match is None:
            raise AgentFault(f"its front matter cannot be read at {line.strip()!r}")
        key = match[1]
        if key in values:
            raise AgentFault(f"{key} is there twice")
        value = (match[2] or "").strip()
        values[key] = "" if value in _FOLDED else value
    return {name: _unquoted(value) for name, value in values.items()}


def _unquoted(value: str) -> str:
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if is_quoted else value


def _name(values: Mapping[str, str]) -> str:
    name = values.get("name", "")
    if not name:
        raise AgentFault("it has no name")
    if _NAME.fullmatch(name) is None:
        raise AgentFault("its name may have letters, digits, - and _, at most 64 of them")
    return name


def _description(values: Mapping[str, str]) -> str:
    description = " ".join(values.get("description", "").split())
    if not description:
        raise AgentFault("it has no description")
    return description[:DESCRIPTION_CHARACTERS]


def _seconds(values: Mapping[str, str], key: str, bounds: tuple[int, int], default: int) -> int:
    if key not in values:
        return default
    low, high = bounds
    text = values[key]
    if not (text.isascii() and text.isdigit() and low <= int(text[:9]) <= high):
        raise AgentFault(f"{key} must be a whole number from {low} to {high}")
    return int(text)


def _flag(values: Mapping[str, str], key: str) -> bool:
    text = values.get(key, "false").casefold()
    if text not in ("true", "false"):
        raise AgentFault(f"{key} must be true or false")
    return text == "true"


def _choice(values: Mapping[str, str], key: str, kind: type[_Choice], default: _Choice) -> _Choice:
    text = values.get(key, default.value).casefold()
    for choice in kind:
        if choice.value.casefold() == text:
            return choice
    raise AgentFault(f"{key} must be one of {', '.join(item.value for item in kind)}")


def _words(text: str) -> tuple[str, ...]:
    return tuple(word for word in re.split(r"[\s,\[\]\"']+", text) if word not in ("", "-"))


# What a run is told

HEADLESS = """\
[headless]
You work alone on one task that another agent handed to you. Nobody reads along and nobody answers:
do not ask questions, do not wait for anybody, and decide what is left open by yourself.
The text of your last message is the whole result. It says what you did, what you found and what
you could not find out or do; name files by their full path. Put what is to be kept into
artifact_dir. You cannot hand work to further agents."""

FINDINGS = """\
[findings]
End your last message with a section `## Findings`: one finding a line, the most important first,
each with where it was found."""


def system_prompt(agent: AgentDefinition, *, operating_rules: str, project: str) -> str:
    """What a run is told, apart from its folders: no persona, no memory, no history, no time."""
    findings = FINDINGS if agent.wants_findings else ""
    parts = (operating_rules, project, agent.body, HEADLESS, findings)
    return "\n\n".join(part for part in parts if part)
