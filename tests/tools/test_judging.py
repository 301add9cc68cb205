"""Calls are judged with the facts of the moment, from the proposal up to the launch."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest

from netclaw.core.authz.profiles import ConsentModes
from netclaw.core.errors import StorageError
from netclaw.core.session.consent_events import ConsentEffect, ConsentOption
from netclaw.core.session.rulings import Outcome
from netclaw.core.tool_call import OutcomeCategory
from netclaw.tools.factory import make_tool_runner
from tests.tools.judged import SHELL, Call, Recorder, approved
from tests.tools.rig import PROVED, SECRET, SOURCES, Rig


@pytest.mark.requirement("judging.judged-first")
async def test_a_command_asks_and_says_where_it_would_run(asking: Rig, shell: Recorder) -> None:
    call = Call(asking, command=f"make {SECRET}")
    ruling = await call.propose()
    assert ruling.outcome is Outcome.REQUIRES_CONSENT
    assert ruling.attempt_id == call.call.attempt_id
    assert ruling.display == "make ***"
    assert SECRET not in repr(ruling)
    assert ruling.cwd == str(asking.workspace.resolve())
    assert [option.key for option in ruling.options][::5] == ["approve_once"]
    assert ruling.options[-1].key == "deny"
    result = await call.run()
    assert result.receipt.category is OutcomeCategory.ACCESS_DENIED
    assert not shell.ran


@pytest.mark.requirement("judging.judged-first")
async def test_a_prompt_shows_the_beginning_and_the_end_of_long_arguments(rig: Rig) -> None:
    rig.modes = ConsentModes(tools={"file_write": "Approval"})
    ruling = await Call(rig, "file_write", path="a", content=f"{'x' * 900_000}{SECRET}").propose()
    assert ruling.outcome is Outcome.REQUIRES_CONSENT
    assert ruling.display.startswith('file_write {"path": "a", "content": "xxx')
    assert ruling.display.endswith('***"}')
    assert "characters left out" in ruling.display
    assert len(ruling.display) < 3100
    assert ruling.candidates == ("file_write",)


@pytest.mark.requirement("judging.once")
async def test_a_call_that_was_approved_once_runs_once(asking: Rig, shell: Recorder) -> None:
    call = await approved(asking, command="make all")
    result = await call.run()
    assert result.receipt.category is OutcomeCategory.SUCCESS
    assert result.text.endswith("\n[approval: once]")
    assert (await call.run()).receipt.category is OutcomeCategory.ACCESS_DENIED
    assert shell.commands == ["make all"]
    assert (await Call(asking, command="make all").propose()).outcome is Outcome.REQUIRES_CONSENT
    assert not asking.consents.grants
    assert not asking.consents.chat


@pytest.mark.requirement("judging.grants-recorded")
@pytest.mark.parametrize(
    ("option", "note"),
    [
        ("approve_session", "[approval: this chat only]"),
        ("approve_everywhere", "[approval: always anywhere]"),
    ],
)
async def test_an_answer_is_stored_and_covers_the_next_call_like_it(
    asking: Rig, shell: Recorder, option: str, note: str
) -> None:
    call = await approved(asking, option, command="make all")
    assert (await call.run()).text.endswith(note)
    again = Call(asking, command="make all")
    assert (await again.propose()).outcome is Outcome.ALLOWED
    result = await again.run()
    assert "approval" not in result.text
    assert shell.commands == ["make all"] * 2
    other = await Call(asking, command="git push").propose()
    assert other.outcome is Outcome.REQUIRES_CONSENT


@pytest.mark.requirement("judging.grants-recorded")
@pytest.mark.parametrize("option", ["approve_always", "approve_repository", "approve_later"])
async def test_an_option_that_is_offered_no_more_lets_exactly_this_call_run(
    asking: Rig, shell: Recorder, option: str
) -> None:
    call = Call(asking, command="make all")
    ruling = await call.propose()
    offered = ConsentOption(key=option, label="Then", effect=ConsentEffect.APPROVE)
    call.first = replace(ruling, options=(offered, *ruling.options))
    assert (await call.answer(option)).outcome is Outcome.ALLOWED
    assert (await call.run()).text.endswith("[approval: once]")
    assert shell.commands == ["make all"]
    assert not asking.consents.grants


@pytest.mark.requirement("judging.once")
@pytest.mark.parametrize("option", ["deny", "approve_always", "nonsense", ""])
async def test_what_was_not_offered_or_refuses_lets_nothing_run(asking: Rig, option: str) -> None:
    call = Call(asking, command="make all")
    await call.propose()
    assert (await call.answer(option)).outcome is Outcome.REQUIRES_CONSENT


@pytest.mark.requirement("judging.grants-recorded")
async def test_a_wider_answer_counts_though_another_let_the_call_run_meanwhile(
    asking: Rig,
) -> None:
    calls = [Call(asking, command="make all") for _ in range(3)]
    for call in calls:
        await call.propose()
    options = ("approve_session", "approve_everywhere", "approve_once")
    for call, option in zip(calls, options, strict=True):
        assert (await call.answer(option)).outcome is Outcome.ALLOWED
    (grant,) = asking.consents.grants
    assert grant.directory is None
    notes = [(await call.run()).text.splitlines()[-1] for call in calls]
    assert notes == [
        "[approval: this chat only]",
        "[approval: always anywhere]",
        "[approval: once]",
    ]


@pytest.mark.requirement("judging.grants-recorded")
async def test_a_consent_that_cannot_be_saved_counts_once(
    asking: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    asking.consents.record_error = StorageError("The disk is full.")
    call = await approved(asking, "approve_everywhere", command="make all")
    assert (await call.run()).text.endswith("[approval: once]")
    assert "The disk is full." in caplog.text
    assert not asking.consents.grants


@pytest.mark.requirement("judging.revocation")
@pytest.mark.parametrize("option", ["approve_session", "approve_everywhere"])
async def test_a_grant_that_was_revoked_before_the_start_starts_nothing(
    asking: Rig, shell: Recorder, option: str
) -> None:
    call = await approved(asking, option, command="make all")
    asking.consents.revoke_all()
    result = await call.run()
    assert result.receipt.category is OutcomeCategory.ACCESS_DENIED
    assert "withdrawn" in result.text
    assert not shell.ran


@pytest.mark.requirement("judging.revocation")
async def test_a_grant_that_was_revoked_at_the_gate_starts_nothing(
    asking: Rig, shell: Recorder, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="netclaw.tools.authorization")
    call = await approved(asking, "approve_session", command="make all")
    shell.before_gate = asking.consents.revoke_all
    result = await call.run()
    assert result.receipt.category is OutcomeCategory.ACCESS_DENIED
    assert "withdrawn" in result.text
    assert not shell.ran
    assert "to start: shell_execute consent reason=requires_consent attempt=" in caplog.text


@pytest.mark.requirement("judging.paths-changed")
@pytest.mark.parametrize("is_late", [False, True], ids=["before the launch", "at the gate"])
@pytest.mark.parametrize("what", ["operand", "folder"])
async def test_a_link_that_was_swapped_starts_nothing(
    asking: Rig, shell: Recorder, what: str, is_late: bool
) -> None:
    folders = [asking.workspace / name for name in ("first", "second")]
    for folder in folders:
        folder.mkdir()
        (folder / "file").write_text("x")
    link = asking.workspace / "link"
    link.symlink_to(folders[0])

    def swap() -> None:
        link.unlink()
        link.symlink_to(folders[1])

    arguments = {"command": "make link/file"}
    if what == "folder":
        arguments = {"command": "make file", "working_directory": str(link)}
    call = await approved(asking, **arguments)
    if is_late:
        shell.before_gate = swap
    else:
        swap()
    result = await call.run()
    assert result.receipt.category is OutcomeCategory.ACCESS_DENIED
    assert "led elsewhere" in result.text
    assert not shell.ran


@pytest.mark.requirement("judging.asked-for-anew")
async def test_an_answer_covers_only_what_was_shown(asking: Rig, rig: Rig) -> None:
    call = Call(asking, command="make all")
    await call.propose()
    (rig.folder / "elsewhere").mkdir()
    rig.project = str(rig.folder / "elsewhere")
    ruling = await call.answer("approve_everywhere")
    assert ruling.outcome is Outcome.REQUIRES_CONSENT
    assert ruling.cwd == rig.project
    assert not asking.consents.grants
    assert call.first is not None
    call.first = replace(ruling, candidates=("git push",))
    assert (await call.answer("approve_once")).outcome is Outcome.REQUIRES_CONSENT


@pytest.mark.requirement("judging.unattended")
async def test_nobody_to_ask_is_a_denial_with_a_way_out(asking: Rig, shell: Recorder) -> None:
    asking.is_attended = False
    call = Call(asking, command="make all")
    ruling = await call.propose()
    assert ruling.outcome is Outcome.DENIED
    assert '"Always" grant' in ruling.text
    await call.run()
    assert not shell.ran


@pytest.mark.requirement("judging.judged-first")
async def test_a_call_that_nobody_judged_is_refused(rig: Rig, shell: Recorder) -> None:
    rig.runner = make_tool_runner(PROVED, shell, SOURCES)
    for name in (SHELL, "file_list"):
        result = await Call(rig, name, **({"command": "true"} if name == SHELL else {})).run()
        assert result.receipt.category is OutcomeCategory.ACCESS_DENIED
        assert "could not be judged" in result.text
    assert not shell.ran


@pytest.mark.requirement("judging.judged-first")
async def test_a_call_that_is_denied_later_is_forgotten(rig: Rig, shell: Recorder) -> None:
    rig.runner = make_tool_runner(PROVED, shell, SOURCES)
    call = Call(rig, command="make all")
    assert (await call.propose()).outcome is Outcome.ALLOWED
    rig.modes = ConsentModes(tools={SHELL: "Deny"})
    assert (await call.propose()).outcome is Outcome.DENIED
    rig.modes = ConsentModes(tools={SHELL: "Auto"})
    assert (await call.run()).receipt.category is OutcomeCategory.ACCESS_DENIED
    assert not shell.ran


@pytest.mark.requirement("judging.boundaries")
async def test_a_home_behind_a_link_is_judged_where_it_really_is(rig: Rig, shell: Recorder) -> None:
    (rig.folder / "link").symlink_to(rig.folder)
    linked = Rig(folder=rig.folder / "link", modes=ConsentModes())
    linked.runner = make_tool_runner(PROVED, shell, SOURCES)
    (linked.workspace / "file.txt").write_text("fine")
    for command in ("cat file.txt", f"cat {linked.workspace}/file.txt"):
        assert (await Call(linked, command=command).propose()).outcome is Outcome.ALLOWED
    protected = await Call(linked, command=f"cat {linked.secret_file}").propose()
    assert "protected" in protected.text
    assert "fine" in (await linked.call("file_read", path="file.txt")).text
    call = await approved(linked, command="make all")
    await call.run()
    assert shell.ran[0].cwd == str(rig.workspace)


@pytest.mark.requirement("judging.grants-recorded")
@pytest.mark.parametrize(
    ("option", "note"),
    [
        ("approve_always", "[approval: always in this folder]"),
        ("approve_repository", "[approval: always in this repo]"),
    ],
)
async def test_a_grant_for_a_place_covers_what_stays_in_it(
    asking: Rig, option: str, note: str
) -> None:
    project = asking.folder / "project"
    for folder in (project / ".git", project / "below"):
        folder.mkdir(parents=True)
    (project / ".git/HEAD").write_text("ref: refs/heads/main\n")
    asking.project = str(project)
    call = await approved(asking, option, command="make all")
    assert (await call.run()).text.endswith(note)
    (grant,) = asking.consents.grants
    common = str(project / ".git")
    is_folder = option == "approve_always"
    assert (grant.directory, grant.repository) == (
        (str(project), None) if is_folder else (None, common)
    )
    below = Call(asking, command="make all", working_directory="below")
    assert (await below.propose()).outcome is Outcome.ALLOWED
    away = Call(asking, command="make all", working_directory=str(asking.workspace))
    assert (await away.propose()).outcome is Outcome.REQUIRES_CONSENT
