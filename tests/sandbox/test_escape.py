"""Attempts to see and change what a command must not: every one of them has to fail."""

from __future__ import annotations

import asyncio
import os
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from netclaw.core.settings import SandboxBackendChoice
from netclaw.ports.shell_runner import ShellEnd, ShellLimits
from netclaw.sandbox.view import Mount, host_places, plan_view
from tests.sandbox.rig import PROVED, SECRET, WITH_VIEW, Rig, visible_folder

pytestmark = pytest.mark.escape

READS = {
    "plain": 'cat "$1"',
    "redirect": 'read -r x < "$1"; echo "$x"',
    "dots": 'cat "$(dirname "$1")/../config/./secrets.json"',
    "slashes": 'cat "/$(echo "$1" | sed s,/,///,g)"',
    "proc-root": 'cat "/proc/self/root$1" "/proc/1/root$1" "/proc/$PPID/root$1"',
    "proc-cwd": "cd /proc/self/cwd/../../../config && cat secrets.json",
    "proc-fd": 'for fd in /proc/*/fd/*; do cat "$fd/config/secrets.json"; done',
    "link": 'ln -s "$1" here && cat here',
    "link-to-folder": 'ln -s "$(dirname "$1")" there && cat there/secrets.json',
    "hard-link": 'ln "$1" here && cat here',
    "glob": 'cat "$(dirname "$(dirname "$1")")"/*/s*.json "$(dirname "$(dirname "$1")")"/*.db',
    "copy": 'cp -r "$(dirname "$1")" copy && cat copy/*',
    "archive": 'tar -cf - "$(dirname "$1")"',
    "find": 'find "$1" "$1/../../.." /tmp / -maxdepth 3 -xdev -name "*.json" -exec cat {} +',
    "bind-mount": 'mkdir m; mount --bind "$(dirname "$1")" m; cat m/*',
    "unmount": 'umount "$(dirname "$(dirname "$1")")"; umount -l /tmp; cat "$1"',
    "unshare": 'unshare -Ur -m sh -c "umount -l /tmp; cat $1"',
    "nsenter": 'nsenter -t 1 -m cat "$1"; nsenter -t $PPID -a cat "$1"',
    "chroot": 'chroot /proc/1/root cat "$1"; chroot / cat "$1"',
    "rename": 'mv "$(dirname "$1")" stolen; cat stolen/*',
    "exchange": 'mkdir x; mv -T x "$(dirname "$1")"; cat x/*',
}


def _attempts(scripts: dict[str, str]) -> str:
    """One script that makes every attempt in a folder and shell of its own."""
    parts = (
        f"mkdir -p t-{name}; (cd t-{name}; {script}) 2>&1 | head -c 20000; echo; echo tried {name}"
        for name, script in scripts.items()
    )
    return "\n".join(parts)


@pytest.mark.timeout(60)
@pytest.mark.requirement("sandbox.home-hidden")
async def test_no_spelling_reads_a_protected_file(rig: Rig) -> None:
    ran = await rig.bash(_attempts(READS), str(rig.secret_file), bounds=ShellLimits(total_s=50))
    assert ran.outcome.end is ShellEnd.EXITED
    assert ran.output.count("tried ") == len(READS)
    assert SECRET not in ran.output
    assert rig.secret_file.read_text() == SECRET


@pytest.mark.requirement("sandbox.home-hidden")
async def test_a_home_outside_the_temporary_places_is_hidden_too(rig: Rig) -> None:
    with visible_folder() as folder:
        elsewhere = replace(rig, folder=folder)
        for name in ("plain", "dots", "proc-cwd", "find", "link-to-folder"):
            ran = await elsewhere.bash(READS[name], str(elsewhere.secret_file))
            assert SECRET not in ran.output
        seen = await elsewhere.bash('ls -A "$1"', str(elsewhere.home))
        assert set(seen.output.split()) <= {"sessions"} or "Permission denied" in seen.output
        wrote = await elsewhere.bash("echo kept > file && cat file")
        assert (wrote.output, (elsewhere.workspace / "file").read_text()) == ("kept\n", "kept\n")


@pytest.mark.requirement("sandbox.home-hidden")
async def test_renaming_over_a_protected_file_shows_it_to_nobody(rig: Rig) -> None:
    """A mask over the file alone would vanish here: the host replaces what it covers."""
    with visible_folder() as folder:
        elsewhere = replace(rig, folder=folder)
        script = 'touch go; for i in $(seq 60); do cat "$1"; sleep 0.02; done 2>&1'
        running = asyncio.ensure_future(elsewhere.bash(script, str(elsewhere.secret_file)))
        while not running.done():
            fresh = elsewhere.home / "config/fresh"
            fresh.write_text(SECRET)
            fresh.rename(elsewhere.secret_file)
            moved = elsewhere.home / "config2"
            (elsewhere.home / "config").rename(moved)
            moved.rename(elsewhere.home / "config")
            await asyncio.sleep(0.01)
        assert SECRET not in (await running).output
        assert (elsewhere.workspace / "go").exists()


