"""What a model is shown of the tools: core ones always, deferred ones by a lease."""

from __future__ import annotations

from tests.requirements.manifest import Requirement

REQUIREMENTS = (
    Requirement(
        id="exposure.lease",
        source="decision 42",
        text="A loaded tool is shown in three turns, and a turn that asks for it starts the three"
        " anew; commands that netclaw answers itself do not count.",
    ),
    Requirement(
        id="exposure.twelve",
        source="decision 42",
        text="At most twelve deferred tools are shown, and the one that was asked for least"
        " recently makes way.",
    ),
    Requirement(
        id="exposure.journal",
        source="decision 42, ADR 0040",
        text="What is shown is determined by the journal: it survives passivation and a crash, and"
        " ends with a reset.",
    ),
    Requirement(
        id="exposure.own-set",
        source="decision 42",
        text="Each child run has its own set of loaded tools and begins with none.",
    ),
    Requirement(
        id="exposure.order",
        source="ADR 0040, ADR 0029",
        text="A load adds a definition behind all others and moves none, so a model's cache of the"
        " prefix survives it; nor does the use of a tool change the order.",
    ),
    Requirement(
        id="exposure.next-request",
        source="glossary schema exposure, decision 42",
        text="A load counts from the next model request on: a call of the tool beside its load is"
        " the call of an unknown tool.",
    ),
    Requirement(
        id="exposure.unknown",
        source="authorization.md §1 step 2",
        text="A call of a tool that policy hides or that is not loaded is answered exactly like"
        " that of a tool that does not exist, by search_tools and load_tool too.",
    ),
    Requirement(
        id="exposure.search",
        source="decision 42",
        text="search_tools and load_tool are shown exactly if policy leaves a deferred tool to"
        " find, and find no other.",
    ),
    Requirement(
        id="exposure.grants-nothing",
        source="decision 42",
        text="A loaded tool is judged like any other, and one that policy hides later is shown no"
        " more.",
    ),
)
