"""Says what went wrong, in the same form for every command.

`[FAIL] <command>: <sentence>` and a `fix:` line on standard error; with `--json` also one object
on standard output.
"""

from __future__ import annotations

from contextlib import suppress

from netclaw.cli.app import App, JsonRow, compact
from netclaw.cli.streams import OutputLostError, write_error
from netclaw.core.errors import CATEGORY_CODES, InternalError, NetclawError

EXIT_OK = 0
EXIT_FAILURE = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130


def error_row(error: NetclawError, *, category: str = "") -> JsonRow:
    """The error as `--json` shows it; `category` is that of a failed turn."""
    by_code = next((kind.value for kind, code in CATEGORY_CODES.items() if code is error.code), "")
    return compact(
        {
            "code": error.code.value,
            "category": category or by_code or None,
            "message": error.sentence,
            "fix": error.fix or None,
            "reference": error.reference or None,
        }
    )


def report(app: App, error: NetclawError) -> None:
    """Print an error that ended a command; nothing is raised."""
    print_failure(app.command, error.sentence, error.fix, error.reference)
    if app.is_json and not isinstance(error, OutputLostError):
        emit_error(app, error_row(error))


def emit_error(app: App, row: JsonRow) -> None:
    """Put an error on standard output, if anybody takes it: standard error has said it."""
    with suppress(OutputLostError, BrokenPipeError):
        app.emit({"error": row})


def print_failure(command: str, sentence: str, fix: str, reference: str = "") -> None:
    """The lines on standard error."""
    tail = f" (reference {reference})" if reference else ""
    lines = [f"[FAIL] {command or 'netclaw'}: {sentence}{tail}"]
    if fix:
        lines.append(f"  fix: {fix}")
    write_error("\n".join(lines) + "\n")


def unexpected(error: BaseException) -> NetclawError:
    """A fault of this program as an error for people; NETCLAW_DEBUG shows the trace as well."""
    return InternalError(
        f"netclaw itself failed ({type(error).__name__}).",
        fix="Run it again with NETCLAW_DEBUG=1 to see where, and report that.",
    )
