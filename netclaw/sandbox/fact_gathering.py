"""Runs the pure analysis of a command until it has no questions left."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from netclaw.core.authz.analysis import analyse
from netclaw.core.authz.facts import Knowledge, Needs, ShellFacts, Surroundings
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


async def _answered(
    needs: Needs, knowledge: Knowledge, parser: ShellParser, paths: PathFacts
) -> Knowledge:
    sources = dict(knowledge.sources)
    for text in sorted(needs.sources):
        sources[text] = await parser.parse(text)
    looked = await asyncio.to_thread(lambda: {path: paths.path(path) for path in needs.paths})
    return replace(knowledge, sources=sources, paths={**knowledge.paths, **looked})
