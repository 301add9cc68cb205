"""Makes the phrase of a command: its program, its verb slot and the plain words that follow.

The phrase is what a person is shown and what a grant stores (glossary "phrase"). Arguments that
change from call to call are dropped, so that one grant covers the calls a person meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from netclaw.core.authz.decoding import has_glob
from netclaw.core.authz.vocabulary import ONE_TOKEN, VALUED_GLOBALS
from netclaw.core.authz.words import WordFact


def phrase_of(
    program: str, words: Sequence[WordFact], names_file: Callable[[str], bool]
) -> tuple[str, ...]:
    """The phrase of a program (a full path if it was named by one) and the words after it.

    `names_file` says whether a word is an existing file or folder, and no link, where the command
    runs; such a word is an argument unless it stands in the verb slot.
    """
    if program in ONE_TOKEN:
        return (program,)
    rest = words[_verb_slot(program, words) :]
    if not rest:
        return (program,)
    verb, *following = rest
    kept = [*_plain_values(verb)]
    for word in _without_option_values(following):
        kept.extend(value for value in _plain_values(word) if not names_file(value))
    return (program, *kept)


def is_settled(program: str, words: Sequence[WordFact]) -> bool:
    """Whether the phrase is the same for every value that the words can have.

    A glob or a variable in the place of a verb could turn a harmless phrase into another one.
    """
    if program in ONE_TOKEN:
        return True
    rest = words[_verb_slot(program, words) :]
    if rest and rest[0].value is None and not all("/" in shape for shape in rest[0].shapes):
        return False
    return all(len(word.shapes) == 1 or not any(map(_is_plain_text, word.shapes)) for word in words)


def _verb_slot(program: str, words: Sequence[WordFact]) -> int:
    """Where the first word after the program's own options stands."""
    valued = VALUED_GLOBALS.get(program, frozenset())
    at = 0
    while at < len(words) and words[at].shapes[0].startswith("-"):
        at += 2 if words[at].value in valued else 1
    return at


def _without_option_values(words: Iterable[WordFact]) -> Iterable[WordFact]:
    """Leaves out options and the word after each: it may be the option's value."""
    is_value = False
    for word in words:
        is_option = word.shapes[0].startswith("-")
        if not is_option and not is_value:
            yield word
        is_value = is_option and "=" not in word.shapes[0]


def _plain_values(word: WordFact) -> tuple[str, ...]:
    """The word, if it belongs to the phrase; nothing otherwise."""
    value = word.value
    return (value,) if value is not None and _is_plain_text(value) else ()


def _is_plain_text(text: str) -> bool:
    """Whether a text is no path, pattern, number, sentence or option."""
    if not text or text[0] in ".~-" or "/" in text or has_glob(text):
        return False
    return not any(char.isspace() or char.isdigit() for char in text)
