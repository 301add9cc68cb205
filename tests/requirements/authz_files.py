"""Promises of audience profiles, file tools, receipts and what the model is told to do next."""

from tests.requirements.manifest import Requirement

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "profiles.defaults",
        "authorization reference 2",
        "Without configuration each audience has exactly the tools and files of the reference.",
    ),
    Requirement(
        "profiles.read",
        "authorization reference 2",
        "Every key of an audience profile is read, in any letter case, older words included.",
    ),
    Requirement(
        "profiles.monotone",
        "issue 4 item 1",
        "A configuration in which an audience may use what a wider one may not does not load, and "
        "the error names both keys and what is too much.",
    ),
    Requirement(
        "profiles.strict",
        "issue 4, bad input",
        "An unknown audience, mode, key, category or folder name is an error that names the key.",
    ),
    Requirement(
        "profiles.deny-rules",
        "authorization reference 3, deny rules",
        "The operator's deny rules of the configuration and of the file beside it add to those "
        "that ship, and a change of them takes effect like one of the configuration.",
    ),
    Requirement(
        "profiles.deny-rules-broken",
        "authorization reference 2; issue 4 item 3",
        "Deny rules that cannot be read turn commands off and say so; they are never ignored.",
    ),
    Requirement(
        "profiles.doctor",
        "authorization reference 2; decision 83",
        "doctor fails on a Team or Public without a limit, and warns of Personal commands without "
        "consent, of unconfined ones, and of consent or grants for commands that are off.",
    ),
    Requirement(
        "remediation.fixed",
        "authorization reference 6; glossary, remediation presenter",
        "Each of the eight remediation codes gives one fixed instruction on a line of its own "
        "after the unchanged result; a code that is not known is an error.",
    ),
    Requirement(
        "remediation.hidden-tool",
        "glossary, remediation presenter",
        "An instruction that names a tool which the model does not have is left out.",
    ),
    Requirement(
        "remediation.no-paths",
        "authorization reference 6",
        "No instruction names a folder of the host, the managed temporary one included.",
    ),
    Requirement(
        "receipts.closed",
        "authorization reference 6",
        "A receipt has one of the closed categories; only a success carries file activity and a "
        "declared directory, only a correction or denial a remediation code.",
    ),
    Requirement(
        "receipts.exceptions",
        "decision 43",
        "An exception in a tool becomes a factual failure of its category; its own text is told to "
        "nobody, and a cancellation passes through without a receipt.",
    ),
    Requirement(
        "files.closed",
        "authorization reference 4; decisions 83 and 88",
        "No file tool opens a protected store, a place of credentials, another netclaw home, "
        "another session's temporary folder, an unscanned upload, a spill or the kernel's own "
        "files, in whatever spelling and in every profile.",
    ),
    Requirement(
        "files.reach",
        "authorization reference 2 and 4",
        "Personal reads and writes any other place, but writes no other session's; Team and Public "
        "keep to their own envelope and their roots, and learn nothing of others.",
    ),
    Requirement(
        "files.team-project",
        "authorization reference 4; glossary, project scope",
        "A Team's project lies below its roots and gives it nothing that these do not; Public has "
        "none.",
    ),
    Requirement(
        "files.base",
        "glossary, relative base availability",
        "Without a project and a session directory a relative path is a correction, not a denial.",
    ),
    Requirement(
        "files.declare",
        "authorization reference 4; glossary, trusted root",
        "A project directory lies below a trusted root, for Personal too: the operator's roots, "
        "the workspaces folder or the session's own; a link does not lead out of it.",
    ),
    Requirement(
        "attach.first-judged",
        "authorization reference 11, bug 29",
        "An attachment is judged and opened before anything is copied, and the copy is of the "
        "opened file; a link in the place of the copies is refused.",
    ),
    Requirement(
        "attach.copies",
        "issue 4 item 4",
        "An attached file is kept as the session's own copy, and its path, type and size are told "
        "to subscribers live and on replay.",
    ),
    Requirement(
        "attach.kinds",
        "authorization reference 2, inbound files",
        "The kind of an attachment follows from name and content together; where they disagree it "
        "is Other, and each audience attaches its own kinds alone.",
    ),
    Requirement(
        "attach.bounds",
        "authorization reference 2",
        "An attachment has at most 25 MiB or what is configured, and a turn takes no more files "
        "than one message may have.",
    ),
    Requirement(
        "files.races",
        "issue 4, escape tests",
        "Of thousands of tries of reading, writing, editing, attaching and declaring while another "
        "thread swaps folder and file for links, none reaches what the links lead to.",
    ),
    Requirement(
        "redaction.order",
        "issue 4 item 7; authorization reference 7 and 9",
        "Exact known secrets are removed first, then token shapes, and both before a result is "
        "bounded, spilled, shown in a prompt or logged, so that no part of a secret stays.",
    ),
    Requirement(
        "profiles.audience",
        "authorization reference 1 and 2; decision 39",
        "The operator's terminal is Personal; a place of a channel has its configured audience, "
        "else Team for listed people and Public for others, and none is wider than the posture.",
    ),
    Requirement(
        "files.hostile-names",
        "issue 4, bad input",
        "A hostile file name, text that is no Unicode and arguments of a wrong type have a stable "
        "category and no effect.",
    ),
)
