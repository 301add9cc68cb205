"""Help: complete, with examples that the parser takes."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import click
import pytest

from netclaw.cli.command import Command, LazyGroup
from netclaw.cli.registry import root
from tests.cli.runner import Cli


def all_commands(
    group: LazyGroup | None = None, path: tuple[str, ...] = ()
) -> Iterator[tuple[str, click.Command]]:
    """Every command by the words that call it."""
    group = group or root()
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        assert found is not None
        yield " ".join((*path, name)), found
        if isinstance(found, LazyGroup):
            yield from all_commands(found, (*path, name))


COMMANDS = dict(all_commands())


def test_the_commands_of_the_contract_are_there() -> None:
    sessions = "list show history journal attach kill stop restart reset delete compact inject"
    wanted = {f"sessions {name}" for name in sessions.split()}
    wanted |= {f"daemon {name}" for name in ["start", "stop", "restart", "status"]}
    wanted |= {f"config {name}" for name in ["get", "set", "unset", "show", "validate", "schema"]}
    wanted |= {"init", "chat", "ledger", "status", "doctor", "secrets set", "model pull"}
    wanted |= {"model list", "provider list", "version", "completion", "trash empty"}
    wanted |= {f"signals {name}" for name in ["show", "watch", "unwatch", "watches", "tail"]}
    wanted |= {"goal show", "goal set", "goal clear", "sessions adopt"}
    assert wanted <= set(COMMANDS)


@pytest.mark.requirement("cli.help")
@pytest.mark.parametrize("words", sorted(COMMANDS))
def test_every_command_has_help_with_examples(cli: Cli, words: str) -> None:
    result = cli.ok(*words.split(), "--help")
    assert "Examples:" in result.out
    assert f"netclaw {words.split()[0]}" in result.out
    assert max(map(len, result.out.splitlines())) <= 110
    assert cli.ok(*words.split(), "-h").out == result.out


@pytest.mark.requirement("cli.help")
@pytest.mark.parametrize(
    ("words", "example"),
    [
        (words, example)
        for words, command in COMMANDS.items()
        if isinstance(command, Command)
        for example in command.examples
    ],
)
def test_every_example_can_be_parsed(words: str, example: str) -> None:
    line = example.split("|")[-1].split(">")[0].split("<")[0].strip()
    if line.startswith("eval"):
        line = line.split("(")[1].split(")")[0]
    if line.startswith("grep"):
        line = example.split("|")[0].strip()
    arguments = shlex.split(line)
    assert arguments[0] == "netclaw"
    rest = arguments[1 + len(words.split()) :]
    command = COMMANDS[words]
    command.make_context(words, rest)


def test_every_command_takes_json() -> None:
    for words, command in COMMANDS.items():
        if isinstance(command, Command):
            assert any("--json" in parameter.opts for parameter in command.params), words


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(cli: Cli, shell: str) -> None:
    script = cli.ok("completion", shell).out
    assert "_NETCLAW_COMPLETE" in script
    assert cli.ok("completion", shell, "--json").json["shell"] == shell


def test_version(cli: Cli) -> None:
    assert cli.ok("version").out.startswith("netclaw ")
    assert cli.ok("--version").out == cli.ok("version").out
    assert set(cli.ok("version", "--json").json) == {"version", "python"}


def test_without_a_command_the_help_is_shown(cli: Cli) -> None:
    result = cli()
    assert result.code == 2
    assert "Commands:" in result.err


@pytest.mark.parametrize(
    ("words", "near"),
    [(["sesions"], "sessions"), (["config", "vaildate"], "validate"), (["xyzzy"], "")],
)
def test_a_word_that_is_nearly_a_command(cli: Cli, words: list[str], near: str) -> None:
    result = cli(*words)
    assert result.code == 2
    assert f"No such command {words[-1]!r}." in result.err
    assert (f"Did you mean {near}?" in result.err) is bool(near)
