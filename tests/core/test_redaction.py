"""Secrets are replaced by value and by shape, whole or in pieces, in linear time."""

from __future__ import annotations

import hashlib
import json

import pytest

from netclaw.core.redaction import (
    LOGGED_STRING_MAX,
    SHOWN_ARGUMENTS_MAX,
    Redactor,
    StreamRedactor,
    redact_arguments,
    redact_shapes,
    shown_arguments,
)
from netclaw.core.redaction_shapes import REDACTED, SHAPES

A = "A1b2C3d4E5f6G7h8J9k0"
"""Twenty letters and digits, as tokens are made of."""
HEX = "0123456789abcdef"
PEM = (
    "-----BEGIN {0}PRIVATE KEY-----\n"
    + "MIIEvQIBADANBgkqhkiG9w0\n" * 3
    + "-----END {0}PRIVATE KEY-----"
)

TOKENS: dict[str, str] = {
    "private-key": PEM.format("RSA "),
    "sk-key": "sk-ant-api03-" + A,
    "slack-token": "xoxb-123456789012-" + A,
    "slack-app-token": "xapp-1-A0123-" + A,
    "slack-webhook": "https://hooks.slack.com/services/T000/B000/" + A,
    "github-token": "ghp_" + A + A[:16],
    "github-pat": "github_pat_" + A + "_" + A,
    "gitlab-token": "glpat-" + A,
    "aws-key-id": "AKIA" + "ABCDEFGH234567XY",
    "google-api-key": "AIza" + (A + A)[:35],
    "google-oauth": "ya29." + A,
    "google-client-secret": "GOCSPX-" + A,
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    "discord-token": "MT" + A + "ab." + "GabcdE." + A + A[:10],
    "discord-webhook": "https://discord.com/api/webhooks/123456789012345678/" + A,
    "telegram-token": "1234567890:AA" + A + A[:13],
    "stripe-key": "sk_live_" + A,
    "signing-secret": "whsec_" + A,
    "sendgrid-key": "SG." + A + "." + A,
    "npm-token": "npm_" + A + A[:16],
    "pypi-token": "pypi-" + A + A,
    "huggingface-token": "hf_" + A,
    "groq-key": "gsk_" + A,
    "xai-key": "xai-" + A,
    "digitalocean-token": "dop_v1_" + HEX * 4,
    "age-key": "AGE-SECRET-KEY-1" + "QPZRY9X8GF" * 6,
    "linear-key": "lin_api_" + A,
    "bearer": "Bearer " + A,
    "basic-auth": "Authorization: Basic dXNlcjpwYXNz",
    "url-password": "postgres://user:hunter2@db/x",
    "environment": "MY_SERVICE_API_KEY=abcdefgh1234",
    "quoted-field": '{"password": "hunter2"}',
}

KEPT = {
    "slack-webhook": "hooks.slack.com/services/",
    "discord-webhook": "/api/webhooks/123456789012345678/",
    "bearer": "Bearer ",
    "basic-auth": "Authorization: Basic ",
    "url-password": "postgres://user:",
    "environment": "MY_SERVICE_API_KEY=",
    "quoted-field": '"password": "',
}


@pytest.mark.requirement("core.redact-shapes")
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
@pytest.mark.parametrize("around", ["{}", "see {} here", '"{}"', "k={}\n", "\\n{}\\t", "({})"])
def test_every_shape_is_replaced_wherever_it_stands(shape: object, around: str) -> None:
    name = shape.name  # type: ignore[attr-defined]
    redacted = redact_shapes(around.format(TOKENS[name]))
    assert REDACTED in redacted
    assert KEPT.get(name, "") in redacted
    for piece in (A, "hunter2", "abcdefgh1234", "dXNlcjpwYXNz", "MIIEv", HEX, "QPZRY9X8GF"):
        assert piece not in redacted
    assert redact_shapes(redacted) == redacted


def test_there_is_an_example_of_every_shape_and_about_the_promised_number() -> None:
    assert {shape.name for shape in SHAPES} == set(TOKENS)
    assert len(SHAPES) >= 25


