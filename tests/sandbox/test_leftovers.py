"""Sandboxes that a killed daemon left in the middle of their birth are ended by the next one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from netclaw.sandbox import bwrap
from netclaw.sandbox.leftovers import kill_leftovers
from tests.sandbox.rig import until


@pytest.fixture
def waiting(short_tmp: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A real bubblewrap over this home that waits for a word nobody will say."""
    home = short_tmp.resolve() / "home"
    home.mkdir()
    read_fd, write_fd = os.pipe()
    options = ["--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev"]
    options += ["--tmpfs", str(home), "--block-fd", str(read_fd), "--", "/bin/true"]
    process = subprocess.Popen([bwrap.bundled_program(), *options], pass_fds=(read_fd,))
    os.close(read_fd)
    yield process
    # Killing the outer process alone may leave the inner one behind: that is what this is about.
    # After its end, because it may have been about to start it.
    process.kill()
    process.wait()
    kill_leftovers(str(home))
    os.close(write_fd)


@pytest.mark.requirement("sandbox.dies-with-session")
async def test_only_sandboxes_of_the_same_home_are_ended(
    waiting: subprocess.Popen[bytes], short_tmp: Path
) -> None:
    home = str(short_tmp.resolve() / "home")
    children = Path(f"/proc/{waiting.pid}/task/{waiting.pid}/children")
    await until(lambda: bool(children.read_text()))
    inner = int(children.read_text().split()[0])
    assert kill_leftovers(f"{home}-of-somebody-else") == 0
    assert waiting.poll() is None
    assert kill_leftovers(home) >= 1
    assert waiting.wait(timeout=15) != 0
    await until(lambda: not Path(f"/proc/{inner}/cmdline").exists())
    assert kill_leftovers(home) == 0


@pytest.mark.requirement("sandbox.dies-with-session")
def test_the_undertaker_ends_what_is_older_than_its_daemons_death_and_then_itself(
    waiting: subprocess.Popen[bytes], short_tmp: Path
) -> None:
    home = str(short_tmp.resolve() / "home")
    died = Path("/proc/uptime").read_text().split()[0]
    undertaker = [sys.executable, "-I", "-m", "netclaw.sandbox.undertaker"]
    done = subprocess.run([*undertaker, "--home", home, "--died", died], check=False)
    assert done.returncode == 0
    assert waiting.wait(timeout=10) != 0


@pytest.mark.requirement("sandbox.dies-with-session")
def test_what_a_later_daemon_started_is_spared(
    waiting: subprocess.Popen[bytes], short_tmp: Path
) -> None:
    home = str(short_tmp.resolve() / "home")
    assert kill_leftovers(home, born_before=1) == 0
    assert waiting.poll() is None
