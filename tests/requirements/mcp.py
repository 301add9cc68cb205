"""Tools of other programs, by the Model Context Protocol."""

from __future__ import annotations

from tests.requirements.manifest import Requirement

SOURCE = "authorization.md §8"
ADR = "ADR 0041"

REQUIREMENTS = (
    Requirement(
        id="mcp.lazy",
        source=ADR,
        text="Tool servers are reached by a process of their own, started by the first search or"
        " call, and a session without servers loads nothing for them.",
    ),
    Requirement(
        id="mcp.dies-with-session",
        source=ADR,
        text="The process that reaches servers and the servers that it started end with their"
        " session, killed or not.",
    ),
    Requirement(
        id="mcp.host-anew",
        source=ADR,
        text="If the process that reaches servers dies, calls under way are told that nothing is"
        " known of them, and the next need starts another.",
    ),
    Requirement(
        id="mcp.transports",
        source=SOURCE,
        text="Servers are spoken to over pipes, with their arguments unchanged, and over HTTP.",
    ),
    Requirement(
        id="mcp.names",
        source=SOURCE,
        text="A server's tool is shown as server__tool, in letters that models take, and no two"
        " tools share a name.",
    ),
    Requirement(
        id="mcp.deferred",
        source="decision 42",
        text="Tools of servers are shown only after they were loaded, and a loaded one is known"
        " again in the session's next process.",
    ),
    Requirement(
        id="mcp.new-tool",
        source="authorization.md §11 bug 41",
        text="A tool that a server newly offers has the server's consent mode, and is hidden if"
        " that is Deny.",
    ),
    Requirement(
        id="mcp.states",
        source=SOURCE,
        text="A server is connected, awaiting auth, auth failed, unreachable or disabled, and a"
        " sentence says why it is not connected.",
    ),
    Requirement(
        id="mcp.typed-status",
        source="glossary MCP, authorization.md §11 bugs 37, 38 and 40",
        text="What a failure is comes from a status, a challenge or the end of a connection, never"
        " from a text such as a path that contains 401; a refused credential demotes the server.",
    ),
    Requirement(
        id="mcp.no-replay",
        source="glossary transport failure, authorization.md §11 bug 39",
        text="After a transport or session failure the next call makes one new connection, and no"
        " call is ever sent twice.",
    ),
    Requirement(
        id="mcp.application-error",
        source="glossary application error",
        text="An answer that is an error is given back as it is, and the connection stays.",
    ),
    Requirement(
        id="mcp.is-error",
        source="glossary tool-declared error",
        text="A failure that a tool declares becomes the result `Error: MCP tool 's/t' reported a"
        " failure: …` and a warning in the log without its words.",
    ),
    Requirement(
        id="mcp.bounds",
        source="decisions 36, 86 and 87",
        text="Results are redacted and bounded like any, and an answer of any size costs the"
        " session no more memory than what is kept of it.",
    ),
    Requirement(
        id="mcp.slow",
        source=SOURCE,
        text="A server that does not answer delays a search for a bounded time and harms no other"
        " server.",
    ),
    Requirement(
        id="mcp.progress",
        source="S0 What ends or stalls a turn",
        text="Progress of a server's tool counts as a sign of life; a call that is silent for too"
        " long is ended and the next one gets a new connection.",
    ),
    Requirement(
        id="mcp.cancel",
        source=ADR,
        text="A cancelled call is taken back from its server, and others go on.",
    ),
    Requirement(
        id="mcp.bad-entry",
        source=SOURCE,
        text="An entry that cannot be used disables that server alone; checking the configuration"
        " still tells of it, and no edit can write it.",
    ),
    Requirement(
        id="mcp.secrets",
        source="authorization.md §8, authorization.md §11 bug 36",
        text="What a server is given in confidence is in no argument list, log, error or tool"
        " definition, and programs get no other variables than a few and their own.",
    ),
    Requirement(
        id="mcp.consent",
        source="authorization.md §5 and §8, authorization.md §11 bug 31",
        text="A consent request for a server's tool shows its arguments, redacted, offers no"
        " folder, and a grant for it names mcp:server:tool.",
    ),
    Requirement(
        id="mcp.list",
        source="surface.md §1",
        text="netclaw mcp list and status tell the state of each server, for people and as JSON.",
    ),
    Requirement(
        id="mcp.doctor",
        source="surface.md §9",
        text="doctor tells of configured servers that cannot be used.",
    ),
)
