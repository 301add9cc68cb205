"""Says what a failure is, from what really came: a status, a closed pipe, an exception's type.

Never from the text of an error: a path may contain "401" (glossary "MCP", ADR 0041).
"""

from __future__ import annotations

from collections.abc import Iterator

import httpx2
from mcp import MCPError
from mcp_types import CONNECTION_CLOSED

from netclaw.mcp.frames import ServerEntry
from netclaw.mcp.http import Exchange
from netclaw.mcp.stdio import MAX_MESSAGE_BYTES, Pipe
from netclaw.ports.tool_servers import ReplyKind, ServerState

CHECK_CREDENTIALS = "Check configured credentials or headers."
TOO_LARGE = f"Its answer is larger than {MAX_MESSAGE_BYTES // (1024 * 1024)} MiB."
GONE = "The connection to it broke, so it is not known whether the call took effect."
_STDIO = "stdio"


def leaves(fault: BaseException) -> Iterator[BaseException]:
    """The exceptions that a group really consists of."""
    if isinstance(fault, BaseExceptionGroup):
        for inner in fault.exceptions:
            yield from leaves(inner)
    else:
        yield fault


def of_connecting(
    entry: ServerEntry, fault: BaseException, exchange: Exchange, pipe: Pipe
) -> tuple[ServerState, str]:
    """Why there is no connection: the state, and a sentence without any text of others."""
    if is_unauthorized(exchange):
        return of_refusal(entry, exchange)
    return ServerState.UNREACHABLE, _why(entry, fault, exchange, pipe)


def is_unauthorized(exchange: Exchange) -> bool:
    """Whether the server refused our credentials, or that we have none."""
    return exchange.status in (httpx2.codes.UNAUTHORIZED, httpx2.codes.FORBIDDEN)


def of_refusal(entry: ServerEntry, exchange: Exchange) -> tuple[ServerState, str]:
    """A server that answered 401 or 403."""
    has_credential = any(name.casefold() == "authorization" for name in entry.headers)
    if exchange.is_challenge and not has_credential:
        return ServerState.AWAITING_AUTH, (
            "It asks for a sign-in with OAuth, which this version cannot do. If it takes a token,"
            f" run `netclaw secrets set McpServers.{entry.name}.Headers.Authorization`."
        )
    return ServerState.AUTH_FAILED, (
        f"It refused the request with HTTP {exchange.status}. {CHECK_CREDENTIALS}"
    )


def _why(entry: ServerEntry, fault: BaseException, exchange: Exchange, pipe: Pipe) -> str:
    if isinstance(fault, TimeoutError):
        return "It did not answer in time."
    if exchange.status >= httpx2.codes.BAD_REQUEST:
        return f"It answered with HTTP {exchange.status}."
    if exchange.is_too_large or pipe.is_too_large:
        return TOO_LARGE
    found = tuple(leaves(fault))
    if any(isinstance(leaf, FileNotFoundError) for leaf in found):
        return "Its program was not found."
    if entry.transport == _STDIO:
        return "Its program ended, or did not speak the protocol."
    if any(isinstance(leaf, httpx2.TimeoutException) for leaf in found):
        return "Its address did not answer in time."
    if any(isinstance(leaf, httpx2.TransportError) for leaf in found):
        return "Its address cannot be reached."
    return "It does not speak the protocol."


def of_call(
    entry: ServerEntry, fault: Exception, exchange: Exchange, pipe: Pipe
) -> tuple[ReplyKind, str]:
    """What a failed call is, and the reason."""
    if entry.transport == _STDIO:
        if pipe.is_too_large:
            return ReplyKind.TRANSPORT, TOO_LARGE
        if pipe.is_ended:
            return ReplyKind.TRANSPORT, GONE
    elif exchange.is_too_large:
        return ReplyKind.APPLICATION, TOO_LARGE
    elif is_unauthorized(exchange):
        return ReplyKind.APPLICATION, _refusal(entry, fault, exchange)
    elif exchange.status == httpx2.codes.NOT_FOUND:
        return ReplyKind.TRANSPORT, "It does not know our session any more (HTTP 404)."
    elif exchange.status == 0 or _is_stream_lost(entry, fault):
        return ReplyKind.TRANSPORT, GONE
    return ReplyKind.APPLICATION, _answer(fault, exchange)


def _is_stream_lost(entry: ServerEntry, fault: Exception) -> bool:
    """Over sse every answer comes on one stream, whose end has a code; a server may use the same
    code for an error of its own, which then costs a new connection and nothing else.
    """
    is_closed = isinstance(fault, MCPError) and fault.code == CONNECTION_CLOSED
    return entry.transport == "sse" and is_closed


def _refusal(entry: ServerEntry, fault: Exception, exchange: Exchange) -> str:
    state, _ = of_refusal(entry, exchange)
    is_sign_in = state is ServerState.AWAITING_AUTH
    advice = "It asks the operator to sign in with OAuth." if is_sign_in else CHECK_CREDENTIALS
    return f"{_answer(fault, exchange)} {advice}"


def _answer(fault: Exception, exchange: Exchange) -> str:
    """The words of a server that answered with an error; they are its own."""
    words = fault.message if isinstance(fault, MCPError) else "Its result is not what it declares."
    if exchange.status < httpx2.codes.BAD_REQUEST:
        return words
    return f"HTTP {exchange.status}: {exchange.body.strip() or words}"
