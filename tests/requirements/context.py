"""Promises of what a model is told: layers, working context, modality, slash commands."""

from __future__ import annotations

from tests.requirements.manifest import Requirement

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "context.prefix",
        "issue 3 item 11",
        "Every request begins byte for byte as the one before did up to its stable end (prompt,"
        " tools, earlier turns): across turns, rounds, restarts and kill -9, in both dialects.",
    ),
    Requirement(
        "context.turn-block",
        "reference sessions §11",
        "One user-role block with time, working context and jobs stands before a turn's first"
        " message and is the same in all model calls of the turn.",
    ),
    Requirement(
        "context.public",
        "reference sessions §11",
        "A Public conversation is told its public identity, the time and its session id: no path,"
        " no project instructions, no working context.",
    ),
    Requirement(
        "context.project-instructions",
        "reference sessions §11",
        "The first of .netclaw/AGENTS.md, CLAUDE.md, AGENTS.md and CONTEXT.md of the declared"
        " project directory is part of the prompt, bounded, and never read from outside of it.",
    ),
    Requirement(
        "context.recent-files",
        "S3 working context",
        "The ten files that tools last touched are known from receipts, newest first, each once,"
        " and outlive compaction and restarts.",
    ),
    Requirement(
        "context.git-facts",
        "reference sessions §2 point 6",
        "Branch and counts of changes of the project come from an inspection bounded to two seconds"
        " and 256 KB that runs no program of the repository; without a repository nothing is said.",
    ),
    Requirement(
        "context.cache-marks",
        "issue 3 item 11",
        "Anthropic's four cache marks stand at the end of the prompt, where the last turn and this"
        " one began, and at the end.",
    ),
    Requirement(
        "context.cached-tokens",
        "issue 3 item 11",
        "Tokens a provider served from its cache are counted in usage, the journal and the views.",
    ),
    Requirement(
        "context.private-places",
        "decision 93",
        "No project directory lies in, and no file tool opens, another netclaw home, a known place"
        " of credentials or the temporary folders of other sessions.",
    ),
    Requirement(
        "context.set-working-directory",
        "decision 93",
        "The model declares an existing project folder; its receipt says so and the declaration is"
        " recorded with the result; system folders, homes and netclaw's own are refused.",
    ),
    Requirement(
        "context.modality-ingress",
        "decision 24",
        "A new attachment that the main model cannot take is refused before it is admitted.",
    ),
    Requirement(
        "context.modality-call",
        "reference sessions §2 point 4",
        "What waits is judged again before its model call: an attachment that the present model"
        " cannot take ends its turn as InputCompatibility without a call.",
    ),
    Requirement(
        "context.modality-restored",
        "decision 16",
        "An attachment of the history that the model cannot take is one line of text and a warning;"
        " later turns go on.",
    ),
    Requirement(
        "context.pictures",
        "reference surface, attachments",
        "Pictures that the model takes are shown to it in both dialects, within bounds.",
    ),
    Requirement(
        "context.slash",
        "reference sessions §2 point 5",
        "A message that is a slash command as a whole is answered without a model call in a turn of"
        " its own that leaves the conversation as it is; any other word goes to the model.",
    ),
    Requirement(
        "context.slash-authority",
        "reference sessions §2 point 5",
        "An untrusted person may not use commands that change the session.",
    ),
    Requirement(
        "context.slash-stop",
        "decision 26",
        "/stop ends the turn that is open when it comes, from the person whose turn it is or from a"
        " trusted one; it never ends a later turn.",
    ),
)
