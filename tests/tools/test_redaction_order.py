"""Known secrets go before shapes, and both before anything is bounded, stored or shown."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from netclaw.core.redaction import Redactor
from netclaw.core.redaction_shapes import REDACTED
from netclaw.core.session.rulings import Outcome
from tests.tools.rig import Rig

TOKEN = "ghp_" + "a1B2" * 9
KNOWN = f"corp;{TOKEN};tail-of-it"
"""A secret that holds a token: were shapes first, the rest of it would stay."""
FRAGMENTS = ("corp;", "tail-of-it", TOKEN)


@pytest.fixture
def secretive(rig: Rig) -> Rig:
    """A session that knows the secret."""
    rig.redact = Redactor((KNOWN,)).redact
    return rig


@pytest.mark.requirement("redaction.order")
async def test_a_result_holds_no_part_of_a_known_secret(secretive: Rig) -> None:
    (secretive.workspace / "x.txt").write_text(f"a {KNOWN} b\nc {TOKEN} d\n")
    text = (await secretive.call("file_read", path="x.txt")).text
    assert not [part for part in FRAGMENTS if part in text]
    assert f"a {REDACTED} b" in text
    assert f"c {REDACTED} d" in text


@pytest.mark.requirement("redaction.order")
@pytest.mark.parametrize("limit", range(400, 480, 7))
async def test_bounding_cuts_no_secret_in_two(secretive: Rig, limit: int) -> None:
    secretive.max_inline_chars = limit
    (secretive.workspace / "x.txt").write_text(f"{KNOWN}\n" * 200)
    found = await secretive.call("file_search", pattern="corp")
    shown = found.text
    assert found.spill is not None
    (stored,) = Path(secretive.storage.spills).glob("*.txt")
    for text in (shown, stored.read_text()):
        assert not [part for part in FRAGMENTS if part in text]
    read = await secretive.call("tool_output_read", call_id=found.call_id)
    assert not [part for part in FRAGMENTS if part in read.text]


@pytest.mark.requirement("redaction.order")
async def test_a_prompt_and_the_log_hold_no_part_of_it(
    asking: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    asking.redact = Redactor((KNOWN,)).redact
    command = f"deploy --key '{KNOWN}' {TOKEN}"
    call = asking.proposed("shell_execute", json.dumps({"command": command}))
    with caplog.at_level(logging.DEBUG):
        ruling = await asking.runner.judge(call, asking.context())
    assert ruling.outcome is Outcome.REQUIRES_CONSENT
    shown = "\n".join((ruling.display, *ruling.candidates, ruling.text, ruling.cwd, caplog.text))
    assert not [part for part in FRAGMENTS if part in shown]
    assert REDACTED in ruling.display


@pytest.mark.requirement("redaction.order")
async def test_a_denied_or_failed_call_tells_nothing_of_it(
    secretive: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        results = [
            await secretive.call("file_read", path=f"{KNOWN}.txt"),
            await secretive.call("file_write", path=f"{secretive.home}/keys/{KNOWN}", content="x"),
            await secretive.call(KNOWN, path="x"),
        ]
    shown = "\n".join((*(result.text for result in results), caplog.text))
    assert not [part for part in FRAGMENTS if part in shown]
