"""Generates `netclaw.wire.v1` from `proto/`, for wheels, editable installs and by hand.

The generated code is not kept in git: it would conflict and drift. The build backend calls
`CustomBuildHook` for every wheel and every editable install, and `tools/gen_protos.sh` runs this
file as a program, so there is exactly one recipe. `proto/` mirrors the package path, which makes
the imports inside the generated code come out right without touching them.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = Path("netclaw/wire/v1")
GENERATED = ("*_pb2.py", "*_pb2.pyi", "*_pb2_grpc.py", "*_pb2_grpc.pyi")


class ProtoGenerationError(RuntimeError):
    """The protocol compiler refused the schema; its own words are on stderr."""


@contextmanager
def _plugins_on_path() -> Iterator[None]:
    """Lets protoc find the mypy plugins that live next to this interpreter.

    An isolated build has them on PATH already; `.venv/bin/python -m build --no-isolation` has not.
    """
    before = os.environ.get("PATH", "")
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), before])
    try:
        yield
    finally:
        os.environ["PATH"] = before


def _compile(source: Path, schemas: list[Path], target: Path) -> None:
    from grpc_tools import protoc

    arguments = [
        "protoc",
        f"--proto_path={source}",
        f"--proto_path={resources.files('grpc_tools') / '_proto'}",
        f"--python_out={target}",
        f"--grpc_python_out={target}",
        f"--mypy_out={target}",
        f"--mypy_grpc_out={target}",
        *(str(schema.relative_to(source)) for schema in schemas),
    ]
    with _plugins_on_path():
        status = protoc.main(arguments)
    if status != 0:
        message = f"protoc ended with status {status}"
        raise ProtoGenerationError(message)


def generate(root: Path) -> list[Path]:
    """Compiles every schema under `root/proto` and returns the generated files.

    Files are compiled aside and moved into place one by one, only where bytes differ: a process
    that imports them meanwhile never sees half a file, and an unchanged schema changes no
    timestamp. Output of a schema that no longer exists is removed. Raises ProtoGenerationError.
    """
    source = root / "proto"
    schemas = sorted((source / PACKAGE).glob("*.proto"))
    if not schemas:
        message = f"no schema under {source / PACKAGE}"
        raise ProtoGenerationError(message)
    place = root / PACKAGE
    place.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place, prefix=".gen-") as aside:
        _compile(source, schemas, Path(aside))
        fresh = {path.name: path for path in generated_files(Path(aside))}
        for stale in generated_files(root):
            if stale.name not in fresh:
                stale.unlink()
        for name, path in fresh.items():
            kept = place / name
            if not kept.exists() or kept.read_bytes() != path.read_bytes():
                path.replace(kept)
    return generated_files(root)


def generated_files(root: Path) -> list[Path]:
    """Every generated file that exists at present under `root`."""
    return sorted(path for pattern in GENERATED for path in (root / PACKAGE).glob(pattern))


class CustomBuildHook(BuildHookInterface[Any]):
    """Runs the generator before hatchling collects files."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Generates for wheels and editable installs; a source archive holds the schemas alone."""
        del version, build_data
        if self.target_name == "wheel":
            generate(Path(self.root))


if __name__ == "__main__":
    for made in generate(Path(__file__).resolve().parent.parent):
        print(made.name)
