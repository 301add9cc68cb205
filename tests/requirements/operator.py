"""Promises to the people who watch and run netclaw: views, exit rules, pages."""

from tests.requirements.manifest import Requirement

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "operator.context-use",
        "issue 3 item 12",
        "Every listing of sessions says how full the context is, as the model's service counted.",
    ),
    Requirement(
        "operator.upgrade",
        "issue 3 item 13",
        "A database of the version before is brought to this version's schema with all it holds.",
    ),
    Requirement(
        "operator.status-overview",
        "issue 3 item 12",
        "status shows in one look model, sessions, queue, turns, storage, sandbox and memory.",
    ),
    Requirement(
        "operator.narrow",
        "issue 3 item 12",
        "A narrow terminal is shown less, never a broken line; NO_COLOR takes all colours away.",
    ),
)
