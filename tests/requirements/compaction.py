"""Promises of compaction: how a long conversation stays within the model's window."""

from tests.requirements.manifest import Requirement

_SEED = "S0 Compaction"

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "compaction.estimate",
        "decision 76",
        "Token estimates follow the ratio that the last report of the provider taught.",
    ),
    Requirement(
        "compaction.threshold",
        _SEED,
        "A history is shortened once the reported input passes three quarters of the window.",
    ),
    Requirement(
        "compaction.results",
        _SEED,
        "Old tool results become placeholders first; the newest three stay whole.",
    ),
    Requirement(
        "compaction.keep",
        _SEED,
        "Then the oldest messages go; the newest six stay, and all that the open turn needs.",
    ),
    Requirement(
        "compaction.halving",
        _SEED,
        "While more than half the window is left, 6 becomes 3 and then 2.",
    ),
    Requirement(
        "compaction.pairs",
        _SEED,
        "No compaction parts a tool call from its result.",
    ),
    Requirement(
        "compaction.below-window",
        "decision 29",
        "Whatever the history, compaction ends below the window or says what is too large.",
    ),
    Requirement(
        "compaction.too-large",
        "decision 29",
        "Where two messages alone exceed the window the turn fails, naming the one to blame.",
    ),
    Requirement(
        "compaction.notes",
        _SEED,
        "One call makes notes of what was dropped and merges earlier notes; it may fail.",
    ),
    Requirement(
        "compaction.abandon",
        "decision 29",
        "If nothing would be left, not even notes, the history stays and the person is told.",
    ),
    Requirement(
        "compaction.nothing",
        "decision 29",
        "Where nothing can be gained nothing is done.",
    ),
    Requirement(
        "compaction.manual",
        "cli, sessions compact",
        "`sessions compact` shortens the history of a resting session, or after its turn.",
    ),
    Requirement(
        "compaction.overflow",
        "reference sessions 4",
        "A request that the provider refuses as too long is shortened and sent again.",
    ),
    Requirement(
        "compaction.tool-loop",
        "reference sessions 4",
        "A turn's history is shortened between two rounds too, and the turn goes on.",
    ),
    Requirement(
        "compaction.record",
        _SEED,
        "A compaction is recorded with a snapshot, starts the token count anew and is announced.",
    ),
    Requirement(
        "compaction.buffer",
        "S0 Lifecycle",
        "What arrives while a session compacts waits, and runs right after.",
    ),
    Requirement(
        "compaction.stops",
        "reference sessions 1",
        "A drain lets a compaction finish within its budget; a person's stop ends it at once.",
    ),
    Requirement(
        "compaction.killed",
        'protocol, "Recovery, exactly"',
        "A compaction whose process was killed leaves no trace and starts over.",
    ),
)
