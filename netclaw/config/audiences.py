"""Builds what each audience may use from `Tools.AudienceProfiles`, and checks their order."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace

from netclaw.config.home import Home
from netclaw.config.schema.root import Config
from netclaw.config.schema.tools import (
    SESSION_DIR,
    ApprovalPolicy,
    AudienceProfile,
    ChannelAttachments,
    FileAccess,
    SelectionMode,
)
from netclaw.core.authority import Audience
from netclaw.core.authz import profiles
from netclaw.core.authz.path_access import FileMode, Root
from netclaw.core.authz.profile_order import widenings
from netclaw.core.errors import InvalidArgumentError

KEY = "Tools.AudienceProfiles"


class Profiles:
    """The profiles of one configuration; a named folder is looked up in one home."""

    def __init__(self, home: Home, config: Config) -> None:
        self._section = config.tools.audience_profiles
        workspaces = config.workspaces.directory
        self._named: Mapping[str, str] = {
            "{workspaces_dir}": workspaces or str(home.workspaces_dir),
            "{skills_dir}": str(home.skills_dir),
            "{identity_dir}": str(home.identity_dir),
        }

    def build(self) -> tuple[profiles.AudienceProfile, ...]:
        """One profile for each audience.

        Raises `InvalidArgumentError` where a narrower audience may use what a wider one may not.
        """
        built = tuple(self._profile(audience) for audience in Audience)
        for found in widenings(built):
            raise InvalidArgumentError(
                f"{KEY}.{found.narrow}.{found.key} allows {found.what}, which"
                f" {KEY}.{found.wide}.{found.key} does not: {found.wide} may never use less than"
                f" {found.narrow}.",
                fix=f"Allow it for {found.wide} first, or take it from {found.narrow}.",
            )
        return built

    def global_read_roots(self) -> tuple[Root, ...]:
        """Folders that Team and Personal may read, and nobody may write for that reason."""
        return tuple(replace(root, is_read_only=True) for root in self._roots(self._global))

    def workspaces(self) -> Root:
        """Where projects live; one of the folders that are only read for its own sake."""
        return replace(_root(self._named["{workspaces_dir}"]), is_read_only=True)

    @property
    def _global(self) -> tuple[str, ...]:
        return self._section.global_read_roots

    def _profile(self, audience: Audience) -> profiles.AudienceProfile:
        section: AudienceProfile = getattr(self._section, audience.value.lower())
        default = profiles.default_profile(audience)
        tools = (
            default.allowed_tools
            if section.allowed_tools is None
            else frozenset(section.allowed_tools)
        )
        return profiles.AudienceProfile(
            audience=audience,
            tools_mode=_list_mode(section.tools_mode, default.tools_mode),
            allowed_tools=frozenset() if section.tools_mode is SelectionMode.NONE else tools,
            servers_mode=_list_mode(section.mcp_servers_mode, default.servers_mode),
            allowed_servers=(
                frozenset()
                if section.mcp_servers_mode is SelectionMode.NONE
                else frozenset(section.allowed_mcp_servers)
            ),
            server_tools={
                server: frozenset(listed)
                for server, listed in section.mcp_server_tool_grants.items()
            },
            read=self._files(section.read_files, default.read),
            write=self._files(section.write_files, default.write),
            attach=self._files(section.attach_files, default.attach),
            consent=_consent(section.approval_policy),
            attachments=_attachments(section.channel_attachments, default.attachments),
        )

    def _files(self, section: FileAccess | None, default: profiles.FileRule) -> profiles.FileRule:
        if section is None:
            return default
        mode = section.mode
        if mode is None:
            mode = FileMode.ROOTS if section.roots else default.mode
        return profiles.FileRule(mode=mode, roots=self._roots(section.roots))

    def _roots(self, names: Iterable[str]) -> tuple[Root, ...]:
        """The folders of a list. `{session_dir}` is every session's own and always there."""
        return tuple(_root(self._named.get(name, name)) for name in names if name != SESSION_DIR)


def _root(folder: str) -> Root:
    canonical = os.path.normpath(os.path.expanduser(folder))  # noqa: PTH111 - text
    return Root(canonical=canonical, resolved=os.path.realpath(canonical))


def _list_mode(chosen: SelectionMode | None, default: profiles.ListMode) -> profiles.ListMode:
    if chosen is None:
        return default
    is_all = chosen is SelectionMode.ALL
    return profiles.ListMode.ALL if is_all else profiles.ListMode.ALLOWLIST


def _consent(section: ApprovalPolicy | None) -> profiles.ConsentModes:
    if section is None:
        return profiles.ConsentModes()
    return profiles.ConsentModes(
        default=section.default_mode or profiles.ConsentMode.AUTO,
        tools=section.tool_overrides,
        servers=section.mcp_server_defaults,
    )


def attachment_rules(config: Config) -> dict[Audience, profiles.AttachmentRule]:
    """Which files people may hand in, by audience, for what needs nothing else of a profile."""
    section = config.tools.audience_profiles
    return {
        audience: _attachments(
            getattr(section, audience.value.lower()).channel_attachments,
            profiles.default_profile(audience).attachments,
        )
        for audience in Audience
    }


def _attachments(
    section: ChannelAttachments | None, default: profiles.AttachmentRule
) -> profiles.AttachmentRule:
    if section is None:
        return default
    listed = section.allowed_categories
    return profiles.AttachmentRule(
        categories=default.categories if listed is None else frozenset(listed),
        max_file_bytes=section.max_file_bytes,
        max_files_per_message=section.max_files_per_message,
    )
