"""The wheel is complete, and one function makes the protocol code wherever it is made."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

from tests.repo import tree

SCHEMAS = [Path(path).stem for path in tree.files(under="proto", suffix=".proto")]


@pytest.fixture(scope="module")
def hook() -> ModuleType:
    """The build hook as a module; `tools/` is not a package on purpose, it is never installed."""
    spec = importlib.util.spec_from_file_location("hatch_build", tree.ROOT / "tools/hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy of the tracked files without a network or isolation."""
    source = tmp_path_factory.mktemp("source")
    for path in tree.files():
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(tree.ROOT / path, source / path)
    target = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(target)]
    subprocess.run([*command, str(source)], check=True, capture_output=True, timeout=90)
    (made,) = target.glob("netclaw-*.whl")
    return made


@pytest.mark.timeout(120)
@pytest.mark.requirement("repo.wheel-complete")
def test_the_wheel_holds_all_of_the_package_and_the_generated_code(wheel: Path) -> None:
    held = set(zipfile.ZipFile(wheel).namelist())
    tracked = {path for path in tree.files(under="netclaw") if not path.endswith("ruff.toml")}
    assert tracked <= held, f"missing from the wheel: {tracked - held}"
    kinds = ("_pb2.py", "_pb2.pyi", "_pb2_grpc.py", "_pb2_grpc.pyi")
    generated = {f"netclaw/wire/v1/{name}{kind}" for name in SCHEMAS for kind in kinds}
    assert generated <= held, f"not generated: {generated - held}"
    foreign = [
        name
        for name in held
        if not name.startswith(("netclaw/", "netclaw-")) or name.endswith("ruff.toml")
    ]
    assert not foreign, f"does not belong into the wheel: {foreign}"


@pytest.mark.timeout(120)
@pytest.mark.requirement("repo.wheel-complete")
def test_the_wheel_names_both_programs(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (entry,) = [name for name in archive.namelist() if name.endswith("entry_points.txt")]
    text = archive.read(entry).decode()
    assert "netclaw = netclaw.cli.main:main" in text
    assert "netclawd = netclaw.supervisor.main:main" in text


@pytest.mark.timeout(120)
@pytest.mark.requirement("repo.wheel-complete")
def test_protocol_code_loads_from_the_wheel_alone(wheel: Path) -> None:
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from netclaw.wire.v1 import gateway_pb2_grpc, admin_pb2_grpc, session_host_pb2_grpc\n"
        "assert gateway_pb2_grpc.__file__.startswith(sys.argv[1]), gateway_pb2_grpc.__file__"
    )
    subprocess.run([sys.executable, "-I", "-c", program, str(wheel)], check=True, timeout=30)


@pytest.mark.requirement("repo.generated-protocol")
def test_generating_twice_changes_nothing_and_removes_what_has_no_schema(
    hook: ModuleType, tmp_path: Path
) -> None:
    shutil.copytree(tree.ROOT / "proto", tmp_path / "proto")
    first = {path.name: path.stat().st_mtime_ns for path in hook.generate(tmp_path)}
    stale = tmp_path / "netclaw/wire/v1/gone_pb2.py"
    stale.write_text("")
    second = {path.name: path.stat().st_mtime_ns for path in hook.generate(tmp_path)}
    assert first == second
    assert not stale.exists()
    assert {f"{name}_pb2_grpc.pyi" for name in SCHEMAS} <= set(first)


@pytest.mark.requirement("repo.generated-protocol")
def test_a_wrong_schema_fails_the_build_and_keeps_the_old_code(
    hook: ModuleType, tmp_path: Path
) -> None:
    shutil.copytree(tree.ROOT / "proto", tmp_path / "proto")
    before = hook.generate(tmp_path)
    (tmp_path / "proto/netclaw/wire/v1/bad.proto").write_text("message {")
    with pytest.raises(hook.ProtoGenerationError):
        hook.generate(tmp_path)
    assert hook.generated_files(tmp_path) == before
    assert not list((tmp_path / "netclaw/wire/v1").glob(".gen-*"))


@pytest.mark.requirement("repo.generated-protocol")
def test_no_schema_at_all_is_an_error(hook: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(hook.ProtoGenerationError, match="no schema"):
        hook.generate(tmp_path)


@pytest.mark.requirement("repo.generated-protocol")
def test_generated_code_is_kept_out_of_git() -> None:
    assert not [path for path in tree.files(under="netclaw") if "_pb2" in path]
