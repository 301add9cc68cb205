"""The page of the data layout against a real home: every path that was made is a line of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from netclaw.wire.v1 import gateway_pb2
from tests.process.test_command_line import cli
from tests.process.world import World

pytestmark = pytest.mark.timeout(120)

PAGE = Path(__file__).resolve().parents[2] / "docs/operator/data-layout.md"
PLACES = ("The home", "The envelope of a session", "The temporary folder")
ASKING_NOBODY = "Tools.AudienceProfiles.Personal.ApprovalPolicy.ToolOverrides.shell_execute"
SPILLING = "Session.Tuning.MaxInlineToolResultChars"


def patterns(title: str) -> list[re.Pattern[str]]:
    """What a section of the page lists, as expressions that match paths and their parents."""
    body = PAGE.read_text().split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]
    cells = re.findall(r"^\| (`.*?) \|", body, re.MULTILINE)
    found = [path for cell in cells for path in re.findall(r"`([^`]+)`", cell)]
    return [re.compile(_expression(path)) for path in found]


def _expression(path: str) -> str:
    """A path with its parents optional: a folder on the way is explained by what it holds."""
    beneath = path.endswith("/*")
    parts = path.removesuffix("/*").rstrip("/").split("/")
    words = [re.sub(r"<\w+>", "[^/]+", re.escape(part).replace(r"\-", "-")) for part in parts]
    expression = "(?:/.*)?" if beneath else ""
    for number, word in enumerate(reversed(words)):
        inner = f"/{expression}" if number and expression else expression
        expression = word + (f"(?:{inner})?" if number else inner)
    return expression


def made(root: Path, *, leave_out: tuple[str, ...] = ()) -> Iterator[str]:
    """Every path below a folder."""
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if not name.startswith(leave_out):
            yield name


def unlisted(root: Path, title: str, **options: tuple[str, ...]) -> list[str]:
    """Paths that the page does not know."""
    known = patterns(title)
    return [
        path
        for path in made(root, **options)
        if not any(pattern.fullmatch(path) for pattern in known)
    ]


async def use(world: World) -> Path:
    """Everything that makes files: secrets, tools, results, uploads; returns the temp folder."""
    await cli(
        world,
        *("init", "--non-interactive", "--force", "--provider", "openai-compatible"),
        *("--endpoint", world.model.url, "--model", "fake-model"),
    )
    await cli(world, "secrets", "set", "Providers.openai-compatible.ApiKey", "sk-1")
    await cli(world, "config", "set", SPILLING, "200")
    await cli(world, "config", "set", ASKING_NOBODY, "Auto")
    (world.home / "config/tool-approvals.json").write_text('{"version": 2, "audiences": {}}')
    await cli(world, "approvals", "trust-verb", "git push")
    await cli(world, "daemon", "start")
    shell = "seq 1 2000; echo a > $TMPDIR/a; mkdir -p deep; echo b > deep/b.txt"
    script = f'[[tool:shell_execute {{"command": "{shell}"}}]] [[reply:done]]'
    await cli(world, "chat", "-p", script, "--resume", "notes")
    await world.peer.connect()
    call = world.peer.gateway.Upload(metadata=world.peer.metadata)
    await call.write(
        gateway_pb2.UploadChunk(
            session_id="notes", name="x.txt", media_type="text/plain", data=b"text"
        )
    )
    await call.done_writing()
    await call
    await cli(world, "chat", "-p", "[[reply:done]]", "--resume", "gone")
    await cli(world, "sessions", "delete", "gone", "--yes")
    await cli(world, "daemon", "restart")
    shown = (await cli(world, "sessions", "show", "notes", "--json")).json
    return Path(shown["storage"]["tmp"]).parent


@pytest.mark.requirement("operator.data-layout")
async def test_every_path_that_netclaw_makes_is_a_line_of_the_page() -> None:
    async with World() as world:
        try:
            temporary = await use(world)
            while_up = unlisted(world.home, PLACES[0], leave_out=("sessions/",))
            (envelope,) = world.home.glob("sessions/notes-*")
            in_envelope = unlisted(envelope, PLACES[1])
            in_temporary = unlisted(temporary, PLACES[2])
            seen = {path for root in (world.home, envelope, temporary) for path in made(root)}
            stored = {oct(path.stat().st_mode)[-3:] for path in (world.home / "run").iterdir()}
        finally:
            await world.peer.close()
            await cli(world, "daemon", "stop")
        after = unlisted(world.home, PLACES[0], leave_out=("sessions/",))
    assert (while_up, in_envelope, in_temporary, after) == ([], [], [], [])
    for path in ("workspace/deep/b.txt", "p/a", "run/operator.token", "netclaw.db-wal"):
        assert path in seen, f"{path} was to be made, or nothing is shown here"
    assert any(path.startswith("tool-calls/") for path in seen)
    assert any(path.startswith("attachment-staging/") for path in seen)
    assert any(path.startswith("trash/") for path in seen)
    assert stored <= {"600", "700"}


@pytest.mark.requirement("operator.data-layout")
@pytest.mark.parametrize(
    ("path", "is_known"),
    [
        *(("config", True), ("config/netclaw.json", True), ("config/other.json", False)),
        *(("logs/daemon-2026-01-01.log", True), ("logs/strange.log", False)),
        *(("trash/2026-01-01/notes-abc/workspace/x", True), ("new-thing", False)),
        *(("models/a/b.gguf", True), ("identity/SOUL.md", True), ("identity/OTHER.md", False)),
    ],
)
def test_the_comparison_tells_what_is_listed_from_what_is_not(path: str, is_known: bool) -> None:
    assert any(pattern.fullmatch(path) for pattern in patterns("The home")) is is_known
