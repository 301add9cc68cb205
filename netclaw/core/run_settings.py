"""The settings that a run's own session works by: those of every session, as they were frozen."""

from __future__ import annotations

from dataclasses import replace

from netclaw.core.agents import AgentDefinition, ModelRole
from netclaw.core.session.child_events import ChildFrozen
from netclaw.core.settings import ModelSettings, SessionSettings


def model_for(agent: AgentDefinition, settings: SessionSettings) -> ModelSettings | None:
    """The model of an agent's role; where no compaction model is set, the main one."""
    if agent.role is ModelRole.COMPACTION and settings.compaction_model is not None:
        return settings.compaction_model
    return settings.main_model


def run_settings(settings: SessionSettings, frozen: ChildFrozen) -> SessionSettings:
    """What a run goes by: its frozen model and its time limits.

    A model that is no more configured is replaced by none, neither by another role's nor by the
    fallback: a run fails rather than go on as something it was not started as (S3 child journal).
    """
    known = (settings.main_model, settings.compaction_model, settings.fallback_model)
    same = (
        model
        for model in known
        if model is not None and (model.provider, model.model_id) == (frozen.provider, frozen.model)
    )
    timeouts = replace(
        settings.timeouts,
        prefill_s=frozen.prefill_s or settings.timeouts.prefill_s,
        token_gap_s=frozen.timeout_s,
        no_progress_s=frozen.timeout_s,
    )
    model = next(same, None)
    return replace(
        settings,
        main_model=model,
        fallback_model=settings.fallback_model if model is not None else None,
        timeouts=timeouts,
    )
