"""Consent prompts with buttons: who may answer, what is used up when, what people see."""

from __future__ import annotations

import pytest

from netclaw.adapters.driver import FatalFailure, Place, RefusedFailure, Thread, TransientFailure
from netclaw.adapters.prompt_text import NOT_YOURS, STALE
from netclaw.core.errors import NotRequesterError, StorageTimeoutError
from tests.adapters.prompt_bench import ANN, BOB, BOUNDARY, HERE, KEY, Bench, request_of, running
from tests.adapters.scripted import ScriptedDriver, until

pytestmark = pytest.mark.unit


@pytest.mark.requirement("channels.prompt-buttons")
async def test_a_request_is_one_post_with_a_button_for_each_option() -> None:
    async with running(Bench()) as bench:
        await bench.ask(request_of())
        await bench.look()
        assert len(bench.driver.posts) == 1
        buttons = bench.driver.buttons(KEY)
        assert list(buttons) == ["Once", "Always anywhere", "Deny"]
        assert [label for label in buttons if buttons[label].is_danger] == [
            "Always anywhere",
            "Deny",
        ]
        tokens = [button.token for button in buttons.values()]
        assert len(set(tokens)) == 3
        assert all(len(token) <= 100 for token in tokens)
        assert "rm c1" in bench.shown()


@pytest.mark.requirement("channels.prompt-buttons")
@pytest.mark.requirement("channels.prompt-result")
async def test_the_post_becomes_the_result_when_the_session_took_the_answer_up() -> None:
    async with running(Bench()) as bench:
        await bench.ask(request_of())
        await bench.press(bench.token("Once"))
        (answer,) = bench.link.answers
        assert (answer.session_id, answer.call_id, answer.option) == (HERE, "c1", "approve_once")
        assert (answer.request_seq, answer.sender.sender_id) == (5, ANN)
        assert (answer.sender.boundary, answer.sender.principal) == (BOUNDARY, "untrusted")
        assert "Approved" not in bench.shown(), "it is durable, and not taken up"
        assert bench.driver.buttons(KEY)
        await bench.end()
        assert bench.shown().endswith("**Approved**: Once.")
        assert bench.driver.buttons(KEY) == {}


@pytest.mark.requirement("channels.prompt-result")
@pytest.mark.parametrize(("outcome", "word"), [("refused", "Refused"), ("withdrawn", "Withdrawn")])
async def test_a_request_that_ends_elsewhere_ends_its_post(outcome: str, word: str) -> None:
    async with running(Bench()) as bench:
        await bench.ask(request_of())
        await bench.end(outcome=outcome)
        assert bench.shown().endswith(f"**{word}**.")


@pytest.mark.requirement("channels.prompt-result")
async def test_a_deleted_session_ends_its_prompts() -> None:
    async with running(Bench()) as bench:
        await bench.ask(request_of())
        bench.link.approvals.clear()
        await bench.link.delete(HERE)
        await bench.look()
        assert bench.shown().endswith(STALE)


@pytest.mark.requirement("channels.prompt-result")
async def test_an_answer_that_the_session_did_not_count_leaves_a_prompt_that_works() -> None:
    async with running(Bench()) as bench:
        await bench.ask(request_of())
        await bench.press(bench.token("Once"))
        await bench.ask(request_of())  # it was dismissed: the request is open as before
        await bench.press(bench.token("Deny"))
        assert [answer.option for answer in bench.link.answers] == ["approve_once", "deny"]
        assert len(bench.driver.posts) == 1


@pytest.mark.requirement("channels.prompt-requester")
async def test_only_the_requester_answers_and_the_token_stays_good() -> None:
    async with running(Bench()) as bench:
        await bench.ask(request_of())
        token = bench.token("Once")
        await bench.press(token, BOB)
        await bench.press(token, BOB)
        assert bench.link.answers == []
        assert bench.driver.shown(HERE)[1:] == [NOT_YOURS], "said once"
        await bench.press(token, ANN)
        assert len(bench.link.answers) == 1


@pytest.mark.requirement("channels.prompt-requester")
@pytest.mark.parametrize(
    "request_", [request_of(sender_id=""), request_of(principal="automation", source="reminder")]
)
async def test_anybody_here_answers_what_nobody_in_particular_asked(request_: object) -> None:
    assert isinstance(request_, type(request_of()))
    async with running(Bench(allowed_user_ids=frozenset((BOB,)))) as bench:
        await bench.ask(request_)
        await bench.press(bench.token("Once"), ANN)
        assert bench.link.answers == [], "the access list counts for answers too"
        await bench.press(bench.token("Once"), BOB)
        assert [answer.sender.principal for answer in bench.link.answers] == ["trusted"]


