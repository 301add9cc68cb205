"""Runs the pure analysis of a command until it has no questions left."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace

from netclaw.core.authz import coverage
from netclaw.core.authz.analysis import analyse
from netclaw.core.authz.facts import Knowledge, Needs, ShellFacts, Surroundings
from netclaw.core.authz.grants import Grant, Places
from netclaw.core.authz.requests import ShellCall
from netclaw.core.authz.text_gate import refusal_of
from netclaw.ports.shell_parser import PathFacts, ShellParser, ShellParserError

MAX_ROUNDS = 16
"""Each round of nested shells asks once more; they are bounded far below this."""


async def gather(
    source: str, surroundings: Surroundings, parser: ShellParser, paths: PathFacts
) -> tuple[ShellFacts, Knowledge]:
    """The complete facts of a text that passed the gate, and the answers they rest on.

    Raises `ShellParserError` when a parser fails, or when there is no end of questions.
    """
    knowledge = Knowledge()
    for _ in range(MAX_ROUNDS):
        facts, needs = await asyncio.to_thread(analyse, source, surroundings, knowledge)
        if needs.is_empty:
            return facts, knowledge
        knowledge = await _answered(needs, knowledge, parser, paths)
    raise ShellParserError("the command asks for more than can be looked up.")


async def shell_call(
    command: str,
    surroundings: Surroundings,
    parser: ShellParser,
    paths: PathFacts,
    grants: Iterable[Grant] = (),
) -> ShellCall:
    """A shell call with all that its decision needs; `grants` are those it may be compared with.

    A refused text is not parsed. If the parser fails there are no facts, and the call is denied.
    """
    call = ShellCall(command=command, surroundings=surroundings, refusal=refusal_of(command))
    if call.refusal is not None:
        return call
    try:
        facts, known = await gather(command, surroundings, parser, paths)
    except ShellParserError:
        return call
    places = await asyncio.to_thread(look_up, facts, known, grants, paths)
    return replace(call, facts=facts, paths=places.paths, repositories=places.repositories)


def with_directory(call: ShellCall, argument: str) -> ShellCall:
    """The call with the folder as the model wrote it, which has a rule of its own."""
    return replace(call, directory_argument=argument)


def look_up(
    facts: ShellFacts, known: Knowledge, grants: Iterable[Grant], paths: PathFacts
) -> Places:
    """What has to be known of folders before grants are compared and options offered."""
    places = Places(paths=known.paths, repositories=known.repositories)
    needs = coverage.needs_of_grants(facts.directories, grants, places)
    return Places(
        paths={**known.paths, **{path: paths.path(path) for path in needs.paths}},
        repositories={folder: paths.repository(folder) for folder in needs.repositories},
    )


async def _answered(
    needs: Needs, knowledge: Knowledge, parser: ShellParser, paths: PathFacts
) -> Knowledge:
    sources = dict(knowledge.sources)
    for text in sorted(needs.sources):
        sources[text] = await parser.parse(text)
    looked = await asyncio.to_thread(lambda: {path: paths.path(path) for path in needs.paths})
    return replace(knowledge, sources=sources, paths={**knowledge.paths, **looked})
