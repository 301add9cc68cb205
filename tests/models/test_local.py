"""The embedded model's process: how it is started, found, and how it says what it lacks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from netclaw.core.errors import NoModelError
from netclaw.models.local import LocalServer, at_endpoint, has_engine
from netclaw.models.local_server import ServerExit
from tests.models.tools import settings_for
from tests.repo.tree import ROOT


def server_for(folder: Path) -> LocalServer:
    return LocalServer(model_file=folder / "toy.gguf", port_file=folder / "port", alias="toy")


def run(
    server: LocalServer, *, parent_pid: int = 0, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        server.argv(parent_pid=parent_pid),
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.requirement("models.local-process")
def test_the_endpoint_is_known_once_the_port_file_is_there(tmp_path: Path) -> None:
    server = server_for(tmp_path)
    assert server.endpoint() is None
    server.port_file.write_text("")
    assert server.endpoint() is None
    server.port_file.write_text("4711\n")
    assert server.endpoint() == "http://127.0.0.1:4711/v1"
    assert at_endpoint(settings_for(""), "http://127.0.0.1:4711/v1") == settings_for(
        "http://127.0.0.1:4711/v1"
    )


@pytest.mark.requirement("models.local-errors")
def test_a_missing_file_is_told_before_a_process_starts(tmp_path: Path) -> None:
    with pytest.raises(NoModelError) as caught:
        server_for(tmp_path).check()
    assert "model pull" in caught.value.fix


@pytest.mark.requirement("models.local-errors")
def test_a_missing_engine_is_told_before_a_process_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = server_for(tmp_path)
    server.model_file.write_bytes(b"GGUF")
    server.check()
    monkeypatch.setattr("netclaw.models.local.ENGINE", "no_such_engine")
    assert not has_engine()
    with pytest.raises(NoModelError, match="engine"):
        server.check()


@pytest.mark.requirement("models.local-errors")
@pytest.mark.timeout(60)
@pytest.mark.parametrize("content", [None, b"", b"not a model", b"GGUF and then nonsense"])
def test_a_file_that_is_no_model_ends_the_process_with_a_sentence(
    tmp_path: Path, content: bytes | None
) -> None:
    server = server_for(tmp_path)
    if content is not None:
        server.model_file.write_bytes(content)
    done = run(server)
    assert done.returncode == ServerExit.UNUSABLE_MODEL
    # Threads of the engine may have the last word.
    said = [line for line in done.stderr.splitlines() if line.startswith("[FAIL] local model: ")]
    assert len(said) == 1
    assert not server.port_file.exists()


@pytest.mark.requirement("models.local-errors")
@pytest.mark.timeout(60)
def test_a_missing_engine_ends_the_process_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "xllamacpp.py").write_text("raise ImportError\n")
    server = server_for(tmp_path)
    server.model_file.write_bytes(b"GGUF")
    done = run(server, PYTHONPATH=str(tmp_path))
    assert done.returncode == ServerExit.NO_ENGINE
    assert "netclaw[local]" in done.stderr


@pytest.mark.requirement("models.local-process")
@pytest.mark.timeout(60)
def test_a_process_whose_parent_is_gone_does_not_begin(tmp_path: Path) -> None:
    server = server_for(tmp_path)
    server.model_file.write_bytes(b"GGUF")
    # Process 1 is nobody's child here, so it can only stand for a parent that has gone.
    assert run(server, parent_pid=1).returncode == ServerExit.STOPPED


@pytest.mark.requirement("models.local-process")
def test_looking_for_the_engine_does_not_load_it() -> None:
    program = (
        "import netclaw.models.local as m, sys; m.has_engine(); print('xllamacpp' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
