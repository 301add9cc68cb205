"""HTTP failures and provider errors: their category, their sentence, and what they never reveal."""

from __future__ import annotations

import time
from email.utils import formatdate

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaw.core.errors import ErrorCategory
from netclaw.models.failures import Secrets, from_error_event, from_status, retry_after_s
from tests.fakes.model_answer import OVERFLOWS

KEY = "sk-very-secret-key"
NOW_S = 1_800_000_000.0


@pytest.mark.requirement("models.http-errors")
@pytest.mark.parametrize(
    ("status", "category", "is_transient"),
    [
        (307, ErrorCategory.PROVIDER_FAILURE, False),
        (400, ErrorCategory.INPUT_COMPATIBILITY, False),
        (401, ErrorCategory.PROVIDER_FAILURE, False),
        (402, ErrorCategory.PROVIDER_FAILURE, False),
        (403, ErrorCategory.PROVIDER_FAILURE, False),
        (404, ErrorCategory.PROVIDER_FAILURE, False),
        (405, ErrorCategory.PROVIDER_FAILURE, False),
        (408, ErrorCategory.TIMEOUT, True),
        (422, ErrorCategory.INPUT_COMPATIBILITY, False),
        (429, ErrorCategory.RATE_LIMITED, True),
        (500, ErrorCategory.PROVIDER_FAILURE, True),
        (501, ErrorCategory.PROVIDER_FAILURE, False),
        (502, ErrorCategory.PROVIDER_FAILURE, True),
        (503, ErrorCategory.PROVIDER_FAILURE, True),
        (504, ErrorCategory.TIMEOUT, True),
        (529, ErrorCategory.RATE_LIMITED, True),
        (204, ErrorCategory.PROVIDER_FAILURE, False),
    ],
)
def test_each_status_has_a_category_and_one_sentence(
    status: int, category: ErrorCategory, is_transient: bool
) -> None:
    body = b'{"error":{"message":"their own words"}}'
    error = from_status(status, {}, body, secrets=Secrets(KEY), now_s=NOW_S)
    assert (error.category, error.is_transient) == (category, is_transient)
    assert error.is_before_first_chunk
    assert error.sentence.endswith(".")
    assert "their own words" not in error.sentence
    assert str(status) in error.sentence


def test_a_local_server_that_still_loads_is_said_to_load() -> None:
    body = b'{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}'
    error = from_status(503, {}, body, secrets=Secrets(KEY), now_s=NOW_S)
    assert error.sentence == "The model service is still loading the model."
    assert error.is_transient


@pytest.mark.requirement("models.context-overflow")
@pytest.mark.parametrize("shape", OVERFLOWS)
@pytest.mark.parametrize("status", [400, 500])
def test_every_shape_of_a_prompt_too_long_is_recognised(shape: str, status: int) -> None:
    value = OVERFLOWS[shape]
    body = value.encode() if isinstance(value, str) else orjson.dumps(value)
    error = from_status(status, {}, body, secrets=Secrets(), now_s=NOW_S)
    assert error.is_context_overflow
    assert error.category is ErrorCategory.INPUT_COMPATIBILITY
    assert not error.is_transient
    assert not error.is_retryable_elsewhere


@pytest.mark.requirement("models.context-overflow")
@pytest.mark.parametrize(
    "message",
    [
        "Input is too long for requested model.",
        "Input validation error: `inputs` must have less than 4096 tokens. Given: 5000",
        "`inputs` tokens + `max_new_tokens` must be <= 4097. Given: 5000 `inputs` tokens",
        "Invalid request: Your request exceeded model token limit: 262144 (requested: 300000)",
        "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
        "Prompt exceeds max length",
        "Range of input length should be [1, 129024]",
        "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        "The input token count is 1049000 but model only supports up to 1048576.",
        "Your input exceeds the context window of this model. Please adjust your input.",
        "context window exceeds limit (2013)",
        "input length and `max_tokens` exceed context limit: 199000 + 8000 > 200000",
        "prompt token count of 150000 exceeds the limit of 128000",
        "the prompt is longer than the context length currently set",
        "too many tokens: size limit exceeded by 1000 tokens.",
    ],
)
def test_other_services_words_for_a_prompt_too_long_are_known(message: str) -> None:
    body = orjson.dumps({"error": {"message": message, "code": "invalid_value"}})
    error = from_status(400, {}, body, secrets=Secrets(), now_s=NOW_S)
    assert error.is_context_overflow
    assert not error.is_transient


