"""What a model gets of a long result, and what is kept of it."""

from __future__ import annotations

import os
import re
import stat
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from netclaw.core.redaction import StreamRedactor
from netclaw.core.tool_call import OutcomeCategory
from netclaw.session_proc.main import make_redactor
from netclaw.tools.capture import TAIL_BYTES, Capture
from netclaw.tools.dispatcher import Dispatcher
from netclaw.tools.registry import Registry
from netclaw.tools.result_bounds import bound
from netclaw.tools.schema import Arguments, Field
from netclaw.tools.tool import EVERYONE, Outcome, Scope, Tool
from netclaw.tools.tool_output_read import ToolOutputRead
from netclaw.wire.v1.session_host_pb2 import Welcome
from tests.tools.rig import PROVED, SECRET, SOURCES, Rig


class Says:
    """A tool with one text."""

    name = "says"
    description = "Says something."
    audiences = EVERYONE
    fields: tuple[Field, ...] = ()

    def __init__(self, outcome: Outcome) -> None:
        self._outcome = outcome

    async def run(self, arguments: Arguments, scope: Scope) -> Outcome:
        """Says it."""
        del arguments, scope
        return self._outcome


def saying(rig: Rig, text: str, *, note: str = "", is_complete: bool = True) -> Rig:
    """The rig with a tool that says this."""
    outcome = Outcome(text=text, note=note, is_complete=is_complete)
    tools: list[Tool] = [Says(outcome), ToolOutputRead()]
    rig.runner = Dispatcher(Registry(tools, PROVED), PROVED, SOURCES)
    return rig


@pytest.mark.requirement("tools.spill")
async def test_a_short_result_is_shown_whole_and_not_stored(rig: Rig) -> None:
    result = await saying(rig, "x" * 11_900, note="The end.").call("says")
    assert result.text == "x" * 11_900 + "\nThe end."
    assert result.spill is None
    assert not Path(rig.storage.spills).exists()


@pytest.mark.requirement("tools.spill")
async def test_a_long_result_shows_both_ends_and_where_to_read_on(rig: Rig) -> None:
    lines = [f"line {number} of the output" for number in range(4000)]
    result = await saying(rig, "\n".join(lines), note="Exit status 0.").call("says")
    shown = result.text.splitlines()
    assert len(result.text) <= 12_000
    assert shown[0] == lines[0]
    assert shown[-1] == "Exit status 0."
    assert shown[-2] == lines[-1]
    gap = next(line for line in shown if line.startswith("["))
    assert f'call_id "{result.call_id}"' in gap
    assert all(line in lines for line in shown[:-1] if line != gap)  # cut between lines only
    assert result.spill is not None
    assert result.spill.is_complete
    assert result.spill.size_bytes == len("\n".join(lines)) + len("\nExit status 0.")


@pytest.mark.requirement("tools.spill")
async def test_a_stored_result_is_private_and_alone(rig: Rig) -> None:
    result = await saying(rig, "y" * 50_000).call("says")
    (stored,) = Path(rig.storage.spills).iterdir()
    assert stored.name == f"{result.call_id}.txt"
    assert stat.S_IMODE(stored.stat().st_mode) == 0o600
    assert stat.S_IMODE(stored.parent.stat().st_mode) == 0o700
    assert str(stored) not in result.text


@pytest.mark.requirement("tools.spill")
async def test_without_a_place_to_store_it_nothing_is_promised(rig: Rig) -> None:
    Path(rig.storage.spills).write_text("in the way")
    result = await saying(rig, "y" * 50_000).call("says")
    assert result.spill is None
    assert "tool_output_read" not in result.text
    assert "are left out here" in result.text


@pytest.mark.requirement("tools.redact-then-bound")
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=st.integers(5_500, 6_500), length=st.integers(13_000, 14_500))
async def test_no_cut_ever_shows_a_part_of_a_secret(rig: Rig, before: int, length: int) -> None:
    text = ("a" * before + SECRET).ljust(length, "b") + SECRET
    result = await saying(rig, text).call("says")
    stored = Path(f"{rig.storage.spills}/{result.call_id}.txt").read_text()
    parts = {SECRET[:5], SECRET[-5:], SECRET[3:9]}
    assert not [part for part in parts if part in result.text + stored]
    assert stored.count("***") == 2


@pytest.mark.requirement("tools.output-read")
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.text(alphabet="ab\né€😀", min_size=500, max_size=900),
    limit=st.integers(128, 10_000),
)
async def test_windows_put_together_are_the_whole(rig: Rig, text: str, limit: int) -> None:
    text *= 30
    saying(rig, text)
    call_id = (await rig.call("says")).call_id
    whole, start = "", 0
    while True:
        result = await rig.call("tool_output_read", call_id=call_id, start=start, limit=limit)
        assert len(result.text) <= rig.max_inline_chars
        window, _, note = result.text.rpartition("[Characters ")
        end = int(re.findall(r"\d+", note)[1])
        whole += window if window.endswith(text[start:end]) else window.removesuffix("\n")
        start = end
        if "This is the end" in note:
            break
        assert f"start {end}" in note
    assert whole == text


