"""Turns what an operator types to trust (`approvals trust-verb`) into the words of a grant.

A grant made ahead of any call is for a bare phrase: what a call may add to it is the call's
matter. So everything that is more than the words of one command is refused (reference 5).
"""

from __future__ import annotations

from netclaw.core.authority import Audience
from netclaw.core.authz.facts import ShellFacts
from netclaw.core.authz.grants import Grant, GrantForm
from netclaw.core.authz.profiles import SHELL
from netclaw.core.authz.text_gate import is_printable_word
from netclaw.core.errors import InvalidArgumentError

_FIX = "Give the words of one command alone, for example: git push"


def trusted_phrase(facts: ShellFacts) -> tuple[str, ...]:
    """The phrase of a typed text, from its facts.

    Raises `InvalidArgumentError` for options, redirects, assignments, names that are not
    literal, and more than one command.
    """
    if not facts.is_parsed or len(facts.candidates) != 1 or len(facts.invocations) != 1:
        raise InvalidArgumentError("That is not one command.", fix=_FIX)
    (candidate,) = facts.candidates
    if candidate.unresolved is not None or candidate.fix is not None or not candidate.phrase:
        raise InvalidArgumentError("Not every word of that is literal.", fix=_FIX)
    if candidate.assignments:
        raise InvalidArgumentError("A phrase has no assignment.", fix=_FIX)
    if candidate.has_redirect:
        raise InvalidArgumentError("A phrase has no redirect.", fix=_FIX)
    program = candidate.argv[0]
    if "/" in program and not program.startswith("/"):
        raise InvalidArgumentError("A program is trusted by its name or its full path.", fix=_FIX)
    if candidate.argv[1:] != candidate.phrase[1:]:
        raise InvalidArgumentError(
            "An option or an argument is no part of a phrase: it would not be compared.", fix=_FIX
        )
    return candidate.phrase


def grant_of_phrase(words: tuple[str, ...], audience: Audience, *, created_at: str) -> Grant:
    """The grant for a trusted phrase: everywhere, for one audience.

    Raises `InvalidArgumentError` for words that no phrase can have; whether they are a phrase is
    decided by `trusted_phrase`, where the text they come from is known.
    """
    if not words or not all(word and is_printable_word(word) for word in words):
        raise InvalidArgumentError("A phrase has at least one word, and no control character.")
    return Grant(
        audience=audience,
        tool=SHELL,
        form=GrantForm.TOKENS,
        words=words,
        created_at=created_at,
    )
