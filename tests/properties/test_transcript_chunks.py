"""However a transcript grows and however it is read, every row is judged exactly once."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaw.core.signals.transcripts import Catalog
from netclaw.core.signals.upstream import own_texts, scan

OWN = own_texts(["mine", "also  mine"])
TEXTS = st.one_of(st.sampled_from(["mine", " also mine ", "hello"]), st.text(max_size=30))
ROWS = st.one_of(
    st.tuples(st.sampled_from(["user", "assistant", "tool"]), TEXTS).map(
        lambda pair: (
            json.dumps({"role": pair[0], "text": pair[1]}).encode(),
            pair[0] == "user" and " ".join(pair[1].split()) not in OWN,
        )
    ),
    st.sampled_from([(b"", False), (b"[]", False), (b"{", False), (b"\xff\xfe", False)]),
)


@pytest.mark.requirement("upstream.exactly-once")
@given(
    rows=st.lists(ROWS, max_size=12),
    cuts=st.lists(st.integers(min_value=0, max_value=2000), max_size=12),
    limit=st.integers(min_value=300, max_value=900),
)
def test_any_split_of_the_bytes_counts_every_row_once(
    rows: list[tuple[bytes, bool]], cuts: list[int], limit: int
) -> None:
    whole = b"".join(raw + b"\n" for raw, _ in rows)
    sizes = sorted({0, *(cut for cut in cuts if cut < len(whole)), len(whole)})
    offset = turns = 0
    for _, size in pairwise([0, *sizes]):
        # The file has this size now; ticks go on until a look finds no complete row.
        while True:
            data = whole[offset : min(size, offset + limit)]
            found = scan(Catalog.JSONL, data, offset=offset, own=OWN, limit=limit)
            assert not found.is_blocked
            turns += found.turns
            if found.offset == offset:
                break
            assert whole[found.offset - 1 : found.offset] == b"\n"
            offset = found.offset
    assert offset == len(whole)
    assert turns == sum(is_foreign for _, is_foreign in rows)
