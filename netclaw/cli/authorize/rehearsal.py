"""Judges a tool call as a session would, up to the moment in which it would start.

The judge is the one of the session processes; only the session around the call is imagined: a new
one of the audience, whose project directory is the given folder if it could be declared there.
Nothing is run, nothing is written, no consent is used up.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NoReturn

from netclaw.core import storage_layout
from netclaw.core.authority import (
    Audience,
    Authenticity,
    Authority,
    Principal,
    Provenance,
    Requester,
    SourceKind,
)
from netclaw.core.authz import path_access
from netclaw.core.authz.decisions import Decision
from netclaw.core.authz.profiles import SHELL, reach_of
from netclaw.core.authz.reasons import DenyReason
from netclaw.core.authz.sandbox_access import SandboxAccess, access_of
from netclaw.core.errors import InternalError, InvalidArgumentError, NotFoundError
from netclaw.core.ids import CallId, SessionId, TurnId
from netclaw.core.session.rulings import Outcome
from netclaw.core.tool_call import FileOperation, OutcomeCategory, ToolCall
from netclaw.ports.consents import KnownConsents, NewConsents
from netclaw.ports.tool import SessionFacts, ToolContext
from netclaw.sandbox.path_facts import HostPaths
from netclaw.sandbox.runner import SandboxRunner
from netclaw.sandbox.shell_parser import ShfmtParser
from netclaw.tools.authorization.authorizer import Authorizer, Evaluation, Question
from netclaw.tools.authorization.parsed_sources import ParsedSources
from netclaw.tools.authorization.policies import policy_for
from netclaw.tools.authorization.subjects import FactSources
from netclaw.tools.authorization.visibility import is_visible
from netclaw.tools.factory import core_tools
from netclaw.tools.faults import ToolFault
from netclaw.tools.places import project_directory
from netclaw.tools.schema import Arguments, Field, parse, parse_foreign
from netclaw.tools.tool import EVERYONE, OfServer, Scope, Tool
from netclaw.tools.tool import Outcome as ToolOutcome

if TYPE_CHECKING:
    from netclaw.config.home import Home
    from netclaw.core.authz.grants import GrantStore
    from netclaw.core.settings import SessionStorage, ToolSettings
    from netclaw.ports.shell_runner import SandboxFacts

SESSION = SessionId("cli/authorize")
_TURN, _CALL = TurnId("rehearsal"), CallId("rehearsal")
_NAME = re.compile(r"[A-Za-z0-9_.-]+")
"""What a grant can name."""
_ATTEMPT = "auth-rehearsal"
_NOT_RUN = " The tool was not run."
_CLOSED = Decision(attempt_id=_ATTEMPT, outcome=Outcome.DENIED, deny=DenyReason.PATH_PROTECTED)
"""What file tools never open: credentials, other sessions' files, the kernel's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One call to explain; `arguments` is the JSON text of its object."""

    arguments: str
    tool: str = SHELL
    audience: Audience = Audience.PERSONAL
    folder: str = "/"
    """Absolute: where a command runs, and the project directory if it may be one."""
    is_attended: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """A decision with what it rests on, and what the kernel would allow if the call ran."""

    asked: Asked
    decision: Decision
    evaluation: Evaluation | None
    """None for a path that file tools never open: nothing else was looked at."""
    project: str = ""
    """The folder as a project directory; empty if it may not be one."""
    access: SandboxAccess | None = None
    """None for a call that would not run, or starts no command."""
    rules_fault: str = ""
    """Why the operator's deny rules cannot be read, which switches commands off."""


