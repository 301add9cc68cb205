"""The words of a consent prompt: all of what would run, and how it ended."""

from __future__ import annotations

import pytest

from netclaw.adapters.prompt_text import STALE, question, refusal_of, result
from netclaw.wire.v1.common_pb2 import ConsentOption
from netclaw.wire.v1.gateway_pb2 import PendingApproval

pytestmark = pytest.mark.unit

OPTIONS = (
    ConsentOption(key="approve_once", label="Once", effect="approve"),
    ConsentOption(key="deny", label="Deny", effect="refuse"),
)


def approval(display: str, *, run_id: str = "", cwd: str = "") -> PendingApproval:
    """A request of the shell."""
    return PendingApproval(
        tool="shell_execute", display=display, options=OPTIONS, run_id=run_id, cwd=cwd
    )


@pytest.mark.requirement("channels.prompt-whole")
def test_a_command_cannot_end_the_code_that_it_is_shown_in() -> None:
    (text,) = question(approval("echo '```'\nrm x", cwd="/tmp/`x"), 1000, has_buttons=True)
    assert "````\necho '```'\nrm x\n````" in text
    assert "In `/tmp/'x`" in text
    assert "A: Once" not in text


@pytest.mark.requirement("channels.prompt-whole")
def test_a_command_that_is_too_long_for_one_post_is_shown_whole() -> None:
    command = "\n".join(f"echo {n}" for n in range(200))
    parts = question(approval(command), 500, has_buttons=False)
    assert len(parts) > 2
    shown = [line for part in parts for line in part.splitlines() if line.startswith("echo ")]
    assert shown == command.splitlines()
    assert parts[-1].endswith("A: Once\nB: Deny")


@pytest.mark.requirement("channels.prompt-whole")
@pytest.mark.parametrize("run", [9, 11, 12, 13, 40, 600])
def test_no_part_of_a_long_command_is_shown_as_anything_but_code(run: int) -> None:
    """Markup would hide some of it: `||so||` is a spoiler at Discord."""
    command = "`" * run + "\n" + "\n".join(f"||rm -rf {n}||" for n in range(200))
    parts = question(approval(command), 500, has_buttons=True)
    assert len(parts) > 2
    shown = []
    for part in parts:
        mark = ""
        for line in part.splitlines():
            if not mark and set(line) == {"`"}:
                mark = line
            elif line == mark:
                mark = ""
            elif line.startswith("||"):
                assert mark, "it would be markup here"
                shown.append(line)
        assert not mark
    assert shown == command.splitlines()[1:]


@pytest.mark.requirement("channels.prompt-child")
def test_a_child_run_is_named_as_what_it_is() -> None:
    (text,) = question(approval("ls", run_id="r1"), 1000, has_buttons=True)
    assert text.startswith("**A helper run asks**")


@pytest.mark.requirement("channels.prompt-result")
@pytest.mark.parametrize(
    ("end", "option", "line"),
    [
        ("approved", "This chat", "**Approved**: This chat."),
        ("approved", "", "**Approved**."),
        ("refused", "Deny", "**Refused**."),
        ("withdrawn", "", "**Withdrawn**."),
        ("", "", STALE),
    ],
)
def test_the_prompt_becomes_its_result(end: str, option: str, line: str) -> None:
    assert result("May I", end, option, 100) == f"May I\n{line}"
    assert result("x" * 95, end, option, 100) == line


@pytest.mark.requirement("channels.prompt-unpostable")
def test_the_refusing_option_is_known_by_its_effect() -> None:
    assert refusal_of(approval("ls")) == "deny"
    assert refusal_of(PendingApproval()) == ""