@pytest.mark.requirement("sandbox.home-hidden")
async def test_other_sessions_and_staged_uploads_are_hidden(rig: Rig) -> None:
    for name in ("one/attachment-staging", "two/workspace"):
        (rig.home / "sessions" / name).mkdir(parents=True)
        (rig.home / "sessions" / name / "file").write_text(SECRET)
    ran = await rig.bash('cat "$1"/sessions/*/*/file; ls -R "$1"', str(rig.home))
    assert SECRET not in ran.output


PYTHON = f"{sys.executable} -I -S"
CHMOD = "import os, sys; os.fchmod(os.open(sys.argv[1], 0), 0o777)"

WRITES = {
    "root": "echo x > /planted",
    "etc": "echo x > /etc/planted",
    "user-home": "echo x > ~root/planted; echo x > /root/planted",
    "beside-workspace": 'echo x > "$1/sessions/one/planted"; echo x > "$1/sessions/planted"',
    "home": 'echo x > "$1/planted"; mkdir "$1/planted"',
    "replace-config": 'mkdir c && echo x > c/secrets.json && mv c "$1/config/planted"',
    "through-link": 'ln -s "$1" l && echo x > l/planted',
    "remount": "mount -o remount,rw / && echo x > /planted",
    "chmod": 'chmod 777 "$1/mode-of-this"; chmod -R 777 "$1"',
    "chmod-opened": f'{PYTHON} -c "{CHMOD}" "$1/mode-of-this"',
    "times": 'touch -d "1999-01-01" "$1/mode-of-this"',
}


@pytest.mark.timeout(60)
@pytest.mark.requirement("sandbox.read-only")
async def test_nothing_is_written_outside_the_roots(rig: Rig) -> None:
    (rig.home / "mode-of-this").mkdir(mode=0o700)
    ran = await rig.bash(_attempts(WRITES), str(rig.home), bounds=ShellLimits(total_s=50))
    assert ran.output.count("tried ") == len(WRITES)
    planted = [Path("/planted"), Path("/etc/planted"), Path("/root/planted")]
    planted += [path / "planted" for path in (rig.home, rig.home / "config", rig.home / "sessions")]
    assert not [path for path in planted if os.path.lexists(path)]
    assert os.stat(rig.home / "mode-of-this").st_mode & 0o777 == 0o700
    assert os.stat(rig.home / "mode-of-this").st_mtime > 1_000_000_000
    assert rig.secret_file.read_text() == SECRET


@pytest.mark.requirement("sandbox.read-only")
@pytest.mark.parametrize(
    "path",
    ["/proc/sys/kernel/core_pattern", "/proc/sys/vm/swappiness", "/proc/self/oom_score_adj"],
)
async def test_kernel_settings_are_read_only_even_for_root(rig: Rig, path: str) -> None:
    """A root without capabilities still owns these files; what is written back is what was read."""
    ran = await rig.bash('value=$(cat "$1") && echo "$value" > "$1" && echo changed', path)
    assert "changed" not in ran.output


@pytest.mark.requirement("sandbox.read-only")
async def test_the_temporary_places_are_private_and_bounded(rig: Rig) -> None:
    mine = await rig.bash('echo x > "$TMPDIR/kept" && cat "$TMPDIR/kept"')
    assert mine.output == "x\n"
    assert (rig.tmp / "kept").read_text() == "x\n"
    await rig.bash("echo x > /tmp/lost; echo x > /var/tmp/lost; echo x > /dev/shm/netclaw-lost")
    for place in ("/tmp/lost", "/var/tmp/lost", "/dev/shm/netclaw-lost"):
        assert not Path(place).exists()
    filled = await rig.bash(
        "head -c 200M /dev/zero > /tmp/big; head -c 200M /dev/zero > /dev/shm/b"
    )
    assert "cat" not in filled.output
    sizes = await rig.bash("du -smx /tmp /dev/shm 2>/dev/null | sort -n | tail -n 1 | cut -f1")
    assert int(sizes.output or 0) <= 64


@pytest.mark.requirement("sandbox.read-only")
@pytest.mark.parametrize("unsafe", ["/", "~", "/etc", "above-home"])
async def test_unsafe_roots_stay_readable_only(rig: Rig, unsafe: str) -> None:
    with visible_folder() as folder:
        elsewhere = replace(rig, folder=folder)
        root = {"~": os.path.expanduser("~"), "above-home": str(folder)}.get(unsafe, unsafe)
        profile = replace(elsewhere.profile, writable=(os.path.realpath(root),))
        ran = await elsewhere.bash(
            'echo x > "$1/planted-by-test"', root, profile=replace(profile, tmp=str(rig.tmp))
        )
        assert ran.outcome.exit_code != 0
        assert not Path(root, "planted-by-test").exists()


@pytest.mark.requirement("sandbox.home-hidden")
@pytest.mark.parametrize("place", ["config", "run", "keys/deep"])
async def test_a_root_inside_a_protected_place_is_refused(rig: Rig, place: str) -> None:
    root = rig.home / place
    root.mkdir(parents=True, exist_ok=True)
    ran = await rig.bash("echo ran", profile=replace(rig.profile, writable=(str(root),)))
    assert ran.outcome.end is ShellEnd.FAILED_TO_START
    assert "protected" in ran.outcome.detail
    assert ran.output == ""


