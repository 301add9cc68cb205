"""A real tool server that can stall, die, err and flood.

`python -m tests.mcp.server_main KIND NOTES ...`, where KIND is:

`stdio NOTES` speaks over its pipes, `http NOTES PORT_FILE CONTROL` over loopback. Every call is
noted in NOTES, one line each, so that nobody can send one twice unseen. CONTROL, read at every
request, may hold a status to answer with, a `WWW-Authenticate`, and a body, one per line.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from pathlib import Path

from mcp import MCPError
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from starlette.types import ASGIApp, Receive, Scope, Send

MIB = 1024 * 1024


class Notes:
    """One line for each call that arrived."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def __call__(self, text: str) -> None:
        """Add a line."""
        with self._file.open("a") as file:
            file.write(f"{text}\n")


def add_plain_tools(server: MCPServer, note: Notes) -> None:
    """Tools that answer."""

    @server.tool()
    def echo(text: str) -> str:
        """Says a text again."""
        note(f"echo {text}")
        return text

    @server.tool()
    def pid() -> str:
        """Tells the process id."""
        return str(os.getpid())

    @server.tool()
    def environment(name: str) -> str:
        """Tells a variable of the environment."""
        return os.environ.get(name, "(none)")

    @server.tool()
    def variables() -> str:
        """Names the variables of the environment and the arguments of this process."""
        return json.dumps([sorted(os.environ), sys.argv])

    @server.tool()
    def header(name: str, ctx: Context) -> str:
        """Tells a header of the request."""
        return (ctx.headers or {}).get(name, "(none)")

    @server.tool(structured_output=False)
    def chatter() -> str:
        """Prints what is no message, then answers."""
        print("hello from a library that does not know better", flush=True)  # noqa: T201
        return "quiet again"


def add_failing_tools(server: MCPServer, note: Notes) -> None:
    """Tools that report failures, and one that ends the process."""

    @server.tool()
    def fail(text: str) -> str:
        """Reports a failure in its own words."""
        note("fail")
        raise ToolError(text)

    @server.tool()
    def refuse(text: str) -> str:
        """Answers with an error of the protocol."""
        note("refuse")
        raise MCPError(code=-32000, message=text)

    @server.tool()
    def die() -> str:
        """Ends the process at once."""
        note("die")
        os._exit(3)


def add_long_tools(server: MCPServer, note: Notes) -> None:
    """Tools that take long, and one that says very much."""

    @server.tool()
    async def stall() -> str:
        """Never answers."""
        note("stall")
        await asyncio.Event().wait()
        return ""

    @server.tool()
    async def drip(times: int, gap_s: float, ctx: Context) -> str:
        """Shows signs of life."""
        for at in range(times):
            await asyncio.sleep(gap_s)
            await ctx.report_progress(at, times)
        return "dripped"

    @server.tool()
    def flood(mib: int) -> str:
        """Gives back very much."""
        note("flood")
        return "x" * (mib * MIB)


def make_server(notes: Path) -> MCPServer:
    """The server with all its tools."""
    server: MCPServer = MCPServer("fake")
    note = Notes(notes)
    add_plain_tools(server, note)
    add_failing_tools(server, note)
    add_long_tools(server, note)
    return server


class Controlled:
    """Answers as the control file says, while it says anything."""

    def __init__(self, app: ASGIApp, control: Path) -> None:
        self._app = app
        self._control = control

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        words = self._control.read_text().split("\n") if self._control.exists() else []
        if scope["type"] != "http" or not words or not words[0]:
            await self._app(scope, receive, send)
            return
        if words[0] == "hang":
            await asyncio.Event().wait()
        status, challenge, body = (*words, "", "")[:3]
        headers = [(b"content-type", b"application/json")]
        if challenge:
            headers.append((b"www-authenticate", challenge.encode()))
        await send({"type": "http.response.start", "status": int(status), "headers": headers})
        await send({"type": "http.response.body", "body": body.encode()})


def main() -> None:
    """Serve until the end of the pipe, or for ever."""
    kind, notes, *rest = sys.argv[1:]
    server = make_server(Path(notes))
    if kind == "stdio":
        server.run("stdio")
        return
    import uvicorn

    port_file, control = rest[:2]
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    inner = server.sse_app() if kind == "sse" else None
    inner = inner or server.streamable_http_app(json_response=kind == "json")
    app = Controlled(inner, Path(control))
    config = uvicorn.Config(app, log_level="critical", lifespan="on")
    fresh = Path(f"{port_file}.new")
    fresh.write_text(str(listener.getsockname()[1]))
    listener.listen()
    fresh.replace(port_file)
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
