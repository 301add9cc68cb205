"""A fake model provider: a real HTTP server that plays scripts in two dialects.

It speaks OpenAI chat completions and Anthropic Messages (give a client `model.base_url` there).

In a test::

    async with FakeModel() as model:
        model.enqueue("[[reply:hello]]")          # the next answer; a Reply does as well
        model.rule("weather", "[[reply:rain]]")   # whenever the text occurs in a user message
        ...                                       # talk to model.url, e.g. "http://127.0.0.1:1234/v1"
        assert model.requests[0].body["model"] == "m"

As a process, scripted by message text alone (directives: see `tests.fakes.model_script`)::

    python -m tests.fakes.model --port 0 --port-file F --latency-ms 40 --token-ms 0

Order: the queue, then rules, then directives in the message, then the default reply (an echo).

A call that asks for the title of a conversation is known by its system prompt. It takes nothing of
a script: it has a queue and a default of its own (`titles`, `title`: an empty answer) and is
counted and kept apart, in `title_requests`.

HTTP besides `/v1/chat/completions`, `/v1/messages` and `/v1/models`:
    GET  /__requests[?min=N&wait_s=S&bodies=1]   what came in; waits until N requests came
    GET  /__counters                             requests and titles in all, and per message
    GET  /__gates/NAME[?wait_s=S]                waits until a call waits at this gate
    POST /__gates/NAME                           opens the gate, for good
    POST /__enqueue                              the body is script text; its rounds join the queue
    POST /__reset                                forgets requests, queue, attempts and gates
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections import Counter, deque
from functools import partial
from typing import Any, Self

import orjson
from aiohttp import web

from tests.fakes.anthropic_dialect import ANTHROPIC
from tests.fakes.model_answer import Gates, answer
from tests.fakes.model_dialect import OPENAI, Dialect
from tests.fakes.model_play import Play, attempt_key, find_play
from tests.fakes.model_record import Director, Outcome, Recorded
from tests.fakes.model_reply import NO_FAULTS, Reply
from tests.fakes.model_script import ScriptError, parse_rounds
from tests.fakes.model_wire import Frame
from tests.witnesses import witness

__all__ = ["Director", "FakeModel", "Outcome", "Recorded", "json_response"]

DEFAULT_REPLY = Reply(is_echo=True)
NO_TITLE = Reply()
TITLE_PROMPT = "You name conversations"
"""How the system prompt of a call for a title begins."""
MAX_BODY_BYTES = 64 * 1024 * 1024


class FakeModel:
    """The server; an async context manager. `latency_s` is the time to the first token.

    With a `listener`, a bound socket that stays open, one address serves one server after another.

    `title` answers calls for a title. `api_key`, if given, is demanded as the dialect carries it
    (401 without). `record` bounds `requests`. A `director`, if given, has the last word on every
    answer.
    """

    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        latency_s: float = 0.0,
        token_s: float = 0.0,
        default: Reply | str = DEFAULT_REPLY,
        title: Reply | str = NO_TITLE,
        models: tuple[str, ...] = ("fake-model",),
        api_key: str | None = None,
        record: int = 10_000,
        director: Director | None = None,
        listener: socket.socket | None = None,
    ) -> None:
        self._listener = listener
        self._host = host
        self._port = port
        self._latency_s = latency_s
        self._token_s = token_s
        self._default = parse_rounds(default)[0] if isinstance(default, str) else default
        self.title = parse_rounds(title)[0] if isinstance(title, str) else title
        self.titles: deque[Reply] = deque()
        self._models = models
        self._api_key = api_key
        self._director = director
        self._queue: deque[Reply] = deque()
        self._rules: list[tuple[str, tuple[Reply, ...]]] = []
        self._attempts: Counter[str] = Counter()
        self._arrival = asyncio.Condition()
        self._ended = asyncio.Event()
        self._runner: web.AppRunner | None = None
        self.requests: deque[Recorded] = deque(maxlen=record)
        self.request_count = 0
        self.title_requests: deque[Recorded] = deque(maxlen=record)
        self.title_count = 0
        self.by_message: Counter[str] = Counter()
        self.gates = Gates()
        witness(self)

    def tell(self) -> str:
        """The calls of late and how they ended."""
        calls = [*self.requests, *self.title_requests][-30:]
        return "\n".join(
            f"{call.index} {call.message[:80]!r} round {call.round_index} attempt {call.attempt}"
            f"{' (title)' if call.is_title else ''}: {call.outcome}"
            for call in calls
        )

    @property
    def url(self) -> str:
        """The endpoint to configure, ending in `/v1`."""
        return f"{self.base_url}/v1"

    @property
    def base_url(self) -> str:
        """Scheme, host and port."""
        return f"http://{self._host}:{self._port}"

    @property
    def port(self) -> int:
        """The bound port."""
        return self._port

    def enqueue(self, *replies: Reply | str) -> None:
        """Add answers to the queue; a string is script text and may hold several rounds."""
        for reply in replies:
            self._queue.extend(parse_rounds(reply) if isinstance(reply, str) else (reply,))

    def enqueue_titles(self, *replies: Reply | str) -> None:
        """Add answers to calls for a title; a string is script text of one round."""
        for reply in replies:
            self.titles.extend(parse_rounds(reply) if isinstance(reply, str) else (reply,))

    def rule(self, substring: str, script: str | tuple[Reply, ...]) -> None:
        """Play `script` whenever `substring` occurs in a user message."""
        rounds = parse_rounds(script) if isinstance(script, str) else script
        self._rules.append((substring, rounds))

    def forget_rules(self) -> None:
        """Play no script by text any more."""
        self._rules.clear()

    async def wait_for_requests(self, count: int) -> None:
        """Return once `count` requests have come in since the start."""
        async with self._arrival:
            await self._arrival.wait_for(lambda: self.request_count >= count)

    async def wait_for_titles(self, count: int) -> None:
        """Return once `count` calls for a title have come in since the start."""
        async with self._arrival:
            await self._arrival.wait_for(lambda: self.title_count >= count)

    async def wait_for_outcome(
        self, outcome: Outcome, count: int = 1, *, of_titles: bool = False
    ) -> None:
        """Return once `count` of the kept requests (or calls for a title) ended like this."""
        kept = self.title_requests if of_titles else self.requests
        while sum(recorded.outcome is outcome for recorded in kept) < count:
            self._ended.clear()
            await self._ended.wait()

    def reset(self) -> None:
        """Forget requests, queue, attempts and gates; rules stay."""
        self.requests.clear()
        self.request_count = 0
        self.title_requests.clear()
        self.title_count = 0
        self.titles.clear()
        self.by_message.clear()
        self._queue.clear()
        self._attempts.clear()
        self.gates.reset()

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=MAX_BODY_BYTES)
        for dialect in (OPENAI, ANTHROPIC):
            app.router.add_post(dialect.path, partial(self._call, dialect))
        app.router.add_get("/v1/models", self._list_models)
        app.router.add_get("/__requests", self._show_requests)
        app.router.add_get("/__counters", self._show_counters)
        app.router.add_get("/__gates/{name}", self._await_gate)
        app.router.add_post("/__gates/{name}", self._open_gate)
        app.router.add_post("/__enqueue", self._enqueue)
        app.router.add_post("/__reset", self._reset)
        # Cancelling the handler is how a stalled answer notices that its client is gone.
        self._runner = web.AppRunner(
            app, access_log=None, handler_cancellation=True, shutdown_timeout=0.05
        )
        await self._runner.setup()
        await self._site(self._runner).start()
        self._port = self._runner.addresses[0][1]
        return self

    def _site(self, runner: web.AppRunner) -> web.BaseSite:
        if self._listener is not None:
            return web.SockSite(runner, self._listener.dup(), backlog=1024)
        return web.TCPSite(runner, self._host, self._port, backlog=1024)

    async def __aexit__(self, *exc_info: object) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _call(self, dialect: Dialect, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        recorded = Recorded(
            index=self.request_count, at_s=time.monotonic(), headers=request.headers, raw=raw
        )
        if self._api_key and dialect.credential(request.headers) != self._api_key:
            await self._record(recorded)
            body = dialect.error_body(401, "Incorrect API key provided.", "invalid_api_key")
            return web.json_response(body, status=401)
        try:
            body = orjson.loads(raw)
            problem = dialect.complaint(body, request.headers)
            if self._director is not None:
                self._director.saw(body, problem)
            if problem:
                await self._record(recorded)
                refusal = dialect.error_body(400, problem, "invalid_request")
                return web.json_response(refusal, status=400)
            messages = dialect.conversation(body)
            recorded.is_title = dialect.system_prompt(body).startswith(TITLE_PROMPT)
            play = self._title_play() if recorded.is_title else self._play(messages)
            if self._director is not None:
                play = self._director.direct(body, play)
        except (orjson.JSONDecodeError, ScriptError) as error:
            await self._record(recorded)
            return error_response(422, str(error), code="bad_script_or_body")
        return await self._answer(request, recorded, dialect, body, messages, play)

    async def _answer(
        self,
        request: web.Request,
        recorded: Recorded,
        dialect: Dialect,
        body: dict[str, Any],
        messages: list[dict[str, Any]],
        play: Play,
    ) -> web.StreamResponse:
        recorded.message, recorded.round_index = play.message, play.round_index
        reply = play.reply
        serial = f"{sum(m.get('role') == 'user' for m in messages)}_{play.round_index}"
        if reply.faults is not NO_FAULTS:
            key = attempt_key(messages)
            self._attempts[key] += 1
            recorded.attempt = self._attempts[key]
        await self._record(recorded)
        frame = Frame(
            completion_id=f"chatcmpl-{recorded.index}",
            model=body["model"],
            serial=serial,
            is_usage_wanted=bool((body.get("stream_options") or {}).get("include_usage")),
        )
        try:
            response = await answer(
                request,
                dialect=dialect,
                reply=reply.on_attempt(recorded.attempt),
                frame=frame,
                is_stream=bool(body.get("stream")),
                gates=self.gates,
                latency_s=self._latency_s,
                token_s=self._token_s,
            )
        except (ConnectionError, asyncio.CancelledError):
            recorded.outcome = Outcome.DISCONNECTED
            self._ended.set()
            raise
        recorded.outcome = Outcome.SENT
        self._ended.set()
        return response

    def _play(self, messages: list[dict[str, Any]]) -> Play:
        if self._queue:
            queued = self._queue.popleft()
            return find_play(messages, queued, lambda _text: ())
        return find_play(messages, self._default, self._rounds_of)

    def _title_play(self) -> Play:
        reply = self.titles.popleft() if self.titles else self.title
        return Play(reply=reply, message="", round_index=0)

    def _rounds_of(self, text: str) -> tuple[Reply, ...]:
        for substring, rounds in self._rules:
            if substring in text:
                return rounds
        return parse_rounds(text)

    async def _record(self, recorded: Recorded) -> None:
        if recorded.is_title:
            self.title_requests.append(recorded)
            self.title_count += 1
        else:
            self.requests.append(recorded)
            self.request_count += 1
            self.by_message[recorded.message] += 1
        async with self._arrival:
            self._arrival.notify_all()

    async def _list_models(self, _request: web.Request) -> web.Response:
        data = [
            {"id": m, "object": "model", "created": 0, "owned_by": "fake"} for m in self._models
        ]
        return web.json_response({"object": "list", "data": data})

    async def _show_requests(self, request: web.Request) -> web.Response:
        await _bounded(self.wait_for_requests(int(request.query.get("min", "0"))), request)
        is_full = "bodies" in request.query
        shown = [
            {
                "index": r.index,
                "at_s": r.at_s,
                "message": r.message,
                "round": r.round_index,
                "attempt": r.attempt,
                "outcome": r.outcome,
                **(
                    {"body": r.body, "headers": {str(k): v for k, v in r.headers.items()}}
                    if is_full
                    else {}
                ),
            }
            for r in self.requests
        ]
        return json_response({"count": self.request_count, "requests": shown})

    async def _show_counters(self, _request: web.Request) -> web.Response:
        return json_response(
            {
                "requests": self.request_count,
                "titles": self.title_count,
                "by_message": dict(self.by_message),
            }
        )

    async def _await_gate(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        await _bounded(self.gates.wait_for_arrival(name), request)
        return json_response({"waiting": self.gates.waiting(name)})

    async def _open_gate(self, request: web.Request) -> web.Response:
        self.gates.open(request.match_info["name"])
        return json_response({})

    async def _enqueue(self, request: web.Request) -> web.Response:
        try:
            self.enqueue(await request.text())
        except ScriptError as error:
            return error_response(422, str(error), code="bad_script")
        return json_response({})

    async def _reset(self, _request: web.Request) -> web.Response:
        self.reset()
        return json_response({})


async def _bounded(wait: Any, request: web.Request) -> None:
    """Await `wait` for at most the query's `wait_s`; a time-out is no error, the caller looks."""
    try:
        await asyncio.wait_for(wait, float(request.query.get("wait_s", "0")) or 0.001)
    except TimeoutError:
        return


def json_response(value: object) -> web.Response:
    """An answer of the inspection interface."""
    return web.Response(body=orjson.dumps(value), content_type="application/json")


def error_response(status: int, message: str, *, code: str) -> web.Response:
    """An error in OpenAI's shape."""
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
    return web.json_response({"error": error}, status=status)


if __name__ == "__main__":
    from tests.fakes.model_main import main

    main()
