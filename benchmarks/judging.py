"""The cost of deciding about a command: parsed by the real parser, with facts of real folders."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from pathlib import Path

from benchmarks.figures import percentile
from netclaw.core.authz.profiles import ConsentModes
from netclaw.core.session.rulings import Outcome
from netclaw.sandbox.path_facts import HostPaths
from netclaw.sandbox.shell_parser import ShfmtParser
from netclaw.tools.authorization.subjects import FactSources
from netclaw.tools.factory import make_tool_runner
from tests.tools.rig import PROVED, NoShell, Rig

COMMANDS = (
    ("git status", Outcome.ALLOWED),
    ("cat README.md src/main.py | grep -n main | sort | uniq -c", Outcome.ALLOWED),
    ("git add . && git commit -m 'a change' && git push origin dev", Outcome.REQUIRES_CONSENT),
    ("npm run build > build.log 2>&1", Outcome.REQUIRES_CONSENT),
    (
        'n=$(git rev-parse HEAD); echo "at $n"; cp src/main.py /srv/copy.py',
        Outcome.REQUIRES_CONSENT,
    ),
    ('bash -lc "cd src && python3 main.py --input ../README.md"', Outcome.REQUIRES_CONSENT),
    (
        "if test -f README.md; then rm -rf build; else mkdir -p out/a/b; fi",
        Outcome.REQUIRES_CONSENT,
    ),
)


async def measure_authorize(*, runs: int) -> dict[str, float]:
    """From a call's arguments to its ruling, by the dispatcher of a session; nothing is kept."""
    samples: list[float] = []
    with tempfile.TemporaryDirectory(prefix="nc-", dir="/tmp") as folder:
        rig = Rig(folder=Path(folder), modes=ConsentModes())
        _fill(rig.workspace)
        sources = FactSources(parser=ShfmtParser(), paths=HostPaths())
        runner = make_tool_runner(PROVED, NoShell(), sources)
        for _ in range(runs):
            for command, expected in COMMANDS:
                call = rig.proposed("shell_execute", json.dumps({"command": command}))
                context = rig.context()
                began = time.perf_counter()
                ruling = await runner.judge(call, context)
                samples.append((time.perf_counter() - began) * 1000)
                if ruling.outcome is not expected:
                    message = f"{command!r} was {ruling.outcome.value}"
                    raise RuntimeError(message)
    return {"authorizeP50Ms": percentile(samples, 0.5)}


def _fill(folder: Path) -> None:
    """A small repository."""
    (folder / "src").mkdir()
    for name in ("README.md", "src/main.py", "package.json"):
        (folder / name).write_text("main\n")
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
