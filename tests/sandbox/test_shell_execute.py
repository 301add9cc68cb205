"""`shell_execute` through the dispatcher and the real sandbox, as a session process runs it."""

from __future__ import annotations

import asyncio
import os
import secrets
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from netclaw.core.settings import SandboxBackendChoice, ShellMode, ToolSettings
from netclaw.core.tool_call import OutcomeCategory
from netclaw.ports.shell_runner import OutputSink, ShellOutcome, ShellRequest
from netclaw.sandbox.runner import OnStarted, SandboxRunner
from netclaw.tools.factory import make_tool_runner
from tests.sandbox.rig import PROVED, marked, until, visible_folder
from tests.tools.rig import SECRET, SOURCES, Rig

FACTS = PROVED[SandboxBackendChoice.AUTO]
pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def rig(short_tmp: Path) -> Rig:
    """A Personal session whose commands really run."""
    made = Rig(folder=short_tmp.resolve())
    made.runner = make_tool_runner(FACTS, SandboxRunner(FACTS), SOURCES)
    return made


def last_line(text: str) -> str:
    """The sentence about how it ended."""
    return text.splitlines()[-1]


@pytest.mark.requirement("tools.shell")
async def test_output_and_status_come_back(rig: Rig) -> None:
    result = await rig.call("shell_execute", command="echo out; echo err >&2; pwd")
    assert result.text == f"out\nerr\n{rig.workspace}\nThe command ended with exit status 0."
    assert result.receipt.category is OutcomeCategory.SUCCESS
    assert result.receipt.file_activity == ()
    failed = await rig.call("shell_execute", command="exit 3")
    assert failed.text == "The command ended with exit status 3. It printed nothing."
    assert failed.receipt.category is OutcomeCategory.FAILURE
    killed = await rig.call("shell_execute", command="kill -9 $$")
    assert "signal 9" in killed.text


@pytest.mark.requirement("tools.shell")
async def test_equal_outcomes_read_equal(rig: Rig) -> None:
    first = await rig.call("shell_execute", command="echo same; exit 1")
    second = await rig.call("shell_execute", command="echo same; sleep 0.1; exit 1")
    assert first.text == second.text


@pytest.mark.requirement("tools.tree-announced")
async def test_the_tree_is_announced_and_closed_once(rig: Rig) -> None:
    result = await rig.call("shell_execute", command="true")
    assert rig.trees.told == [("opened", result.call_id), ("closed", result.call_id)]
    refused = await rig.call("shell_execute", command="a\rb")
    assert refused.receipt.category is OutcomeCategory.INVALID_INPUT
    assert len(rig.trees.told) == 2


@pytest.mark.requirement("tools.tree-announced")
async def test_a_tree_that_would_not_end_stays_open(rig: Rig) -> None:
    class Stuck(SandboxRunner):
        async def run(
            self, request: ShellRequest, *, on_started: OnStarted, sink: OutputSink
        ) -> ShellOutcome:
            outcome = await super().run(request, on_started=on_started, sink=sink)
            return replace(outcome, is_tree_gone=False)

    rig.runner = make_tool_runner(FACTS, Stuck(FACTS), SOURCES)
    result = await rig.call("shell_execute", command="true")
    assert rig.trees.told == [("opened", result.call_id)]


@pytest.mark.requirement("tools.tree-announced")
async def test_cancelling_kills_closes_and_passes_on(rig: Rig) -> None:
    marker = f"marker-{secrets.token_hex(8)}"
    command = f"exec -a {marker} sleep 60"
    task = asyncio.ensure_future(rig.call("shell_execute", command=command))
    await until(lambda: bool(marked(marker)) and bool(rig.trees.told))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert marked(marker) == []
    assert [what for what, _ in rig.trees.told] == ["opened", "closed"]


@pytest.mark.requirement("tools.shell")
@pytest.mark.parametrize(
    ("command", "word"),
    [
        ("echo a\0b", "U+0000"),
        ("echo a\rrm -rf x", "U+000D"),
        ("echo \x1b[2J", "U+001B"),
        ("echo \x7f", "U+007F"),
        ("echo \x85", "U+0085"),
        ("", "empty"),
        (" \n\t", "empty"),
        ("echo " + "x" * 100_001, "too long"),
    ],
)
async def test_what_cannot_be_judged_is_refused_unrun(rig: Rig, command: str, word: str) -> None:
    result = await rig.call("shell_execute", command=command)
    assert word in result.text
    assert result.receipt.category in {
        OutcomeCategory.INVALID_INPUT,
        OutcomeCategory.RECOVERABLE_CORRECTION,
    }
    assert rig.trees.told == []


