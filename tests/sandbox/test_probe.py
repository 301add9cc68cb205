"""The probe proves what works and says why the rest does not."""

from __future__ import annotations

import os
import stat
import struct
import tempfile
from pathlib import Path

import pytest

from netclaw.core.settings import SandboxBackendChoice, ToolSettings
from netclaw.ports.shell_runner import Confinement, SandboxFacts
from netclaw.sandbox import bwrap, seccomp
from netclaw.sandbox.probe import prove_backends
from tests.sandbox.rig import CHOICES, LIMIT_KINDS, PROVED, WORKING


@pytest.mark.requirement("sandbox.proved")
@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_each_backend_either_works_or_says_why_not(choice: SandboxBackendChoice) -> None:
    facts = PROVED[choice]
    if choice in WORKING:
        assert facts.backend == Confinement(choice.value)
        assert facts.why.startswith(choice.value)
    else:
        assert facts.backend is None
        assert len(facts.why) > len("No sandbox works here ().")
    assert facts.limits == LIMIT_KINDS[-1]


@pytest.mark.requirement("sandbox.proved")
def test_auto_takes_the_strongest_that_works() -> None:
    chosen = PROVED[SandboxBackendChoice.AUTO].backend
    assert chosen == (Confinement(WORKING[0].value) if WORKING else None)


@pytest.mark.requirement("sandbox.proved")
def test_the_bundled_bubblewrap_is_found() -> None:
    program = Path(bwrap.bundled_program())
    assert program.is_file()
    assert os.access(program, os.X_OK)
    assert bwrap.find_programs("")[-1] == str(program)


def _fake(folder: Path, script: str) -> str:
    """A program that claims to be bubblewrap."""
    path = folder / "bwrap"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(stat.S_IRWXU)
    return str(path)


def _prove_with(program: str, monkeypatch: pytest.MonkeyPatch) -> SandboxFacts:
    monkeypatch.setattr(bwrap, "find_programs", lambda _path: (program,))
    return prove_backends(ToolSettings(sandbox_backend=SandboxBackendChoice.BUBBLEWRAP))


@pytest.mark.requirement("sandbox.proved")
def test_a_backend_that_only_complains_is_refused_in_its_own_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = _fake(tmp_path, "echo 'setting up uid map: Permission denied' >&2; exit 1")
    facts = _prove_with(program, monkeypatch)
    assert facts.backend is None
    assert "setting up uid map: Permission denied" in facts.why
    assert program in facts.why


@pytest.mark.requirement("sandbox.proved")
def test_a_backend_that_runs_without_hiding_anything_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lie = (
        'while [ "$1" != -- ]; do [ "$1" = --info-fd ] && info=$2; shift; done; shift\n'
        'echo "{\\"child-pid\\": $$}" > /dev/fd/$info\n'
        'exec "$@"'
    )
    facts = _prove_with(_fake(tmp_path, lie), monkeypatch)
    assert facts.backend is None
    assert "while the sandbox was being set up" in facts.why  # its view is no view at all


@pytest.mark.requirement("sandbox.proved")
@pytest.mark.parametrize("choice", WORKING, ids=str)
def test_a_backend_that_leaves_a_socket_in_reach_is_refused(
    choice: SandboxBackendChoice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its view is complete; the socket lies in a folder that the command may write."""
    allow_everything = struct.pack("=HBBI", 0x06, 0, 0, 0x7FFF0000)
    monkeypatch.setattr(seccomp, "assemble", lambda **_: allow_everything)
    facts = prove_backends(ToolSettings(sandbox_backend=choice))
    assert facts.backend is None
    assert "did not hide what it must" in facts.why


@pytest.mark.requirement("sandbox.proved")
def test_a_backend_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netclaw.sandbox.runner.START_S", 0.3)
    facts = _prove_with(_fake(tmp_path, "exec sleep 60"), monkeypatch)
    assert facts.backend is None
    assert "took too long" in facts.why


@pytest.mark.requirement("sandbox.proved")
def test_a_missing_program_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = _prove_with("/nowhere/bwrap", monkeypatch)
    assert facts.backend is None
    assert "No such file or directory" in facts.why
    monkeypatch.setattr(bwrap, "find_programs", lambda _path: ())
    facts = prove_backends(ToolSettings(sandbox_backend=SandboxBackendChoice.BUBBLEWRAP))
    assert facts.why == "No sandbox works here (no backend is installed)."


@pytest.mark.requirement("sandbox.proved")
def test_the_probe_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    prove_backends(ToolSettings())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.requirement("sandbox.proved")
def test_a_temporary_place_that_cannot_be_used_is_no_crash(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    facts = prove_backends(ToolSettings())
    assert facts.backend is None
    assert "No such file or directory" in facts.why
    deep = tmp_path / ("d" * 90) / ("e" * 90)
    deep.mkdir(parents=True)
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    assert prove_backends(ToolSettings()).backend is PROVED[SandboxBackendChoice.AUTO].backend
