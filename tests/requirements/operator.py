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
    Requirement(
        "operator.status-line",
        "issue 3 item 12",
        "A conversation's status line says phase, elapsed time, queue, context use and cache.",
    ),
    Requirement(
        "operator.view-tools",
        "issue 3 item 12",
        "A tool's line says what was asked, how it ended, how long it took and what it said first.",
    ),
    Requirement(
        "operator.view-ends",
        "issue 3 item 12",
        "The end of a turn says what it took; a stop, the loop guard and a failure are named.",
    ),
    Requirement(
        "operator.view-notices",
        "issue 3 item 12",
        "Compaction, titles, stops and other notices are shown as lines between the texts.",
    ),
    Requirement(
        "operator.view-consent",
        "issue 3 item 12",
        "A consent request shows what would run, what is not allowed yet and each answer.",
    ),
    Requirement(
        "operator.view-children",
        "issue 3 item 12",
        "Child runs are told when they change and counted while they are open.",
    ),
    Requirement(
        "operator.attach-view",
        "issue 3 item 12",
        "attach at a terminal shows the session at work, and leaves nothing but settled lines.",
    ),
    Requirement(
        "operator.attach-complete",
        "cli, sessions attach",
        "Every output a session can make is a JSON line with keys of its own.",
    ),
    Requirement(
        "operator.headless-exit",
        "decision 23",
        "chat -p exits 0 for an answer, also one the loop guard ended, and 1 for a turn that failed"
        " or was stopped, with the sentence that says why.",
    ),
    Requirement(
        "operator.headless-notice",
        "issue 3 item 12",
        "A notice that the session was stopped or quarantined ends the wait of the messages it"
        " names.",
    ),
    Requirement(
        "operator.headless-unattended",
        "decision 23",
        "A call of a headless run that needs consent is denied and named on standard error.",
    ),
    Requirement(
        "operator.headless-ctrl-c",
        "decision 26",
        "Ctrl-C in a headless run stops its own turn and waits for the end; once more leaves.",
    ),
    Requirement(
        "operator.completion",
        "cli, completion",
        "A shell completes session ids of the running daemon and keys of the configuration, and"
        " gets nothing at once where there is none.",
    ),
    Requirement(
        "operator.session-settings",
        "S0 What ends or stalls a turn",
        "The configuration reference lists every Session setting with default, bounds and meaning.",
    ),
    Requirement(
        "operator.phase-diagram",
        "issue 3 item 1",
        "The diagram of phases is drawn from the table of legal moves and is current.",
    ),
    Requirement(
        "operator.data-layout",
        "issue 3 item 13",
        "Every file and folder that netclaw makes is a line of the page of the data layout.",
    ),
    Requirement(
        "operator.pages-true",
        "issue 3 item 13",
        "Every command, setting and limit that a page names is there, and is what the page says.",
    ),
    Requirement(
        "operator.open-work",
        "cli, sessions show",
        "sessions show lists the calls that wait for a person, open child runs and live jobs.",
    ),
    Requirement(
        "operator.phase-without-process",
        "S0 Multi-subscriber delivery",
        "Who is shown that a session works is told when its process is gone, however that ended.",
    ),
)
