"""Ordinary programs work in a view without Unix sockets (ADR 0023): those installed here, run.

Landlock, the weakest backend, also takes changes of mode and the loopback; it is not asked for
more than `test_sockets` does.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from netclaw.core.settings import SandboxBackendChoice
from netclaw.ports.shell_runner import ShellEnd, ShellLimits
from tests.sandbox.rig import PROVED, WITH_VIEW, Rig

GIT = """
export GIT_CONFIG_GLOBAL=$PWD/config GIT_CONFIG_NOSYSTEM=1
git config --global user.name t && git config --global user.email t@example.invalid
git init -q a && cd a && echo x > f && git add f && git commit -q -m one
git clone -q . ../b && git clone -q "file://$PWD" ../c && git worktree add -q ../w
echo y > f && git commit -q -a -m two && git gc -q && git -C ../b pull -q
git -C ../b log --format=%s && git -C ../w log --format=%s && git -C ../c status --short
"""

PROCESSES = """
cat > work.py <<'X'
import multiprocessing, sys
from concurrent.futures import ProcessPoolExecutor
def square(x): return x * x
def answer(end): end.send(1)
if __name__ == "__main__":
    for way in ("fork", "spawn"):
        kind = multiprocessing.get_context(way)
        with kind.Pool(2) as pool: print(pool.map(square, [1, 2, 3]))
        ours, theirs = kind.Pipe()
        child = kind.Process(target=answer, args=(theirs,)); child.start(); print(ours.recv())
        child.join()
        with ProcessPoolExecutor(1, mp_context=kind) as pool: print(pool.submit(square, 4).result())
X
"$1" work.py
"""

SERVERS = """
"$1" -c '
import asyncio, pwd, syslog
async def greet(reader, writer):
    writer.write(b"hello"); writer.close()
async def main():
    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    print((await reader.read()).decode()); writer.close()
asyncio.run(main())
syslog.syslog("to nobody")
print(pwd.getpwuid(0).pw_name)'
"""

NODE = """
echo 'process.on("message", m => { process.send(m + 1); process.disconnect() })' > child.js
node -e '
const {execSync, fork} = require("child_process")
console.log(execSync("echo child").toString().trim())
const child = fork("./child.js")
child.on("message", m => { console.log("ipc", m)
  const server = require("net").createServer().listen(0, "127.0.0.1", () => {
    console.log("tcp"); server.close()
    new (require("worker_threads").Worker)("console.log(`worker`)", {eval: true}) }) })
child.send(1)'
"""

NPM = """
echo '{"name": "n", "version": "1.0.0", "scripts": {"a": "echo ran", "b": "npm run -s a"}}' \
  > package.json
npm run -s b
"""

MAKE = r"""
printf '#include <stdio.h>\nint main(void) { return puts("built") < 0; }\n' > m.c
printf 'm: m.c\n\t@gcc -pipe -o m m.c\n' > Makefile
make -s -j2 && ./m
"""

PROGRAMS = {
    "bash": ("bash", 'diff <(echo 1) <(echo 1) && (sleep 0.01 & wait) && echo "$(id -u)"', None),
    "git": ("git", GIT, "two\none\none\n"),
    "processes": (sys.executable, PROCESSES, "[1, 4, 9]\n1\n16\n" * 2),
    "servers": (sys.executable, SERVERS, "hello\nroot\n"),
    "node": ("node", NODE, "child\nipc 2\ntcp\nworker\n"),
    "npm": ("npm", NPM, "ran\n"),
    "make": ("make gcc", MAKE, "built\n"),
}
INSTALLED = [
    name for name, (needed, _, _) in PROGRAMS.items() if all(map(shutil.which, needed.split()))
]


@pytest.mark.timeout(60)
@pytest.mark.requirement("sandbox.pairs")
@pytest.mark.parametrize("choice", WITH_VIEW, ids=str)
@pytest.mark.parametrize("name", INSTALLED)
async def test_a_program_works(short_tmp: Path, choice: SandboxBackendChoice, name: str) -> None:
    _, script, expected = PROGRAMS[name]
    rig = Rig(facts=PROVED[choice], folder=short_tmp.resolve())
    ran = await rig.bash(script, sys.executable, bounds=ShellLimits(total_s=50))
    assert (ran.outcome.end, ran.outcome.exit_code) == (ShellEnd.EXITED, 0), ran.output
    assert ran.output == (f"{os.getuid()}\n" if expected is None else expected)