@pytest.mark.requirement("channels.prompt-requester")
async def test_what_nobody_here_may_answer_is_not_asked_here() -> None:
    async with running(Bench()) as bench:
        await bench.ask(request_of(sender_id="operator", principal="operator", source="cli"))
        assert bench.driver.posts == []


@pytest.mark.requirement("channels.prompt-token")
async def test_a_press_somewhere_else_uses_no_token_up() -> None:
    async with running(Bench()) as bench:
        await bench.ask(request_of())
        token = bench.token("Once")
        elsewhere = Thread(channel_id="C1", thread_id="2", place=Place.CHANNEL, boundary=BOUNDARY)
        await bench.press(token, thread=elsewhere)
        await bench.press(token, post_id="m77")
        await bench.press("p.64.1~guessed")
        await bench.press("something else")
        assert bench.link.answers == []
        await bench.press(bench.token("Once"))
        assert len(bench.link.answers) == 1


@pytest.mark.requirement("channels.prompt-token")
async def test_an_answer_that_the_daemon_did_not_keep_uses_no_token_up() -> None:
    async with running(Bench()) as bench:
        await bench.ask(request_of())
        token = bench.token("Once")
        bench.link.answer_failures.append(StorageTimeoutError("The disk is slow."))
        with pytest.raises(StorageTimeoutError):
            await bench.press(token)
        bench.link.answer_failures.append(NotRequesterError("Only the person who asked."))
        await bench.press(token)
        await bench.press(token)
        assert len(bench.link.answers) == 1


@pytest.mark.requirement("channels.prompt-token")
async def test_a_second_press_answers_nothing() -> None:
    async with running(Bench()) as bench:
        await bench.ask(request_of())
        once, deny = bench.token("Once"), bench.token("Deny")
        await bench.press(once)
        await bench.press(once)
        await bench.press(deny)
        assert [answer.option for answer in bench.link.answers] == ["approve_once"]
        assert len(bench.driver.posts) == 1


@pytest.mark.requirement("channels.prompt-stale")
async def test_a_stale_press_is_told_so() -> None:
    async with running(Bench()) as bench:
        await bench.ask(request_of())
        token = bench.token("Once")
        await bench.end()
        await bench.press(token)
        assert bench.shown() == STALE
        assert bench.driver.buttons(KEY) == {}


@pytest.mark.requirement("channels.prompt-stale")
async def test_a_forged_stale_press_changes_no_other_post() -> None:
    async with running(Bench()) as bench:
        await bench.ask(request_of(), request_of("c2", position=2, seq=6))
        token = bench.token("Once")
        await bench.end()
        before = bench.driver.shown(HERE)
        await bench.press(token, post_id=bench.driver.ids["p.64.2"])
        assert bench.driver.shown(HERE) == before


@pytest.mark.requirement("channels.prompt-stale")
async def test_a_platform_that_cannot_tell_hears_of_a_stale_press_once() -> None:
    async with running(Bench()) as bench:
        await bench.ask(request_of())
        token = bench.token("Once")
        await bench.end()
        bench.driver.ids.clear()
        bench.driver.posts.clear()
        await bench.press(token)
        await bench.press(token)
        assert bench.driver.shown(HERE) == [STALE]


@pytest.mark.requirement("channels.prompt-stale")
async def test_whoever_presses_a_button_that_cannot_be_taken_away_is_told_once() -> None:
    async with running(Bench()) as bench:
        await bench.ask(request_of())
        token = bench.token("Once")
        too_old = RefusedFailure("It is too old to be changed.")
        bench.driver.edit_failures.extend([too_old] * 3)
        await bench.end()
        await bench.press(token)
        await bench.press(token)
        assert bench.driver.shown(HERE)[1:] == [STALE]


@pytest.mark.requirement("channels.prompt-restart")
async def test_another_start_finds_its_prompt_again_and_renews_the_buttons() -> None:
    first = Bench()
    async with running(first):
        await first.ask(request_of())
        old = first.token("Once")
    async with running(Bench(first.driver, first.link, now_ms=500)) as second:
        assert len(second.driver.posts) == 1
        fresh = second.token("Once")
        assert fresh != old
        await second.press(old)
        assert second.link.answers == []
        await second.press(second.token("Once"))
        await second.end()
        assert second.shown().endswith("**Approved**: Once.")