@pytest.mark.requirement("sandbox.home-hidden")
async def test_a_root_that_became_a_link_is_refused(rig: Rig) -> None:
    swapped = rig.workspace / "sub"
    swapped.symlink_to(rig.home / "config")
    ran = await rig.bash("cat sub/*", profile=replace(rig.profile, writable=(str(swapped),)))
    assert ran.outcome.end is ShellEnd.FAILED_TO_START
    assert SECRET not in ran.output + ran.outcome.detail


@pytest.mark.requirement("sandbox.processes")
async def test_other_processes_cannot_be_looked_into_or_signalled(rig: Rig) -> None:
    token = f"TOKEN-{rig.marker}"
    with subprocess.Popen(["/bin/sleep", "30"], env={"NETCLAW_TOKEN": token}) as victim:
        try:
            ran = await rig.bash(
                "cat /proc/*/environ /proc/*/maps 2>/dev/null | tr '\\0' '\\n' | grep -c TOKEN-;"
                'kill -9 "$1"; kill -STOP "$1"; prlimit --pid "$1" --nofile=1:1; renice 19 "$1"',
                str(victim.pid),
            )
            assert victim.poll() is None
        finally:
            victim.kill()
    assert ran.output.splitlines()[0] == "0"


TRACE = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
child = os.fork()
if child == 0:
    os.read(0, 1); os._exit(0)
print(libc.ptrace(16, child, 0, 0), ctypes.get_errno(), libc.ptrace(16, os.getppid(), 0, 0))
os.kill(child, 9)
"""


@pytest.mark.requirement("sandbox.processes")
async def test_tracing_is_refused(rig: Rig) -> None:
    ran = await rig.python(TRACE)
    assert ran.output == "-1 1 -1\n"


@pytest.mark.requirement("sandbox.no-privileges")
async def test_a_command_has_no_capability_and_gains_none(rig: Rig) -> None:
    ran = await rig.bash("grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status")
    status = dict(line.split(":\t") for line in ran.output.splitlines())
    sets = ("CapInh", "CapPrm", "CapEff", "CapAmb")
    assert {int(status[name], 16) for name in sets} == {0}
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"


@pytest.mark.requirement("sandbox.no-privileges")
async def test_a_command_makes_no_namespace_of_its_own(rig: Rig) -> None:
    ran = await rig.bash("unshare -Ur true && echo made; unshare -m true && echo made")
    assert "made" not in ran.output


@pytest.mark.requirement("sandbox.read-only")
async def test_devices_are_the_harmless_ones(rig: Rig) -> None:
    ran = await rig.bash(
        "for d in /dev/*; do [ -b $d ] && echo block; done; echo x > /dev/null && echo ok"
    )
    assert ran.output == "ok\n"
    made = await rig.bash(
        "mknod disk b 254 0; ls; cat /dev/vda /dev/sda /dev/mem 2>/dev/null | head -c 9"
    )
    assert "disk" not in made.output.splitlines()


@pytest.mark.requirement("sandbox.limits")
async def test_a_file_cannot_grow_past_its_limit(rig: Rig) -> None:
    bounds = ShellLimits(file_size_mib=1, total_s=15)
    ran = await rig.bash("head -c 5M /dev/zero > big; stat -c %s big", bounds=bounds)
    assert ran.output.splitlines()[-1] == str(1024 * 1024)


@pytest.mark.requirement("sandbox.home-hidden")
def test_the_plan_hides_before_it_binds_and_masks_win(short_tmp: Path) -> None:
    rig = Rig(facts=PROVED[SandboxBackendChoice.AUTO], folder=short_tmp.resolve())
    staging = rig.workspace / "staging"
    staging.mkdir()
    profile = replace(rig.profile, masked=(*rig.profile.masked, str(staging)))
    steps = plan_view(profile, host_places(os.environ))
    depth = [step.path.count("/") for step in steps]
    assert depth == sorted(depth)
    by_path = {step.path: step.mount for step in steps}
    assert by_path[str(rig.home)] is Mount.HIDE
    assert by_path[str(staging)] is Mount.MASK
    assert by_path[str(rig.workspace)] is Mount.READ  # it holds a protected place now


@pytest.mark.requirement("sandbox.read-only")
@pytest.mark.parametrize("choice", WITH_VIEW, ids=str)
async def test_a_device_in_a_root_is_no_device(
    choice: SandboxBackendChoice, short_tmp: Path
) -> None:
    """A project may be an unpacked system. Only root makes nodes; others find none to open."""
    rig = Rig(facts=PROVED[choice], folder=short_tmp.resolve())
    with visible_folder() as folder:
        if os.geteuid() == 0:
            os.mknod(folder / "node", 0o666 | stat.S_IFCHR, os.makedev(1, 5))
        profile = replace(rig.profile, writable=(*rig.profile.writable, str(folder)))
        ran = await rig.bash('head -c 3 "$1/node" | wc -c', str(folder), profile=profile)
    assert ran.output.splitlines()[-1] == "0"
