"""Promises about what is too large, too slow or said twice."""

from tests.requirements.manifest import Requirement

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "supervisor.zygote-stuck",
        "issue 2, Process per session",
        "A zygote that is not ready or does not answer delays a start by two seconds at most.",
    ),
    Requirement(
        "supervisor.message-size",
        "protocol, Streams",
        "The public socket sends nothing larger than a plain client takes, and loses nothing.",
    ),
    Requirement(
        "supervisor.history-pages",
        "protocol, Streams",
        "A history of any size is read in pages, newest first, and says where more is.",
    ),
    Requirement(
        "store.message-id-reuse",
        "decision 33",
        "A message id that comes with another message is refused, not taken for a resend.",
    ),
    Requirement(
        "limits.session-settings-bind",
        "S0 What ends or stalls a turn",
        "Each Session timeout set in netclaw.json binds what it says, and the next message works.",
    ),
)
