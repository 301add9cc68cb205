"""What a tool call may rely on, taken from the session at the moment the call is launched."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from netclaw.core.ids import SessionId
from netclaw.core.session import exposure
from netclaw.core.session.effects import RunTool
from netclaw.core.session.open_work import is_attended
from netclaw.core.session.state import OpenTurn, Runtime, SessionState
from netclaw.core.settings import SessionSettings, SessionStorage
from netclaw.ports.consents import ConsentSource
from netclaw.ports.tool import SessionFacts, ToolContext, ToolTrees
from netclaw.session_proc.agent_tools import CallAgents
from netclaw.session_proc.asks import Asks
from netclaw.session_proc.background_jobs import BackgroundJobs
from netclaw.session_proc.channel_calls import CallChannels
from netclaw.session_proc.children import Children
from netclaw.session_proc.frames import HostFault
from netclaw.session_proc.job_tools import CallJobs
from netclaw.session_proc.other_sessions import CallSessions
from netclaw.session_proc.run_freezing import RunFreezing


def _ignore() -> None:
    """Judging shows no sign of life: it has a time limit of its own."""


class ToolContexts:
    """Makes the context of each call of one session."""

    def __init__(
        self,
        *,
        session_id: SessionId,
        storage: SessionStorage,
        settings: SessionSettings,
        trees: ToolTrees,
        consents: ConsentSource,
        redact: Callable[[str], str],
        look: Callable[[], tuple[SessionState, Runtime]],
        jobs: BackgroundJobs,
        now_ms: Callable[[], int],
        children: Children,
        freezing: RunFreezing,
        asks: Asks,
    ) -> None:
        self._session_id = session_id
        self._storage = storage
        self._settings = settings
        self._trees = trees
        self._consents = consents
        self._redact = redact
        self._look = look
        self._jobs = jobs
        self._now_ms = now_ms
        self._children = children
        self._freezing = freezing
        self._asks = asks

    def make(self, effect: RunTool, on_item: Callable[[], None]) -> ToolContext:
        """The context of one launched call."""
        state, _runtime = self._look()
        turn = state.turn
        if turn is None or turn.turn_id != effect.turn_id:
            raise HostFault("a tool call was launched outside its turn")
        jobs = CallJobs(
            self._jobs,
            call_id=effect.call.call_id,
            token=effect.token,
            authority=turn.authority,
            look=lambda: self._look()[0],
            now_ms=self._now_ms,
        )
        agents = CallAgents(
            self._children,
            self._freezing,
            call_id=effect.call.call_id,
            token=effect.token,
            authority=turn.authority,
            storage=self._storage,
            look=lambda: self._look()[0],
        )
        sessions = CallSessions(
            self._asks,
            call_id=effect.call.call_id,
            turn_id=turn.turn_id,
            authority=turn.authority,
        )
        channels = CallChannels(
            self._asks,
            call_id=effect.call.call_id,
            turn_id=turn.turn_id,
            authority=turn.authority,
        )
        context = self.of(turn, state, on_item)
        return replace(context, jobs=jobs, agents=agents, sessions=sessions, channels=channels)

    def of(
        self, turn: OpenTurn, state: SessionState, on_item: Callable[[], None] = _ignore
    ) -> ToolContext:
        """The context of a call of this turn; authority and attendance are the turn's."""
        return ToolContext(
            session_id=self._session_id,
            turn_id=turn.turn_id,
            authority=turn.authority,
            is_attended=is_attended(state),
            storage=self._storage,
            settings=self._settings.tools,
            working_directory=state.working_directory,
            trees=self._trees,
            facts=self.facts,
            consents=self._consents,
            redact=self._redact,
            on_item=on_item,
            loaded=exposure.loaded(state.leases),
            round_index=turn.rounds,
            silence_s=self._settings.timeouts.tool_execution_s,
            max_inline_chars=self._settings.tuning.max_inline_tool_result_chars,
        )

    def facts(self) -> SessionFacts:
        """What the session may tell the model about itself, as of now."""
        state, runtime = self._look()
        model = self._settings.main_model
        return SessionFacts(
            session_id=self._session_id,
            title=state.title,
            phase=runtime.phase.value,
            audience=state.audience.value,
            channel=state.channel.value,
            turns=state.turns,
            life=state.life,
            head_seq=state.head,
            buffered_inputs=len(state.buffered),
            last_input_tokens=state.last_input_tokens,
            context_window=model.context_window if model else 0,
            model=model.model_id if model else "",
            working_directory=state.working_directory,
        )