@pytest.mark.requirement("tools.output-read")
@pytest.mark.parametrize(
    ("arguments", "category"),
    [
        ({"call_id": "nosuchcall"}, OutcomeCategory.NOT_FOUND),
        ({"call_id": "../logs/session"}, OutcomeCategory.INVALID_INPUT),
        ({"call_id": "/etc/passwd"}, OutcomeCategory.INVALID_INPUT),
        ({"call_id": "a.txt"}, OutcomeCategory.INVALID_INPUT),
        ({"call_id": ""}, OutcomeCategory.INVALID_INPUT),
        ({"call_id": "stored", "limit": 127}, OutcomeCategory.INVALID_INPUT),
        ({"call_id": "stored", "limit": 10_001}, OutcomeCategory.INVALID_INPUT),
        ({"call_id": "stored", "start": -1}, OutcomeCategory.INVALID_INPUT),
        ({"call_id": "stored", "start": 10**9}, OutcomeCategory.INVALID_INPUT),
        ({"call_id": "linked"}, OutcomeCategory.NOT_FOUND),
        ({"call_id": "broken"}, OutcomeCategory.FAILURE),
    ],
)
async def test_what_cannot_be_read_is_refused(
    rig: Rig, arguments: dict[str, object], category: OutcomeCategory
) -> None:
    folder = Path(rig.storage.spills)
    folder.mkdir()
    (folder / "stored.txt").write_text("stored")
    (folder / "broken.txt").write_bytes(b"\xff\xfe\xfa")
    (folder / "linked.txt").symlink_to(rig.secret_file)
    result = await rig.call("tool_output_read", **arguments)
    assert result.receipt.category is category
    assert SECRET not in result.text


@pytest.mark.requirement("tools.spill")
def test_a_call_id_that_is_no_name_is_not_stored(rig: Rig) -> None:
    bounded = bound(
        Outcome(text="x" * 20_000),
        call_id="../escape",
        storage=rig.storage,
        redact=str,
        max_chars=1000,
    )
    assert bounded.spill is None
    assert not (rig.home / "sessions/one/escape.txt").exists()


CHUNKS = st.lists(st.binary(max_size=400), max_size=60)


@pytest.mark.requirement("tools.spill")
@given(chunks=CHUNKS, ceiling=st.integers(1, 3000))
def test_capture_keeps_all_up_to_its_ceiling(chunks: list[bytes], ceiling: int) -> None:
    capture = Capture(ceiling)
    for chunk in chunks:
        capture.feed(chunk)
    everything = b"".join(chunks)
    assert capture.total == len(everything)
    if len(everything) <= ceiling + TAIL_BYTES:
        assert capture.is_complete
        assert capture.text() == everything.decode("utf-8", "replace")


@pytest.mark.requirement("tools.spill")
def test_beyond_the_ceiling_the_end_is_kept_and_the_gap_is_said() -> None:
    capture = Capture(10_000)
    lines = [f"line {number}\n".encode() for number in range(200_000)]
    for line in lines:
        capture.feed(line)
    text = capture.text()
    assert not capture.is_complete
    assert text.startswith("line 0\nline 1\n")
    assert text.endswith("line 199998\nline 199999\n")
    said = re.search(r"\[(\d+) bytes of output were not kept here\.\]", text)
    assert said is not None
    kept = len(text.encode()) - len(said[0]) - 2
    assert int(said[1]) == capture.total - kept
    assert len(text) < 10_000 + TAIL_BYTES + 100


@pytest.mark.requirement("tools.redact-then-bound")
@pytest.mark.parametrize("offset", range(len(SECRET) + 2))
def test_where_output_was_not_kept_no_half_word_stands(offset: int) -> None:
    ceiling = 8000
    capture = Capture(ceiling)
    capture.feed(b"word " * ((ceiling - offset) // 5) + SECRET.encode())
    capture.feed(b" " + b"more " * 40_000 + SECRET.encode())
    capture.feed(b" tail" * ((TAIL_BYTES - offset) // 5))
    halves = [SECRET[:size] for size in range(3, len(SECRET))]
    text = capture.text().replace(SECRET, "***")
    assert not [half for half in halves if half in text]
    assert not [half for half in (SECRET[-size:] for size in range(3, 9)) if half in text]


@pytest.mark.requirement("tools.spill")
def test_a_stored_file_is_replaced_in_one_step(rig: Rig) -> None:
    for size in (20_000, 30_000):
        bounded = bound(
            Outcome(text="z" * size),
            call_id="same",
            storage=rig.storage,
            redact=str,
            max_chars=1000,
        )
        assert bounded.spill is not None
        assert os.listdir(rig.storage.spills) == ["same.txt"]
        assert os.stat(f"{rig.storage.spills}/same.txt").st_size == size


@pytest.mark.requirement("tools.redact-then-bound")
async def test_a_megabyte_to_redact_does_not_hold_up_the_loop(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is done in a thread, and in pieces that are short enough for the interpreter's lock."""
    text = f"PASSWORD=foo TOKEN=bar secret: {SECRET}\n" * 24_000
    pieces: list[int] = []
    threads: set[int] = set()
    really = StreamRedactor.feed

    def feed(stream: StreamRedactor, piece: str) -> str:
        pieces.append(len(piece))
        threads.add(threading.get_ident())
        return really(stream, piece)

    monkeypatch.setattr(StreamRedactor, "feed", feed)
    rig.redact = make_redactor(Welcome(redactions=[SECRET]))
    result = await saying(rig, text).call("says")
    assert SECRET not in result.text
    assert len(pieces) > 10
    assert max(pieces) <= 32_768
    assert threading.get_ident() not in threads
