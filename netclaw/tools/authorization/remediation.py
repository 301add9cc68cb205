"""The remediation presenter: turns a closed code into one fixed instruction for the model.

It sees the code and the names of the tools that the model has, never arguments, paths or results;
it executes nothing and grants nothing (glossary "remediation presenter").
"""

from __future__ import annotations

from collections.abc import Collection

from netclaw.core.authz.reasons import RemediationCode

SET_WORKING_DIRECTORY = "set_working_directory"

_INSTRUCTIONS = {
    RemediationCode.SET_WORKING_DIRECTORY: (
        f"call {SET_WORKING_DIRECTORY} with the full path of a folder, then repeat the call."
    ),
    RemediationCode.USE_MANAGED_TEMPORARY_DIRECTORY: (
        "write the command with $TMPDIR in place of the shared temporary folder. If it has to be"
        " the shared one, repeat the call as it is."
    ),
    RemediationCode.PROVIDE_UNIQUE_OLD_STRING: (
        "read the file and repeat the call with an old_string, copied exactly, that occurs once."
    ),
    RemediationCode.USE_NATIVE_TOOL: (
        "call the tool itself, with its own arguments, not as a program of a command."
    ),
    RemediationCode.USE_SHELL_WORKING_DIRECTORY: (
        "pass the folder as working_directory and leave the change of folder out of the command."
    ),
    RemediationCode.REWRITE_SHELL_COMMAND_WORDS: (
        "write a pattern with its folder (./*.txt), a program by its full path, other words"
        " literally or in quotes, and separate commands for what a variable stood for."
    ),
    RemediationCode.SHORTEN_SHELL_COMMAND: (
        "write the text into a file and run that, or split the command."
    ),
    RemediationCode.BREAK_TOOL_CYCLE: (
        "do something else: use the results that you have, or say what is missing."
    ),
}


class UnknownRemediationError(ValueError):
    """A code that is none of the closed set: a fault of the program, never of a call."""


def instruction(code: str, tools: Collection[str]) -> str:
    """The line to append for a code; empty if it names a tool that the model does not have.

    Raises `UnknownRemediationError`.
    """
    try:
        known = RemediationCode(code)
    except ValueError:
        raise UnknownRemediationError(f"{code!r} is no remediation code") from None
    if known is RemediationCode.SET_WORKING_DIRECTORY and SET_WORKING_DIRECTORY not in tools:
        return ""
    return f"Next action: {_INSTRUCTIONS[known]}"


def present(text: str, codes: Collection[str], tools: Collection[str]) -> str:
    """A result with the instruction of each code on a line of its own. Raises as `instruction`."""
    lines = (instruction(code, tools) for code in codes)
    return "\n".join([text, *filter(None, lines)])
