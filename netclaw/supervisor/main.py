"""`netclawd`: the supervisor in the foreground.

    netclawd                     serve the home named by NETCLAW_HOME until SIGTERM

Exit status: 0 stopped as asked, 1 could not start or failed. What it says on standard error when
it cannot start has the form of the command line: `[FAIL]`, `fix:`, `code:`.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NoReturn

from netclaw import __version__
from netclaw.config.home import Home, find_home, make_private_folder
from netclaw.config.load import load_config
from netclaw.config.loaded import LoadedConfig
from netclaw.core.errors import InvalidArgumentError, NetclawError
from netclaw.core.settings import DEFAULT_UMASK
from netclaw.linux.prctl import forbid_inspection
from netclaw.observe.crash import CrashReporter
from netclaw.observe.logs import LogSetup
from netclaw.observe.redact import Redactor
from netclaw.sandbox.leftovers import kill_leftovers
from netclaw.sandbox.probe import prove_backends
from netclaw.store.store import SqliteJournalStore
from netclaw.supervisor.daemon import DaemonParts, Supervisor, Wish, fault_of
from netclaw.supervisor.home_guard import HomeGuard
from netclaw.supervisor.local_model import LocalModel
from netclaw.supervisor.spawn import make_spawner
from netclaw.supervisor.spawn.local_spawner import stop_leftovers
from netclaw.supervisor.undertaker import start_undertaker

_log = logging.getLogger("netclaw.supervisor")

EXIT_OK = 0
EXIT_FAILED = 1
OVERRUN_GRACE_S = 5.0
"""Beyond the shutdown budget, before the process ends itself whatever hangs."""
PRIVATE_UMASK = 0o077
TICKET_FLAG = "--restarted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """What one generation leaves to the next across an exec (decision 80)."""

    lock_fd: int | None = None
    generation: int = 1
    umask: int = DEFAULT_UMASK
    """The one the first generation was started with: ours, inherited, would hide it."""

    def argument(self) -> str:
        """The flag's value."""
        return json.dumps(
            {"lock": self.lock_fd, "generation": self.generation, "umask": self.umask}
        )

    @classmethod
    def parse(cls, text: str) -> Ticket:
        """Read the flag's value."""
        content = json.loads(text)
        return cls(
            lock_fd=int(content["lock"]),
            generation=int(content["generation"]),
            umask=int(content.get("umask", DEFAULT_UMASK)),
        )


