"""What a shell offers for an argument: ids of the running daemon, keys of the configuration.

A completion never says anything but its words: without a daemon, or with one that does not answer
within a second, there are none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from netclaw.cli.app import App, printable
from netclaw.cli.words import shorten
from netclaw.core.errors import NetclawError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import click
    from click.shell_completion import CompletionItem

    from netclaw.config.tree import KeyPath, Node
    from netclaw.wire.v1.gateway_pb2 import PendingApproval

PATIENCE_S = 1.0
PAGE = 1000
AT_MOST = 200
HELP_WIDTH = 60


def session_ids(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Ids that begin so, each with its session's title."""
    del ctx, param
    return _sessions(incomplete, with_children=False)


def any_session_ids(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The same, with the sessions of child runs among them."""
    del ctx, param
    return _sessions(incomplete, with_children=True)


def _sessions(incomplete: str, *, with_children: bool) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    from netclaw.cli.client import DaemonClient

    try:
        with DaemonClient(App().home, patience_s=0.0) as client:
            from netclaw.wire.v1.gateway_pb2 import ListSessionsRequest

            # Ids come in order, and all that begin so come after what lacks the last character.
            request = ListSessionsRequest(
                after_id=incomplete[:-1], limit=PAGE, with_children=with_children
            )
            listed = client.call(client.gateway.ListSessions, request, timeout_s=PATIENCE_S)
    except NetclawError:
        return []
    rows = [row for row in listed.sessions if row.id.startswith(incomplete)][:AT_MOST]
    return [CompletionItem(row.id, help=row.title or None) for row in rows]


def pending_calls(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Calls that wait for a decision and begin so, each with what it would do."""
    del ctx, param
    from click.shell_completion import CompletionItem

    rows = [row for row in _pending() if row.call_id.startswith(incomplete)][:AT_MOST]
    return [CompletionItem(row.call_id, help=_one_line(row.display)) for row in rows]


def run_ids(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Child runs whose ids begin so, each with its state and agent."""
    del ctx, param
    from click.shell_completion import CompletionItem

    from netclaw.cli.client import DaemonClient

    try:
        with DaemonClient(App().home, patience_s=0.0) as client:
            from netclaw.wire.v1.admin_pb2 import ListRunsRequest

            request = ListRunsRequest(limit=PAGE)
            listed = client.call(client.admin.ListRuns, request, timeout_s=PATIENCE_S)
    except NetclawError:
        return []
    rows = [row for row in listed.runs if row.run_id.startswith(incomplete)][-AT_MOST:]
    return [CompletionItem(row.run_id, help=_one_line(f"{row.state}: {row.agent}")) for row in rows]


def job_ids(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Background jobs whose ids begin so, each with its state and command."""
    del ctx, param
    from click.shell_completion import CompletionItem

    from netclaw.cli.client import DaemonClient

    try:
        with DaemonClient(App().home, patience_s=0.0) as client:
            from netclaw.wire.v1.admin_pb2 import ListJobsRequest

            request = ListJobsRequest(limit=PAGE)
            listed = client.call(client.admin.ListJobs, request, timeout_s=PATIENCE_S)
    except NetclawError:
        return []
    rows = [row for row in listed.jobs if row.job_id.startswith(incomplete)][-AT_MOST:]
    return [
        CompletionItem(row.job_id, help=_one_line(f"{row.state}: {row.command}")) for row in rows
    ]


def consent_options(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """What the call that was named offers, by key, each with its label."""
    del param
    from click.shell_completion import CompletionItem

    call = str(ctx.params.get("call_id") or "")
    options = {
        option.key: option.label
        for row in _pending()
        if call and row.call_id.startswith(call)
        for option in row.options
    }
    return [
        CompletionItem(key, help=label)
        for key, label in options.items()
        if key.startswith(incomplete)
    ]


def grant_labels(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Labels of stored grants that begin so, each with where it applies."""
    del ctx, param
    from click.shell_completion import CompletionItem

    from netclaw.cli import grants
    from netclaw.cli.commands.approvals_grants import where

    try:
        rows = grants.listed(App().home, audience="", tool="", patience_s=0.0)
    except NetclawError:
        return []
    return [
        CompletionItem(row.label, help=where(row))
        for row in rows[:AT_MOST]
        if row.label.startswith(incomplete)
    ]


def _pending() -> list[PendingApproval]:
    """What waits for a decision, the oldest part of it."""
    from netclaw.cli.client import DaemonClient

    try:
        with DaemonClient(App().home, patience_s=0.0) as client:
            from netclaw.wire.v1.gateway_pb2 import ListApprovalsRequest

            request = ListApprovalsRequest(limit=AT_MOST)
            listed = client.call(client.gateway.ListApprovals, request, timeout_s=PATIENCE_S)
    except NetclawError:
        return []
    return [*listed.approvals]


def _one_line(text: str) -> str:
    return shorten(printable(text), HELP_WIDTH)


def config_keys(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Keys of netclaw.json that begin so, whatever their letter case."""
    del ctx, param
    return _matching(incomplete, is_secret=False)


def secret_keys(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Keys of credentials that the configuration has a place for."""
    del ctx, param
    return _matching(incomplete, is_secret=True)


def tool_servers(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Names of configured tool servers."""
    del ctx, param
    from netclaw.config.load import load_config

    app = App()
    try:
        servers = load_config(app.home, app.environ).session.tools.servers
    except NetclawError:
        return []
    return [server.name for server in servers if server.name.startswith(incomplete)]


def stored_secrets(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Keys of credentials that are stored."""
    del ctx, param
    from netclaw.config.secret_store import secret_names

    try:
        names = secret_names(App().home)
    except NetclawError:
        return []
    return [name for name in names if name.casefold().startswith(incomplete.casefold())]


def tool_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Names of the tools that every session has."""
    del ctx, param
    from netclaw.ports.shell_runner import SandboxFacts
    from netclaw.sandbox.runner import SandboxRunner
    from netclaw.tools.factory import core_tools

    unused = SandboxRunner(SandboxFacts(backend=None, program="", why="", limits=""))
    return [tool.name for tool in core_tools(unused) if tool.name.startswith(incomplete)]


def _matching(incomplete: str, *, is_secret: bool) -> list[str]:
    from netclaw.config.load import read_layers
    from netclaw.config.tree import dotted, root

    app = App()
    try:
        document: object = read_layers(app.home, app.environ).document
    except NetclawError:
        document = {}
    wanted = incomplete.casefold()
    keys = (dotted(path) for path in _paths(root(), document, is_secret=is_secret))
    return [key for key in keys if key.casefold().startswith(wanted)]


def _paths(node: Node, value: object, *, is_secret: bool) -> Iterator[KeyPath]:
    """Every key below; where the operator chooses names, those that are in use."""
    from netclaw.config.tree import Items, Keys, Leaf, Named

    here = value if isinstance(value, dict) else {}
    below: dict[str, Node] = {}
    match node:
        case Keys(children=children):
            below = children
        case Named(child=child):
            below = dict.fromkeys(here, child)
        case Items() if not is_secret:
            yield ()
        case Leaf() if node.is_secret is is_secret:
            yield ()
    for name, child in below.items():
        for rest in _paths(child, here.get(name), is_secret=is_secret):
            yield (name, *rest)
