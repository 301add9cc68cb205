"""The fake model as a process: command line, port file, signals."""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import os
import signal
from pathlib import Path

from tests.fakes.model import FakeModel
from tests.fakes.model_reply import Reply
from tests.fakes.model_script import ScriptError, parse_rounds

PR_SET_PDEATHSIG = 1
SYNTAX = """\
A user message, the default reply and what is posted to /__enqueue may hold directives:
  [[reply:TEXT]]  [[echo]]  [[tool:NAME {JSON}]]  [[next]]  [[status:CODE]]  [[stall:SECONDS]]
All of them are described at the top of tests/fakes/model_script.py.
"""


def main() -> None:
    """Serve until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.fakes.model",
        description="A scripted model provider: OpenAI chat completions and Anthropic Messages.",
        epilog=SYNTAX,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument(
        "--port-file", type=Path, help="gets the bound port once the server listens"
    )
    parser.add_argument("--latency-ms", type=float, default=0.0, help="time to the first token")
    parser.add_argument("--token-ms", type=float, default=0.0, help="pause between tokens")
    parser.add_argument(
        "--default",
        type=_default_reply,
        default="[[echo]]",
        metavar="TEXT",
        help="reply where no script asks for another: plain text, or directives for one round"
        " (default: %(default)s)",
    )
    parser.add_argument(
        "--title",
        type=_default_reply,
        default="",
        metavar="TEXT",
        help="answer to calls for a title (default: an empty one, which sets none)",
    )
    parser.add_argument("--model", action="append", help="name listed by /v1/models")
    parser.add_argument("--api-key", help="key to demand, as each dialect carries it")
    parser.add_argument("--record", type=int, default=1000, help="how many requests to keep")
    parser.add_argument("--die-with-parent", action="store_true")
    options = parser.parse_args()
    if options.die_with_parent:
        parent = os.getppid()
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            return
    asyncio.run(_serve(options))


def _default_reply(text: str) -> Reply:
    """The one round that `text` asks for; text without directives is what the reply says."""
    try:
        rounds = parse_rounds(text)
    except ScriptError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if len(rounds) > 1:
        raise argparse.ArgumentTypeError("the default reply is one round; this text holds several")
    return rounds[0] if rounds else Reply(text=text)


async def _serve(options: argparse.Namespace) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with FakeModel(
        port=options.port,
        latency_s=options.latency_ms / 1000,
        token_s=options.token_ms / 1000,
        default=options.default,
        title=options.title,
        models=tuple(options.model or ("fake-model",)),
        api_key=options.api_key,
        record=options.record,
    ) as model:
        if options.port_file:
            # Renamed into place, so a reader never sees half a number.
            fresh = options.port_file.with_name(options.port_file.name + ".new")
            fresh.write_text(f"{model.port}\n")
            fresh.replace(options.port_file)
        await stop.wait()
