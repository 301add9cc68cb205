"""The command behind `scripts/torture`: `kill` (the default) and other ways to make life hard."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.adapters.process.channel_torture import torture_channels
from tests.conftest import SEED_VARIABLE
from tests.process.consent_torture import consent_torture
from tests.process.notice_torture import torture_notices
from tests.process.run_torture import torture_runs
from tests.process.torture import torture
from tests.sandbox.ordinary_user import as_ordinary_user
from tests.soak.soak import Soak

COMMANDS = ("kill", "consent", "runs", "signals", "channels", "soak", "escape", "rules")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/torture", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    kill = commands.add_parser(
        "kill", help="kill processes at random; the default, its name may be left out"
    )
    consent = commands.add_parser(
        "consent", help="prompts, answers and grants under random kills and edits"
    )
    tree = commands.add_parser(
        "runs", help="trees of a session, five child runs and their jobs under random kills"
    )
    signals = commands.add_parser(
        "signals", help="watchers and targets under random kills: each line told once"
    )
    for command, kills in ((kill, 1000), (consent, 200), (tree, 200), (signals, 200)):
        command.add_argument("--kills", type=int, default=kills, help="processes killed per round")
    channels = commands.add_parser(
        "channels", help="conversations over Slack under random kills: each answered once"
    )
    channels.add_argument("--conversations", type=int, default=500, help="threads of a round")
    soak = commands.add_parser(
        "soak", help="random histories with every fault, checked by an independent reader"
    )
    soak.add_argument("--minutes", type=float, default=10.0, help="length of a round")
    soak.add_argument(
        "--keep", type=Path, default=None, help="folder for the home of a round that failed"
    )
    for command, sessions in ((kill, 12), (consent, 8), (soak, 50)):
        command.add_argument("--sessions", type=int, default=sessions, help="sessions under fire")
    escape = commands.add_parser(
        "escape", help="every attempt to get out, on every backend, as root and as another user"
    )
    escape.add_argument("--fuzz", type=int, default=10_000, help="commands judged and traced")
    rules = commands.add_parser(
        "rules", help="the machines of tests/properties, by new seeds while time lasts"
    )
    rules.add_argument("--minutes", type=float, default=10.0, help="begin no seed after these")
    for command in (kill, consent, tree, signals, channels, soak, escape, rules):
        command.add_argument("--seed", type=int, default=None, help="repeat this run")
        command.add_argument("--rounds", type=int, default=1, help="rounds with following seeds")
    return parser


def _kill(options: argparse.Namespace, seed: int) -> None:
    print(f"seed {seed}: {options.kills} kills over {options.sessions} sessions", flush=True)
    began = time.monotonic()
    toll = asyncio.run(torture(seed=seed, kills=options.kills, sessions=options.sessions))
    print(
        f"  kept every promise: {dict(toll.kills)}, {toll.inputs} inputs, "
        f"{toll.unconfirmed} unconfirmed, {toll.released} held starts released, "
        f"{time.monotonic() - began:.0f} s",
        flush=True,
    )


def _consent(options: argparse.Namespace, seed: int) -> None:
    print(f"seed {seed}: {options.kills} kills over {options.sessions} sessions", flush=True)
    began = time.monotonic()
    toll = asyncio.run(consent_torture(seed=seed, kills=options.kills, sessions=options.sessions))
    print("  kept every promise:", *toll.lines(), sep="\n  ", flush=True)
    print(f"  {time.monotonic() - began:.0f} s", flush=True)


def _runs(options: argparse.Namespace, seed: int) -> None:
    print(f"seed {seed}: {options.kills} kills over trees of child runs", flush=True)
    began = time.monotonic()
    toll = asyncio.run(torture_runs(seed=seed, kills=options.kills))
    print(
        f"  kept every promise: {dict(toll.kills)}, ends {dict(toll.ends)}, {toll.jobs} jobs, "
        f"{time.monotonic() - began:.0f} s",
        flush=True,
    )


def _signals(options: argparse.Namespace, seed: int) -> None:
    print(f"seed {seed}: {options.kills} kills over watchers and targets", flush=True)
    began = time.monotonic()
    toll = asyncio.run(torture_notices(seed=seed, kills=options.kills))
    print(
        f"  kept every promise: {dict(toll.kills)}, {toll.changes} changes, {toll.lines} lines, "
        f"{toll.wakes} wakes, {time.monotonic() - began:.0f} s",
        flush=True,
    )


def _channels(options: argparse.Namespace, seed: int) -> None:
    print(f"seed {seed}: {options.conversations} conversations over Slack", flush=True)
    began = time.monotonic()
    toll = asyncio.run(torture_channels(seed=seed, conversations=options.conversations))
    print("  kept every promise:", *toll.lines(), sep="\n  ", flush=True)
    print(f"  {time.monotonic() - began:.0f} s", flush=True)


def _soak(options: argparse.Namespace, seed: int) -> None:
    print(f"seed {seed}: {options.sessions} sessions, {options.minutes:g} minutes", flush=True)
    soak = Soak(seed=seed, sessions=options.sessions)
    report = asyncio.run(soak.run(minutes=options.minutes, keep=options.keep))
    print("  kept every promise:", *report.lines(), sep="\n  ", flush=True)


def _escape(options: argparse.Namespace, seed: int) -> None:
    print(f"seed {seed}: every backend, {options.fuzz} commands against bash", flush=True)
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly"]
    attempts = [*pytest, "tests/sandbox", "-m", "escape"]
    folder = Path(tempfile.mkdtemp(prefix="nc-", dir="/tmp"))
    environment = {
        **os.environ,
        "NETCLAW_TEST_BACKENDS": "all",
        "NETCLAW_FUZZ_COMMANDS": str(options.fuzz),
        "NETCLAW_RACE_TRIES": "50000",
        SEED_VARIABLE: str(seed),
    }
    own = {**environment, "HOME": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        subprocess.run(attempts, check=True, env=environment)
        if os.geteuid() == 0:
            print("  the same as an ordinary user", flush=True)
            subprocess.run(as_ordinary_user(attempts, folder), check=True, env=own)
        rest = (
            *("tests/sandbox/test_authz_fuzz.py", "tests/sandbox/test_swapped_paths.py"),
            "tests/tools/test_races.py",
        )
        once = [*pytest, f"--hypothesis-seed={seed}", "--timeout=0", "-m", "not escape", *rest]
        subprocess.run(once, check=True, env=environment)
    finally:
        shutil.rmtree(folder)
    print("  nothing got out", flush=True)


def _rules(options: argparse.Namespace, seed: int) -> None:
    """Play one seed, or, unless it was given, others after it until the minutes are over."""
    ends = time.monotonic() + options.minutes * 60
    while True:
        print(f"seed {seed}: rules of sessions, runs and cursors", flush=True)
        began = time.monotonic()
        if _machines(seed) != 0:
            raise SystemExit(f"broken; again: scripts/torture rules --seed {seed}")
        print(f"  kept every rule, {time.monotonic() - began:.0f} s", flush=True)
        if options.seed is not None or time.monotonic() >= ends:
            return
        seed = random.SystemRandom().randrange(2**32)


def _machines(seed: int) -> int:
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly"]
    how = ("-n", "2", "--dist", "worksteal", "--timeout=0", f"--hypothesis-seed={seed}")
    machines = sorted(map(str, Path("tests/properties").glob("test_*_machine.py")))
    with tempfile.TemporaryDirectory(prefix="nc-", dir="/tmp") as folder:
        # Without what other seeds found, which Hypothesis would try first.
        environment = {**os.environ, "HYPOTHESIS_STORAGE_DIRECTORY": folder}
        return subprocess.run([*pytest, *how, *machines], check=False, env=environment).returncode


def main() -> int:
    """Run the rounds asked for; a broken promise ends it with a traceback and its seed."""
    # Clients that are killed or told to hang up leave the scripted model in the middle of a word.
    logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)
    arguments = sys.argv[1:]
    is_named = bool(arguments) and arguments[0] in (*COMMANDS, "-h", "--help")
    options = _parser().parse_args(arguments if is_named else ["kill", *arguments])
    first = random.SystemRandom().randrange(2**32) if options.seed is None else options.seed
    played = {
        "kill": _kill,
        "consent": _consent,
        "runs": _runs,
        "signals": _signals,
        "channels": _channels,
        "soak": _soak,
        "escape": _escape,
        "rules": _rules,
    }
    run = played[options.command]
    for seed in range(first, first + options.rounds):
        run(options, seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