@pytest.mark.requirement("core.redact-shapes")
@pytest.mark.parametrize(
    "text",
    [
        "the risk-assessment-framework-for-everyone of our task-force-management-plan",
        "git log --format=%H 3f786850e387550fdab836ed7e6dc881de23001b",
        "sk-short",
        "https://example.com/a:b/c@d",
        "MAX_TOKENS=4096",
        "API_KEY=$OTHER_VARIABLE",
        "token = get_token()",
        "a bearer of news",
        "uuid 123e4567-e89b-12d3-a456-426614174000",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "AKIAshort and xoxo",
        "",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert redact_shapes(text) == text


def test_a_private_key_without_its_end_is_replaced_up_to_where_it_breaks_off() -> None:
    cut = PEM.format("")[:60]
    assert redact_shapes(f"x {cut}") == f"x {REDACTED}"


@pytest.mark.requirement("core.redact-values")
def test_known_values_go_in_every_spelling_longest_first() -> None:
    redactor = Redactor(['pa"ss\\wörd/1', "pass", "secret", "secret-and-more"])
    text = 'plain pa"ss\\wörd/1 json pa\\"ss\\\\w\\u00f6rd/1 url pa%22ss%5Cw%C3%B6rd%2F1'
    assert redactor.redact(text) == f"plain {REDACTED} json {REDACTED} url {REDACTED}"
    assert redactor.redact("secret-and-more secret pass") == f"{REDACTED} {REDACTED} pass"
    assert redactor.longest == len("pa%22ss%5Cw%C3%B6rd%2F1")


def test_short_values_and_parts_of_the_marker_are_no_secrets() -> None:
    assert Redactor(["ab", "", "redacted"]).redact("ab [redacted] ab") == "ab [redacted] ab"
    assert Redactor().longest == 0


@pytest.mark.requirement("core.redact-linear")
@pytest.mark.parametrize(
    "piece",
    [
        "eyJ",
        "eyJaaaaaaaa.",
        "sk-",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN A ",
        "A_",
        "A_KEY",
        "://a:",
        "://",
        "xoxb-",
        "M" + "a" * 24 + ".",
        "Bearer ",
        "SG.",
        "123456:AA",
        '"password":',
        "-",
        "\\n",
        "a",
    ],
)
def test_no_text_makes_redaction_endless(piece: str) -> None:
    """A pattern that looks back over the whole text at each place would take hours here."""
    redact_shapes(piece * (1_000_000 // len(piece)))


def in_pieces(redactor: Redactor, text: str, size: int) -> str:
    stream = StreamRedactor(redactor)
    parts = [stream.feed(text[at : at + size]) for at in range(0, len(text), size)]
    return "".join(parts) + stream.finish()


@pytest.mark.requirement("core.redact-chunks")
@pytest.mark.parametrize("size", [1, 7, 100, 1000, 5000])
@pytest.mark.parametrize("name", sorted(TOKENS))
def test_a_secret_cut_apart_is_redacted_as_if_it_had_come_whole(name: str, size: int) -> None:
    filler = "some words of output\n" * 60
    text = filler + TOKENS[name] + "\n" + filler + TOKENS[name] + "\n" + filler
    assert in_pieces(Redactor(), text, size) == redact_shapes(text)


@pytest.mark.requirement("core.redact-chunks")
@pytest.mark.parametrize("size", [1, 13, 900])
def test_a_known_value_cut_apart_is_redacted(size: int) -> None:
    value = "correct horse battery staple " * 40
    text = ("x y z " * 200) + value + ("x y z " * 200)
    redacted = in_pieces(Redactor([value]), text, size)
    assert redacted == Redactor([value]).redact(text)
    assert "horse" not in redacted


@pytest.mark.requirement("core.redact-chunks")
def test_a_secret_without_end_is_held_in_bounded_memory() -> None:
    stream = StreamRedactor(Redactor())
    out = stream.feed("key: sk-")
    for _ in range(300):
        out += stream.feed("Ab1" * 1000)
    assert stream.held < 200_000
    assert (out + stream.finish()) == f"key: {REDACTED}"


def test_a_word_without_end_that_is_no_secret_passes_through() -> None:
    text = "ab1" * 30_000
    assert in_pieces(Redactor(), text, 1000) == text


@pytest.mark.parametrize("tail", ["", "-more\nwords\n"])
def test_an_endless_token_whose_middle_cannot_be_left_out_is_kept_whole(tail: str) -> None:
    stream = StreamRedactor(Redactor())
    out = stream.feed("x SG." + "a" * 50_000 + "." + "b" * 40_000)
    assert stream.held > 90_000
    assert out + stream.feed(tail) + stream.finish() == f"x {REDACTED}{tail.removeprefix('-more')}"


def test_a_known_value_longer_than_any_token_is_kept_whole() -> None:
    value = "v" * 70_000
    stream = StreamRedactor(Redactor([value]))
    out = stream.feed("x " * 70_000 + value)
    assert out + stream.finish() == "x " * 70_000 + REDACTED


def test_small_outputs_come_out_at_the_end() -> None:
    stream = StreamRedactor(Redactor())
    assert stream.feed("hello") == ""
    assert stream.finish() == "hello"
    assert stream.finish() == ""


@pytest.mark.requirement("core.log-arguments")
def test_long_strings_of_logged_arguments_become_length_and_hash() -> None:
    body = "x" * (LOGGED_STRING_MAX + 1)
    digest = hashlib.sha256(body.encode()).hexdigest()[:12]
    logged = redact_arguments(json.dumps({"path": "a.txt", "content": body, "n": [1, None]}))
    assert json.loads(logged) == {
        "path": "a.txt",
        "content": f"<257 characters, sha256 {digest}>",
        "n": [1, None],
    }


@pytest.mark.requirement("core.log-arguments")
def test_secrets_in_logged_arguments_go_by_name_value_and_shape() -> None:
    arguments = {
        "apiKey": "short",
        "headers": {"Authorization": "x", "accept": "y", "max_tokens": 5},
        "command": f"curl -H 'Authorization: Bearer {A}' topsecret",
        "topsecret": 1,
    }
    logged = redact_arguments(json.dumps(arguments), Redactor(["topsecret"]).redact)
    assert json.loads(logged) == {
        "apiKey": REDACTED,
        "headers": {"Authorization": REDACTED, "accept": "y", "max_tokens": 5},
        "command": f"curl -H 'Authorization: Bearer {REDACTED}' {REDACTED}",
        REDACTED: 1,
    }


@pytest.mark.requirement("core.log-arguments")
def test_arguments_that_are_no_json_are_one_string() -> None:
    assert redact_arguments(f"not json {TOKENS['sk-key']}") == f"not json {REDACTED}"
    assert redact_arguments("y" * 300).startswith("<300 characters, sha256 ")
    assert redact_arguments("[" * 100_000).startswith("<100000 characters")
    assert redact_arguments('"half \\ud800"') == '"half \ud800"'


def test_arguments_nested_beyond_reason_are_cut() -> None:
    deep = "[" * 40 + "]" * 40
    assert "nested too deep" in redact_arguments(deep)


@pytest.mark.requirement("core.shown-arguments")
def test_arguments_are_shown_in_full_up_to_a_limit_and_as_in_a_log_above_it() -> None:
    redact = Redactor(["hunter22"]).redact
    text = '{"text":"' + "x" * (SHOWN_ARGUMENTS_MAX - 30) + ' hunter22"}'
    assert shown_arguments(text, redact) == text.replace("hunter22", REDACTED)
    huge = '{"to":"hunter22","text":"' + "x" * SHOWN_ARGUMENTS_MAX + '"}'
    shown = shown_arguments(huge, redact)
    assert json.loads(shown)["to"] == REDACTED
    assert json.loads(shown)["text"].startswith(f"<{SHOWN_ARGUMENTS_MAX} characters, sha256 ")
