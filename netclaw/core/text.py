"""Text as the journal can hold it, and as a notice or a list can show it."""

from __future__ import annotations


def storable(text: str) -> str:
    """The text without what UTF-8 cannot carry.

    Models and file names bring half surrogates: two that belong together become their character,
    any other one becomes U+FFFD. A text that is fine comes back as it is.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def one_line(text: str, limit: int) -> str:
    """The text on one line, its white space single blanks; what is behind `limit` is left out."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[:limit]} [...]"
