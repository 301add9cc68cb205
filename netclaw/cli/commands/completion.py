"""`netclaw completion bash|zsh|fish`."""

from __future__ import annotations

import click

from netclaw.cli.app import App
from netclaw.cli.command import command

_WHERE = {
    "bash": "~/.local/share/bash-completion/completions/netclaw",
    "zsh": "a file _netclaw in a folder of $fpath",
    "fish": "~/.config/fish/completions/netclaw.fish",
}


@command(
    "completion",
    examples=(
        "netclaw completion bash > ~/.local/share/bash-completion/completions/netclaw",
        'eval "$(netclaw completion zsh)"',
        "netclaw completion fish > ~/.config/fish/completions/netclaw.fish",
    ),
)
@click.argument("shell", type=click.Choice(sorted(_WHERE)))
def completion(app: App, *, shell: str) -> None:
    """Print a script that completes commands and options in your shell."""
    from click.shell_completion import get_completion_class

    from netclaw.cli.registry import root

    kind = get_completion_class(shell)
    assert kind is not None  # noqa: S101 - click knows all three
    source = kind(root(), {}, "netclaw", "_NETCLAW_COMPLETE").source()
    if app.is_json:
        app.emit({"shell": shell, "script": source, "place": _WHERE[shell]})
    else:
        app.say(source)
