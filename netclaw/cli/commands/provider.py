"""`netclaw provider list`."""

from __future__ import annotations

from netclaw.cli.app import App
from netclaw.cli.command import Entry, LazyGroup, command

provider = LazyGroup(
    "provider",
    {"list": Entry("netclaw.cli.commands.provider:list_providers", "List model services.")},
    default="list",
    summary="List the model services of the configuration.",
    examples=("netclaw provider list",),
)


@command("list", examples=("netclaw provider list", "netclaw provider list --json"))
def list_providers(app: App) -> None:
    """List the model services, where they are, and whether a credential is stored."""
    from netclaw.config.build import endpoint_of
    from netclaw.config.load import load_config

    providers = load_config(app.home, app.environ).model.providers
    rows = [
        (name, each.type.value, endpoint_of(each) or "", each.api_key is not None)
        for name, each in providers.items()
    ]
    if app.is_json:
        app.emit(
            [
                {"name": name, "type": kind, "endpoint": endpoint, "hasCredential": has_key}
                for name, kind, endpoint, has_key in rows
            ]
        )
        return
    app.table(
        ("name", "type", "endpoint", "credential"),
        (
            (name, kind, endpoint or "served by netclaw", "stored" if has_key else "none")
            for name, kind, endpoint, has_key in rows
        ),
    )
