"""Promises of the pure helpers: admission, watchdogs, supervision, redaction, names, values."""

from tests.requirements.manifest import Requirement

_TIMEOUTS = "S0 What ends or stalls a turn"

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "core.admission-text",
        "issue 2, Bad input",
        "Empty, oversized, NUL-holding and invalid text is refused with its reason.",
    ),
    Requirement(
        "core.admission-pending",
        "protocol, Streams",
        "A session holds at most 200 inputs or 8 MiB that are not answered.",
    ),
    Requirement(
        "core.admission-resend",
        "decision 33",
        "A message id that comes again with another message is refused.",
    ),
    Requirement(
        "core.watchdog-prefill",
        _TIMEOUTS,
        "The wait for the first token is bounded; a keepalive renews it.",
    ),
    Requirement(
        "core.watchdog-gap", _TIMEOUTS, "Silence between tokens is bounded; keepalives do not help."
    ),
    Requirement(
        "core.watchdog-no-progress", _TIMEOUTS, "A backend that sends only keepalives is cut off."
    ),
    Requirement(
        "core.watchdog-thinking",
        _TIMEOUTS,
        "A stream of thinking alone stops at three times the no-progress limit.",
    ),
    Requirement(
        "core.watchdog-tool",
        "decision 30",
        "A tool must give a result in time; items reset the clock, a total asked for stays.",
    ),
    Requirement(
        "core.watchdog-names", "reference sessions 2", "An expiry names its limit and its seconds."
    ),
    Requirement(
        "core.watchdog-legacy",
        _TIMEOUTS,
        "TurnLlmTimeoutSeconds away from its default is the silence limit if no other is set.",
    ),
    Requirement(
        "core.backoff",
        "decision 4",
        "Restarts wait 0, 1, 5, 30 seconds; a finished turn starts over.",
    ),
    Requirement(
        "core.quarantine", "decision 5", "Five crashes within ten minutes quarantine the session."
    ),
    Requirement(
        "core.no-crash",
        "decision 5",
        "An operator's kill, an orderly end and the supervisor's death are no crash.",
    ),
    Requirement(
        "core.poison",
        "decision 5",
        "Three crashes within one turn fail it as Internal, and the session is usable again.",
    ),
    Requirement(
        "core.held-starts",
        'protocol, "Recovery, exactly"',
        "A start in progress at two consecutive deaths of the supervisor is held.",
    ),
    Requirement(
        "core.redact-shapes",
        "S0 Storage on disk",
        "Tokens known by their form are removed from any text.",
    ),
    Requirement(
        "core.redact-values", "decision 15", "Known secret values are removed in every spelling."
    ),
    Requirement(
        "core.redact-chunks",
        "decision 86",
        "A secret that arrives in pieces is removed as a whole.",
    ),
    Requirement(
        "core.shown-arguments",
        "ADR 0025",
        "Arguments of calls are shown redacted, very long ones as length and hash.",
    ),
    Requirement("core.redact-linear", "decision 86", "No text makes redaction slow."),
    Requirement(
        "core.log-arguments",
        "decision 20",
        "Logged arguments show long strings as length and hash and hold no secrets.",
    ),
    Requirement(
        "core.envelope-name",
        "decision 20",
        "A session's folder is a readable part and a hash of its id.",
    ),
    Requirement(
        "core.temp-layout",
        "decision 20",
        "Temporary folders lie under the user's and the session's own folder.",
    ),
    Requirement(
        "core.reroot",
        "S0 Storage on disk",
        "A moved data directory finds its envelopes again and says so.",
    ),
    Requirement(
        "core.never-writable",
        "decision 45",
        "System folders, the user's home and ancestors of protected paths are never writable.",
    ),
    Requirement(
        "core.session-id", "decision 32", "A session id is kept exactly, within its limits."
    ),
    Requirement(
        "core.error-codes",
        "protocol, Error codes",
        "Every stable code has one class and a way out.",
    ),
    Requirement(
        "core.output-filter",
        "S0 Multi-subscriber delivery",
        "A filter bit admits its outputs; lifecycle passes any.",
    ),
    Requirement(
        "core.defaults", "issue 2 item 1", "Defaults of timers and limits are the documented ones."
    ),
)
