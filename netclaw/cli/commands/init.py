"""`netclaw init`: a first configuration, by questions or by options."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from netclaw.cli.app import App, JsonRow
from netclaw.cli.command import command
from netclaw.cli.reloading import reload_daemon
from netclaw.core.errors import InvalidArgumentError
from netclaw.core.settings import ProviderType

if TYPE_CHECKING:
    from netclaw.config.home import Home

LOCAL_MODEL = "smollm2-135m"
LOCAL_CONTEXT = 8192
DEFAULT_MODEL = {ProviderType.LOCAL.value: LOCAL_MODEL}
PROVIDERS = tuple(kind.value for kind in ProviderType)
NEEDS_KEY = ("openai", "openrouter", "anthropic")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What the first configuration says."""

    provider: str
    model: str
    endpoint: str = ""
    api_key: str = ""
    context_window: int | None = None
    workspaces: str = ""
    """Full path of the folder that holds the projects; empty: the one in the home."""


@command(
    "init",
    examples=(
        "netclaw init",
        "netclaw init --non-interactive --provider local",
        "netclaw init --non-interactive --provider ollama --model qwen3 --workspaces ~/code",
        "netclaw init --non-interactive --provider anthropic --model ID --api-key-env MY_KEY",
        "netclaw init --non-interactive --provider openai-compatible --model ID --endpoint URL",
    ),
)
@click.option("--non-interactive", is_flag=True, help="Ask nothing; take the options below.")
@click.option("--provider", type=click.Choice(PROVIDERS), help="How the model is reached.")
@click.option("--endpoint", metavar="URL", help="Address of the service, for openai-compatible.")
@click.option("--model", metavar="ID", help="The model's name there; for local also a path.")
@click.option(
    "--api-key-env",
    metavar="VAR",
    help="Environment variable with the credential; read now and stored encrypted.",
)
@click.option(
    "--context-window", type=click.IntRange(4096), metavar="N", help="Tokens the model can see."
)
@click.option(
    "--workspaces",
    metavar="DIR",
    type=click.Path(file_okay=False),
    help="Folder of your projects; agents may work in any of them."
    " Default: as before, else the home's own.",
)
@click.option("--force", is_flag=True, help="Replace a configuration; the old one is kept as .bak.")
def init(
    app: App,
    *,
    non_interactive: bool,
    provider: str | None,
    endpoint: str | None,
    model: str | None,
    api_key_env: str | None,
    context_window: int | None,
    workspaces: str | None,
    force: bool,
) -> None:
    """Write a first configuration.

    Without --non-interactive it asks. A configuration that is there is not touched without --force.
    """
    home = app.home
    if home.config_file.exists() and not force:
        raise InvalidArgumentError(
            f"There is a configuration already: {home.config_file}.",
            fix="Change it with `netclaw config set`, or replace it with --force.",
        )
    if non_interactive:
        chosen = _from_options(app, provider, endpoint, model, api_key_env, context_window)
        chosen = replace(chosen, workspaces=_workspaces(home, workspaces))
    else:
        if not sys.stdin.isatty():
            raise click.UsageError("There is no terminal to ask on; add --non-interactive.")
        from netclaw.cli.interview import ask

        chosen = ask(app)
    write_choice(app, home, chosen)
    row: JsonRow = {
        "home": str(home.root),
        "config": str(home.config_file),
        "provider": chosen.provider,
        "model": chosen.model,
        "workspaces": chosen.workspaces or str(home.workspaces_dir),
    }
    row |= reload_daemon(app)
    if app.is_json:
        app.emit(row)
        return
    app.say(f"wrote {home.config_file}: {chosen.model} at {chosen.provider}")
    is_running = row["applied"] != "next-start"
    if is_running:
        app.say("in force now: the running daemon took it over")
    app.say(f"projects: agents may work in any folder below {row['workspaces']}")
    app.say("check it: netclaw doctor")
    steps = [] if is_running else ["netclaw daemon start"]
    if chosen.provider == ProviderType.LOCAL.value and not chosen.model.startswith("/"):
        steps.insert(0, f"netclaw model pull {chosen.model}")
    app.say(f"next: {', then '.join([*steps, 'netclaw chat'])}")


def _from_options(
    app: App,
    provider: str | None,
    endpoint: str | None,
    model: str | None,
    api_key_env: str | None,
    context_window: int | None,
) -> Choice:
    if provider is None:
        raise click.UsageError("--non-interactive needs --provider.")
    model = model or DEFAULT_MODEL.get(provider)
    if not model:
        raise click.UsageError(f"--provider {provider} needs --model.")
    if provider == ProviderType.OPENAI_COMPATIBLE.value and not endpoint:
        raise click.UsageError("--provider openai-compatible needs --endpoint.")
    key = ""
    if api_key_env:
        key = app.environ.get(api_key_env, "")
        if not key:
            raise InvalidArgumentError(
                f"The environment variable {api_key_env} is not set.",
                fix=f"Export {api_key_env}, or leave --api-key-env out.",
            )
    return Choice(
        provider=provider,
        model=model,
        endpoint=endpoint or "",
        api_key=key,
        context_window=context_window,
    )


def _workspaces(home: Home, given: str | None) -> str:
    from netclaw.config.first import workspaces_before

    return workspaces_before(home) if given is None else folder_of_projects(home, given)


def folder_of_projects(home: Home, given: str) -> str:
    """What the configuration says for a folder of projects; empty for the one in the home.

    Raises `InvalidArgumentError` for one that is not there.
    """
    if not given:
        return ""
    folder = Path(given).expanduser().absolute()
    if folder == home.workspaces_dir:
        return ""
    if not folder.is_dir():
        raise InvalidArgumentError(
            f"There is no folder {folder}.",
            fix="Name the folder that holds your projects, or make it first.",
        )
    return str(folder)


def write_choice(app: App, home: Home, chosen: Choice) -> None:
    """Write netclaw.json (and the credential) after checking that it would load.

    Identity files that are missing get a first text, and a home without agents its first ones.
    """
    from netclaw.config.agents import write_default_agents
    from netclaw.config.first import first_document, write_first
    from netclaw.config.home import PRIVATE_FOLDER, make_private_folder
    from netclaw.config.identity import write_default_identity

    is_new = not home.root.exists() or not any(home.root.iterdir())
    window = chosen.context_window
    if window is None and chosen.provider == ProviderType.LOCAL.value:
        window = LOCAL_CONTEXT
    model = chosen.model
    if chosen.provider == ProviderType.LOCAL.value and model.endswith(".gguf"):
        model = str(Path(model).expanduser().absolute())
    document = first_document(
        provider=chosen.provider,
        endpoint=chosen.endpoint,
        model=model,
        context_window=window,
        workspaces=chosen.workspaces,
    )
    make_private_folder(home.root)
    if is_new:
        home.root.chmod(PRIVATE_FOLDER)  # made by someone else for us, and still empty
    write_first(
        home,
        app.environ,
        document,
        secret_key=f"Providers.{chosen.provider}.ApiKey",
        secret=chosen.api_key,
    )
    write_default_identity(home)
    write_default_agents(home)