@pytest.mark.requirement("tools.shell")
async def test_the_judged_bytes_are_what_runs(rig: Rig) -> None:
    script = "cat <<'EOF'\n\ttab, ünïcode, \"quotes\" $(not run) `nor this`\nEOF"
    result = await rig.call("shell_execute", command=script)
    assert result.text.startswith('\ttab, ünïcode, "quotes" $(not run) `nor this`\n')


@pytest.mark.requirement("tools.shell")
async def test_a_job_is_begun_only_where_a_session_keeps_it(rig: Rig) -> None:
    result = await rig.call("shell_execute", command="sleep 60", background=True)
    assert result.receipt.category is OutcomeCategory.FAILURE
    assert result.text.startswith("No job was started")


@pytest.mark.requirement("tools.shell")
async def test_times_are_bounded_and_named(rig: Rig) -> None:
    total = await rig.call("shell_execute", command="echo a; sleep 60", timeout_seconds=2)
    assert total.text == "a\nThe command was ended after its 2 seconds."
    assert total.receipt.category is OutcomeCategory.TIMEOUT
    rig.settings = ToolSettings(max_tool_timeout_s=1)
    clamped = await rig.call("shell_execute", command="sleep 60", timeout_seconds=500)
    assert clamped.text == "The command was ended after its 1 seconds."
    rig.settings, rig.silence_s = ToolSettings(), 1.5
    silent = await rig.call("shell_execute", command="echo a; sleep 60")
    assert silent.text == "a\nThe command was ended: it gave nothing for 1.5 seconds."
    chatty = await rig.call(
        "shell_execute", command="for i in 1 2 3 4 5; do echo $i; sleep 0.4; done"
    )
    assert chatty.receipt.category is OutcomeCategory.SUCCESS
    assert rig.items >= 4


@pytest.mark.requirement("tools.spill")
async def test_much_output_is_kept_within_the_ceiling(rig: Rig) -> None:
    rig.settings = ToolSettings(capture_ceiling_bytes=200_000)
    result = await rig.call(
        "shell_execute", command="seq 1 1000000; echo last words", timeout_seconds=30
    )
    assert len(result.text) <= 12_000
    assert last_line(result.text) == "The command ended with exit status 0."
    assert "last words" in result.text
    assert result.spill is not None
    assert not result.spill.is_complete
    stored = Path(f"{rig.storage.spills}/{result.call_id}.txt").read_text()
    assert "bytes of output were not kept here" in stored
    assert stored.startswith("1\n2\n3\n")
    assert len(stored) < 300_000
    window = await rig.call("tool_output_read", call_id=result.call_id, start=100_000, limit=500)
    assert stored[100_000:100_100] in window.text


@pytest.mark.requirement("tools.redact-then-bound")
async def test_output_is_redacted_in_sight_and_in_store(rig: Rig) -> None:
    command = f"seq 1 3000; echo {SECRET[:7]}{SECRET[7:]}; seq 1 3000"
    result = await rig.call("shell_execute", command=command)
    stored = Path(f"{rig.storage.spills}/{result.call_id}.txt").read_text()
    assert "***" in stored
    assert SECRET not in stored + result.text


@pytest.mark.requirement("tools.shell")
async def test_the_working_directory_is_the_project_else_the_session(rig: Rig) -> None:
    with visible_folder() as project:
        (project / "sub").mkdir()
        rig.project = str(project)
        here = await rig.call("shell_execute", command="pwd; echo x > made")
        assert here.text.startswith(f"{project}\n")
        assert (project / "made").read_text() == "x\n"
        sub = await rig.call("shell_execute", command="pwd", working_directory="sub")
        assert sub.text.startswith(f"{project}/sub\n")
        away = await rig.call("shell_execute", command="pwd", working_directory="/etc")
        assert away.text.startswith("/etc\n")  # the operator's profile reaches everywhere
        for wrong in ("..", str(rig.home), "none"):
            result = await rig.call("shell_execute", command="pwd", working_directory=wrong)
            assert result.receipt.category in {
                OutcomeCategory.ACCESS_DENIED,
                OutcomeCategory.NOT_FOUND,
            }
    gone = await rig.call("shell_execute", command="pwd")
    assert gone.text.startswith(f"{rig.workspace}\n")


