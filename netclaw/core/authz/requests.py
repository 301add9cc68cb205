"""What is asked of authorization, and everything an answer may depend on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from netclaw.core.authority import Audience, Requester
from netclaw.core.authz.deny_catalogue import BUILT_IN
from netclaw.core.authz.deny_rules import DenyRule
from netclaw.core.authz.facts import PathFact, RepositoryFact, ShellFacts, Surroundings
from netclaw.core.authz.grants import ChatGrant, GrantStore, OneTimeKey, Places
from netclaw.core.authz.profiles import AudienceProfile, SessionRoots
from netclaw.core.authz.protected import ProtectedPaths
from netclaw.core.authz.safe_catalogue import REVIEWED_SAFE, SafePhrase
from netclaw.core.authz.text_gate import TextRefusal
from netclaw.core.settings import ShellMode
from netclaw.core.tool_call import FileOperation


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellCall:
    """One `shell_execute` call. `facts` is None exactly if the text was refused."""

    command: str
    surroundings: Surroundings
    refusal: TextRefusal | None = None
    facts: ShellFacts | None = None
    paths: Mapping[str, PathFact] = field(default_factory=dict)
    repositories: Mapping[str, RepositoryFact | None] = field(default_factory=dict)
    directory_argument: str = ""
    is_temporary_retry: bool = False
    """The call repeats one that was advised to use its own temporary folder."""

    @property
    def places(self) -> Places:
        """What grants are compared with."""
        return Places(paths=self.paths, repositories=self.repositories)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileCall:
    """One call of a file tool that touches one path."""

    operation: FileOperation
    fact: PathFact


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainCall:
    """A call of a first-party tool that touches no path of the model's choosing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerCall:
    """A call of an MCP tool; the request's tool is the server's own name for it."""

    server: str


Call = ShellCall | FileCall | PlainCall | ServerCall


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizationRequest:
    """One evaluation of one tool call. The attempt id is opaque and grants nothing."""

    attempt_id: str
    tool: str
    arguments: str
    """The JSON text as prepared; part of a one-time key."""
    audience: Audience
    call: Call
    requester: Requester | None
    is_attended: bool
    """Whether a channel exists that can ask."""

    @property
    def key(self) -> OneTimeKey:
        """What a one-time consent for exactly this call looks like."""
        cwd = self.call.surroundings.cwd if isinstance(self.call, ShellCall) else ""
        return OneTimeKey(tool=self.grant_tool, arguments=self.arguments, cwd=cwd)

    @property
    def grant_tool(self) -> str:
        """The tool as grants name it."""
        if isinstance(self.call, ServerCall):
            return f"mcp:{self.call.server}:{self.tool}"
        return self.tool


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Policy data of one session's audience (glossary); a missing part is an error to make."""

    profile: AudienceProfile
    roots: SessionRoots
    protected: ProtectedPaths
    shell_mode: ShellMode
    has_sandbox: bool
    native_tools: frozenset[str] = frozenset()
    """First-party tools that the model can see now."""
    deny_rules: tuple[DenyRule, ...] = BUILT_IN
    safe: tuple[SafePhrase, ...] = REVIEWED_SAFE
    temporary: tuple[str, ...] = ("/tmp", "/var/tmp")  # noqa: S108 - compared, never used
    """Shared temporary folders, which a sandbox does not show."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Consents:
    """Every consent there is when a call is judged. Nothing in here is read before step 9."""

    one_time: frozenset[OneTimeKey] = frozenset()
    chat: frozenset[ChatGrant] = frozenset()
    store: GrantStore = field(default_factory=GrantStore)
