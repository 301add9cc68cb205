"""Secrets that can be told by their form alone, as data for `netclaw.core.redaction`.

Every repeat is bounded or possessive and every shape starts at a literal or a single character
class behind an edge, so a search is linear in the text whatever the text is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

REDACTED = "[redacted]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A kind of secret known by its form.

    `markers` are literals one of which every match contains: text without them is not searched.
    The group `kept`, if the pattern has one, stays in front of the replacement.
    """

    name: str
    markers: tuple[str, ...]
    pattern: re.Pattern[str]

    @property
    def replacement(self) -> str:
        """The template for `re.sub`."""
        return rf"\g<kept>{REDACTED}" if "kept" in self.pattern.groupindex else REDACTED


def _shape(name: str, markers: str, pattern: str) -> Shape:
    return Shape(name=name, markers=tuple(markers.split("|")), pattern=re.compile(pattern))


def _token(name: str, prefix: str, rest: str, *, markers: str = "") -> Shape:
    """A token that starts with `prefix` at an edge: not inside a word, or behind a JSON escape.

    The prefix comes first in the pattern, so the search can jump to it.
    """
    edge = rf"(?:(?<![A-Za-z0-9_-]{prefix})|(?<=\\[nrtbf]{prefix}))"
    return _shape(name, markers or prefix.replace("\\", ""), prefix + edge + rest)


_PEM = r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_UNDONE = r"(?!\[redacted\])"

SHAPES: tuple[Shape, ...] = (
    _shape(
        "private-key",
        "-----BEGIN ",
        rf"-----BEGIN {_PEM}(?:[A-Za-z0-9+/=\s\\:,.]|-(?!----END ))*+(?:-----END {_PEM})?",
    ),
    _token("sk-key", "sk-", r"[A-Za-z0-9_-]{16,}+"),
    _token("slack-token", "xox", r"[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{10,}+"),
    _token("slack-app-token", "xapp-", r"[A-Za-z0-9-]{10,}+"),
    _shape(
        "slack-webhook",
        "hooks.slack.com/",
        r"(?P<kept>hooks\.slack\.com/(?:services|workflows|triggers)/)[A-Za-z0-9/_-]{16,}+",
    ),
    _token("github-token", "gh", r"[opusr]_[A-Za-z0-9]{20,}+", markers="gho_|ghp_|ghu_|ghs_|ghr_"),
    _token("github-pat", "github_pat_", r"[A-Za-z0-9_]{20,}+"),
    _token(
        "gitlab-token",
        "gl",
        r"(?:pat|dt|rt|cbt|ptt)-[A-Za-z0-9_.-]{20,}+",
        markers="glpat-|gldt-|glrt-|glcbt-|glptt-",
    ),
    _token("aws-key-id", "A[KS]IA", r"[A-Z2-7]{16}(?![A-Za-z0-9])", markers="AKIA|ASIA"),
    _token("google-api-key", "AIza", r"[A-Za-z0-9_-]{35}"),
    _token("google-oauth", r"ya29\.", r"[A-Za-z0-9_-]{20,}+"),
    _token("google-client-secret", "GOCSPX-", r"[A-Za-z0-9_-]{20,}+"),
    _token(
        "jwt",
        "eyJ",
        r"[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+){0,3}",
    ),
    _token(
        "discord-token",
        "[MNO]",
        r"[A-Za-z0-9_-]{22,28}+\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}+",
        markers=".",
    ),
    _shape(
        "discord-webhook",
        "/api/webhooks/",
        r"(?P<kept>/api/webhooks/[0-9]{5,25}+/)[A-Za-z0-9_-]{20,}+",
    ),
    _shape("telegram-token", ":AA", r"(?<![0-9])[0-9]{6,12}+:AA[A-Za-z0-9_-]{30,}+"),
    _token("stripe-key", "[srp]k_", r"(?:live|test)_[A-Za-z0-9]{10,}+", markers="k_live_|k_test_"),
    _token("signing-secret", "whsec_", r"[A-Za-z0-9+/=]{16,}+"),
    _token("sendgrid-key", r"SG\.", r"[A-Za-z0-9_-]{16,}+\.[A-Za-z0-9_-]{16,}+"),
    _token("npm-token", "npm_", r"[A-Za-z0-9]{30,}+"),
    _token("pypi-token", "pypi-", r"[A-Za-z0-9_-]{40,}+"),
    _token("huggingface-token", "hf_", r"[A-Za-z0-9]{20,}+"),
    _token("groq-key", "gsk_", r"[A-Za-z0-9]{20,}+"),
    _token("xai-key", "xai-", r"[A-Za-z0-9]{20,}+"),
    _token("digitalocean-token", "do[opr]_v1_", r"[a-f0-9]{40,}+", markers="_v1_"),
    _token("age-key", "AGE-SECRET-KEY-", r"1[0-9A-Z]{50,}+"),
    _token("linear-key", "lin_api_", r"[A-Za-z0-9]{20,}+"),
    _shape(
        "bearer",
        "earer |EARER ",
        r"(?P<kept>[Bb](?:earer|EARER) {1,4})[A-Za-z0-9._~+/=-]{12,}+",
    ),
    _shape(
        "basic-auth",
        "asic |ASIC ",
        r"(?P<kept>[Aa]uthorization: {0,4}[Bb](?:asic|ASIC) {1,4})[A-Za-z0-9+/=]{8,}+",
    ),
    _shape(
        "url-password",
        "://",
        rf"(?P<kept>://[^\s/:@]{{0,128}}+:){_UNDONE}[^\s/@]{{1,256}}+(?=@)",
    ),
    _shape(
        "environment",
        "KEY=|TOKEN=|SECRET=|PASSWORD=|PASSWD=|PASSPHRASE=",
        r"(?P<kept>(?:(?<![A-Za-z0-9_])|(?<=\\[nrtbf]))(?:[A-Z0-9]{1,32}+_){0,8}"
        rf"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE)=[\"']?){_UNDONE}[^\s\"'$`]{{8,}}+",
    ),
    _shape(
        "quoted-field",
        'ey"|ey\\"|ecret"|ecret\\"|oken"|oken\\"|assword"|assword\\"',
        r"(?P<kept>(?:[Aa]pi_?[Kk]ey|[Ss]ecret|[Tt]oken|[Pp]assword)\\?\""
        rf" {{0,4}}: {{0,4}}\\?\"){_UNDONE}[^\"\\]{{4,}}+",
    ),
)
"""All shapes, in the order they are applied."""