@pytest.mark.requirement("channels.prompt-restart")
async def test_a_prompt_that_was_answered_while_nobody_was_there_answers_a_press() -> None:
    first = Bench()
    async with running(first):
        await first.ask(request_of())
        old = first.token("Once")
    first.link.approvals.clear()
    async with running(Bench(first.driver, first.link, now_ms=500)) as second:
        await second.press(old)
        assert second.shown() == STALE


@pytest.mark.requirement("channels.prompt-restart")
async def test_a_prompt_that_was_made_and_seemed_to_fail_is_not_made_again() -> None:
    async with running(Bench()) as bench:
        bench.driver.silent_failures.append(TransientFailure("The platform failed."))
        await bench.ask(request_of())
        await until(lambda: any(call.startswith("edit") for call in bench.driver.calls))
        assert len(bench.driver.posts) == 1
        await bench.press(bench.token("Once"))
        assert len(bench.link.answers) == 1
    assert bench.told == ["The platform failed."]


@pytest.mark.requirement("channels.prompt-restart")
async def test_the_beginning_of_a_long_prompt_is_not_posted_again_for_its_end() -> None:
    async with running(Bench()) as bench:
        request = request_of()
        request.display = "\n".join(f"echo {n}" for n in range(300))
        bench.driver.failures_at[3] = TransientFailure("The platform failed.")
        await bench.ask(request)
        await until(lambda: KEY in bench.driver.ids)
        keys = [post.key for post in bench.driver.posts]
        assert len(keys) > 3
        assert len(keys) == len(set(keys))


@pytest.mark.requirement("channels.prompt-requester")
async def test_a_press_of_somebody_who_is_not_served_does_nothing() -> None:
    async with running(Bench(allowed_user_ids=frozenset((ANN,)))) as bench:
        await bench.ask(request_of())
        token = bench.token("Once")
        await bench.end()
        before = list(bench.driver.calls)
        await bench.press(token, BOB)
        assert bench.driver.calls == before


@pytest.mark.requirement("channels.prompt-unpostable")
async def test_a_request_that_cannot_be_shown_is_refused() -> None:
    async with running(Bench()) as bench:
        bench.driver.refusals.append(RefusedFailure("The channel is gone."))
        bench.link.answer_failures.append(StorageTimeoutError("The disk is slow."))
        await bench.ask(request_of())
        await until(lambda: len(bench.link.answers) == 1)
        (answer,) = bench.link.answers
        assert (answer.option, answer.sender.sender_id) == ("deny", ANN)
        assert bench.told == [
            "A consent request could not be shown and was refused: The channel is gone."
        ]


@pytest.mark.requirement("channels.prompt-unpostable")
async def test_a_revoked_token_ends_the_adapter_and_refuses_nothing() -> None:
    bench = Bench()
    bench.driver.refusals.append(FatalFailure("The token was revoked."))
    bench.link.approvals["c1"] = request_of()
    with pytest.raises(FatalFailure):
        await bench.parts.run()
    assert bench.link.answers == []


@pytest.mark.requirement("channels.prompt-unpostable")
async def test_a_fault_of_the_driver_is_tried_again() -> None:
    async with running(Bench()) as bench:
        bench.driver.refusals.append(KeyError("ts"))
        await bench.ask(request_of())
        await until(lambda: len(bench.driver.posts) == 1)


@pytest.mark.requirement("channels.prompt-child")
async def test_what_a_child_run_asks_ends_by_its_own_update() -> None:
    async with running(Bench()) as bench:
        await bench.ask(request_of(run_id="r1"), request_of("c2", position=2, seq=6))
        assert bench.driver.shown(HERE)[0].startswith("**A helper run asks**")
        await bench.press(bench.token("Deny"))
        await bench.end(outcome="approved")  # of a call of the parent with the same id
        assert "Approved" not in bench.driver.shown(HERE)[0]
        await bench.end(outcome="refused", run_id="r1")
        assert bench.driver.shown(HERE)[0].endswith("**Refused**.")


@pytest.mark.requirement("channels.prompt-result")
async def test_a_prompt_that_somebody_deleted_is_left_alone() -> None:
    bench = Bench(ScriptedDriver())
    async with running(bench):
        await bench.ask(request_of())
        bench.driver.ids.clear()
        await bench.end()
        assert bench.driver.shown(HERE) == []
