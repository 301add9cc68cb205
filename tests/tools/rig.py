"""A session's folders and the real dispatcher over them, without a supervisor."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from netclaw.core.authority import (
    Audience,
    Authenticity,
    Authority,
    Principal,
    Provenance,
    Requester,
    SourceKind,
)
from netclaw.core.ids import CallId, SessionId, TurnId
from netclaw.core.settings import SessionStorage, ToolSettings
from netclaw.core.tool_call import ToolCall, ToolResult
from netclaw.ports.shell_runner import (
    Confinement,
    OutputSink,
    SandboxFacts,
    ShellEnd,
    ShellOutcome,
    ShellRequest,
)
from netclaw.ports.tool import SessionFacts, ToolContext, ToolRunner
from netclaw.tools.factory import make_tool_runner

SECRET = "hunter2-hunter2"
PROVED = SandboxFacts(backend=Confinement.BUBBLEWRAP, program="bwrap", why="", limits="rlimits")


class NoShell:
    """Stands where commands are not the subject: refuses every one."""

    async def run(
        self, request: ShellRequest, *, on_started: Callable[..., object], sink: OutputSink
    ) -> ShellOutcome:
        """Always refused."""
        del request, on_started, sink
        return ShellOutcome(end=ShellEnd.FAILED_TO_START, exit_code=-1, duration_ms=0)


@dataclass(kw_only=True)
class Trees:
    """Remembers what was announced, in order."""

    told: list[tuple[str, str]] = field(default_factory=list)

    async def opened(self, call_id: CallId, pid: int, start_ticks: int) -> None:
        """Acknowledged at once."""
        assert pid > 0
        assert start_ticks > 0
        self.told.append(("opened", call_id))

    async def closed(self, call_id: CallId) -> None:
        """Only remembered."""
        self.told.append(("closed", call_id))


@dataclass(kw_only=True)
class Rig:
    """One session in a temporary home."""

    folder: Path
    audience: Audience = Audience.PERSONAL
    project: str = ""
    settings: ToolSettings = field(default_factory=ToolSettings)
    max_inline_chars: int = 12_000
    silence_s: float = 90.0
    runner: ToolRunner = field(default_factory=lambda: make_tool_runner(PROVED, NoShell()))
    trees: Trees = field(default_factory=Trees)
    redact: Callable[[str], str] = lambda text: text.replace(SECRET, "***")
    items: int = 0
    _calls: int = 0

    def __post_init__(self) -> None:
        """Makes what a session process would have made."""
        for path in (self.workspace, Path(self.storage.tmp), self.home / "config"):
            path.mkdir(parents=True, mode=0o700, exist_ok=True)
        for path in (self.secret_file, self.home / "netclaw.db", self.folder / "outside.txt"):
            path.write_text(f"{SECRET} of the host\n")

    @property
    def home(self) -> Path:
        """The netclaw home."""
        return self.folder / "home"

    @property
    def storage(self) -> SessionStorage:
        """The session's folders."""
        root = self.home / "sessions/one"
        return SessionStorage(home=str(self.home), root=str(root), tmp=str(self.folder / "t/k/p"))

    @property
    def workspace(self) -> Path:
        """The session directory."""
        return Path(self.storage.workspace)

    @property
    def secret_file(self) -> Path:
        """A protected file."""
        return self.home / "config/secrets.json"

    @property
    def authority(self) -> Authority:
        """The turn's authority."""
        requester = Requester(
            session_id=SessionId("cli/aaaaaaaaaa"),
            audience=self.audience,
            boundary="local",
            channel_type=SourceKind.CLI,
            sender_id=None,
            principal=Principal.OPERATOR,
        )
        provenance = Provenance(source_kind=SourceKind.CLI, authenticity=Authenticity.LOCAL_PROCESS)
        return Authority(requester=requester, provenance=provenance)

    def context(self) -> ToolContext:
        """The context of one call."""
        return ToolContext(
            session_id=SessionId("cli/aaaaaaaaaa"),
            turn_id=TurnId("turn"),
            authority=self.authority,
            is_attended=True,
            storage=self.storage,
            settings=self.settings,
            working_directory=self.project,
            trees=self.trees,
            facts=self._facts,
            redact=self.redact,
            on_item=self._count,
            silence_s=self.silence_s,
            max_inline_chars=self.max_inline_chars,
        )

    def names(self) -> list[str]:
        """The tools the model is shown."""
        shown = self.runner.definitions(self.authority, self.settings)
        return [definition.name for definition in shown]

    async def call(self, name: str, **arguments: object) -> ToolResult:
        """Calls a tool as a model would."""
        return await self.call_raw(name, json.dumps(arguments))

    async def call_raw(self, name: str, arguments: str, *, fault: str | None = None) -> ToolResult:
        """Calls a tool with whatever text stands for its arguments."""
        self._calls += 1
        call = ToolCall(
            call_id=CallId(f"call{self._calls:012d}"),
            provider_call_id="p",
            name=name,
            arguments=arguments,
            argument_fault=fault,
        )
        return await self.runner.run(call, self.context())

    def _count(self) -> None:
        self.items += 1

    def _facts(self) -> SessionFacts:
        return SessionFacts(
            session_id=SessionId("cli/aaaaaaaaaa"),
            title="Checking tools",
            phase="processing",
            audience=self.audience.value,
            channel="cli",
            turns=3,
            life=1,
            head_seq=42,
            buffered_inputs=0,
            last_input_tokens=1200,
            context_window=32768,
            model="test/model",
            working_directory=self.project,
        )
