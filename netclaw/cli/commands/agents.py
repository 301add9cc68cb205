"""`netclaw agents`: which agents sessions may hand work to, and which files are no definitions."""

from __future__ import annotations

from pathlib import Path

import click

from netclaw.cli.app import App, JsonRow, compact
from netclaw.cli.command import Entry, LazyGroup, command
from netclaw.cli.failure import EXIT_FAILURE, print_failure
from netclaw.cli.words import counted, shorten
from netclaw.core.agents import AgentBook, AgentDefinition
from netclaw.core.errors import InvalidArgumentError

_HERE = "netclaw.cli.commands.agents"
DESCRIPTION_WIDTH = 60

agents = LazyGroup(
    "agents",
    {
        "list": Entry(f"{_HERE}:list_agents", "List the agents there are."),
        "validate": Entry(f"{_HERE}:validate", "Check definitions and say what is wrong."),
    },
    default="list",
    summary="Look at the agents that sessions may hand work to: the files agents/*.md of the home."
    " They are looked at anew for every turn. Without a further word it lists them.",
    examples=("netclaw agents list", "netclaw agents validate", "netclaw agents validate new.md"),
)


@command("list", examples=("netclaw agents list", "netclaw agents list --json"))
def list_agents(app: App) -> None:
    """List the agents by name; files that are no definitions are named beside them."""
    from netclaw.tools.agent_files import read_agents

    book = read_agents(str(app.home.root))
    if app.is_json:
        app.emit([agent_row(agent) for agent in book.agents])
    elif book.agents:
        app.table(
            ("name", "for", "model", "silence", "file", "description"),
            (
                (
                    agent.name,
                    agent.visibility.value,
                    agent.role.value,
                    f"{agent.timeout_s} s" if agent.timeout_s else "as set",
                    agent.source,
                    shorten(agent.description, DESCRIPTION_WIDTH),
                )
                for agent in book.agents
            ),
            expendable=("file", "silence", "for", "model"),
        )
    else:
        app.say("no agents; `netclaw init` writes three")
    for problem in book.problems:
        app.note(f"left out: {problem.source}: {problem.sentence}")


@command(
    "validate", examples=("netclaw agents validate", "netclaw agents validate draft.md --json")
)
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
def validate(app: App, *, files: tuple[Path, ...]) -> int:
    """Check the agents of the home, or these files; exits with an error if one is no definition.

    With --json {agents, problems}; it needs no daemon.
    """
    book = _book(app, files)
    if app.is_json:
        app.emit(
            {
                "agents": [agent_row(agent) for agent in book.agents],
                "problems": [
                    {"file": problem.source, "sentence": problem.sentence}
                    for problem in book.problems
                ],
            }
        )
    else:
        for agent in book.agents:
            app.say(f"ok  {agent.source}: {agent.name}")
        for problem in book.problems:
            app.say(f"bad {problem.source}: {problem.sentence}")
    if not book.problems:
        return 0
    print_failure(  # --json has said it: one value, as everywhere
        app.command,
        f"{counted(len(book.problems), 'file')} cannot be used as an agent.",
        "Mend it, or take it out of the folder agents.",
    )
    return EXIT_FAILURE


def _book(app: App, files: tuple[Path, ...]) -> AgentBook:
    from netclaw.core.agents import book_of
    from netclaw.tools.agent_files import read_agents

    if not files:
        return read_agents(str(app.home.root))
    return book_of((str(path), _read(path)) for path in files)


def _read(path: Path) -> bytes:
    from netclaw.core.agents import MAX_BYTES

    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        raise InvalidArgumentError(f"{path} cannot be read: {error.strerror}.") from None


def agent_row(agent: AgentDefinition) -> JsonRow:
    """A line of `agents list`."""
    return compact(
        {
            "name": agent.name,
            "description": agent.description,
            "visibility": agent.visibility.value,
            "modelRole": agent.role.value,
            "timeoutSeconds": agent.timeout_s or None,
            "prefillTimeoutSeconds": agent.prefill_s or None,
            "emitStructuredFindings": agent.wants_findings,
            "tools": list(agent.tools),
            "file": agent.source,
        }
    )
