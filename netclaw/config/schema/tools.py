"""`Tools` and `Security`: what may run, for whom, and how it is confined."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from netclaw.config.schema.base import Section, Text, fold
from netclaw.core.authority import Audience
from netclaw.core.authz.path_access import FileMode
from netclaw.core.authz.profiles import MAX_ATTACHMENT_BYTES, AttachmentCategory, ConsentMode
from netclaw.core.settings import SandboxBackendChoice, SandboxNetwork, ShellMode

ShellModeChoice = Annotated[ShellMode, BeforeValidator(fold(ShellMode))]
AudienceChoice = Annotated[Audience, BeforeValidator(fold(Audience))]


def _absolute(value: str) -> str:
    if not value.startswith(("/", "~/")):
        raise ValueError('an absolute path, or one that begins with "~/"')
    return value


FolderPath = Annotated[Text, AfterValidator(_absolute)]
"""A folder by its absolute path; `~/` is the home of the user who runs the daemon."""


class Sandbox(Section):
    """How a shell command is confined."""

    backend: Annotated[SandboxBackendChoice, BeforeValidator(fold(SandboxBackendChoice))] = Field(
        SandboxBackendChoice.AUTO, description="Confinement to use; auto takes the strongest."
    )
    network: Annotated[SandboxNetwork, BeforeValidator(fold(SandboxNetwork))] = Field(
        SandboxNetwork.GRANTED, description="When a command sees the network."
    )
    writable_roots: tuple[FolderPath, ...] = Field(
        (), description="Folders that are writable beside the session's own (file profile All)."
    )
    credentials: tuple[FolderPath, ...] = Field(
        (),
        description="Hidden places of credentials (`~/.ssh`) that commands with consent or a grant "
        "may read.",
    )
    memory_mib: int = Field(
        2048, alias="MemoryMiB", ge=16, le=1_048_576, description="Memory of one command in MiB."
    )
    processes: int = Field(512, ge=4, le=100_000, description="Processes of one command.")
    file_size_mib: int = Field(
        2048, alias="FileSizeMiB", ge=1, le=1_048_576, description="Largest file of a command, MiB."
    )
    cpu_seconds: int = Field(600, ge=1, le=86_400, description="Processor time of one process.")


class WebFetch(Section):
    """What the web tool may fetch."""

    require_https: bool = Field(True, description="Refuse plain http.")
    http_allow_list: tuple[Text, ...] = Field(
        ("localhost", "127.0.0.1", "::1"), description="Hosts that plain http may reach anyway."
    )


SESSION_DIR = "{session_dir}"
NAMED_FOLDERS = (SESSION_DIR, "{workspaces_dir}", "{skills_dir}", "{identity_dir}")


def _root(value: str) -> str:
    if value not in NAMED_FOLDERS and not value.startswith(("/", "~/")):
        names = ", ".join(NAMED_FOLDERS)
        raise ValueError(f'an absolute path, one that begins with "~/", or one of {names}')
    return value


RootPath = Annotated[Text, AfterValidator(_root)]
"""A folder by its path, or one that netclaw knows the place of by its name in braces."""


class SelectionMode(StrEnum):
    """Which tools or servers a profile offers."""

    ALLOWLIST = "Allowlist"
    ALL = "All"
    NONE = "None"
    """An Allowlist that lists nothing."""


def _selection(value: object) -> object:
    """Reads a mode in any letter case; `Listed` is an older word for Allowlist."""
    is_older = isinstance(value, str) and value.casefold() == "listed"
    return SelectionMode.ALLOWLIST if is_older else fold(SelectionMode)(value)


SelectionChoice = Annotated[SelectionMode, BeforeValidator(_selection)]
ConsentChoice = Annotated[ConsentMode, BeforeValidator(fold(ConsentMode))]
CategoryChoice = Annotated[AttachmentCategory, BeforeValidator(fold(AttachmentCategory))]


class FileAccess(Section):
    """One way of touching files."""

    mode: Annotated[FileMode, BeforeValidator(fold(FileMode))] | None = Field(
        None, description="None, only below Roots, or all; unset: Roots if there are any."
    )
    roots: tuple[RootPath, ...] = Field(
        (), description="Folders beside the session's own; for mode All, those of projects."
    )


class ApprovalPolicy(Section):
    """Consent by tool; looked up by exact tool, then server, then default."""

    default_mode: ConsentChoice | None = Field(
        None, description="For tools not named below; unset: Auto."
    )
    tool_overrides: dict[Text, ConsentChoice] = Field(
        default_factory=dict, description="Consent mode of single tools."
    )
    mcp_server_defaults: dict[Text, ConsentChoice] = Field(
        default_factory=dict, description="Consent mode of all tools of a server."
    )


class ChannelAttachments(Section):
    """Files that people of a channel may hand in, and that may be attached for them."""

    allowed_categories: tuple[CategoryChoice, ...] | None = Field(
        None, description="Kinds of files; an empty list rejects every file."
    )
    max_file_bytes: int = Field(
        MAX_ATTACHMENT_BYTES, ge=1, le=MAX_ATTACHMENT_BYTES, description="Largest file in bytes."
    )
    max_files_per_message: int = Field(10, ge=1, le=100, description="Files in one message.")


class AudienceProfile(Section):
    """What one audience may use; unset values follow the audience's defaults."""

    tools_mode: SelectionChoice | None = Field(
        None, description="Listed tools only, or all; shell, web and file tools are limited by it."
    )
    allowed_tools: tuple[Text, ...] | None = Field(None, description="Tools for mode Allowlist.")
    mcp_servers_mode: SelectionChoice | None = Field(
        None, description="Listed servers only, or all."
    )
    allowed_mcp_servers: tuple[Text, ...] = Field((), description="Servers for mode Allowlist.")
    mcp_server_tool_grants: dict[Text, tuple[Text, ...]] = Field(
        default_factory=dict,
        description="The only tools of a server; a server that is not named gives all of its own.",
    )
    read_files: FileAccess | None = Field(None, description="Files that may be read.")
    write_files: FileAccess | None = Field(None, description="Files that may be written.")
    attach_files: FileAccess | None = Field(None, description="Files that may be attached.")
    approval_policy: ApprovalPolicy | None = Field(None, description="Consent by tool.")
    channel_attachments: ChannelAttachments | None = Field(None, description="Files handed in.")