@pytest.mark.requirement("tools.shell")
async def test_the_session_folders_are_writable_and_the_rest_is_not(rig: Rig) -> None:
    command = (
        'for d in "$TMPDIR" ../artifacts ../worktrees .; do echo x > "$d/f" && echo wrote; done;'
        " ls -A ..; echo x > ../f; echo $HOME $TMP $TEMP"
    )
    result = await rig.call("shell_execute", command=command)
    assert result.text.count("wrote") == 4
    assert "tool-calls" not in result.text
    assert (Path(rig.storage.artifacts) / "f").exists()
    assert not (Path(rig.storage.root) / "f").exists()
    assert f"{rig.storage.tmp} {rig.storage.tmp} {rig.storage.tmp}" in result.text


@pytest.mark.requirement("tools.protected")
async def test_protected_files_are_out_of_reach(rig: Rig) -> None:
    command = f"cat {rig.secret_file} {rig.home}/netclaw.db {rig.home}/*/*; ls -A {rig.home}"
    result = await rig.call("shell_execute", command=command)
    assert "of the host" not in result.text
    assert "config" not in result.text.replace(str(rig.secret_file), "").replace("/config/", "")


@pytest.mark.requirement("tools.worktree")
async def test_git_works_in_a_linked_worktree(rig: Rig) -> None:
    def git(folder: Path, *arguments: str) -> None:
        subprocess.run(
            ["git", "-c", "user.name=t", "-c", "user.email=t@example.invalid", *arguments],
            cwd=folder, check=True, capture_output=True,
        )  # fmt: skip

    with visible_folder() as folder:
        (folder / "main").mkdir()
        git(folder / "main", "init", "-q")
        git(folder / "main", "commit", "-q", "--allow-empty", "-m", "start")
        git(folder / "main", "worktree", "add", "-q", str(folder / "linked"))
        rig.project = str(folder / "linked")
        identity = "git -c user.name=t -c user.email=t@example.invalid"
        result = await rig.call(
            "shell_execute",
            command=f"echo x > f && git add f && {identity} commit -q -m two && git log --oneline;"
            "echo ../main/planted | xargs touch",
        )
        assert " two" in result.text
        assert not (folder / "main/planted").exists()


@pytest.mark.requirement("tools.shell")
async def test_host_allowed_runs_unconfined_and_still_ends_its_tree(rig: Rig) -> None:
    rig.settings = ToolSettings(shell_mode=ShellMode.HOST_ALLOWED)
    marker = f"marker-{secrets.token_hex(8)}"
    script = f'cat ../../../config/*; pwd; (setsid bash -c "exec -a {marker} sleep 60" &)'
    (rig.workspace / "script.sh").write_text(script)
    result = await rig.call("shell_execute", command="bash script.sh")
    assert "*** of the host" in result.text
    assert str(rig.workspace) in result.text
    assert marked(marker) == []
    assert [what for what, _ in rig.trees.told] == ["opened", "closed"]


@pytest.mark.requirement("tools.shell")
async def test_a_memory_limit_is_named(rig: Rig) -> None:
    rig.settings = ToolSettings(memory_mib=96)
    result = await rig.call("shell_execute", command="tail /dev/zero", timeout_seconds=20)
    assert last_line(result.text).endswith("it used more than 96 MiB of memory.")
    assert result.receipt.category is OutcomeCategory.FAILURE


@pytest.mark.requirement("tools.shell")
async def test_a_view_that_cannot_be_held_is_a_plain_failure(rig: Rig) -> None:
    Path(rig.storage.artifacts).mkdir()
    os.rmdir(rig.storage.artifacts)
    os.symlink(rig.home / "config", rig.storage.artifacts)
    result = await rig.call("shell_execute", command="ls -A")
    assert result.receipt.category is OutcomeCategory.FAILURE
    assert "of the host" not in result.text
    assert result.text.endswith("It was not run.")
