"""Entry of `netclaw`: finds the command, runs it, turns every outcome into an exit code."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click
from click.exceptions import NoArgsIsHelpError

from netclaw.cli.app import App
from netclaw.cli.command import ReaderLeftError, command_words
from netclaw.cli.failure import (
    EXIT_FAILURE,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_USAGE,
    emit_error,
    print_failure,
    report,
    unexpected,
)
from netclaw.cli.streams import (
    OutputLostError,
    claim_standard_streams,
    flush_out,
    give_up,
    is_output_error,
    write_error,
)
from netclaw.core.errors import InvalidArgumentError, NetclawError

if TYPE_CHECKING:
    from collections.abc import Sequence

PROGRAM = "netclaw"


def main() -> None:
    """Run the command line of this process and exit."""
    # gRPC reads it when it is imported; its own log is not for people (a restart is told by us).
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    claim_standard_streams()
    # Output that a terminal cannot show must not end a command half way.
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    code = run(sys.argv[1:])
    lost = flush_out()
    if isinstance(lost, BrokenPipeError):
        code = EXIT_OK
    elif lost is not None:
        error = OutputLostError(lost)
        print_failure("", error.sentence, error.fix)
        code = code or EXIT_FAILURE
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code; nothing is raised."""
    app = App(is_json="--json" in _before_separator(arguments))
    try:
        _check_unicode(arguments)
        return _invoke(app, _with_default_command(list(arguments)))
    except NetclawError as error:
        report(app, error)
        return EXIT_USAGE if not app.command else EXIT_FAILURE
    except (BrokenPipeError, ReaderLeftError):
        return EXIT_OK  # the reader has seen enough
    except (KeyboardInterrupt, click.Abort):
        return EXIT_INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the outermost edge: no trace for people
        return _unexpected(app, error)


def _unexpected(app: App, error: Exception) -> int:
    if isinstance(error, OSError) and is_output_error(error):
        give_up(sys.stdout)
        report(app, OutputLostError(error))
        return EXIT_FAILURE
    if app.environ.get("NETCLAW_DEBUG"):
        sys.excepthook(type(error), error, error.__traceback__)
    report(app, unexpected(error))
    return EXIT_FAILURE


def _invoke(app: App, arguments: list[str]) -> int:
    from netclaw.cli.registry import root

    try:
        code = root().main(args=arguments, prog_name=PROGRAM, standalone_mode=False, obj=app)
    except click.UsageError as error:
        _report_usage(app, error)
        return EXIT_USAGE
    return code if isinstance(code, int) else EXIT_OK


def _report_usage(app: App, error: click.UsageError) -> None:
    if error.ctx is not None:
        app.command = command_words(error.ctx)
    program = f"{PROGRAM} {app.command}".rstrip()
    sentence = error.format_message()
    fix = f"`{program} --help` shows what it takes."
    if isinstance(error, NoArgsIsHelpError):
        write_error(sentence + "\n")
        return
    print_failure(app.command, sentence, fix)
    if app.is_json:
        emit_error(app, {"code": "invalid_argument", "message": sentence, "fix": fix})


def _before_separator(arguments: Sequence[str]) -> Sequence[str]:
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


def _with_default_command(arguments: list[str]) -> list[str]:
    """`netclaw -p TEXT` is `netclaw chat -p TEXT`."""
    return ["chat", *arguments] if arguments[:1] in (["-p"], ["--prompt"]) else arguments


def _check_unicode(arguments: Sequence[str]) -> None:
    for argument in arguments:
        if any("\udc80" <= char <= "\udcff" for char in argument):
            raise InvalidArgumentError(
                "An argument is not valid UTF-8.",
                fix="Pass text as UTF-8; a message can also come from a file: -p - < FILE",
            )


if __name__ == "__main__":
    main()
