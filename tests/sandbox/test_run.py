"""What is executed is what was judged: argv, environment, descriptors, working directory."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from netclaw.core.settings import SandboxBackendChoice
from netclaw.ports.shell_runner import ShellEnd, ShellLimits
from netclaw.sandbox.environment import build_environment, sane_path
from netclaw.sandbox.runner import SandboxRunner
from tests.sandbox.rig import PROVED, Rig, acknowledge


@pytest.mark.requirement("sandbox.environment")
async def test_the_environment_is_an_allow_list(
    any_rig: Rig, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    trap = tmp_path / "trap"
    trap.write_text("echo trapped\n")
    hostile = {
        "BASH_ENV": str(trap),
        "ENV": str(trap),
        "BASH_FUNC_ls%%": "() { echo trapped; }",
        "LD_PRELOAD": "/nowhere.so",
        "LD_LIBRARY_PATH": "/nowhere",
        "NETCLAW_TOKEN": "token-value",
        "OPENAI_API_KEY": "token-value",
        "SSH_AUTH_SOCK": "/run/agent",
        "PYTHONPATH": "/nowhere",
        "PS4": "$(echo trapped)",
        "SHELLOPTS": "xtrace",
        "LC_ALL": "C.UTF-8\nBAD=1",
        "PATH": f"relative:/tmp/evil:{os.environ['PATH']}",
    }
    for name, value in hostile.items():
        monkeypatch.setenv(name, value)
    ran = await any_rig.bash("ls; env")
    assert "trapped" not in ran.output
    assert "token-value" not in ran.output
    names = {line.partition("=")[0] for line in ran.output.splitlines() if "=" in line}
    allowed = {"HOME", "TMPDIR", "PATH", "LANG", "TERM", "SHELL", "PWD", "SHLVL", "_"}
    assert names <= allowed | {"TZ", "USER", "LOGNAME", "LANGUAGE", "LC_CTYPE", "OLDPWD"}
    path = next(line for line in ran.output.splitlines() if line.startswith("PATH="))
    assert "evil" not in path
    assert "relative" not in path


@pytest.mark.requirement("sandbox.environment")
def test_a_caller_can_set_only_what_is_harmless() -> None:
    wanted = {
        "HOME": "/h",
        "LD_PRELOAD": "x",
        "BASH_ENV": "x",
        "TMP": "a\nb",
        "PATH": "/tmp/x:/bin",
    }
    made = build_environment(wanted, {"LANG": "nl_NL.UTF-8", "USER": "x" * 500})
    assert made["HOME"] == "/h"
    assert made["LANG"] == "nl_NL.UTF-8"
    assert set(made) == {"HOME", "LANG", "PATH", "TERM", "SHELL"}
    assert made["PATH"].startswith("/bin")


@pytest.mark.requirement("sandbox.environment")
@given(st.text(alphabet="/:.abc~\n\0 ", max_size=60))
def test_a_search_path_is_absolute_whatever_it_was(value: str) -> None:
    folders = sane_path(value).split(":")
    assert folders
    assert all(folder.startswith("/") and ".." not in folder for folder in folders)
    assert not any(folder.startswith(("/tmp/", "/dev/shm/")) for folder in folders)


ODD = st.text(
    alphabet=st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40
)


@pytest.mark.requirement("sandbox.exec-what-was-judged")
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=st.lists(ODD, max_size=4))
async def test_arguments_arrive_byte_for_byte(
    words: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    rig = Rig(
        facts=PROVED[SandboxBackendChoice.AUTO], folder=tmp_path_factory.mktemp("rig").resolve()
    )
    ran = await rig.bash('printf "%s\\0" "$@"', *words)
    assert ran.output.split("\0")[:-1] == (words or [""])


@pytest.mark.requirement("sandbox.exec-what-was-judged")
async def test_no_descriptor_of_ours_reaches_the_command(any_rig: Rig) -> None:
    ran = await any_rig.bash("exec ls -l /proc/self/fd")
    pairs = [line.split()[-3::2] for line in ran.output.splitlines() if "->" in line]
    targets = dict(pairs)
    assert set(targets) == {"0", "1", "2", "3"}
    assert targets["0"] == "/dev/null"
    assert targets["1"] == targets["2"]
    assert targets["3"].startswith("/proc/")  # the folder that ls itself has open


@pytest.mark.requirement("sandbox.exec-what-was-judged")
async def test_the_working_directory_and_status_are_real(any_rig: Rig) -> None:
    ran = await any_rig.bash("pwd; exit 7")
    assert (ran.output, ran.outcome.exit_code) == (f"{any_rig.workspace}\n", 7)
    assert ran.outcome.end is ShellEnd.EXITED
    killed = await any_rig.bash("kill -SEGV $$")
    assert killed.outcome.exit_code in {139, -11}
    assert killed.outcome.is_tree_gone


@pytest.mark.requirement("sandbox.exec-what-was-judged")
async def test_what_cannot_be_executed_is_a_plain_outcome(any_rig: Rig) -> None:
    missing = await any_rig.run(replace(any_rig.request(""), argv=("/nowhere/program",)))
    assert missing.outcome.exit_code in {126, 127}
    for argv in ((), ("a\0b",), ("/bin/echo", "x" * 200_000)):
        refused = await any_rig.run(replace(any_rig.request(""), argv=argv))
        assert refused.outcome.end is ShellEnd.FAILED_TO_START
        assert refused.outcome.detail.endswith(".")


@pytest.mark.requirement("sandbox.held-until-acknowledged")
async def test_nothing_runs_before_the_acknowledgement(any_rig: Rig) -> None:
    seen: list[tuple[int, int]] = []
    proof = any_rig.workspace / "ran"

    async def on_started(pid: int, ticks: int) -> None:
        seen.append((pid, ticks))
        stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        assert int(stat[19]) == ticks
        assert not proof.exists()

    ran = await any_rig.bash("touch ran; echo done", on_started=on_started)
    assert (ran.output, len(seen)) == ("done\n", 1)
    assert proof.exists()


@pytest.mark.requirement("sandbox.held-until-acknowledged")
async def test_a_refused_acknowledgement_runs_nothing(any_rig: Rig) -> None:
    async def on_started(_pid: int, _ticks: int) -> None:
        raise ConnectionError("the supervisor is gone")

    with pytest.raises(ConnectionError):
        await any_rig.bash("touch ran", on_started=on_started)
    assert not (any_rig.workspace / "ran").exists()
    assert any_rig.left() == []


@pytest.mark.requirement("sandbox.tree-kill")
async def test_a_sink_that_fails_ends_the_command(any_rig: Rig) -> None:
    def sink(_piece: bytes) -> None:
        raise OSError("no room")

    request = any_rig.request("while :; do echo x; done", bounds=ShellLimits())
    with pytest.raises(OSError, match="no room"):
        await SandboxRunner(any_rig.facts).run(request, on_started=acknowledge, sink=sink)
    assert any_rig.left() == []


@pytest.mark.requirement("sandbox.proved")
async def test_without_a_backend_a_confined_command_is_refused(short_tmp: Path) -> None:
    none = replace(PROVED[SandboxBackendChoice.AUTO], backend=None, program="")
    ran = await Rig(facts=none, folder=short_tmp.resolve()).bash("echo ran")
    assert ran.outcome.end is ShellEnd.FAILED_TO_START
    assert ran.output == ""
