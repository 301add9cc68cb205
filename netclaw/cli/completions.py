"""What a shell offers for an argument: ids of the running daemon, keys of the configuration.

A completion never says anything but its words: without a daemon, or with one that does not answer
within a second, there are none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from netclaw.cli.app import App
from netclaw.core.errors import NetclawError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import click
    from click.shell_completion import CompletionItem

    from netclaw.config.tree import KeyPath, Node

PATIENCE_S = 1.0
PAGE = 1000
AT_MOST = 200


def session_ids(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Ids that begin so, each with its session's title."""
    del ctx, param
    from click.shell_completion import CompletionItem

    from netclaw.cli.client import DaemonClient

    try:
        with DaemonClient(App().home, patience_s=0.0) as client:
            from netclaw.wire.v1.gateway_pb2 import ListSessionsRequest

            # Ids come in order, and all that begin so come after what lacks the last character.
            request = ListSessionsRequest(after_id=incomplete[:-1], limit=PAGE)
            listed = client.call(client.gateway.ListSessions, request, timeout_s=PATIENCE_S)
    except NetclawError:
        return []
    rows = [row for row in listed.sessions if row.id.startswith(incomplete)][:AT_MOST]
    return [CompletionItem(row.id, help=row.title or None) for row in rows]


def config_keys(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Keys of netclaw.json that begin so, whatever their letter case."""
    del ctx, param
    return _matching(incomplete, is_secret=False)


def secret_keys(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Keys of credentials that the configuration has a place for."""
    del ctx, param
    return _matching(incomplete, is_secret=True)


def stored_secrets(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Keys of credentials that are stored."""
    del ctx, param
    from netclaw.config.secret_store import secret_names

    try:
        names = secret_names(App().home)
    except NetclawError:
        return []
    return [name for name in names if name.casefold().startswith(incomplete.casefold())]


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
