"""`session_status`: what the session knows about itself, as facts."""

from __future__ import annotations

from netclaw.tools.schema import Arguments, Field
from netclaw.tools.tool import NOT_PUBLIC, Outcome, Scope


class SessionStatus:
    """Own session only; other sessions belong to state awareness (decision 93)."""

    name = "session_status"
    description = "Tells facts about this conversation's session: phase, turns, context use, model."
    audiences = NOT_PUBLIC
    fields: tuple[Field, ...] = ()

    async def run(self, arguments: Arguments, scope: Scope) -> Outcome:
        """See `Tool`."""
        del arguments
        facts = scope.context.facts()
        used = f"{facts.last_input_tokens} of {facts.context_window} tokens in the last request"
        rows = {
            "session": facts.session_id,
            "title": facts.title or "(none yet)",
            "phase": facts.phase,
            "audience": facts.audience,
            "channel": facts.channel,
            "turns": facts.turns,
            "life": facts.life,
            "state version": facts.head_seq,
            "inputs waiting": facts.buffered_inputs,
            "context": used,
            "model": facts.model or "(none)",
            "project directory": facts.working_directory or "(none)",
        }
        return Outcome(text="\n".join(f"{name}: {value}" for name, value in rows.items()))
