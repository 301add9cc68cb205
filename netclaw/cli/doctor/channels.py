"""Checks the enabled channels: whether anybody is served, and whether the platform knows us now."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netclaw.cli.doctor.findings import Finding, failed, passed, warned

if TYPE_CHECKING:
    from netclaw.adapters.channel_config import ChannelConfig
    from netclaw.config.loaded import LoadedConfig
    from netclaw.wire.v1.admin_pb2 import StatusResponse

NAME = "channel"
PATIENCE_S = 45.0
"""More than a check allows itself."""
BUILT_IN = {"slack": "Slack", "discord": "Discord", "mattermost": "Mattermost"}
ID_SHAPES = {
    "slack": re.compile(r"[A-Z][A-Z0-9]+"),
    "discord": re.compile(r"[0-9]+"),
    "mattermost": re.compile(r"[a-z0-9]{26}"),
}
"""How the built-in platforms write ids; a name never looks like one."""
EXAMPLES = {
    "slack": "C0123456789 or U0123456789",
    "discord": "123456789012345678",
    "mattermost": "4xp9fdt77pncbef59f4k1qe83o",
}
AGAIN = "It is tried again by itself; look at what it names, or at the network, if it stays."
SILENT = "The check did not answer."


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the platform said."""

    is_fatal: bool = False
    sentence: str = ""
    """What is wrong; empty if nothing is."""
    fix: str = ""
    """What mends it, where the check knows better than this one."""
    account: str = ""
    scope: str = ""


def check_channels(loaded: LoadedConfig, status: StatusResponse | None = None) -> Iterator[Finding]:
    """How every enabled channel stands; all of them are asked at the same time.

    `status` is what a running daemon says: its own connection may fail of what no check tries.
    """
    if not any(_may_be_enabled(loaded)):
        return
    from netclaw.adapters.configured import enabled_channels

    asking = [(config, _ask(config)) for config in enabled_channels(loaded.model).values()]
    for config, process in asking:
        answer = _answer(process)
        yield _finding(config, answer)
        if not answer.sentence:
            yield from _of_daemon(config, status)
        if not _serves_anybody(config):
            yield warned(
                NAME,
                f"{config.name} serves nobody: no channel is allowed, and no direct message.",
                f"Run `netclaw config set {_section(config)}.DefaultChannelId ID`.",
            )
        yield from _names(config)


def _of_daemon(config: ChannelConfig, status: StatusResponse | None) -> Iterator[Finding]:
    """What keeps the daemon from a platform that knows us."""
    for row in status.adapters if status is not None else ():
        if row.channel != config.name or row.state == "ready" or not row.last_failure:
            continue
        message = f"{config.name}: the daemon's adapter is {row.state}: {row.last_failure}"
        if row.state == "failed":
            yield failed(NAME, message, "If that is mended, run `netclaw daemon restart`.")
        else:
            yield warned(NAME, message, AGAIN)


def _may_be_enabled(loaded: LoadedConfig) -> Iterator[bool]:
    """A look that loads nothing, for the many who have no channel."""
    model = loaded.model
    yield from (model.slack.enabled, model.discord.enabled, model.mattermost.enabled)
    yield from (other.enabled for other in model.channels.values())


def _serves_anybody(config: ChannelConfig) -> bool:
    return bool(
        config.allowed_channel_ids or config.default_channel_id or config.allow_direct_messages
    )


def _names(config: ChannelConfig) -> Iterator[Finding]:
    """What stands where an id belongs and is none: it matches nobody, silently."""
    shape = ID_SHAPES.get(config.name)
    if shape is None:
        return
    places = config.allowed_channel_ids | {config.default_channel_id} - {""}
    for key, given in (
        ("AllowedChannelIds", places),
        ("AllowedUserIds", config.allowed_user_ids),
        ("ChannelAudiences", config.channel_audiences.keys() - {"dm"}),
    ):
        wrong = sorted(each for each in given if shape.fullmatch(each) is None)
        if wrong:
            key = "DefaultChannelId" if wrong == [config.default_channel_id] else key
            yield warned(
                NAME,
                f"{config.name}: no id, so nobody is meant by it: {', '.join(wrong)}"
                f" ({_section(config)}.{key}).",
                f"Write the id instead of a name, like {EXAMPLES[config.name]}.",
            )


def _section(config: ChannelConfig) -> str:
    return BUILT_IN.get(config.name, f"Channels.{config.name}")


def _ask(config: ChannelConfig) -> subprocess.Popen[bytes]:
    """Start the check in a process of its own: it loads the platform's library."""
    from netclaw.adapters.setup import to_setup

    process = subprocess.Popen(
        [sys.executable, "-I", "-m", "netclaw.adapters", config.name, "--check"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None  # noqa: S101 - asked for above
    try:
        process.stdin.write(to_setup(config).SerializeToString())
        process.stdin.close()
    except BrokenPipeError:
        pass  # it ended at once; its status tells
    process.stdin = None
    return process


def _answer(process: subprocess.Popen[bytes]) -> Answer:
    from netclaw.adapters.exits import AdapterExit

    try:
        said, _ = process.communicate(timeout=PATIENCE_S)
        found = json.loads(said)
    except (subprocess.TimeoutExpired, ValueError):
        process.kill()
        process.wait()
        return Answer(sentence=SILENT)
    return Answer(
        is_fatal=process.returncode == AdapterExit.FATAL,
        sentence=str(found.get("sentence", "")),
        fix=str(found.get("fix", "")),
        account=str(found.get("account", "")),
        scope=str(found.get("scope", "")),
    )


def _finding(config: ChannelConfig, answer: Answer) -> Finding:
    if not answer.sentence:
        scope = f" of {answer.scope}" if answer.scope else ""
        return passed(NAME, f"{config.name}: connected as {answer.account}{scope}.")
    message = f"{config.name}: {answer.sentence}"
    if answer.is_fatal:
        return failed(
            NAME,
            message,
            answer.fix
            or "Mend what it names: a token with `netclaw secrets set"
            f" {_section(config)}.BotToken`; after a change at the platform run"
            " `netclaw daemon restart`.",
        )
    return warned(NAME, message, AGAIN)
