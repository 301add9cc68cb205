"""`get_goal`, `create_goal`, `update_goal`: what a session is for, and how far it is (S1 goals).

A model begins a goal and reports its end. To reword, pause or clear one is for people, so no model
moves its own target.
"""

from __future__ import annotations

from netclaw.core.session.goal_events import GoalStatus
from netclaw.core.session.goals import MAX_CHARACTERS
from netclaw.ports.sessions import OWN, GoalView
from netclaw.tools.faults import ToolFault
from netclaw.tools.schema import Arguments, Field, Kind
from netclaw.tools.session_answers import as_json, asked, key_field
from netclaw.tools.tool import NOT_PUBLIC, Outcome, Scope

_KEY = key_field(f"Whose goal; `{OWN}` or nothing for this conversation's own.")


class GetGoal:
    """Reads only."""

    name = "get_goal"
    description = "Shows the goal of this conversation's session, or of one that you may see."
    audiences = NOT_PUBLIC
    fields: tuple[Field, ...] = (_KEY,)

    async def run(self, arguments: Arguments, scope: Scope) -> Outcome:
        """See `Tool`."""
        return _shown(await asked(scope.context.sessions.goal(arguments.text("sessionKey"))))


class CreateGoal:
    """There is one goal at a time."""

    name = "create_goal"
    description = (
        "Gives a session its goal. Only when you were asked for one: do not make goals of ordinary"
        " tasks. Fails while the session has a goal that is not complete."
    )
    audiences = NOT_PUBLIC
    fields: tuple[Field, ...] = (
        Field(
            name="objective",
            kind=Kind.STRING,
            description="The outcome that is wanted, in a sentence or two.",
            is_required=True,
            max_chars=MAX_CHARACTERS,
        ),
        _KEY,
    )

    async def run(self, arguments: Arguments, scope: Scope) -> Outcome:
        """See `Tool`."""
        objective = arguments.text("objective")
        if not objective.strip():
            raise ToolFault.invalid("The objective is empty.")
        sessions = scope.context.sessions
        return _shown(await asked(sessions.goal(arguments.text("sessionKey"), create=objective)))


class UpdateGoal:
    """Reports, and changes no words."""

    name = "update_goal"
    description = (
        "Reports that a goal is reached (`complete`, with no required work left) or that something"
        " keeps it from being reached (`blocked`). It sends nothing to anybody."
    )
    audiences = NOT_PUBLIC
    fields: tuple[Field, ...] = (
        Field(
            name="status",
            kind=Kind.STRING,
            description="How it stands.",
            is_required=True,
            choices=(GoalStatus.COMPLETE.value, GoalStatus.BLOCKED.value),
        ),
        _KEY,
    )

    async def run(self, arguments: Arguments, scope: Scope) -> Outcome:
        """See `Tool`."""
        status = GoalStatus(arguments.text("status"))
        sessions = scope.context.sessions
        return _shown(await asked(sessions.goal(arguments.text("sessionKey"), status=status)))


def _shown(view: GoalView) -> Outcome:
    goal = {"objective": view.text, "status": view.status.value} if view.text else "none"
    return Outcome(text=as_json({"ok": True, "sessionKey": view.key, "goal": goal}))
