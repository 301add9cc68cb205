"""Starting and finding the embedded model: what the owner of its process needs to know.

The model answers through the same client as any other (`ProviderType.LOCAL` is an OpenAI-compatible
endpoint on loopback); only its process is ours. Light to import: no HTTP, no engine.
"""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from netclaw.core.errors import NoModelError
from netclaw.core.settings import ModelSettings

ENGINE = "xllamacpp"


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalServer:
    """How one model is served. Paths are absolute; `threads` 0 means one per core."""

    model_file: Path
    port_file: Path
    alias: str
    port: int = 0
    """0: any free one, told in the port file."""
    context_tokens: int = 8192
    threads: int = 0
    parallel: int = 1

    def argv(self, *, parent_pid: int = 0) -> list[str]:
        """The command to start; with `parent_pid` the kernel ends it together with that process.

        The caller removes a stale port file first, and starts it from its main thread, because
        the tie to the parent is one to the parent's thread.
        """
        return [
            sys.executable,
            "-m",
            "netclaw.models.local_server",
            f"--model={self.model_file}",
            f"--port-file={self.port_file}",
            f"--port={self.port}",
            f"--alias={self.alias}",
            f"--context={self.context_tokens}",
            f"--threads={self.threads}",
            f"--parallel={self.parallel}",
            f"--parent-pid={parent_pid}",
        ]

    def endpoint(self) -> str | None:
        """Where the model answers, or None while it is still loading."""
        try:
            port = int(self.port_file.read_text())
        except (OSError, ValueError):
            return None
        return f"http://127.0.0.1:{port}/v1"

    def check(self) -> None:
        """Raise `NoModelError` for what would keep the process from starting."""
        if not self.model_file.is_file():
            raise NoModelError(
                f"The model file {self.model_file} does not exist.",
                fix="Fetch it with `netclaw model pull`, or correct the path.",
            )
        if not has_engine():
            raise NoModelError(
                "The engine for local models is not installed.",
                fix=f"Install the package {ENGINE} into netclaw's Python environment.",
            )


def has_engine() -> bool:
    """Whether the optional engine is installed; looks without loading its 100 MB."""
    return importlib.util.find_spec(ENGINE) is not None


def at_endpoint(settings: ModelSettings, endpoint: str) -> ModelSettings:
    """The settings of a local model once its process has told where it listens."""
    return replace(settings, endpoint=endpoint)
