"""`netclaw doctor`: checks everything and says how to mend it."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterator

from netclaw.cli.app import App, printable
from netclaw.cli.command import command
from netclaw.cli.doctor import abilities, places
from netclaw.cli.doctor.authorization import check_authorization
from netclaw.cli.doctor.channels import check_channels
from netclaw.cli.doctor.daemon import check_storage, look_at_daemon
from netclaw.cli.doctor.findings import Finding, Verdict
from netclaw.cli.doctor.rehearsed import check_rehearsed
from netclaw.cli.doctor.tool_servers import check_servers
from netclaw.cli.failure import EXIT_FAILURE, EXIT_OK, EXIT_USAGE
from netclaw.cli.words import counted

NAME_WIDTH = 20
INDENT = " " * (len("PASS  ") + NAME_WIDTH + 2)
_COLOUR = {Verdict.PASS: "green", Verdict.WARN: "yellow", Verdict.FAIL: "red"}


@command("doctor", examples=("netclaw doctor", "netclaw doctor --json"))
def doctor(app: App) -> int:
    """Check configuration, permissions, daemon, storage, sandbox and model.

    Exit code 0: all well, 2: warnings only, 1: something does not work.
    """
    findings = []
    for finding in look(app):
        findings.append(finding)
        if not app.is_json:
            _show(app, finding)
    verdicts = {finding.verdict for finding in findings}
    overall = next(
        (each for each in (Verdict.FAIL, Verdict.WARN) if each in verdicts), Verdict.PASS
    )
    if app.is_json:
        app.emit({"overall": overall.value, "checks": [finding.row() for finding in findings]})
    else:
        counts = [sum(each.verdict is verdict for each in findings) for verdict in Verdict]
        app.say(
            f"\n{counts[0]} passed, {counted(counts[1], 'warning')},"
            f" {counted(counts[2], 'failure')}"
        )
    return {Verdict.PASS: EXIT_OK, Verdict.WARN: EXIT_USAGE, Verdict.FAIL: EXIT_FAILURE}[overall]


def look(app: App) -> Iterator[Finding]:
    """Every check, one finding at a time, so that a slow one holds up nothing before it."""
    home = app.home
    yield abilities.check_versions()
    yield from places.check_home(home)
    loaded, found = abilities.check_config(home, app.environ)
    yield from found
    yield places.check_permissions(home)
    yield places.check_secrets(home)
    yield places.check_grants(home)
    yield from places.check_agents(home)
    daemon = look_at_daemon(home)
    yield from daemon.findings
    is_running = daemon.status is not None
    yield check_storage(home, is_running=is_running)
    yield places.check_crashes(home)
    if loaded is not None:
        yield from places.check_workspaces(loaded.session.tools, home)
        yield from check_authorization(loaded.session.tools, home)
        yield from check_rehearsed(home, loaded.session.tools)
        yield abilities.check_sandbox(loaded.session.tools, daemon.status)
        yield from abilities.check_models(loaded, is_running=is_running)
        yield from check_servers(loaded)
        yield from check_channels(loaded, daemon.status)


def _show(app: App, finding: Finding) -> None:
    mark = app.style(finding.verdict.value, _COLOUR[finding.verdict], "bold")
    first, *rest = _lines(finding.message)
    app.say(f"{mark}  {finding.name:<{NAME_WIDTH}}  {first}")
    if finding.fix:
        rest += _lines(f"fix: {finding.fix}")
    for line in rest:
        app.say(INDENT + line)


def _lines(text: str) -> list[str]:
    """The text beside its name: on a terminal no wider than that, elsewhere one line."""
    text = printable(text)
    if not sys.stdout.isatty():
        return [text]
    room = max(40, shutil.get_terminal_size().columns - len(INDENT))
    return textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False) or [""]
