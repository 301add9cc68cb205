"""The process of one channel.

    python -I -m netclaw.adapters NAME --parent PID --socket PATH --log PATH   serve
    python -I -m netclaw.adapters NAME --check                                 ask who we are

What must be nobody else's comes by pipe: the capability token on descriptor 3, for a check the
channel's section on standard input. Exit statuses: `exits.AdapterExit`. A check prints one JSON
object.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import secrets
import shutil
import signal
import sys
import time
from pathlib import Path

from netclaw.adapters.assembly import assemble
from netclaw.adapters.driver import (
    Account,
    DriverFailure,
    FatalFailure,
    Thorough,
    TransientFailure,
)
from netclaw.adapters.exits import AdapterExit
from netclaw.adapters.gateway_link import GatewayLink
from netclaw.adapters.host import Host, News
from netclaw.adapters.log import set_log_level, set_up_log
from netclaw.adapters.parts import Counters, HostContext
from netclaw.adapters.registry import make_driver
from netclaw.adapters.reports import Reports
from netclaw.adapters.setup import from_setup
from netclaw.adapters.unfinished import Unfinished
from netclaw.core.errors import NetclawError
from netclaw.linux.prctl import die_with_parent, forbid_inspection, set_process_name
from netclaw.observe.redact import Redactor
from netclaw.wire.v1.gateway_pb2 import ChannelSetup

_log = logging.getLogger(__name__)

INHERITED_FD = 3
CHECK_TIMEOUT_S = 30.0
LAST_WORD_S = 2.0
"""What the daemon gets to hear the last report before the process ends."""
PRIVATE_FOLDER = 0o700
SIGNAL_BUDGET_S = 5.0


def main(arguments: list[str] | None = None) -> int:
    """Serve or check one channel; returns the exit status."""
    options = _parse(arguments)
    set_process_name(f"nc-{options.name}")
    forbid_inspection()
    if options.check:
        return asyncio.run(_check(ChannelSetup.FromString(sys.stdin.buffer.read())))
    if not die_with_parent(options.parent, patience_s=0.0):
        return AdapterExit.STOPPED
    redact = Redactor()
    set_up_log(options.log, redact)
    with os.fdopen(INHERITED_FD, "rb") as pipe:
        token = pipe.read().decode("ascii")
    return asyncio.run(_serve(options.socket, token, redact))


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m netclaw.adapters")
    parser.add_argument("name")
    parser.add_argument("--parent", type=int, default=0, help="die with this process")
    parser.add_argument("--socket", default="", help="the daemon's public socket")
    parser.add_argument("--log", type=Path, default=Path(os.devnull), help="file of stderr")
    parser.add_argument("--check", action="store_true", help="ask the platform who we are")
    return parser.parse_args(arguments)


async def _check(setup: ChannelSetup) -> int:
    """The live test of a channel's token, for `doctor`."""
    try:
        async with asyncio.timeout(CHECK_TIMEOUT_S):
            account = await _account(setup)
    except TimeoutError:
        return _tell(AdapterExit.TRANSIENT, "The platform did not answer in time.")
    except FatalFailure as failure:
        return _tell(AdapterExit.FATAL, failure.sentence, fix=failure.fix)
    except DriverFailure as failure:
        return _tell(AdapterExit.TRANSIENT, failure.sentence)
    print(json.dumps({"ok": True, "account": account.name, "scope": account.scope}))  # noqa: T201
    return AdapterExit.STOPPED


async def _account(setup: ChannelSetup) -> Account:
    driver = make_driver(from_setup(setup))
    try:
        account = await driver.check()
        if isinstance(driver, Thorough):
            await driver.check_rest()
        return account
    finally:
        await driver.close()


def _tell(status: AdapterExit, sentence: str, *, fix: str = "") -> AdapterExit:
    print(json.dumps({"ok": False, "sentence": sentence, "fix": fix}))  # noqa: T201
    return status


async def _serve(socket: str, token: str, redact: Redactor) -> int:
    """Made in the loop that runs it: gRPC binds a connection to the loop of its making."""
    return await _Process(socket, token, redact).run()


class _Process:
    """From the connection to the daemon to the exit status."""

    def __init__(self, socket: str, token: str, redact: Redactor) -> None:
        self._link = GatewayLink(socket, token)
        self._redact = redact
        self._counters = Counters()
        self._reports = Reports(self._counters)
        self._news: News = asyncio.Queue()

    async def run(self) -> AdapterExit:
        """Serve the channel; says on the stream to the daemon why it ends."""
        listening: asyncio.Task[None] | None = None
        try:
            setup = await self._link.get_channel()
            set_log_level(setup.log_level)
            self._redact.replace_secrets(tuple(setup.secrets.values()))
            listening = asyncio.create_task(self._listen(), name="daemon")
            return await self._serve(setup)
        except FatalFailure as failure:
            return self._end(AdapterExit.FATAL, failure)
        except DriverFailure as failure:
            return self._end(AdapterExit.TRANSIENT, failure)
        except NetclawError as error:
            _log.warning("the daemon cannot be reached: %s", error.sentence)
            return AdapterExit.TRANSIENT
        finally:
            if listening is not None:
                # Told before the end, so that the daemon knows why.
                self._reports.close()
                await asyncio.wait((listening,), timeout=LAST_WORD_S)
            await self._link.close()

    async def _listen(self) -> None:
        """Report, and hand on what the daemon says until it says nothing more."""
        try:
            async for piece in self._link.converse(self._reports.stream()):
                self._news.put_nowait(piece)
        except NetclawError as error:
            _log.info("the daemon is gone: %s", error.sentence)
        finally:
            self._news.put_nowait(None)

    async def _serve(self, setup: ChannelSetup) -> AdapterExit:
        context = HostContext(
            config=from_setup(setup),
            driver=make_driver(from_setup(setup)),
            link=self._link,
            adapter_start=secrets.token_hex(8),
            counters=self._counters,
            staging=_fresh_folder(Path(setup.staging)),
            unfinished=Unfinished(Path(setup.staging).with_suffix(".shown")),
            report_failure=self._report_failure,
        )
        try:
            self._reports.say_state("connecting")
            account = await context.driver.check()
        except BaseException:
            await context.driver.close()
            raise
        self._reports.say_account(account)
        _log.info("the channel is %s of %s", account.name or account.user_id, account.scope)
        host = Host(context, assemble(context), self._reports)
        asyncio.get_running_loop().add_signal_handler(
            signal.SIGTERM, lambda: host.drain(budget_s=SIGNAL_BUDGET_S, notice="")
        )
        return await host.run(self._news)

    def _report_failure(self, sentence: str) -> None:
        self._reports.say_failure(self._redact(sentence), at_ms=time.time_ns() // 1_000_000)

    def _end(self, status: AdapterExit, failure: DriverFailure) -> AdapterExit:
        wait_s = failure.retry_after_s if isinstance(failure, TransientFailure) else None
        sentence = self._redact(failure.sentence)
        self._reports.say_failure(sentence, at_ms=time.time_ns() // 1_000_000, retry_after_s=wait_s)
        _log.error("the channel ends (%s): %s", status.name.lower(), sentence)
        return status


def _fresh_folder(path: Path) -> Path:
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(mode=PRIVATE_FOLDER, parents=True)
    return path


def run() -> None:
    """The program."""
    status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    sys.exit(status)