@pytest.mark.requirement("models.context-overflow")
@pytest.mark.parametrize(
    "message",
    [
        "Invalid value for 'messages'.",
        "max_tokens is too large: 999999. This model supports at most 4096 completion tokens.",
        "Unknown parameter: 'context'.",
    ],
)
def test_other_refusals_are_not_taken_for_a_prompt_too_long(message: str) -> None:
    body = orjson.dumps({"error": {"message": message, "code": "invalid_value"}})
    error = from_status(400, {}, body, secrets=Secrets(), now_s=NOW_S)
    assert not error.is_context_overflow


@pytest.mark.requirement("models.context-overflow")
def test_a_request_that_is_too_large_for_the_server_is_one_too() -> None:
    assert from_status(413, {}, b"", secrets=Secrets(), now_s=NOW_S).is_context_overflow


@pytest.mark.requirement("models.retry-after")
@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "0.5"}, 0.5),
        ({"Retry-After": "-3"}, 0.0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "inf"}, None),
        ({"Retry-After": formatdate(NOW_S + 90, usegmt=True)}, 90.0),
        ({"Retry-After": formatdate(NOW_S - 90, usegmt=True)}, 0.0),
        ({"Retry-After": time.strftime("%a, %d %b %Y %H:%M:%S", time.gmtime(NOW_S + 5))}, 5.0),
        ({"Retry-After": "5", "retry-after-ms": "1500"}, 1.5),
    ],
)
def test_retry_after_as_seconds_and_as_date(
    headers: dict[str, str], expected: float | None
) -> None:
    assert retry_after_s(headers, NOW_S) == expected


@pytest.mark.requirement("models.retry-after")
def test_an_exhausted_account_is_not_asked_again() -> None:
    body = orjson.dumps(
        {"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}
    )
    error = from_status(429, {"Retry-After": "1"}, body, secrets=Secrets(), now_s=NOW_S)
    assert error.category is ErrorCategory.RATE_LIMITED
    assert not error.is_transient


@pytest.mark.requirement("models.no-secret-leaves")
@given(
    status=st.integers(300, 599),
    before=st.text(max_size=600),
    after=st.text(max_size=20),
    is_json=st.booleans(),
)
def test_the_credential_is_in_no_error(status: int, before: str, after: str, is_json: bool) -> None:
    words = f"{before}{KEY}{after}"
    body = orjson.dumps({"error": {"message": words, "code": KEY}}) if is_json else words.encode()
    error = from_status(status, {}, body, secrets=Secrets(KEY), now_s=NOW_S)
    for shown in (str(error), repr(error), error.sentence, error.detail, repr(error.args)):
        assert KEY not in shown
    assert len(error.detail) <= 500
    assert "\n" not in error.detail


@pytest.mark.requirement("models.no-secret-leaves")
def test_a_refused_credential_is_not_quoted_even_in_part() -> None:
    body = b'{"error":{"message":"Incorrect API key provided: sk-ver****-key"}}'
    error = from_status(401, {}, body, secrets=Secrets(KEY), now_s=NOW_S)
    assert error.detail == "HTTP 401"


@pytest.mark.requirement("models.error-events")
@given(
    st.recursive(
        st.none() | st.integers() | st.text(),
        lambda s: st.dictionaries(
            st.sampled_from(["error", "message", "code", "type", "detail"]), s, max_size=4
        ),
        max_leaves=6,
    )
)
def test_an_error_event_of_any_shape_becomes_an_error(value: object) -> None:
    assert from_error_event(value, secrets=Secrets(KEY)).sentence
