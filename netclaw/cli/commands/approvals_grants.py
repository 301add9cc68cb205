"""`netclaw approvals list|revoke|trust-verb`: what is consented to. Works without a daemon."""

from __future__ import annotations

import asyncio
import os
import shlex
import tempfile
from typing import TYPE_CHECKING

import click

from netclaw.cli import grants
from netclaw.cli.app import App, JsonRow, compact, printable
from netclaw.cli.command import command
from netclaw.cli.completions import grant_labels, session_ids
from netclaw.core.authority import Audience
from netclaw.core.errors import InternalError, InvalidArgumentError

if TYPE_CHECKING:
    from netclaw.core.authz.facts import ShellFacts
    from netclaw.wire.v1.admin_pb2 import GrantRow

AUDIENCES = click.Choice([audience.value for audience in Audience], case_sensitive=False)
COLUMNS = ("label", "where", "tool", "audience", "since")


@command(
    "list",
    examples=(
        "netclaw approvals list",
        "netclaw approvals list --audience Personal --tool shell_execute",
        "netclaw approvals list --json",
    ),
)
@click.option("--audience", type=AUDIENCES, default=None, help="Only of one audience.")
@click.option("--tool", metavar="NAME", default="", help="Only for one tool.")
def list_grants(app: App, *, audience: str | None, tool: str) -> None:
    """List what is consented to: for a folder, a repository, everywhere, and for chats.

    Consent for a chat lasts until its reset or deletion, and until the daemon stops or restarts.
    """
    rows = grants.listed(app.home, audience=audience or "", tool=tool)
    if app.is_json:
        app.emit([grant_json(row) for row in rows])
        return
    if not rows:
        app.say("nothing is consented to")
        return
    app.table(
        COLUMNS,
        ((row.label, where(row), row.tool, row.audience, row.created_at[:10]) for row in rows),
        expendable=("since", "audience"),
    )


def where(row: GrantRow) -> str:
    """Where a consent applies, in words."""
    bound = ", as assigned" if row.assignment_bound else ""
    match row.scope:
        case "folder":
            place = f"in {row.directory}"
        case "repository":
            place = f"in repository {row.repository}"
        case "chat":
            place = f"in chat {row.session_id}"
        case _:
            place = "everywhere"
    return place + bound


def grant_json(row: GrantRow) -> JsonRow:
    """A consent as `--json` shows it."""
    return compact(
        {
            "label": row.label,
            "words": list(row.words),
            "audience": row.audience,
            "tool": row.tool,
            "scope": row.scope,
            "directory": row.directory or None,
            "repository": row.repository or None,
            "sessionId": row.session_id or None,
            "createdAt": row.created_at or None,
            "shell": row.shell or None,
            "assignmentBound": row.assignment_bound or None,
        }
    )


@command(
    "revoke",
    examples=(
        "netclaw approvals revoke 'git push'",
        "netclaw approvals revoke 'npm test' --in ~/project",
        "netclaw approvals revoke --tool shell_execute --all --audience Team",
        "netclaw approvals revoke 'git push' --session notes",
    ),
)
@click.argument("words", nargs=-1, metavar="[LABEL]", shell_complete=grant_labels)
@click.option("--audience", type=AUDIENCES, default=None, help="Of this audience.")
@click.option("--tool", metavar="NAME", default="", help="For this tool.")
@click.option(
    "--in",
    "folder",
    type=click.Path(resolve_path=False),
    default="",
    help="The one for this folder or repository.",
)
@click.option("--everywhere", is_flag=True, help="The one that applies everywhere.")
@click.option("--all", "is_all", is_flag=True, help="All of --tool and --audience, or of a chat.")
@click.option(
    "--session",
    "session_id",
    metavar="ID",
    default="",
    shell_complete=session_ids,
    help="Of this chat alone.",
)
def revoke(
    app: App,
    *,
    words: tuple[str, ...],
    audience: str | None,
    tool: str,
    folder: str,
    everywhere: bool,
    is_all: bool,
    session_id: str,
) -> None:
    """Take a consent back; it counts at the next check of every session.

    LABEL is the first column of `netclaw approvals list`. If it is consented to in more than one
    place, say which; nothing is guessed.
    """
    from netclaw.core.authz.revoking import GrantChoice

    label = " ".join(words)
    if session_id:
        if audience or tool or folder or everywhere:
            raise InvalidArgumentError("Consent of a chat is named by its label or with --all.")
        rows = grants.revoke_of_chat(app.home, session_id, label=label, is_all=is_all)
    else:
        choice = GrantChoice(
            label=label,
            audience=Audience(audience) if audience else None,
            tool=tool,
            directory=_absolute(folder),
            is_everywhere=everywhere,
            is_all=is_all,
        )
        rows = grants.revoke(app.home, choice)
    if app.is_json:
        app.emit({"revoked": [grant_json(row) for row in rows]})
        return
    for row in rows:
        app.say(printable(f"revoked {row.label} {where(row)} ({row.audience} {row.tool})"))


