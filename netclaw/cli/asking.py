"""Asks the person at the terminal for a value, and takes none that is no UTF-8."""

from __future__ import annotations

import click

from netclaw.core.errors import InvalidArgumentError


def ask_line(text: str, *, default: str | None = None, is_shown: bool = True) -> str:
    """One line of what was typed; `default` stands for an empty one, and is not shown if hidden.

    Raises `InvalidArgumentError` for bytes of another encoding.
    """
    is_default_shown = is_shown and bool(default)
    try:
        typed: str = click.prompt(
            text, default=default, show_default=is_default_shown, hide_input=not is_shown, err=True
        )
        typed.encode()
    except UnicodeError:
        raise InvalidArgumentError("What was typed is not valid UTF-8.") from None
    return typed
