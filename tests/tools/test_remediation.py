"""The remediation presenter: one fixed instruction for each code, and nothing else."""

from __future__ import annotations

import pytest

from netclaw.core.authz.reasons import CORRECTION_TEXTS, RemediationCode
from netclaw.core.session.loop_guard import REMEDIATION
from netclaw.tools.authorization.remediation import (
    UnknownRemediationError,
    instruction,
    present,
)

ALL_TOOLS = ("file_read", "set_working_directory", "shell_execute")


@pytest.mark.requirement("remediation.fixed")
def test_there_are_eight_codes_each_with_a_fact_and_an_instruction() -> None:
    assert len(RemediationCode) == 8
    assert set(CORRECTION_TEXTS) == set(RemediationCode)
    lines = [instruction(code, ALL_TOOLS) for code in RemediationCode]
    assert len(set(lines)) == 8
    assert all(line.startswith("Next action: ") and "\n" not in line for line in lines)
    assert REMEDIATION == RemediationCode.BREAK_TOOL_CYCLE


@pytest.mark.requirement("remediation.fixed")
def test_the_instruction_stands_on_a_new_line_after_the_unchanged_result() -> None:
    code = RemediationCode.SHORTEN_SHELL_COMMAND
    said = present("What is the case.", [code], ())
    assert said == f"What is the case.\n{instruction(code, ())}"


@pytest.mark.requirement("remediation.fixed")
def test_two_codes_give_two_lines() -> None:
    codes = [RemediationCode.USE_NATIVE_TOOL, RemediationCode.USE_MANAGED_TEMPORARY_DIRECTORY]
    assert len(present("x", codes, ()).splitlines()) == 3


@pytest.mark.requirement("remediation.hidden-tool")
def test_a_hidden_tool_is_not_named() -> None:
    code = RemediationCode.SET_WORKING_DIRECTORY
    assert "set_working_directory" in present("No folder.", [code], ALL_TOOLS)
    assert present("No folder.", [code], ("file_read",)) == "No folder."


@pytest.mark.requirement("remediation.fixed")
@pytest.mark.parametrize("code", ["", "setworkingdirectory", "UseSessionScratch", "Other"])
def test_an_unknown_code_is_an_error(code: str) -> None:
    with pytest.raises(UnknownRemediationError):
        present("x", [code], ALL_TOOLS)


@pytest.mark.requirement("remediation.no-paths")
@pytest.mark.parametrize("code", RemediationCode)
def test_no_instruction_names_a_place_of_this_host(code: RemediationCode) -> None:
    said = f"{CORRECTION_TEXTS[code]} {instruction(code, ALL_TOOLS)}"
    assert "/tmp" not in said
    assert "netclaw" not in said
