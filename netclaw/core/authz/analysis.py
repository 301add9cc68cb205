"""The entry of shell analysis: one command text in, its facts or its questions out."""

from __future__ import annotations

from netclaw.core.authz import scan
from netclaw.core.authz.collector import Collector
from netclaw.core.authz.facts import (
    Candidate,
    Knowledge,
    Needs,
    ShellFacts,
    Surroundings,
    Unresolved,
)
from netclaw.core.authz.flow import start
from netclaw.core.authz.walk import Walk


def analyse(
    source: str, surroundings: Surroundings, knowledge: Knowledge
) -> tuple[ShellFacts, Needs]:
    """The facts of a command that passed `text_gate`, and what is still to be asked.

    The facts count only when nothing is asked any more. Equal input gives equal facts.
    """
    collector = Collector(surroundings, knowledge)
    collector.directories[surroundings.cwd] = None
    parsed = collector.parsed(source)
    if parsed is None:
        return collector.facts(source), collector.needs()
    scan.scan_source(collector, source, 0)
    state = start(surroundings)
    if parsed.tree is None or not parsed.tree.is_listed:
        collector.is_parsed = False
        collector.add(
            Candidate(
                text=source.strip(),
                cwds=(surroundings.cwd,),
                unresolved=Unresolved.SYNTAX,
                has_redirect=True,
            )
        )
    else:
        Walk(collector, source).statements(parsed.tree.many("Stmts"), state)
    for directory in collector.directories:
        collector.path(directory)
    return collector.facts(source), collector.needs()
