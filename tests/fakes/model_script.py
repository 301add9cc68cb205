"""The script language of the fake model: what one reply is, and how message text asks for one.

A user message may hold directives in double square brackets. They form *rounds*: one round is one
model call. The fake looks at the newest user message; if that holds no directives, at older ones
that were answered in part, so a script goes on when a note or a plain message joins its turn. It
plays the round whose index is the number of assistant messages after the script's message. The
answer depends on the request alone: a session that was killed and started again gets the same one.
When the rounds are used up (or there are none) the answer is the default, `[[echo]]`.

A new round begins at `[[next]]` and at a content directive that follows a tool directive; tool
directives that stand together are one parallel batch. So
`[[tool:a {}]] [[tool:b {}]] [[reply:done]]` is two calls at once, then text.

Content
    [[reply:TEXT]]            text (may be given several times; joined)
    [[echo]]                  `echo: ` and the user messages of the open turn, joined by ` | `
    [[results]]               `results: ` and the tool results of the open turn
    [[tokens:N]]              N tokens, `t0 t1 ...`, one chunk each
    [[big:BYTES]]             one chunk of that many bytes
    [[think:TEXT]] [[think_tokens:N]]   reasoning_content before the text
    [[empty]]                 an assistant message without anything in it
    [[tool:NAME {JSON}]]      a tool call; what is no JSON is sent as it is (malformed arguments)
    [[next]]                  end of this round
Shape
    [[chunk:N]]               N characters a chunk: text, thinking, arguments (default: a word)
    [[ids:same|missing|empty]]            provider call ids
    [[calls:whole|no_index|empty_chunks]] how calls are cut into chunks (default: fragments)
    [[reasoning_key:NAME]]    field of thinking deltas (default reasoning_content)
    [[usage:PROMPT,COMPLETION,CACHED]] [[usage:none]]
    [[finish:stop|length|content_filter|tool_calls|...]]
    [[crlf]] [[cr]] [[bad_utf8]] [[no_space]] [[multiline]]   forms of the event stream
Faults (`:ATTEMPTS` where shown, or `[[attempts:N]]`: only the first so many calls of this round
are struck, then it answers; a call sent again with the same conversation counts as the next)
    [[status:CODE[:ATTEMPTS]]] HTTP error; [[retry_after:VALUE]] adds the header (seconds or date)
    [[overflow[:openai|llamacpp|vllm|ollama|anthropic|plain[:ATTEMPTS]]]]  400, prompt too long
                              (default: in the words of the dialect's vendor)
    [[stall:S[:ATTEMPTS]]]    headers, then silence for S seconds before the first token
    [[stall_headers:S[:ATTEMPTS]]]        silence before the headers
    [[stall_after:N:S]]       silence after N chunks
    [[keepalive:S]]           a comment or ping every S seconds while stalling or waiting at a gate
    [[gate:NAME[:ATTEMPTS]]]  wait before the first token until the gate is opened
    [[gate_after:N:NAME]]     the same after N chunks
    [[pace:MS]]               pause between chunks
    [[cut:N[:ATTEMPTS]]]      drop the connection after N chunks
    [[no_done]] [[no_finish]] end politely, without `[DONE]` / without finish_reason and `[DONE]`
                              (message_stop / message_delta and message_stop)
    [[garbage:N]]             an event that is no JSON after N chunks
    [[error_event:N]]         an error object as event after N chunks
    [[error_type:NAME]]       the type of that error in the Messages dialect (overloaded_error)
    [[html]]                  HTTP 200 with a page instead of a stream
    [[redirect:URL]]          HTTP 307
    [[drip]]                  every byte in a write of its own
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tests.fakes.model_reply import Body, Call, CallStyle, IdStyle, Reply, Usage

if TYPE_CHECKING:
    from collections.abc import Callable

    Rule = Callable[[Reply, str], Reply]


class ScriptError(ValueError):
    """A directive that the language does not know; the fake answers HTTP 422 with it."""


def parse_directives(text: str) -> list[tuple[str, str]]:
    """Find `[[name:value]]` in `text`, in order; JSON after a tool name may itself hold `]]`."""
    found: list[tuple[str, str]] = []
    at = text.find("[[")
    while at >= 0:
        end = _directive_end(text, at + 2)
        if end is None:
            break
        name, _, value = text[at + 2 : end].partition(":")
        if name.replace("_", "").isalnum():
            found.append((name, value))
        at = text.find("[[", end + 2)
    return found


def _directive_end(text: str, start: int) -> int | None:
    if text.startswith("tool:", start):
        brace = text.find("{", start)
        first = text.find("]]", start)
        if 0 <= brace < first:
            try:
                _, stop = json.JSONDecoder().raw_decode(text, brace)
            except ValueError:
                stop = -1
            if stop > 0 and text.startswith("]]", stop):
                return stop
    end = text.find("]]", start)
    return end if end >= 0 else None


def parse_rounds(text: str) -> tuple[Reply, ...]:
    """The rounds that the directives of `text` ask for; empty if it holds none."""
    if "[[" not in text:
        return ()
    rounds: list[Reply] = []
    current: Reply | None = None
    for name, value in parse_directives(text):
        if name == "next":
            rounds.append(current or Reply())
            current = None
            continue
        if current is not None and current.calls and name in _CONTENT:
            rounds.append(current)
            current = None
        current = apply(current or Reply(), name, value)
    if current is not None:
        rounds.append(current)
    return tuple(rounds)


def apply(reply: Reply, name: str, value: str) -> Reply:
    """`reply` changed by one directive; raises ScriptError for an unknown or malformed one."""
    rule = _CONTENT.get(name) or _SHAPE.get(name) or _FAULTS.get(name)
    if rule is None:
        raise ScriptError(f"unknown directive [[{name}]]")
    try:
        return rule(reply, value)
    except ValueError as error:
        raise ScriptError(f"bad value in [[{name}:{value}]]: {error}") from error


def _tool(reply: Reply, value: str) -> Reply:
    name, _, arguments = value.partition(" ")
    return replace(reply, calls=(*reply.calls, Call(name=name, arguments=arguments or "{}")))


def _say(reply: Reply, value: str) -> Reply:
    return replace(reply, text=reply.text + value)


def _tokens(reply: Reply, value: str) -> Reply:
    return replace(reply, pieces=(*reply.pieces, *(f"t{n} " for n in range(int(value)))))


def _usage(reply: Reply, value: str) -> Reply:
    if value == "none":
        return replace(reply, usage=None)
    prompt, completion, cached = ([int(part) for part in value.split(",")] + [0, 0])[:3]
    return replace(reply, usage=Usage(prompt=prompt, completion=completion, cached=cached))


def _set(**changes: Any) -> Rule:
    """A directive without a value that changes the reply."""
    return lambda reply, _value: replace(reply, **changes)


def _from(convert: Callable[[str], dict[str, Any]]) -> Rule:
    """A directive whose value changes the reply."""
    return lambda reply, value: replace(reply, **convert(value))


def _fault(*fields: Callable[[str], dict[str, Any]], **fixed: Any) -> Rule:
    """A fault with one value per converter, then optionally the number of attempts."""

    def rule(reply: Reply, value: str) -> Reply:
        parts = value.split(":") if value else []
        if len(parts) < len(fields):
            raise ValueError(f"{len(fields)} value(s) wanted")
        changes = dict(fixed)
        for convert, part in zip(fields, parts, strict=False):
            changes.update(convert(part))
        for attempts in parts[len(fields) :]:
            changes["attempts"] = int(attempts)
        return replace(reply, faults=replace(reply.faults, **changes))

    return rule


def _whole_fault(name: str) -> Rule:
    """A fault whose value may hold colons (URLs, dates), so it takes no number of attempts."""

    def rule(reply: Reply, value: str) -> Reply:
        changes: dict[str, Any] = {name: value}
        return replace(reply, faults=replace(reply.faults, **changes))

    return rule


def _stall_after(reply: Reply, value: str) -> Reply:
    count, _, seconds = value.partition(":")
    return replace(reply, faults=replace(reply.faults, stall_after=(int(count), float(seconds))))


def _gate_after(reply: Reply, value: str) -> Reply:
    count, _, name = value.partition(":")
    return replace(reply, faults=replace(reply.faults, gate=(int(count), name)))


def _overflow(reply: Reply, value: str) -> Reply:
    shape, _, attempts = value.partition(":")
    limit = int(attempts) if attempts else reply.faults.attempts
    faults = replace(reply.faults, overflow=shape, status=400, attempts=limit)
    return replace(reply, faults=faults)


_CONTENT: dict[str, Rule] = {
    "reply": _say,
    "echo": _set(is_echo=True),
    "results": _set(is_results=True),
    "tokens": _tokens,
    "big": lambda reply, value: replace(reply, pieces=(*reply.pieces, "x" * int(value))),
    "think": lambda reply, value: replace(reply, thinking=reply.thinking + value),
    "think_tokens": lambda reply, value: replace(
        reply, thinking=reply.thinking + "".join(f"h{n} " for n in range(int(value)))
    ),
    "empty": _set(text="", pieces=(), thinking=""),
}

_SHAPE: dict[str, Rule] = {
    "tool": _tool,
    "chunk": _from(lambda value: {"chunk_chars": int(value)}),
    "ids": _from(lambda value: {"ids": IdStyle(value)}),
    "calls": _from(lambda value: {"call_style": CallStyle(value)}),
    "reasoning_key": _from(lambda value: {"reasoning_key": value}),
    "usage": _usage,
    "finish": _from(lambda value: {"finish": value}),
    "crlf": _set(newline="\r\n"),
    "cr": _set(newline="\r"),
    "bad_utf8": _set(is_bad_utf8=True),
    "no_space": _set(is_spaceless=True),
    "multiline": _set(is_multiline=True),
}

_FAULTS: dict[str, Rule] = {
    "attempts": _fault(lambda value: {"attempts": int(value)}),
    "status": _fault(lambda value: {"status": int(value)}),
    "retry_after": _whole_fault("retry_after"),
    "overflow": _overflow,
    "redirect": _whole_fault("redirect_to"),
    "html": _fault(body=Body.HTML),
    "stall": _fault(lambda value: {"stall_s": float(value)}),
    "stall_headers": _fault(lambda value: {"stall_headers_s": float(value)}),
    "stall_after": _stall_after,
    "keepalive": _fault(lambda value: {"keepalive_s": float(value)}),
    "gate": _fault(lambda value: {"gate": (0, value)}),
    "gate_after": _gate_after,
    "pace": _fault(lambda value: {"pace_s": float(value) / 1000}),
    "cut": _fault(lambda value: {"cut_after": int(value)}),
    "no_done": _fault(is_done_sent=False),
    "no_finish": _fault(is_done_sent=False, is_finish_sent=False),
    "garbage": _fault(lambda value: {"garbage_after": int(value)}),
    "error_event": _fault(lambda value: {"error_event_after": int(value)}),
    "error_type": _whole_fault("error_type"),
    "drip": _fault(is_drip=True),
}
