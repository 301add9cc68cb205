"""Serves one GGUF model on loopback in a process of its own (decision 75).

    python -m netclaw.models.local_server --model FILE --port-file FILE [--port N] [--context N]
        [--threads N] [--parallel N] [--alias NAME] [--parent-pid N]

The engine is llama.cpp, in the optional package `xllamacpp` (`netclaw[local]`); it speaks OpenAI
chat completions. The port file appears, with the port in it, once the model is loaded and answers.
Exit codes: 0 after SIGTERM or SIGINT, 2 for a model file that cannot be served, 3 without
xllamacpp.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from enum import IntEnum
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from netclaw.linux.prctl import die_with_parent, set_process_name

GGUF_MAGIC = b"GGUF"
ERRORS_ONLY = 1
"""llama.cpp's verbosity: what it prints below this level is for its developers."""


class ServerExit(IntEnum):
    """Why the process ended."""

    STOPPED = 0
    UNUSABLE_MODEL = 2
    NO_ENGINE = 3


def main(arguments: list[str] | None = None) -> int:
    """Serve until told to stop; see the module's first lines."""
    options = _parse(arguments)
    set_process_name("netclaw-model")
    if options.parent_pid and not die_with_parent(options.parent_pid, patience_s=0.0):
        return ServerExit.STOPPED
    # Blocked before the engine starts its threads, so that only sigwait below takes them.
    signals = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    if not _is_gguf(options.model):
        return _fail(ServerExit.UNUSABLE_MODEL, f"{options.model} is not a GGUF model file.")
    try:
        import xllamacpp
    except ImportError:
        sentence = "The local model engine is not installed; install netclaw[local]."
        return _fail(ServerExit.NO_ENGINE, sentence)
    try:
        server = xllamacpp.Server(_parameters(xllamacpp, options))
    except (RuntimeError, ValueError):
        sentence = f"llama.cpp cannot serve {options.model}; its own lines above say why."
        return _fail(ServerExit.UNUSABLE_MODEL, sentence)
    _publish(options.port_file, urlsplit(server.listening_address).port or 0)
    signal.sigwait(signals)
    options.port_file.unlink(missing_ok=True)
    # Not unwound by the interpreter: the engine's threads may be in the middle of a long answer.
    sys.stderr.flush()
    os._exit(ServerExit.STOPPED)


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m netclaw.models.local_server")
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--port-file", type=Path, required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--context", type=int, default=8192, help="tokens, shared by all slots")
    parser.add_argument("--threads", type=int, default=0, help="0: as many as there are cores")
    parser.add_argument("--parallel", type=int, default=1, help="answers at the same time")
    parser.add_argument("--alias", default="", help="the model's name; default the file's")
    parser.add_argument("--parent-pid", type=int, default=0, help="die with this process")
    return parser.parse_args(arguments)


def _parameters(engine: Any, options: argparse.Namespace) -> Any:
    params = engine.CommonParams()
    params.model.path = str(options.model)
    params.model_alias = {options.alias or options.model.stem}
    params.hostnames = ["127.0.0.1"]
    params.port = options.port
    params.n_ctx = options.context
    params.n_parallel = options.parallel
    if options.threads:
        params.cpuparams.n_threads = options.threads
    params.verbosity = ERRORS_ONLY
    # Prompts are private: no page, no view of other callers' slots, no browser of another site.
    params.ui = False
    params.endpoint_slots = False
    params.cors_origins = "http://127.0.0.1"
    return params


def _is_gguf(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(GGUF_MAGIC)) == GGUF_MAGIC
    except OSError:
        return False


def _publish(port_file: Path, port: int) -> None:
    """Renamed into place, so that a reader never sees half a number."""
    fresh = port_file.with_name(f"{port_file.name}.{os.getpid()}")
    fresh.write_text(f"{port}\n")
    fresh.replace(port_file)


def _fail(code: ServerExit, sentence: str) -> int:
    sys.stderr.write(f"[FAIL] local model: {sentence}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
