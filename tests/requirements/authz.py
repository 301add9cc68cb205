"""Promises of authorization: what is decided about a tool call, from which facts, and when."""

from tests.requirements.manifest import Requirement

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "authz.table",
        "authorization reference, decision table",
        "Every row of the decision table gives the outcome it says, and so does every row of ours.",
    ),
    Requirement(
        "authz.attended-is-unattended",
        "authorization reference, pipeline step 10",
        "A call is judged alike whether or not somebody can answer; only asking becomes a denial.",
    ),
    Requirement(
        "authz.upstream-bugs",
        "authorization reference 11",
        "The classes of faults that upstream fixed in judging commands do not occur here.",
    ),
    Requirement(
        "authz.total",
        "issue 4 item 1",
        "The decision never raises: whatever cannot be judged is denied as an internal failure.",
    ),
    Requirement(
        "authz.order",
        "authorization reference, pipeline",
        "Deny rules and protected places decide before modes, and modes before any grant is read.",
    ),
    Requirement(
        "authz.text-first",
        "decision 38",
        "Control characters, broken Unicode and over-long text are refused before any parser sees "
        "the command.",
    ),
    Requirement(
        "authz.listed-nodes",
        "decision 38",
        "Only listed kinds of syntax prove anything; everything else is unresolved.",
    ),
    Requirement(
        "authz.unresolved-once",
        "decision 35",
        "A command whose effect is not proved gets consent for once only, and none unattended.",
    ),
    Requirement(
        "authz.unresolved-auto",
        "decision 46",
        "Under mode Auto an unproved command runs inside the sandbox and asks once outside.",
    ),
    Requirement(
        "authz.denials-see-everything",
        "authorization reference 3, Deny rules",
        "No wrapper, nesting, quoting or broken syntax hides a command that a deny rule forbids.",
    ),
    Requirement(
        "authz.protected",
        "authorization reference 4",
        "No spelling of a protected path, and no link to one, passes a command or a file tool.",
    ),
    Requirement(
        "authz.bash-traps",
        "feasibility, Bash traps",
        "Operands that bash would evaluate are proved or the command is unresolved.",
    ),
    Requirement(
        "authz.allowed-runs-what-it-names",
        "issue 4 item 2",
        "A command that is allowed executes no program that its facts do not name.",
    ),
    Requirement(
        "authz.catalogue-examples",
        "issue 4 item 3",
        "Catalogues carry examples that are checked when they load; operator rules only add.",
    ),
    Requirement(
        "authz.paths",
        "authorization reference 4",
        "Each file operation on each path is allowed or denied by mode, roots, links and "
        "protection, in that order.",
    ),
    Requirement(
        "authz.monotone",
        "issue 4 item 1",
        "Public may do nothing that Team may not, and Team nothing that Personal may not.",
    ),
    Requirement(
        "authz.modes",
        "authorization reference 2",
        "The most exact configured consent mode counts; Personal shell asks unless exactly it is "
        "configured otherwise; an unknown mode denies.",
    ),
    Requirement(
        "authz.admission",
        "authorization reference, pipeline step 3",
        "Audience profiles, MCP lists and shell modes refuse a call before it is looked at.",
    ),
    Requirement(
        "authz.project-way-out",
        "field report: a refused project named no way out",
        "A project that is refused names the setting and the command, in Personal alone.",
    ),
    Requirement(
        "authz.grant-scopes",
        "authorization reference 5",
        "A grant covers equal words of its audience and tool, in its scope, and nothing else.",
    ),
    Requirement(
        "authz.assignments",
        "authorization reference 3, Assignments",
        "A grant for a command with assignments counts only while they have the same values.",
    ),
    Requirement(
        "authz.grants-file",
        "authorization reference 5, Grants file",
        "The grants file is read strictly; one that is not exactly right grants nothing.",
    ),
    Requirement(
        "authz.trust",
        "authorization reference 5, CLI",
        "An operator can trust the words of one command ahead of any call, and nothing more.",
    ),
    Requirement(
        "authz.store-unavailable",
        "authorization reference, pipeline step 9",
        "When the grants cannot be read, chat grants, one-time consents and safe phrases still "
        "work and everything else is denied.",
    ),
    Requirement(
        "authz.one-time",
        "authorization reference 5",
        "A one-time consent covers exactly the call it was given for.",
    ),
    Requirement(
        "authz.options",
        "authorization reference 5",
        "Options come in a fixed order with stable keys, and only those that would cover the call.",
    ),
    Requirement(
        "authz.recorded",
        "authorization reference 5",
        "What an answer stores covers the call it was given for.",
    ),
    Requirement(
        "authz.network",
        "decision 44",
        "A call may have the network if it was consented, granted, Auto or a safe phrase for it.",
    ),
    Requirement(
        "authz.corrections",
        "authorization reference 6",
        "A call that the model can mend itself is sent back with a fixed instruction, not asked.",
    ),
    Requirement(
        "authz.ruling",
        "glossary, Decision",
        "A decision becomes the session's ruling with redacted text, candidates and options.",
    ),
    Requirement(
        "authz.parser",
        "decision 38",
        "The parser proves a tree or nothing, in bounded time and size, and never reads a file.",
    ),
    Requirement(
        "authz.path-facts",
        "authorization reference 4",
        "Facts of paths name links, detours and repositories as they really are on disk.",
    ),
    Requirement(
        "authz.launch-recheck",
        "authorization reference, pipeline step 12",
        "A command whose paths lead elsewhere when it is to start is not run.",
    ),
    Requirement(
        "authz.launch-appeared",
        "consent review: calls of one batch that make or remove the same file",
        "A command runs although a name of it, directly in its folder and no link, has come to be "
        "a file since it was judged, or is none any more.",
    ),
)