def _absolute(folder: str) -> str:
    """The folder as a grant names it; links stay, because a grant is for a place by its name."""
    return os.path.abspath(os.path.expanduser(folder)) if folder else ""  # noqa: PTH100, PTH111


@command(
    "trust-verb",
    examples=(
        "netclaw approvals trust-verb 'git push' --shell bash",
        "netclaw approvals trust-verb 'npm test' --audience Personal",
    ),
)
@click.argument("phrase", nargs=-1, required=True, metavar="PHRASE")
@click.option(
    "--shell",
    type=click.Choice(["bash"], case_sensitive=False),
    default="bash",
    help="The shell that the words are of.",
)
@click.option(
    "--audience",
    type=AUDIENCES,
    default=Audience.PERSONAL.value,
    help="For whom. Default: Personal.",
)
def trust_verb(app: App, *, phrase: tuple[str, ...], shell: str, audience: str) -> None:
    """Consent to a shell command ahead of any call, everywhere.

    PHRASE is the words of one plain command, such as `git push`. Options, redirects, assignments,
    variables and several commands are refused: a phrase covers equal words with any options and
    arguments that it does not name.
    """
    del shell
    from netclaw.core.authz.trust import trusted_phrase

    text = phrase[0] if len(phrase) == 1 else shlex.join(phrase)
    facts = facts_of(text, str(app.home.root))
    words = trusted_phrase(facts)
    _require_grantable(facts, str(app.home.root))
    row, is_added = grants.trust(app.home, words, Audience(audience))
    if app.is_json:
        app.emit({"added": is_added, "grant": grant_json(row)})
        return
    verb = "trusted" if is_added else "trusted already:"
    app.say(printable(f"{verb} {row.label} everywhere ({row.audience} {row.tool})"))


def _require_grantable(facts: ShellFacts, home: str) -> None:
    """Refuse a grant that could never count. Raises `InvalidArgumentError`.

    The operator's own deny rules are not asked: they come and go, and grants outlive them.
    """
    from netclaw.core.authz.deny_catalogue import BUILT_IN
    from netclaw.core.authz.deny_rules import denial
    from netclaw.core.authz.facts import Surroundings

    nowhere = Surroundings(cwd="/", user_home="/", shell_home="/", netclaw_home=home)
    rule = denial(facts, BUILT_IN, nowhere)
    if rule is not None:
        raise InvalidArgumentError(
            f"No consent lets that run: {rule.reason}",
            fix=f"See `netclaw authorize -- {shlex.quote(facts.source)}`.",
        )


def facts_of(text: str, home: str) -> ShellFacts:
    """What a typed text is to a shell, in an empty folder: no word is a file there."""
    from netclaw.core.authz.facts import Surroundings
    from netclaw.core.authz.text_gate import refusal_of
    from netclaw.ports.shell_parser import ShellParserError
    from netclaw.sandbox.path_facts import HostPaths
    from netclaw.sandbox.shell_parser import ShfmtParser
    from netclaw.tools.authorization.fact_gathering import gather

    refusal = refusal_of(text)
    if refusal is not None:
        raise InvalidArgumentError(refusal.sentence)
    with tempfile.TemporaryDirectory(prefix="netclaw-") as folder:
        surroundings = Surroundings(
            cwd=folder, user_home=folder, shell_home=folder, netclaw_home=home
        )
        try:
            facts, _ = asyncio.run(gather(text, surroundings, ShfmtParser(), HostPaths()))
        except ShellParserError:
            raise InternalError("The command could not be parsed: shfmt does not run.") from None
    return facts
