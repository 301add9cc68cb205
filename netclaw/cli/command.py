"""The two kinds of commands: one that acts, and one that leads to others and loads them late."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from netclaw.cli.app import App

Handler = Callable[..., int | None]
"""A command's work: takes the App and its parameters; returns the exit code, None for 0."""


class ReaderLeftError(Exception):
    """Nobody reads standard output any more; click would turn the plain error into exit code 1."""


class Command(click.Command):
    """A command with `--json`, examples in its help, and an App as its first argument."""

    def __init__(self, *args: Any, examples: Sequence[str] = (), **attrs: Any) -> None:
        super().__init__(*args, **attrs)
        self.examples = tuple(examples)
        self.params.append(
            click.Option(["--json", "is_json"], is_flag=True, help="Print one JSON value.")
        )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does it; an error of the parser is told to be of this command."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The examples, as they are typed."""
        del ctx
        write_examples(formatter, self.examples)


def write_examples(formatter: click.HelpFormatter, examples: Sequence[str]) -> None:
    """A section of lines to copy."""
    if examples:
        with formatter.section("Examples"):
            for example in examples:
                formatter.write(f"{' ' * formatter.current_indent}{example}\n")


def command(
    name: str, *, examples: Sequence[str], hidden: bool = False
) -> Callable[[Handler], Command]:
    """Make a command of a function; its docstring is the help, its options stand below this."""

    def wrap(handler: Handler) -> Command:
        @functools.wraps(handler)
        def callback(*, is_json: bool, **parameters: object) -> None:
            context = click.get_current_context()
            app = context.find_object(App) or App()
            app.is_json = app.is_json or is_json
            app.command = command_words(context)
            try:
                code = handler(app, **parameters)
            except BrokenPipeError:
                raise ReaderLeftError from None
            if code:
                context.exit(code)

        return click.command(
            name,
            cls=Command,
            examples=tuple(examples),
            hidden=hidden,
            context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
        )(callback)

    return wrap


def command_words(context: click.Context) -> str:
    """The command as it was typed, without the program's name."""
    return " ".join(context.command_path.split()[1:])


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a command is (`module:attribute`) and what it is for, known without importing it."""

    target: str
    summary: str


class LazyGroup(click.Group):
    """Leads to commands that are imported when they are called."""

    def __init__(
        self,
        name: str,
        entries: Mapping[str, Entry],
        *,
        examples: Sequence[str] = (),
        default: str = "",
        summary: str = "",
    ) -> None:
        super().__init__(
            name,
            help=summary,
            no_args_is_help=not default,
            invoke_without_command=bool(default),
            context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
        )
        self._entries = entries
        self._examples = examples
        self._default = default
        if default:
            self.params.append(click.Option(["--json", "is_json"], is_flag=True, hidden=True))
            self.callback = self._run_default

    def _run_default(self, *, is_json: bool) -> None:
        context = click.get_current_context()
        app = context.ensure_object(App)
        app.is_json = app.is_json or is_json
        if context.invoked_subcommand is None:
            chosen = self.get_command(context, self._default)
            assert chosen is not None  # noqa: S101 - the table names it
            with chosen.make_context(self._default, [], parent=context) as inner:
                chosen.invoke(inner)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of the table."""
        del ctx
        return list(self._entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command."""
        del ctx
        entry = self._entries.get(cmd_name)
        if entry is None:
            return None
        module, _, attribute = entry.target.partition(":")
        found: click.Command = getattr(importlib.import_module(module), attribute)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does it; a word that is nearly a command is told so."""
        if args and args[0] not in self._entries and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], self._entries, n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            ctx.fail(f"No such command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table, without importing anything."""
        del ctx
        rows = [(name, entry.summary) for name, entry in self._entries.items() if entry.summary]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The examples, as they are typed."""
        del ctx
        write_examples(formatter, self._examples)
