"""The grants file: strict reading, migration of version 2, and writing what is read back."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaw.core.authority import Audience
from netclaw.core.authz.grants import Grant, GrantForm
from netclaw.core.authz.grants_file import (
    MAX_BYTES,
    GrantsFileError,
    NeedsMigrationError,
    read,
    read_version_2,
    version_of,
    write,
)
from tests.authz.world import AT

TOKENS = {
    "shell": "Bash",
    "match": "TokenPrefix",
    "verbTokens": ["git", "push"],
    "directory": None,
    "createdAt": AT,
}
LEGACY = {
    "shell": "Bash",
    "match": "LegacyExact",
    "verb": "git push",
    "directory": "/p",
    "createdAt": AT,
}
TOOL = {"verb": "file_write", "directory": None, "createdAt": AT}


def document(*entries: object, tool: str = "shell_execute", audience: str = "Personal") -> str:
    """A file of version 3 with entries of one tool."""
    return json.dumps({"version": 3, "audiences": {audience: {tool: list(entries)}}})


@pytest.mark.requirement("authz.grants-file")
def test_every_form_is_read() -> None:
    full = {
        **TOKENS,
        "repository": "/r/.git",
        "repositoryWorktree": "/r",
        "assignmentDigest": "sha256:" + "a" * 64,
    }
    grants = read(document(TOKENS, LEGACY, full))
    assert [grant.form for grant in grants] == [
        *(GrantForm.TOKENS, GrantForm.LEGACY_EXACT, GrantForm.TOKENS)
    ]
    assert grants[0].words == ("git", "push")
    assert grants[1].words == ("git push",)
    assert (grants[2].repository, grants[2].worktree) == ("/r/.git", "/r")
    (tool,) = read(document(TOOL, tool="mcp:docs:search", audience="Team"))
    assert (tool.form, tool.audience) == (GrantForm.TOOL, Audience.TEAM)


@pytest.mark.requirement("authz.grants-file")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        "[" * 50_000,
        " " * (MAX_BYTES + 1),
        '{"version": 3, "version": 3, "audiences": {}}',
        '{"version": 3}',
        '{"version": 4, "audiences": {}}',
        '{"version": 1, "audiences": {}}',
        '{"version": true, "audiences": {}}',
        '{"version": "3", "audiences": {}}',
        '{"version": 3, "audiences": {}, "note": ""}',
        '{"version": 3, "audiences": {"personal": {}}}',
        '{"version": 3, "audiences": {"Personal": []}}',
        '{"version": 3, "audiences": {"Personal": {"shell_execute": {}}}}',
        document(TOKENS, tool="Shell Execute"),
        document(TOKENS, tool="mcp:docs"),
        document("text"),
        document({**TOKENS, "note": "x"}),
        document({**TOKENS, "match": "Prefix"}),
        document({**TOKENS, "match": None}),
        document({**TOKENS, "shell": "sh"}),
        document({**TOKENS, "shell": 7}),
        document({**TOKENS, "verbTokens": []}),
        document({**TOKENS, "verbTokens": "git"}),
        document({**TOKENS, "verbTokens": [""]}),
        document({**TOKENS, "verbTokens": [7]}),
        document({**TOKENS, "verbTokens": ["git\u202epush"]}),
        document({**TOKENS, "verbTokens": ["a\nb"]}),
        document({**TOKENS, "directory": "relative"}),
        document({**TOKENS, "directory": 7}),
        document({**TOKENS, "repository": None}),
        document({**TOKENS, "assignmentDigest": "sha256:short"}),
        document({**TOKENS, "createdAt": "yesterday"}),
        document({**TOKENS, "createdAt": "2026-11-30T12:00:00"}),
        document({key: value for key, value in TOKENS.items() if key != "directory"}),
        document({key: value for key, value in TOKENS.items() if key != "createdAt"}),
        document({**LEGACY, "verbTokens": ["x"]}),
        document({**TOOL, "shell": "Bash"}),
        document({"directory": None, "createdAt": AT}),
    ],
)
def test_a_file_that_is_not_exactly_right_grants_nothing(text: str) -> None:
    with pytest.raises(GrantsFileError):
        read(text)


@pytest.mark.requirement("authz.grants-file")
def test_version_2_is_to_be_migrated_and_keeps_matching_as_texts() -> None:
    old_shell = {"shell": "Bash", "verb": "git push", "directory": "/p", "createdAt": AT}
    old = json.dumps(
        {"version": 2, "audiences": {"Personal": {"shell_execute": [old_shell], "x": [TOOL]}}}
    )
    with pytest.raises(NeedsMigrationError):
        read(old)
    grants = read_version_2(old)
    assert [grant.form for grant in grants] == [GrantForm.LEGACY_EXACT, GrantForm.TOOL]
    assert read(write(grants)) == grants
    for bad in (
        document(TOKENS),
        json.dumps({"version": 2, "audiences": {"Personal": {"x": [{**old_shell, "shell": "x"}]}}}),
        json.dumps({"version": 2, "audiences": {"Personal": {"x": [7]}}}),
    ):
        with pytest.raises(GrantsFileError):
            read_version_2(bad)


WORDS = st.text(alphabet="abc- \u00e4\"'", min_size=1, max_size=8)
FOLDERS = st.none() | st.sampled_from(["/", "/p", "/p/\u00e4 b"])
GRANTS = st.lists(
    st.one_of(
        st.builds(
            Grant,
            audience=st.sampled_from(Audience),
            tool=st.sampled_from(["shell_execute", "x"]),
            form=st.just(GrantForm.TOKENS),
            words=st.lists(WORDS, min_size=1, max_size=3).map(tuple),
            created_at=st.just(AT),
            directory=FOLDERS,
            repository=st.none() | st.just("/r/.git"),
            worktree=st.none() | st.just("/r"),
            digest=st.none() | st.just("sha256:" + "0" * 64),
        ),
        st.builds(
            Grant,
            audience=st.sampled_from(Audience),
            tool=st.just("mcp:docs:search"),
            form=st.just(GrantForm.TOOL),
            words=st.tuples(WORDS),
            created_at=st.just(AT),
            directory=FOLDERS,
        ),
    ),
    max_size=5,
)


@pytest.mark.requirement("authz.grants-file")
@given(grants=GRANTS)
def test_what_is_written_is_read_back(grants: list[Grant]) -> None:
    text = write(grants)
    again = read(text)
    assert sorted(again, key=repr) == sorted(grants, key=repr)
    assert write(again) == text


@pytest.mark.requirement("authz.grants-file")
def test_a_file_says_its_version_or_is_none() -> None:
    assert version_of('{"version": 1, "anything": []}') == 1
    assert version_of(document(TOKENS)) == 3
    for text in ('{"version": true}', '{"version": "3"}', '{"version": 3.0}', "{}"):
        assert version_of(text) is None
    for text in ("[]", "{", '{"version": 3, "version": 3}', " " * (MAX_BYTES + 1)):
        with pytest.raises(GrantsFileError):
            version_of(text)
