"""`Tools` and `Security`: what may run, for whom, and how it is confined."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from netclaw.config.schema.base import Section, Text, fold
from netclaw.core.authority import Audience
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


class SelectionMode(StrEnum):
    """Which tools or servers a profile offers."""

    NONE = "None"
    LISTED = "Listed"
    ALL = "All"


class FileMode(StrEnum):
    """Which files a profile reaches."""

    NONE = "None"
    ROOTS = "Roots"
    ALL = "All"


class ConsentMode(StrEnum):
    """What a tool needs before it runs."""

    AUTO = "Auto"
    APPROVAL = "Approval"
    DENY = "Deny"


class AttachmentCategory(StrEnum):
    """Kinds of files a channel may hand in."""

    IMAGE = "Image"
    PDF = "Pdf"
    DOCUMENT = "Document"
    ARCHIVE = "Archive"
    MEDIA = "Media"
    OTHER = "Other"


SelectionChoice = Annotated[SelectionMode, BeforeValidator(fold(SelectionMode))]
ConsentChoice = Annotated[ConsentMode, BeforeValidator(fold(ConsentMode))]


class FileAccess(Section):
    """One way of touching files."""

    mode: Annotated[FileMode, BeforeValidator(fold(FileMode))] = Field(
        FileMode.NONE, description="None, only below Roots, or all."
    )
    roots: tuple[FolderPath, ...] = Field((), description="Folders for mode Roots.")


class ApprovalPolicy(Section):
    """Consent by tool; looked up by exact tool, then server, then default."""

    default_mode: ConsentChoice | None = Field(None, description="For tools not named below.")
    tool_overrides: dict[Text, ConsentChoice] = Field(
        default_factory=dict, description="Consent mode of single tools."
    )
    mcp_server_defaults: dict[Text, ConsentChoice] = Field(
        default_factory=dict, description="Consent mode of all tools of a server."
    )


class ChannelAttachments(Section):
    """Files that people of a channel may hand in."""

    allowed_categories: tuple[
        Annotated[AttachmentCategory, BeforeValidator(fold(AttachmentCategory))], ...
    ] = Field((), description="Empty rejects every file.")
    max_file_bytes: int = Field(
        25 * 1024 * 1024, ge=1, le=1024**3, description="Largest file in bytes."
    )
    max_files_per_message: int = Field(10, ge=1, le=100, description="Files in one message.")


class AudienceProfile(Section):
    """What one audience may use; unset values follow the audience's defaults."""

    tools_mode: SelectionChoice | None = Field(None, description="None, listed ones, or all.")
    allowed_tools: tuple[Text, ...] = Field((), description="Tools for mode Listed.")
    mcp_servers_mode: SelectionChoice | None = Field(None, description="None, listed ones, or all.")
    allowed_mcp_servers: tuple[Text, ...] = Field((), description="Servers for mode Listed.")
    mcp_server_tool_grants: dict[Text, tuple[Text, ...]] = Field(
        default_factory=dict, description="Tools of a server that need no consent."
    )
    read_files: FileAccess | None = Field(None, description="Files that may be read.")
    write_files: FileAccess | None = Field(None, description="Files that may be written.")
    attach_files: FileAccess | None = Field(None, description="Files that may be attached.")
    approval_policy: ApprovalPolicy | None = Field(None, description="Consent by tool.")
    channel_attachments: ChannelAttachments | None = Field(None, description="Files handed in.")


class AudienceProfiles(Section):
    """The three audiences, and folders that all of them may read."""

    public: AudienceProfile = Field(default_factory=AudienceProfile)
    team: AudienceProfile = Field(default_factory=AudienceProfile)
    personal: AudienceProfile = Field(default_factory=AudienceProfile)
    global_read_roots: tuple[FolderPath, ...] = Field(
        (), description="Folders every audience may read."
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
