"""Configured tool servers as plain values."""

from __future__ import annotations

import pytest

from netclaw.core.tool_servers import ToolServerSettings, credential_key

SERVER = ToolServerSettings(
    name="web", transport="http", environment=("A", "B"), headers=("X-Api-Key",)
)


@pytest.mark.requirement("mcp.secrets")
def test_values_are_found_among_the_credentials_and_a_missing_one_is_left_out() -> None:
    credentials = {
        credential_key("web", "env", "A"): "one",
        credential_key("web", "header", "X-Api-Key"): "two",
        credential_key("other", "env", "B"): "three",
        "web": "four",
    }
    assert SERVER.environment_from(credentials) == {"A": "one"}
    assert SERVER.headers_from(credentials) == {"X-Api-Key": "two"}


@pytest.mark.requirement("mcp.bad-entry")
@pytest.mark.parametrize(
    ("is_enabled", "fault", "is_usable"),
    [(True, "", True), (False, "", False), (True, "wrong", False)],
)
def test_only_an_enabled_server_without_fault_is_asked(
    is_enabled: bool, fault: str, is_usable: bool
) -> None:
    server = ToolServerSettings(name="a", transport="", is_enabled=is_enabled, fault=fault)
    assert server.is_usable is is_usable
