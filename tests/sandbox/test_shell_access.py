"""What was consented is what the kernel lets a command do: judged, asked, judged again, run."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from netclaw.core.authz.grants import ChatGrant
from netclaw.core.authz.profiles import ConsentModes
from netclaw.core.authz.safe_catalogue import SafePhrase
from netclaw.core.ids import CallId
from netclaw.core.session.rulings import CallRuling, Outcome
from netclaw.core.settings import SandboxBackendChoice, SandboxNetwork, ShellMode, ToolSettings
from netclaw.core.tool_call import OutcomeCategory, ToolResult
from netclaw.ports.tool import GivenConsent
from netclaw.sandbox.runner import SandboxRunner
from netclaw.tools.authorization import authorizer
from netclaw.tools.authorization.policies import policy_for
from netclaw.tools.factory import make_tool_runner
from tests.sandbox.rig import PROVED, WORKING, visible_folder
from tests.tools import rig as tools_rig
from tests.tools.rig import Rig, Trees

pytestmark = pytest.mark.timeout(60)
ASKING = ConsentModes()


@pytest.fixture(params=WORKING, ids=str)
def choice(request: pytest.FixtureRequest) -> SandboxBackendChoice:
    """Every backend that works here."""
    made: SandboxBackendChoice = request.param
    return made


@pytest.fixture
def rig(short_tmp: Path, choice: SandboxBackendChoice) -> Rig:
    """A Personal session in which every command is asked for."""
    return fresh(Rig(folder=short_tmp.resolve(), modes=ASKING), choice)


def fresh(rig: Rig, choice: SandboxBackendChoice) -> Rig:
    """The session in a process that has judged nothing yet."""
    facts = PROVED[choice]
    rig.runner = make_tool_runner(facts, SandboxRunner(facts), tools_rig.SOURCES)
    return rig


@pytest.fixture
def away() -> Iterator[Path]:
    """A folder that the session has nothing to do with."""
    with visible_folder() as folder:
        yield folder.resolve()


@dataclass(kw_only=True)
class Asked:
    """One command, as far as it got."""

    rig: Rig
    command: str
    round_index: int = 0
    arguments: dict[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """The call as the session names it."""
        written = json.dumps({"command": self.command, **self.arguments})
        self.call = self.rig.proposed("shell_execute", written)
        self.context = replace(self.rig.context(), round_index=self.round_index)

    async def judge(self, option: str | None = None) -> CallRuling:
        """Its ruling; with an option, after a person was asked and chose that."""
        ruling = await self.rig.runner.judge(self.call, self.context)
        if option is None:
            return ruling
        assert ruling.outcome is Outcome.REQUIRES_CONSENT, ruling
        given = GivenConsent(option=option, request=self.rig.request(self.call, ruling))
        return await self.rig.runner.judge(self.call, self.context, given=given)

    async def run(self, option: str | None = "approve_once") -> ToolResult:
        """Its result."""
        ruling = await self.judge(option)
        assert ruling.outcome is Outcome.ALLOWED, ruling
        return await self.rig.runner.run(self.call, self.context)


@pytest.mark.requirement("access.nearest-folder")
async def test_what_was_consented_can_be_written_and_nothing_else(rig: Rig, away: Path) -> None:
    for name in ("named", "beside"):
        (away / name).mkdir()
    (rig.workspace / "write.sh").write_text(f'echo x > "$1"; echo x > {away}/beside/x')
    result = await Asked(rig=rig, command=f"bash write.sh {away}/named/a").run()
    assert (away / "named/a").exists()
    assert not (away / "beside/x").exists()
    assert "Read-only file system" in result.text or "Permission denied" in result.text
    assert f"{away}/named" in result.text.splitlines()[-2]
    assert result.text.endswith("[approval: once]")


@pytest.mark.requirement("access.nearest-folder")
async def test_a_new_path_is_written_below_the_nearest_folder(rig: Rig, away: Path) -> None:
    command = f"mkdir -p {away}/a/b/c"
    result = await Asked(rig=rig, command=command).run()
    assert result.receipt.category is OutcomeCategory.SUCCESS, result.text
    assert (away / "a/b/c").is_dir()


@pytest.mark.requirement("access.reading-opens-nothing")
async def test_a_safe_command_writes_nothing_where_it_looks(rig: Rig, away: Path) -> None:
    (away / "f").write_text("seen")
    result = await Asked(rig=rig, command=f"cat {away}/f").run(None)
    assert result.text.startswith("seen")
    listed = await Asked(rig=rig, command=f"cd {away} && ls").run(None)
    assert listed.text.startswith("f\n")
    (rig.workspace / "look.sh").write_text(f"ls {away}; touch {away}/made")
    await Asked(rig=rig, command="bash look.sh").run()
    assert not (away / "made").exists()


@pytest.mark.requirement("access.network")
@pytest.mark.parametrize(
    ("setting", "option", "is_reached"),
    [
        (SandboxNetwork.GRANTED, "approve_once", True),
        (SandboxNetwork.GRANTED, "approve_session", True),
        (SandboxNetwork.GRANTED, None, False),
        (SandboxNetwork.NEVER, "approve_once", False),
        (SandboxNetwork.ALWAYS, None, True),
    ],
)
async def test_the_network_follows_the_consent(
    rig: Rig,
    setting: SandboxNetwork,
    option: str | None,
    is_reached: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without an option the command is a reviewed-safe one here, which nobody is asked for."""
    server = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    (rig.workspace / "connect.sh").write_text(f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo reached")
    rig.settings = ToolSettings(sandbox_network=setting)
    if option is None:
        safe = (SafePhrase(words=("bash", "connect.sh")),)
        monkeypatch.setattr(
            authorizer, "policy_for", lambda *given: replace(policy_for(*given), safe=safe)
        )
    async with server:
        result = await Asked(rig=rig, command="bash connect.sh").run(option)
    assert ("reached" in result.text) is is_reached, result.text


@pytest.mark.requirement("access.boundary-is-named")
async def test_a_denied_write_and_a_missing_network_are_named(rig: Rig) -> None:
    rig.modes, rig.project = tools_rig.SHELL_AUTO, ""
    rig.settings = ToolSettings(sandbox_network=SandboxNetwork.NEVER)
    denied = await rig.call("shell_execute", command="echo /opt/x | xargs touch")
    sentence = denied.text.splitlines()[-1]
    assert "In its sandbox it could write only below" in sentence
    assert str(rig.workspace) in sentence
    assert sentence.endswith("the network was off.")
    resolver = 'import socket; socket.getaddrinfo("example.invalid", 80)'
    offline = await rig.call("shell_execute", command=f"python3 -c '{resolver}'")
    assert offline.text.splitlines()[-1].endswith("the network was off.")
    guessed = await rig.call("shell_execute", command="echo something else; exit 1")
    assert "sandbox" not in guessed.text
    fine = await rig.call("shell_execute", command="echo permission denied")
    assert "sandbox" not in fine.text


class Meanwhile(Trees):
    """Something happens between the announcement of a tree and its gate."""

    def __init__(self, act: Callable[[], Awaitable[None]]) -> None:
        super().__init__()
        self._act = act

    async def opened(self, call_id: CallId, pid: int, start_ticks: int) -> None:
        """See `Trees`."""
        await super().opened(call_id, pid, start_ticks)
        await self._act()


@pytest.mark.requirement("access.at-the-gate")
async def test_a_revoked_grant_stops_a_command_at_its_gate(rig: Rig) -> None:
    async def revoke() -> None:
        rig.consents.revoke_all()

    rig.trees = Meanwhile(revoke)
    result = await Asked(rig=rig, command="touch made").run("approve_session")
    assert result.receipt.category is OutcomeCategory.ACCESS_DENIED
    assert not (rig.workspace / "made").exists()
    assert [what for what, _ in rig.trees.told] == ["opened", "closed"]


@pytest.mark.requirement("access.at-the-gate")
async def test_a_swapped_link_stops_a_command_at_its_gate(rig: Rig, away: Path) -> None:
    for name in ("one", "two"):
        (away / name).mkdir()
    (away / "link").symlink_to("one")

    async def swap() -> None:
        (away / "link").unlink()
        (away / "link").symlink_to("two")

    rig.trees = Meanwhile(swap)
    result = await Asked(rig=rig, command=f"touch {away}/link/x").run()
    assert result.receipt.category is OutcomeCategory.ACCESS_DENIED
    assert "led elsewhere" in result.text
    assert not (away / "one/x").exists()
    assert not (away / "two/x").exists()


@pytest.mark.requirement("access.at-the-gate")
async def test_a_call_that_would_be_given_less_does_not_run(rig: Rig) -> None:
    """It is still allowed, by a safe phrase; the network it was given came of a grant."""

    async def revoke() -> None:
        rig.consents.revoke_all()

    grant = ChatGrant(audience=rig.audience, tool="shell_execute", words=("git", "status"))
    rig.consents.chat.add(grant)
    rig.trees = Meanwhile(revoke)
    result = await Asked(rig=rig, command="git status").run(None)
    assert result.receipt.category is OutcomeCategory.ACCESS_DENIED
    rig.trees = Trees()
    alone = await Asked(rig=rig, command="git status").run(None)
    assert "not a git repository" in alone.text


@pytest.mark.requirement("access.modes")
async def test_unproved_syntax_under_auto_runs_inside_and_asks_outside(rig: Rig) -> None:
    rig.modes = tools_rig.SHELL_AUTO
    unproved = 'eval "echo $((6 * 7))"'
    inside = await Asked(rig=rig, command=unproved).run(None)
    assert inside.text.startswith("42\n")
    rig.settings = ToolSettings(shell_mode=ShellMode.HOST_ALLOWED)
    asked = await Asked(rig=rig, command=unproved).judge()
    assert asked.outcome is Outcome.REQUIRES_CONSENT
    assert [option.key for option in asked.options] == ["approve_once", "deny"]
    rig.settings = ToolSettings(shell_mode=ShellMode.OFF)
    off = await rig.call("shell_execute", command="true")
    assert off.receipt.category in {OutcomeCategory.INVALID_INPUT, OutcomeCategory.ACCESS_DENIED}
    assert rig.trees.told == [("opened", inside.call_id), ("closed", inside.call_id)]


@pytest.mark.requirement("access.modes")
@pytest.mark.parametrize("mode", [ShellMode.SANDBOX_ONLY, ShellMode.HOST_ALLOWED])
async def test_outside_the_sandbox_nothing_is_held_and_nothing_named(
    rig: Rig, away: Path, mode: ShellMode
) -> None:
    rig.modes, rig.settings = tools_rig.SHELL_AUTO, ToolSettings(shell_mode=mode)
    result = await rig.call("shell_execute", command=f"echo {away}/made | xargs touch; exit 1")
    is_free = mode is ShellMode.HOST_ALLOWED
    assert (away / "made").exists() is is_free
    assert ("In its sandbox" in result.text) is not is_free


@pytest.mark.requirement("access.environment")
@pytest.mark.parametrize("mode", [ShellMode.SANDBOX_ONLY, ShellMode.HOST_ALLOWED])
async def test_no_start_up_hook_of_the_daemon_reaches_a_command(
    rig: Rig, mode: ShellMode, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook = rig.folder / "hook.sh"
    hook.write_text("echo HOOKED\n")
    hooks = {
        **{name: str(hook) for name in ("BASH_ENV", "ENV", "PROMPT_COMMAND", "LD_PRELOAD")},
        **{name: str(rig.folder) for name in ("LD_LIBRARY_PATH", "LD_AUDIT", "PYTHONPATH")},
        **dict.fromkeys(("DYLD_INSERT_LIBRARIES", "SHELLOPTS", "NETCLAW_TOKEN"), "1"),
        "BASH_FUNC_ls%%": "() { echo HOOKED; }",
    }
    for name, value in hooks.items():
        monkeypatch.setenv(name, value)
    rig.modes, rig.settings = tools_rig.SHELL_AUTO, ToolSettings(shell_mode=mode)
    result = await rig.call("shell_execute", command="env; ls; cat; echo end")
    assert "HOOKED" not in result.text
    names = {line.partition("=")[0] for line in result.text.splitlines() if "=" in line}
    assert names <= {
        *("HOME", "TMPDIR", "TMP", "TEMP", "PATH", "TERM", "SHELL", "LANG", "LANGUAGE", "TZ"),
        *("USER", "LOGNAME", "PWD", "SHLVL", "OLDPWD", "_", *(n for n in names if n[:3] == "LC_")),
    }
    assert "end\n" in result.text


@pytest.mark.requirement("access.temporary-retry")
async def test_a_shared_temporary_folder_is_advised_against_once(rig: Rig) -> None:
    command = "cp a.txt /tmp/b.txt"
    (rig.workspace / "a.txt").write_text("x")
    first = await Asked(rig=rig, command=command).judge()
    assert first.outcome is Outcome.REQUIRES_CORRECTION
    assert first.remediation == "UseManagedTemporaryDirectory"
    same_round = await Asked(rig=rig, command=command).judge()
    assert same_round.outcome is Outcome.REQUIRES_CORRECTION
    other = await Asked(rig=rig, command="cp a.txt /tmp/c.txt", round_index=1).judge()
    assert other.outcome is Outcome.REQUIRES_CORRECTION
    retry = Asked(rig=rig, command=command, round_index=1)
    asked = await retry.judge()
    assert [option.key for option in asked.options] == ["approve_once", "deny"]
    again = await Asked(rig=rig, command=command, round_index=1).judge()
    assert again.outcome is Outcome.REQUIRES_CORRECTION  # the one key was taken
    result = await retry.run()
    assert "nothing written there remains" in result.text
    assert not Path("/tmp/b.txt").exists()


@pytest.mark.requirement("access.temporary-retry")
async def test_a_consent_to_a_repetition_outlives_the_process_that_advised(
    rig: Rig, choice: SandboxBackendChoice
) -> None:
    command = "touch /tmp/x-y-z"
    await Asked(rig=rig, command=command).judge()
    retry = Asked(rig=rig, command=command, round_index=1)
    asked = await retry.judge()
    fresh(rig, choice)
    given = GivenConsent(option="approve_once", request=rig.request(retry.call, asked))
    ruling = await rig.runner.judge(retry.call, retry.context, given=given)
    assert ruling.outcome is Outcome.ALLOWED
    elsewhere = await Asked(rig=rig, command=command, round_index=2).judge()
    assert elsewhere.outcome is Outcome.REQUIRES_CORRECTION
