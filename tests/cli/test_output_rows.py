"""The JSON lines of `attach`: every type of the command contract, each with its own keys."""

from __future__ import annotations

from typing import Any

import pytest

from netclaw.cli import output_rows
from netclaw.cli.output_rows import output_row
from netclaw.wire.outputs import FILTER_BIT
from netclaw.wire.v1.common_pb2 import ConsentOption, Output

CONTRACT = {
    *("text", "text_delta", "thinking_delta", "tool_call", "tool_result", "usage", "file"),
    *("processing", "consent_request", "consent_update", "child", "compaction", "title"),
    *("error", "turn_completed", "resync"),
}


@pytest.mark.requirement("operator.attach-complete")
def test_every_output_of_a_session_has_its_own_keys() -> None:
    known = set(output_rows._FIELDS)
    assert known >= CONTRACT
    assert set(FILTER_BIT) <= known, "a new output needs a row for --json"
    for word in known:
        assert output_row(Output(type=word))["type"] == word


USED = Output(type="usage", turn_id="t", context_window=1000, context_tokens=250, seq=5)
USED.usage.input_tokens, USED.usage.cached_input_tokens = 300, 200

ROWS: list[tuple[Output, dict[str, Any]]] = [
    (
        Output(
            type="consent_request",
            turn_id="t",
            call_id="c",
            tool_name="shell_execute",
            text="git push",
            candidates=["git push"],
            options=[ConsentOption(key="once", label="Once", effect="approve")],
            sender="anna",
            run_id="r",
            path="/home/anna/project",
            speakers=["bert"],
        ),
        {
            "turnId": "t",
            "callId": "c",
            "tool": "shell_execute",
            "display": "git push",
            "candidates": ["git push"],
            "options": [{"key": "once", "label": "Once", "effect": "approve"}],
            "requester": "anna",
            "childRunId": "r",
            "cwd": "/home/anna/project",
            "adoptedSpeakers": ["bert"],
        },
    ),
    (
        Output(type="consent_update", turn_id="t", call_id="c", outcome="refused", sender="anna"),
        {"turnId": "t", "callId": "c", "outcome": "refused", "answerer": "anna"},
    ),
    (
        Output(type="child", run_id="r", agent="a", outcome="Completed", path="/result.md"),
        {"runId": "r", "agent": "a", "state": "Completed", "resultPath": "/result.md"},
    ),
    (
        Output(type="notice", text="Stopped.", outcome="stopped", input_ids=["i"]),
        {"text": "Stopped.", "kind": "stopped", "inputIds": ["i"]},
    ),
    (
        Output(type="processing", phase="compacting", buffered_inputs=2),
        {"phase": "compacting", "bufferedInputs": 2},
    ),
    (
        USED,
        {
            "seq": 5,
            "turnId": "t",
            "inputTokens": 300,
            "outputTokens": 0,
            "totalTokens": 300,
            "cachedInputTokens": 200,
            "contextTokens": 250,
            "contextWindow": 1000,
        },
    ),
    (
        Output(type="job", job_id="j", outcome="Running", text="make", path="/l"),
        {"jobId": "j", "state": "Running", "command": "make", "logPath": "/l"},
    ),
    (
        Output(type="job", job_id="j", outcome="Completed", text="make", path="/l", exit_code=0),
        {"jobId": "j", "state": "Completed", "command": "make", "exitCode": 0, "logPath": "/l"},
    ),
    (Output(type="resync", seq=9), {"seq": 9}),
]


@pytest.mark.requirement("operator.attach-complete")
@pytest.mark.parametrize(("output", "row"), ROWS, ids=[output.type for output, _ in ROWS])
def test_the_keys_of_a_line(output: Output, row: dict[str, Any]) -> None:
    assert output_row(output) == {"type": output.type, **row}
