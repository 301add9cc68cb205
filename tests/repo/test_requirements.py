"""The requirement manifest and the tests' marks agree in both directions."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.repo import tree
from tests.requirements import (
    authorization_bugs,
    channel_symptoms,
    glossary,
    manifest,
    runs_reference,
    sessions_document,
    signal_cases,
    state_document,
    upstream_bugs,
)
from tests.requirements.manifest import ManifestError, Promise, Requirement


def is_mark(function: ast.expr) -> bool:
    """Whether an expression is `pytest.mark.requirement`."""
    match function:
        case ast.Attribute(
            value=ast.Attribute(value=ast.Name(id="pytest"), attr="mark"), attr="requirement"
        ):
            return True
    return False


def marks_in(source: str) -> Iterator[tuple[str | None, int]]:
    """Yields (id, line) for each `pytest.mark.requirement(...)`; the id is None if no literal."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not is_mark(node.func):
            continue
        arguments = node.args or [ast.Constant(None)]
        for argument in arguments:
            literal = isinstance(argument, ast.Constant) and isinstance(argument.value, str)
            yield (ast.literal_eval(argument) if literal else None), node.lineno


def marks() -> dict[str | None, list[str]]:
    """Every mark in the test tree: id to the places that carry it."""
    found: dict[str | None, list[str]] = defaultdict(list)
    for path in tree.files(under="tests", suffix=".py"):
        for mark, line in marks_in((tree.ROOT / path).read_text()):
            found[mark].append(f"{path}:{line}")
    return found


@pytest.mark.requirement("repo.requirements-two-way")
def test_every_requirement_has_a_test_and_every_mark_a_requirement() -> None:
    known, used = manifest.load(), marks()
    without_literal = used.pop(None, [])
    assert not without_literal, f"a mark's id must be a string literal: {without_literal}"
    unknown = {mark: places[0] for mark, places in used.items() if mark not in known}
    assert not unknown, f"marks without a requirement, and where: {unknown}"
    unshown = sorted(set(known) - set(used))
    assert not unshown, f"requirements that no test shows: {unshown}"


@pytest.mark.requirement("repo.requirements-two-way")
def test_marks_are_found_on_functions_classes_modules_and_parameters() -> None:
    source = (
        'pytestmark = pytest.mark.requirement("a.module")\n'
        '@pytest.mark.requirement("a.class")\nclass T: ...\n'
        '@pytest.mark.requirement("a.one", "a.two")\ndef t(): ...\n'
        'pytest.param(1, marks=pytest.mark.requirement("a.param"))\n'
        "pytest.mark.requirement(name)\n"
    )
    found = {mark for mark, _ in marks_in(source)}
    assert found == {"a.module", "a.class", "a.one", "a.two", "a.param", None}


def promises() -> tuple[manifest.Promise, ...]:
    """The sentences of both documents, and the lists of earlier mistakes."""
    bugs = (*upstream_bugs.BUG_CLASSES.values(), *authorization_bugs.BUG_CLASSES.values())
    return (
        *sessions_document.PROMISES,
        *state_document.PROMISES,
        *glossary.PROMISES,
        *runs_reference.PROMISES,
        *signal_cases.RULED_OUT,
        *channel_symptoms.SYMPTOMS.values(),
        *bugs,
    )


@pytest.mark.requirement("repo.authorization-bugs")
def test_no_mistake_of_the_authorization_list_is_left_out() -> None:
    assert sorted(authorization_bugs.BUG_CLASSES) == list(range(1, 46))


@pytest.mark.requirement("repo.channel-symptoms")
def test_no_symptom_of_channels_waits_for_anything() -> None:
    known, used = manifest.load(), marks()
    assert set(channel_symptoms.SYMPTOMS) == channel_symptoms.CONCERN_CHANNELS
    for number, symptom in channel_symptoms.SYMPTOMS.items():
        assert symptom.requirements, f"nothing shows symptom {number}"
        assert not symptom.later
        assert all(item in known and used[item] for item in symptom.requirements), symptom.text


@pytest.mark.requirement("repo.promises-shown")
def test_every_promise_of_the_documents_is_shown_or_awaited() -> None:
    known, used = manifest.load(), marks()
    for promise in promises():
        for requirement in promise.requirements:
            assert requirement in known, f"{promise.text} names {requirement}"
            assert used[requirement], f"no test shows {requirement}"
    texts = [promise.text for promise in sessions_document.PROMISES]
    assert len(texts) == len(set(texts)) > 100
    texts = [promise.text for promise in state_document.PROMISES]
    assert len(texts) == len(set(texts)) > 60


@pytest.mark.requirement("repo.glossary-shown")
def test_no_sentence_of_the_glossary_about_runs_and_jobs_is_left_out() -> None:
    sources = {promise.source.removeprefix("S3 ") for promise in glossary.PROMISES}
    assert sources == set(glossary.ENTRIES)
    assert len(runs_reference.PROMISES) > 50
    texts = [promise.text for promise in glossary.PROMISES]
    assert len(texts) == len(set(texts)) > 70
    unshown = [promise.text for promise in glossary.PROMISES if not promise.requirements]
    assert unshown == [
        "What a park holds survives: the skills in use.",
        "It is written at the first park only.",
    ]


@pytest.mark.requirement("repo.promises-shown")
def test_what_is_not_here_names_the_decision() -> None:
    named = [promise.not_here for promise in promises() if promise.not_here]
    assert named
    assert not [words for words in named if not re.fullmatch(r"decision \d+", words)]


@pytest.mark.requirement("repo.promises-shown")
def test_only_what_is_not_built_yet_is_awaited() -> None:
    awaited = {promise.later for promise in promises()}
    assert awaited - {""} <= set(sessions_document.PARTS_TO_COME)


@pytest.mark.parametrize(("text", "later"), [("", "channels"), ("A sentence.", "")])
def test_a_promise_without_words_or_proof_is_refused(text: str, later: str) -> None:
    with pytest.raises(ManifestError):
        Promise("S0", text, later=later)


@pytest.mark.parametrize("bad", ["", "plain", "Upper.case", "a.", ".a", "a b.c"])
def test_a_malformed_id_is_refused(bad: str) -> None:
    with pytest.raises(ManifestError):
        Requirement(bad, "here", "A sentence.")


def test_a_requirement_without_words_is_refused() -> None:
    with pytest.raises(ManifestError):
        Requirement("a.b", "decision 1", " ")


def test_the_manifest_holds_one_module_per_subject() -> None:
    for path in tree.files(under="tests/requirements", suffix=".py"):
        name = Path(path).stem
        if name in {"__init__", "manifest"}:
            continue
        assert "Requirement(" in (tree.ROOT / path).read_text(), f"{path} lists nothing"