class AudienceProfiles(Section):
    """The three audiences, each within the next, and folders that two of them may read."""

    public: AudienceProfile = Field(default_factory=AudienceProfile)
    team: AudienceProfile = Field(default_factory=AudienceProfile)
    personal: AudienceProfile = Field(default_factory=AudienceProfile)
    global_read_roots: tuple[RootPath, ...] = Field(
        ("{skills_dir}", "{identity_dir}", "{workspaces_dir}"),
        description="Folders that Team and Personal may read.",
    )


class Tools(Section):
    """Limits and modes of tools."""

    shell_mode: ShellModeChoice | None = Field(
        None, description="Unset: SandboxOnly for posture Personal, Off for Team and Public."
    )
    shell_timeout_seconds: int = Field(
        60, ge=1, le=86_400, description="Silence after which a shell command is ended."
    )
    max_tool_timeout_seconds: int = Field(
        600, ge=1, le=86_400, description="Longest total time a model may ask for."
    )
    max_output_chars: int = Field(
        32_000, ge=100, le=10_000_000, description="Output of a call that is shown at most."
    )
    capture_ceiling_bytes: int = Field(
        1_048_576,
        ge=4096,
        le=1024**3,
        description="Full output is kept up to here; beyond it a spill says that it was cut.",
    )
    hard_deny_patterns: tuple[Text, ...] = Field(
        (), description="Commands that never run, beside those netclaw always refuses."
    )
    sandbox: Sandbox = Field(default_factory=Sandbox)
    web_fetch: WebFetch = Field(default_factory=WebFetch)
    audience_profiles: AudienceProfiles = Field(default_factory=AudienceProfiles)


class Security(Section):
    """The posture everything else defaults to."""

    deployment_posture: AudienceChoice = Field(
        Audience.PERSONAL, description="Who this daemon is for; sets the defaults of tools."
    )
    shell_execution_mode: ShellModeChoice | None = Field(
        None, description="Older name of Tools.ShellMode, which wins."
    )
    strict_defaults: bool = Field(True, description="What is not allowed somewhere is refused.")