class Rehearsal:
    """One configuration, one sandbox, the grants of one moment."""

    def __init__(
        self, home: Home, settings: ToolSettings, sandbox: SandboxFacts, store: GrantStore
    ) -> None:
        self._home = home
        self._settings = settings
        self._sandbox = sandbox
        self._consents = _Stored(store)
        self._tools = {tool.name: tool for tool in core_tools(SandboxRunner(sandbox))}
        sources = FactSources(parser=ParsedSources(ShfmtParser()), paths=HostPaths())
        self._authorizer = Authorizer(sandbox, sources)

    async def explain(self, asked: Asked) -> Explained:
        """Judge one call.

        Raises `NotFoundError` for a tool that does not exist and `InvalidArgumentError` for
        arguments that it does not take.
        """
        context = self._context(asked)
        question = self._question(asked, context)
        project = project_directory(context)
        folder = project.announced if project is not None else ""
        try:
            found = await self._authorizer.evaluate(question)
            ran = await self._if_allowed(found, question)
        except ToolFault as fault:
            if fault.category is not OutcomeCategory.ACCESS_DENIED:
                raise InvalidArgumentError(_as_said(fault)) from None
            return Explained(asked=asked, decision=_CLOSED, evaluation=None, project=folder)
        return Explained(
            asked=asked,
            decision=found.decision,
            evaluation=found,
            project=folder,
            access=self._access(ran) if ran is not None else None,
            rules_fault=self._settings.deny_rules_fault,
        )

    async def _if_allowed(self, found: Evaluation, question: Question) -> Evaluation | None:
        """The decision that would let the call run; None if nothing would."""
        if found.decision.outcome is Outcome.REQUIRES_CONSENT:
            found = await self._authorizer.evaluate(question, frozenset({found.request.key}))
        return found if found.is_allowed else None

    def _access(self, found: Evaluation) -> SandboxAccess | None:
        if found.request.tool != SHELL:
            return None
        return access_of(found.request, found.decision, found.policy, self._settings)

    def _question(self, asked: Asked, context: ToolContext) -> Question:
        tool = self._tool(asked.tool)
        text = asked.arguments
        try:
            if isinstance(tool, _ServerTool):
                arguments = parse_foreign(text)
            else:
                text = _in_folder(text, asked.folder) if tool.name == SHELL else text
                arguments = parse(tool.fields, text)
        except ToolFault as fault:
            raise InvalidArgumentError(
                _as_said(fault), fix="Pass the tool's arguments as one JSON object after `--`."
            ) from None
        return Question(
            tool=tool,
            arguments=arguments,
            call=ToolCall(
                call_id=_CALL,
                provider_call_id="",
                name=tool.name,
                arguments=text,
                attempt_id=_ATTEMPT,
            ),
            context=context,
            native=tuple(
                name
                for name, each in self._tools.items()
                if is_visible(each, asked.audience, self._settings, self._sandbox)
            ),
        )

    def _tool(self, name: str) -> Tool:
        named = self._tools.get(name)
        if named is not None:
            return named
        found = _ServerTool.named(name)
        if found is None:
            raise NotFoundError(
                f"There is no tool {name!r}.",
                fix=f"Use one of: {', '.join(self._tools)}, or SERVER__TOOL.",
            )
        if found.server not in {server.name for server in self._settings.servers}:
            raise NotFoundError(
                f"There is no MCP server {found.server!r}.",
                fix="`netclaw mcp list` names those that are configured.",
            )
        return found

    def _context(self, asked: Asked) -> ToolContext:
        """What the call may rely on, with the folder declared if a session could declare it."""
        bare = self._bare_context(asked)
        policy = policy_for(bare, self._sandbox, ())
        reach = reach_of(policy.profile, FileOperation.DECLARE_PROJECT_SCOPE, policy.roots)
        fact = HostPaths().path(asked.folder)
        declared = path_access.decide(
            fact, FileOperation.DECLARE_PROJECT_SCOPE, reach, policy.protected
        )
        return replace(bare, working_directory=asked.folder) if declared.is_allowed else bare

    def _bare_context(self, asked: Asked) -> ToolContext:
        requester = Requester(
            session_id=SESSION,
            audience=asked.audience,
            boundary="local",
            channel_type=SourceKind.CLI,
            sender_id=str(os.getuid()),
            principal=Principal.OPERATOR,
        )
        came = Provenance(source_kind=SourceKind.CLI, authenticity=Authenticity.LOCAL_PROCESS)
        return ToolContext(
            session_id=SESSION,
            turn_id=_TURN,
            authority=Authority(requester=requester, provenance=came),
            is_attended=asked.is_attended,
            storage=self._storage(),
            settings=self._settings,
            working_directory="",
            trees=_NoTrees(),
            facts=_no_facts,
            consents=self._consents,
            redact=lambda text: text,
            on_item=lambda: None,
        )

    def _storage(self) -> SessionStorage:
        home = str(self._home.root)
        root = storage_layout.new_root(home, SESSION)
        return storage_layout.storage_of(home, root, os.getuid(), SESSION)


def _in_folder(arguments: str, folder: str) -> str:
    """The arguments of a command, which runs in the folder unless they name another."""
    try:
        given: object = json.loads(arguments)
    except ValueError:
        return arguments  # the tool says what is wrong with it
    if not isinstance(given, dict) or given.get("working_directory"):
        return arguments
    return json.dumps({**given, "working_directory": folder}, ensure_ascii=False)


def _as_said(fault: ToolFault) -> str:
    return fault.sentence.removesuffix(_NOT_RUN)


class _Stored:
    """The stored grants; a chat that is only imagined has none of its own."""

    def __init__(self, store: GrantStore) -> None:
        self._store = store

    async def read(self) -> KnownConsents:
        """See `ConsentSource`."""
        return KnownConsents(store=self._store)

    async def record(self, added: NewConsents) -> NoReturn:
        """See `ConsentSource`: a rehearsal gives no consent."""
        del added
        raise InternalError("A rehearsal was about to record a consent.")


@dataclass(slots=True, kw_only=True)
class _ServerTool(OfServer):
    """A tool of an MCP server by name alone: its server is not asked, and need not run."""

    name: str
    server: str
    server_tool: str
    description: str = ""
    fields: tuple[Field, ...] = ()
    audiences: frozenset[Audience] = EVERYONE

    @classmethod
    def named(cls, name: str) -> _ServerTool | None:
        """The tool that `server__tool` or `mcp:server:tool` names; None for another shape."""
        if name.startswith("mcp:"):
            server, _, tool = name.removeprefix("mcp:").partition(":")
        else:
            server, _, tool = name.partition("__")
        if not (_NAME.fullmatch(server) and _NAME.fullmatch(tool)):
            return None
        return cls(name=f"{server}__{tool}", server=server, server_tool=tool)

    async def run(self, arguments: Arguments, scope: Scope) -> ToolOutcome:
        """See `Tool`: a rehearsal runs nothing."""
        del arguments, scope
        raise InternalError("A rehearsal was about to run a tool.")


class _NoTrees:
    """A rehearsal starts no process."""

    async def opened(self, call_id: CallId, pid: int, start_ticks: int) -> NoReturn:
        """See `ToolTrees`."""
        del call_id, pid, start_ticks
        raise InternalError("A rehearsal was about to start a process.")

    async def closed(self, call_id: CallId) -> NoReturn:
        """See `ToolTrees`."""
        del call_id
        raise InternalError("A rehearsal was about to end a process.")


def _no_facts() -> SessionFacts:
    raise InternalError("A rehearsal has no session.")


def with_command(asked: Asked, command: str) -> Asked:
    """The same for a shell command."""
    return replace(asked, tool=SHELL, arguments=command_arguments({"command": command}))


def command_arguments(values: Mapping[str, str]) -> str:
    """Arguments as the JSON text of a call."""
    return json.dumps(dict(values), ensure_ascii=False)
