"""Promises about what happens beside the turns: titles, memory, sidecar calls, failover."""

from __future__ import annotations

from tests.requirements.manifest import Requirement

TITLES = "reference/sessions.md 2, point 11"
SIDECAR = "S0 What ends or stalls a turn, Session.SidecarLlmTimeoutSeconds"

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "sidecars.title-when",
        TITLES,
        "A title is asked for after the first completed turn of a person in a main session, and"
        " then every TitleGenerationInterval turns (10; 0 makes none).",
    ),
    Requirement(
        "sidecars.title-shown",
        TITLES,
        "The model is shown a bounded excerpt of what was said, never results, thoughts or the"
        " whole history.",
    ),
    Requirement(
        "sidecars.title-record",
        "protocol.md journal events, TitleSet",
        "A new title is a TitleSet with the tokens it cost and a lifecycle output; an answer"
        " without a title changes nothing.",
    ),
    Requirement(
        "sidecars.title-person",
        "ADR 0028",
        "A title that a person set is never overwritten by a model.",
    ),
    Requirement(
        "sidecars.title-late",
        "S0 Lifecycle, decision 90",
        "A late answer to a title call is dropped by its token; a reset ends the call.",
    ),
    Requirement(
        "sidecars.title-beside",
        TITLES,
        "A title call holds up no turn, compaction, drain or passivation, and loses no input.",
    ),
    Requirement(
        "sidecars.title-clean",
        "ADR 0028",
        "A title is one line of at most 80 characters of plain text that can be stored and shown.",
    ),
    Requirement(
        "sidecars.title-listed",
        "S0 Multi-subscriber delivery",
        "The title arrives at every subscriber and stands in the list of sessions.",
    ),
    Requirement(
        "sidecars.prefix",
        "reference/sessions.md 11",
        "A sidecar call changes nothing of what a turn's model call is sent.",
    ),
    Requirement(
        "sidecars.models",
        "S0 Compaction",
        "Sidecar calls ask the Compaction model (unset: Main) and fail over to the Fallback.",
    ),
    Requirement(
        "sidecars.timeout",
        SIDECAR,
        "A sidecar call ends after SidecarLlmTimeoutSeconds, whatever the models do.",
    ),
    Requirement(
        "sidecars.half-open",
        "reference/sessions.md 12, class 23",
        "A model that takes a sidecar call and stays silent does not cost the fallback its turn.",
    ),
    Requirement(
        "sidecars.usage",
        "protocol.md journal events",
        "What a notes or title call cost is in its event, and in no turn's usage or threshold.",
    ),
    Requirement(
        "fakes.titles",
        "ADR 0028",
        "The fake model knows a call for a title by its system prompt and keeps it out of scripts.",
    ),
    Requirement(
        "sidecars.distil",
        "S0 Lifecycle",
        "A session that winds down idle is offered to memory for the grace period of 5 seconds.",
    ),
    Requirement(
        "sidecars.distil-abort",
        "S0 Lifecycle",
        "A new message in the grace period cancels the distillation and runs.",
    ),
    Requirement(
        "sidecars.distil-no-grace",
        "S0 Recovery and restart",
        "A drain and an operator's stop begin no distillation and wait for none.",
    ),
    Requirement(
        "sidecars.checkpoint",
        "S0 Compaction",
        "The notes of a compaction are queued as a memory checkpoint after their record.",
    ),
    Requirement(
        "sidecars.memory-fails",
        "S0 Lifecycle",
        "A memory that fails or hangs ends no session and holds up no passivation.",
    ),
    Requirement(
        "failover.before-first-chunk",
        "issue 3, 5; Models.Roles.Fallback",
        "The fallback is asked when the main model refuses, is busy or stays silent before its"
        " first chunk, and never after it.",
    ),
    Requirement(
        "failover.prefill",
        "S0 Session.PrefillTimeoutSeconds; reference/sessions.md 12, class 23",
        "A half-open connection to the main model is bounded by the prefill limit, after which the"
        " fallback is asked under limits of its own.",
    ),
    Requirement(
        "failover.who-answered",
        "protocol.md journal events",
        "The journal names the model that answered.",
    ),
    Requirement(
        "failover.not-elsewhere",
        "reference/sessions.md 2",
        "A request that the main model finds invalid is neither repeated nor sent elsewhere.",
    ),
    Requirement(
        "failover.told",
        "issue 3, 5",
        "Who watches the processing state is told of each retry and of the change of model; the"
        " conversation shows no error for a turn that was answered.",
    ),
    Requirement(
        "failover.both-failed",
        "decision 14",
        "If the fallback fails too, the turn's one sentence names both failures.",
    ),
)
