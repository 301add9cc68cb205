"""Asks a person for a first configuration, and looks whether the service answers."""

from __future__ import annotations

from pathlib import Path

import click

from netclaw.cli.app import App
from netclaw.cli.asking import ask_line
from netclaw.cli.commands.init import (
    DEFAULT_MODEL,
    NEEDS_KEY,
    PROVIDERS,
    Choice,
    folder_of_projects,
)
from netclaw.cli.probe import Probe, probe_service
from netclaw.core.errors import InterruptedByStopError, InvalidArgumentError
from netclaw.core.settings import ProviderType

_MEANING = {
    "openai-compatible": "any server that speaks OpenAI's chat completions (vLLM, llama.cpp, ...)",
    "ollama": "Ollama on this or another machine",
    "openai": "OpenAI",
    "openrouter": "OpenRouter",
    "anthropic": "Anthropic",
    "local": "a tiny model that netclaw serves itself; proves the path, is not useful",
}
SHOWN_MODELS = 12
USUAL_FOLDERS = ("code", "projects", "src", "dev", "repos", "work")
"""Where people keep their projects, below their home; the first that is there is proposed."""


def ask(app: App) -> Choice:
    """The whole interview; the answers are not written yet."""
    app.note("How does netclaw reach a model?")
    for at, name in enumerate(PROVIDERS, 1):
        app.note(f"  {at}. {name:<18} {_MEANING[name]}")
    provider = PROVIDERS[_prompt_number("Number", len(PROVIDERS)) - 1]
    endpoint = _endpoint(provider)
    key = ""
    if provider != ProviderType.LOCAL.value:
        key = _prompt_key(is_needed=provider in NEEDS_KEY)
    probe = _look(app, provider, endpoint, key)
    model = _model(app, provider, probe)
    window = ask_line("Tokens it can see (empty: find out)", default="")
    workspaces = _ask_workspaces(app)
    chosen = Choice(
        provider=provider,
        model=model,
        endpoint=endpoint,
        api_key=key,
        context_window=int(window) if window.isdigit() else None,
        workspaces=workspaces,
    )
    if not click.confirm(
        f"Write a configuration for {model} at {provider}?", default=True, err=True
    ):
        raise InterruptedByStopError("Nothing was written.", fix="Run `netclaw init` again.")
    return chosen


def _prompt_number(text: str, highest: int) -> int:
    number: int = click.prompt(text, type=click.IntRange(1, highest), default=1, err=True)
    return number


def _prompt_key(*, is_needed: bool) -> str:
    text = "API key" if is_needed else "API key (empty: none)"
    default = None if is_needed else ""
    return ask_line(text, default=default, is_shown=False)


def _endpoint(provider: str) -> str:
    if provider == ProviderType.OPENAI_COMPATIBLE.value:
        return ask_line("Address", default="http://127.0.0.1:8000/v1")
    if provider == ProviderType.OLLAMA.value:
        address = ask_line("Address", default="http://127.0.0.1:11434")
        return "" if address == "http://127.0.0.1:11434" else address
    return ""


def _look(app: App, provider: str, endpoint: str, key: str) -> Probe | None:
    """Ask the service; a failure is shown and does not end the interview."""
    from netclaw.config.build import DEFAULT_ENDPOINTS

    kind = ProviderType(provider)
    if kind is ProviderType.LOCAL:
        return None
    address = endpoint or DEFAULT_ENDPOINTS[kind]
    if kind is ProviderType.OLLAMA and not address.endswith("/v1"):
        address = f"{address.rstrip('/')}/v1"
    probe = probe_service(kind, address, key or None)
    app.note(probe.sentence)
    if not probe.is_reachable:
        app.note(f"  {probe.fix}")
        if not click.confirm("Go on anyway?", default=False, err=True):
            raise InterruptedByStopError("Nothing was written.", fix="Run `netclaw init` again.")
    return probe


def _model(app: App, provider: str, probe: Probe | None) -> str:
    listed = probe.models[:SHOWN_MODELS] if probe is not None else ()
    for name in listed:
        app.note(f"  {name}")
    default = DEFAULT_MODEL.get(provider) or (listed[0] if listed else None)
    return ask_line("Model", default=default)


def _ask_workspaces(app: App) -> str:
    from netclaw.config.first import workspaces_before

    user_home = Path.home()
    usual = (user_home / name for name in USUAL_FOLDERS)
    there = next((str(folder) for folder in usual if folder.is_dir()), "")
    default = workspaces_before(app.home) or there or str(app.home.workspaces_dir)
    app.note("Where are your projects? An agent may work, and write, in any folder below it.")
    while True:
        typed = ask_line("Folder of your projects", default=default)
        try:
            return folder_of_projects(app.home, typed)
        except InvalidArgumentError as error:
            app.note(error.sentence)
