"""A session's folders and the real dispatcher over them, without a supervisor."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
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
from netclaw.core.authz.path_access import Root
from netclaw.core.authz.profiles import ConsentModes, FileRule
from netclaw.core.ids import CallId, SessionId, TurnId
from netclaw.core.session.consent_events import ConsentRequest
from netclaw.core.session.rulings import CallRuling, Outcome
from netclaw.core.settings import SessionStorage, ToolSettings
from netclaw.core.tool_call import OutcomeCategory, ToolCall, ToolReceipt, ToolResult
from netclaw.ports.shell_runner import (
    Confinement,
    OutputSink,
    SandboxFacts,
    ShellEnd,
    ShellOutcome,
    ShellRequest,
)
from netclaw.ports.tool import SessionFacts, ToolContext, ToolRunner
from netclaw.sandbox.path_facts import HostPaths
from netclaw.sandbox.shell_parser import ShfmtParser
from netclaw.tools.authorization.parsed_sources import ParsedSources
from netclaw.tools.authorization.policies import policy_for
from netclaw.tools.authorization.subjects import FactSources
from netclaw.tools.closed import closed_places
from netclaw.tools.factory import make_tool_runner
from netclaw.tools.places import places_for
from netclaw.tools.reach import Reach
from tests.fakes.consents import MemoryConsents

SECRET = "hunter2-hunter2"
PROVED = SandboxFacts(backend=Confinement.BUBBLEWRAP, program="bwrap", why="", limits="rlimits")


SHELL_AUTO = ConsentModes(tools={"shell_execute": "Auto"})
SOURCES = FactSources(parser=ParsedSources(ShfmtParser()), paths=HostPaths())


class NoShell:
    """Stands where commands are not the subject: refuses every one."""

    async def run(
        self, request: ShellRequest, *, on_started: Callable[..., object], sink: OutputSink
    ) -> ShellOutcome:
        """Always refused."""
        del request, on_started, sink
        return ShellOutcome(end=ShellEnd.FAILED_TO_START, exit_code=-1, duration_ms=0)


def unruled(call: ToolCall, ruling: CallRuling) -> ToolResult | None:
    """The result of a call that does not run by its ruling, as the session makes it."""
    if ruling.outcome is Outcome.ALLOWED:
        return None
    categories = {Outcome.REQUIRES_CORRECTION: OutcomeCategory.RECOVERABLE_CORRECTION}
    category = ruling.category or categories.get(ruling.outcome, OutcomeCategory.ACCESS_DENIED)
    receipt = ToolReceipt(category=category, remediation=ruling.remediation)
    return ToolResult(call_id=call.call_id, text=ruling.text, receipt=receipt)


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
    runner: ToolRunner = field(default_factory=lambda: make_tool_runner(PROVED, NoShell(), SOURCES))
    consents: MemoryConsents = field(default_factory=MemoryConsents)
    trees: Trees = field(default_factory=Trees)
    redact: Callable[[str], str] = lambda text: text.replace(SECRET, "***")
    items: int = 0
    is_attended: bool = True
    modes: ConsentModes = SHELL_AUTO
    """Consent modes of the audience; nobody is asked for a command unless a test wants it."""
    loaded: tuple[str, ...] = ()
    """Deferred tools that the model is shown."""
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

    @property
    def judged_settings(self) -> ToolSettings:
        """The settings with the consent modes of this rig."""
        profiles = tuple(
            replace(profile, consent=self.modes) if profile.audience is self.audience else profile
            for profile in self.settings.profiles
        )
        return replace(self.settings, profiles=profiles)

    def context(self) -> ToolContext:
        """The context of one call."""
        return ToolContext(
            session_id=SessionId("cli/aaaaaaaaaa"),
            turn_id=TurnId("turn"),
            authority=self.authority,
            is_attended=self.is_attended,
            storage=self.storage,
            settings=self.judged_settings,
            working_directory=self.project,
            trees=self.trees,
            facts=self._facts,
            consents=self.consents,
            redact=self.redact,
            on_item=self._count,
            loaded=self.loaded,
            silence_s=self.silence_s,
            max_inline_chars=self.max_inline_chars,
        )

    def reach(self) -> Reach:
        """What a file tool may touch in this session now."""
        context = self.context()
        return Reach(
            places=places_for(context),
            policy=policy_for(context, PROVED, ()),
            closed=closed_places(context.storage),
            umask=context.settings.umask,
        )

    def trust(self, *folders: Path, write: bool = False) -> None:
        """Adds folders to the roots of every audience, as an operator would."""
        roots = tuple(Root(canonical=str(path), resolved=str(path)) for path in folders)

        def wider(rule: FileRule) -> FileRule:
            return replace(rule, roots=(*rule.roots, *roots))

        profiles = tuple(
            replace(
                profile,
                read=wider(profile.read),
                write=wider(profile.write) if write else profile.write,
            )
            for profile in self.settings.profiles
        )
        self.settings = replace(self.settings, profiles=profiles)

    def names(self) -> list[str]:
        """The tools the model is shown."""
        shown = self.runner.definitions(self.authority, self.judged_settings, self.loaded)
        return [definition.name for definition in shown]

    async def call(self, name: str, **arguments: object) -> ToolResult:
        """Calls a tool as a model would."""
        return await self.call_raw(name, json.dumps(arguments))

    async def call_raw(self, name: str, arguments: str, *, fault: str | None = None) -> ToolResult:
        """Calls a tool with whatever text stands for its arguments, as a session does."""
        call, context = self.proposed(name, arguments, fault=fault), self.context()
        ruling = await self.runner.judge(call, context)
        result = unruled(call, ruling)
        return result if result is not None else await self.runner.run(call, context)

    def proposed(self, name: str, arguments: str, *, fault: str | None = None) -> ToolCall:
        """A call as the session names it."""
        self._calls += 1
        return ToolCall(
            call_id=CallId(f"call{self._calls:012d}"),
            provider_call_id="p",
            name=name,
            arguments=arguments,
            argument_fault=fault,
            attempt_id=f"auth-{self._calls}",
        )

    def request(self, call: ToolCall, ruling: CallRuling) -> ConsentRequest:
        """What a person is asked by this ruling."""
        return ConsentRequest(
            call_id=call.call_id,
            tool=call.name,
            display=ruling.display,
            candidates=ruling.candidates,
            options=ruling.options,
            requester=self.authority.requester,
            attempt_id=ruling.attempt_id,
            cwd=ruling.cwd,
        )

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
