"""What each audience may use: tools, MCP servers, file modes, consent modes (reference 2).

Public is never wider than Team, Team never wider than Personal. Everything unknown is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from netclaw.core.authority import Audience
from netclaw.core.authz.path_access import FileMode, FileReach, Root
from netclaw.core.tool_call import FileOperation

SHELL = "shell_execute"
POLL = "check_background_job"
SHELL_TOOLS = frozenset({SHELL, POLL})

_PUBLIC_TOOLS = frozenset(
    {"file_read", "file_list", "file_search", "tool_output_read", "attach_file"}
)
_TEAM_ONLY = """
    file_write file_edit web_search web_fetch skill_manage set_working_directory
    set_reminder list_reminders cancel_reminder get_reminder_history
"""
_TEAM_TOOLS = _PUBLIC_TOOLS | frozenset(_TEAM_ONLY.split())
MANAGED_TOOLS = (
    _TEAM_TOOLS | SHELL_TOOLS | frozenset({"skill_execute", "webhook_manage", "webhook_list"})
)
"""Tools that a profile's list limits; other tools are not restricted by it."""


MAX_ATTACHMENT_BYTES = 25 * 1024 * 1024
"""No attachment is larger, whatever is configured."""


class ListMode(StrEnum):
    """Whether a profile lists what is allowed or allows all."""

    ALLOWLIST = "Allowlist"
    ALL = "All"


class ConsentMode(StrEnum):
    """What a call needs before it runs (glossary "consent mode")."""

    AUTO = "Auto"
    APPROVAL = "Approval"
    DENY = "Deny"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsentModes:
    """`ApprovalPolicy` of one audience, as configured: texts, judged when they are used."""

    default: str = ConsentMode.AUTO
    tools: Mapping[str, str] = field(default_factory=dict)
    servers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRule:
    """Mode and configured roots of one file operation."""

    mode: FileMode
    roots: tuple[Root, ...] = ()


class AttachmentCategory(StrEnum):
    """The kind of a file that is handed in or attached."""

    IMAGE = "Image"
    PDF = "Pdf"
    DOCUMENT = "Document"
    ARCHIVE = "Archive"
    MEDIA = "Media"
    OTHER = "Other"


_TEAM_CATEGORIES = frozenset(AttachmentCategory) - {AttachmentCategory.OTHER}
_CATEGORIES = {
    Audience.PUBLIC: frozenset({AttachmentCategory.IMAGE}),
    Audience.TEAM: _TEAM_CATEGORIES,
    Audience.PERSONAL: frozenset(AttachmentCategory),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachmentRule:
    """`ChannelAttachments` of one audience; no category rejects every file."""

    categories: frozenset[AttachmentCategory] = frozenset()
    max_file_bytes: int = MAX_ATTACHMENT_BYTES
    max_files_per_message: int = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class AudienceProfile:
    """Everything one audience may use."""

    audience: Audience
    tools_mode: ListMode
    allowed_tools: frozenset[str]
    servers_mode: ListMode = ListMode.ALLOWLIST
    allowed_servers: frozenset[str] = frozenset()
    server_tools: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """A server that is listed here gives only the listed tools."""
    read: FileRule
    write: FileRule
    attach: FileRule
    consent: ConsentModes = field(default_factory=ConsentModes)
    attachments: AttachmentRule = field(default_factory=AttachmentRule)

    def allows_tool(self, tool: str) -> bool:
        """Whether the profile's own list lets a first-party tool through."""
        return (
            self.tools_mode is ListMode.ALL
            or tool not in MANAGED_TOOLS
            or tool in self.allowed_tools
        )

    def allows_server(self, server: str) -> bool:
        """Whether the audience may use an MCP server."""
        return self.servers_mode is ListMode.ALL or server in self.allowed_servers

    def allows_server_tool(self, server: str, tool: str) -> bool:
        """Whether the audience may use one tool of an allowed server."""
        listed = self.server_tools.get(server)
        return listed is None or tool in listed


def default_profile(audience: Audience) -> AudienceProfile:
    """The profile of an audience for which nothing is configured."""
    mode = FileMode.ALL if audience is Audience.PERSONAL else FileMode.ROOTS
    rule = FileRule(mode=mode)
    is_personal = audience is Audience.PERSONAL
    return AudienceProfile(
        audience=audience,
        tools_mode=ListMode.ALL if is_personal else ListMode.ALLOWLIST,
        allowed_tools=_TEAM_TOOLS if audience is Audience.TEAM else _PUBLIC_TOOLS,
        servers_mode=ListMode.ALL if is_personal else ListMode.ALLOWLIST,
        read=rule,
        write=FileRule(mode=FileMode.NONE) if audience is Audience.PUBLIC else rule,
        attach=rule,
        attachments=AttachmentRule(categories=_CATEGORIES[audience]),
    )


DEFAULT_PROFILES = tuple(map(default_profile, Audience))
"""What holds where nothing is configured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRoots:
    """The folders that a session brings with it; audiences get more or fewer of them."""

    own: tuple[Root, ...]
    """Workspace, artifacts, worktrees and the temporary key folder: every audience."""
    envelope: Root | None = None
    """All of the session's own storage, with its log: every audience, to read."""
    project: Root | None = None
    """The declared project directory; never for Public."""
    global_read: tuple[Root, ...] = ()
    """Skills, identity, workspaces: Read only, never for Public."""
    workspaces: Root | None = None
    """Where projects live: declared by who may read there."""
    shared: tuple[Root, ...] = ()
    """The shared sessions root and the logs root: Personal only."""
    log_file: Root | None = None
    """The exact log of a session with the old layout."""


def reach_of(
    profile: AudienceProfile, operation: FileOperation, session: SessionRoots
) -> FileReach:
    """How far one operation reaches in one session of an audience."""
    rule = _rule(profile, operation)
    roots = [*session.own, *rule.roots]
    is_reading = operation in (FileOperation.READ, FileOperation.DECLARE_PROJECT_SCOPE)
    if profile.audience is not Audience.PUBLIC:
        roots.extend([session.project] if session.project is not None else [])
        roots.extend(session.global_read if operation is FileOperation.READ else ())
    if operation is FileOperation.READ:
        single = (session.envelope, session.log_file)
        roots.extend(root for root in single if root is not None)
    if profile.audience is Audience.PERSONAL and is_reading:
        roots.extend(session.shared)
    if operation is FileOperation.DECLARE_PROJECT_SCOPE and _has_workspaces(profile, session):
        roots.extend([session.workspaces] if session.workspaces is not None else [])
    mode = rule.mode
    if operation is FileOperation.DECLARE_PROJECT_SCOPE and profile.audience is Audience.PUBLIC:
        mode = FileMode.NONE
    return FileReach(mode=mode, roots=tuple(roots))


def _has_workspaces(profile: AudienceProfile, session: SessionRoots) -> bool:
    if profile.audience is Audience.TEAM:
        return session.workspaces in session.global_read
    return profile.audience is Audience.PERSONAL


def _rule(profile: AudienceProfile, operation: FileOperation) -> FileRule:
    if operation is FileOperation.WRITE:
        return profile.write
    return profile.attach if operation is FileOperation.ATTACH else profile.read