def main(arguments: list[str] | None = None) -> int:
    """Run the daemon; returns its exit status."""
    parser = argparse.ArgumentParser(prog="netclawd", description="The netclaw daemon.")
    parser.add_argument("--version", action="version", version=__version__)
    parser.add_argument(TICKET_FLAG, type=Ticket.parse, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    operators = os.umask(PRIVATE_UMASK)
    forbid_inspection()
    try:
        return _run(find_home(os.environ), options.restarted or Ticket(umask=operators))
    except NetclawError as error:
        _complain(error)
        return EXIT_FAILED


def _complain(error: NetclawError) -> None:
    sys.stderr.write(
        f"[FAIL] netclawd: {error.sentence}\n  fix: {error.fix}\n  code: {error.code.value}\n"
    )


def _run(home: Home, ticket: Ticket) -> int:
    guard = HomeGuard.take(home, ticket.lock_fd)
    redact = Redactor()
    make_private_folder(home.logs_dir)
    crashes = CrashReporter(home.logs_dir, program="netclawd", version=__version__, redact=redact)
    crashes.install()
    try:
        config = _load(home, ticket)
        logs = _set_up_logs(config, redact)
        try:
            supervisor = asyncio.run(_serve(guard, config, ticket, redact, logs))
        finally:
            stop_leftovers()
            logs.close()
        # Looked at after the loop has closed: a stop may have come while it did.
        if supervisor.ending is Wish.RESTART:
            crashes.close()
            _execute_again(guard, ticket)  # nothing below runs, unless it fails
        if (fault := fault_of(supervisor.ending)) is not None:
            raise fault
        return EXIT_OK
    finally:
        crashes.close()
        guard.leave()


def _load(home: Home, ticket: Ticket) -> LoadedConfig:
    """The configuration, with what sessions must know of how this daemon was started."""
    config = load_config(home)
    tools = replace(config.session.tools, umask=ticket.umask)
    return replace(config, session=replace(config.session, tools=tools))


def _reloader(home: Home, ticket: Ticket) -> Callable[[], LoadedConfig]:
    """Reads again what `_load` read; a file that is gone is no configuration to go on with."""
    had_file = home.config_file.exists()

    def load() -> LoadedConfig:
        if had_file and not home.config_file.exists():
            raise InvalidArgumentError(
                "netclaw.json is gone.", fix="Put it back, or run `netclaw init`."
            )
        return _load(home, ticket)

    return load


def _set_up_logs(config: LoadedConfig, redact: Redactor) -> LogSetup:
    redact.replace_secrets(config.redactions)
    logs = LogSetup(
        config.home.logs_dir,
        level=config.model.logging.log_level.default.value,
        has_console=config.model.logging.console.enabled or sys.stderr.isatty(),
        redact=redact,
    )
    for warning in config.warnings:
        _log.warning("%s", warning)
    return logs


async def _serve(
    guard: HomeGuard, config: LoadedConfig, ticket: Ticket, redact: Redactor, logs: LogSetup
) -> Supervisor:
    """Open what the daemon needs, run it, close it; its `ending` says what follows."""
    spawner = make_spawner()
    kill_leftovers(str(guard.home.root))
    start_undertaker(str(guard.home.root), spawner)
    store: SqliteJournalStore | None = None
    try:
        # The proof runs real commands, so it takes the time that the database needs anyway.
        proving = asyncio.create_task(
            asyncio.to_thread(prove_backends, config.session.tools), name="sandbox proof"
        )
        store = await SqliteJournalStore.open(guard.home.database, config.storage, config.daemon)
        sandbox = await proving
        await spawner.reap_strangers()  # what the proof's commands left to their subreaper
        spawner.bury_adopted()
        supervisor = Supervisor(
            DaemonParts(
                guard=guard,
                config=config,
                store=store,
                spawner=spawner,
                redact=redact,
                generation=ticket.generation,
                sandbox=sandbox,
                local_model=LocalModel.start(config.session, guard.home.root, spawner),
                reload_config=_reloader(guard.home, ticket),
                on_new_config=lambda new: _apply_live(new, logs),
                recognise=spawner.recognise,
            )
        )
        _listen_to_signals(supervisor)
        await supervisor.start()
    except BaseException:
        await spawner.close()
        if store is not None:
            await store.close()
        raise
    # What exists now lives as long as the daemon: a collection need not look at it again.
    gc.collect()
    gc.freeze()
    supervisor.when_ending = _end_anyhow_after
    await supervisor.serve()
    return supervisor


def _end_anyhow_after(budget_s: float) -> None:
    """However the loop hangs, the process does not outlive its budget by much."""

    def end() -> None:
        stop_leftovers()
        os._exit(EXIT_FAILED)

    timer = threading.Timer(budget_s + OVERRUN_GRACE_S, end)
    timer.daemon = True
    timer.start()


def _execute_again(guard: HomeGuard, ticket: Ticket) -> NoReturn:
    """Become the next generation: same program, same pid, same lock (decision 80)."""
    next_ticket = replace(
        ticket, lock_fd=guard.lock.prepare_for_exec(), generation=ticket.generation + 1
    )
    kept = list(sys.orig_argv[1:])
    if TICKET_FLAG in kept:
        place = kept.index(TICKET_FLAG)
        del kept[place : place + 2]
    argv = [sys.executable, *kept, TICKET_FLAG, next_ticket.argument()]
    os.execv(sys.executable, argv)  # noqa: S606 - the very program that runs now


def _apply_live(config: LoadedConfig, logs: LogSetup) -> None:
    logs.replace_secrets(config.redactions)
    logs.set_level(config.model.logging.log_level.default.value)


def _listen_to_signals(supervisor: Supervisor) -> None:
    """Signal handlers only enqueue."""
    loop = asyncio.get_running_loop()
    for number, wish in (
        (signal.SIGTERM, Wish.STOP),
        (signal.SIGINT, Wish.STOP),
        (signal.SIGHUP, Wish.RELOAD),
    ):
        loop.add_signal_handler(number, supervisor.wish, wish)


if __name__ == "__main__":
    sys.exit(main())
