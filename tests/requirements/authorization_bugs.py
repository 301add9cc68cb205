"""Mistakes that were made before in authorizing tools: what shows that they do not happen here.

The numbers are those of the authorization reference's list (section 11, bug N).
"""

from __future__ import annotations

from tests.requirements.manifest import Promise, Requirement, promised

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "repo.authorization-bugs",
        "issue 4, must be shown",
        "Every mistake of the authorization reference's list is shown not to happen, or names the"
        " part that it waits for.",
    ),
    Requirement(
        "repo.no-listener",
        "reference authorization 11, bugs 4 and 5",
        "Neither the daemon nor the adapter of a channel without a callback listens on the network,"
        " so no tunnel and no page of a browser reaches them.",
    ),
)

BUG_CLASSES: dict[int, Promise] = {
    1: promised(
        "authorization bug 1",
        "Sudo hides no command: it is denied itself.",
        "authz.upstream-bugs",
        "authz.denials-see-everything",
    ),
    2: promised(
        "authorization bug 2",
        "Every result is redacted, whatever tool it is of.",
        "redaction.order",
        "mcp.bounds",
    ),
    3: promised(
        "authorization bug 3",
        "Other devices are told no tokens of tool servers.",
        later="pairing of devices",
    ),
    4: promised(
        "authorization bug 4",
        "A tunnel is no local caller.",
        "repo.no-listener",
        "supervisor.tokens",
        later="webhooks",
    ),
    5: promised(
        "authorization bug 5",
        "A browser's page is no local caller.",
        "repo.no-listener",
        "supervisor.tokens",
        later="webhooks",
    ),
    6: promised(
        "authorization bug 6",
        "Deny rules that are missing or broken open nothing.",
        "profiles.deny-rules-broken",
        "authz.total",
    ),
    7: promised(
        "authorization bug 7",
        "A command in which nothing is found asks.",
        "authz.unresolved-once",
        "authz.upstream-bugs",
    ),
    8: promised(
        "authorization bug 8",
        "Only a real parser proves.",
        "authz.listed-nodes",
        "authz.upstream-bugs",
    ),
    9: promised("authorization bug 9", "Every path counts.", "authz.paths", "authz.upstream-bugs"),
    10: promised(
        "authorization bug 10",
        "Globs reach nothing through links.",
        "authz.upstream-bugs",
        "authz.path-facts",
    ),
    11: promised(
        "authorization bug 11",
        "No folder is invented for a grant.",
        "authz.options",
        "authz.upstream-bugs",
    ),
    12: promised("authorization bug 12", "Free text is no part of a grant.", "authz.upstream-bugs"),
    13: promised("authorization bug 13", "A pattern widens no scope.", "authz.upstream-bugs"),
    14: promised("authorization bug 14", "The null device is no place.", "authz.upstream-bugs"),
    15: promised(
        "authorization bug 15",
        "What changes later words asks once.",
        "authz.unresolved-once",
        "authz.upstream-bugs",
    ),
    16: promised(
        "authorization bug 16", "A wrapper covers nothing inside it.", "authz.upstream-bugs"
    ),
    17: promised(
        "authorization bug 17", "Plain redirects of descriptors are static.", "authz.upstream-bugs"
    ),
    18: promised(
        "authorization bug 18",
        "A variable's proved value is judged.",
        "authz.upstream-bugs",
        "authz.protected",
    ),
    19: promised(
        "authorization bug 19",
        "Broken syntax hides no denial.",
        "authz.denials-see-everything",
        "authz.upstream-bugs",
    ),
    20: promised(
        "authorization bug 20",
        "Substitutions in assignments are candidates.",
        "authz.upstream-bugs",
    ),
    21: promised(
        "authorization bug 21",
        "No spelling reaches the keys.",
        "authz.protected",
        "escape.spellings",
    ),
    22: promised(
        "authorization bug 22",
        "What bash evaluates is no data.",
        "authz.bash-traps",
        "authz.upstream-bugs",
    ),
    23: promised(
        "authorization bug 23",
        "No start hook and no loader variable passes.",
        "access.environment",
        "sandbox.environment",
    ),
    24: promised(
        "authorization bug 24",
        "What was approved and then swapped does not start.",
        "authz.launch-recheck",
        "judging.paths-changed",
        "escape.races",
    ),
    25: promised(
        "authorization bug 25",
        "Nobody is asked where nobody can answer.",
        "consent.unattended",
        "judging.unattended",
        "child.consent-unattended",
    ),
    26: promised(
        "authorization bug 26", "A child run has the audience of its turn.", "child.audience"
    ),
    27: promised(
        "authorization bug 27",
        "Public is the narrowest.",
        "authz.monotone",
        "profiles.monotone",
        "profiles.defaults",
    ),
    28: promised(
        "authorization bug 28",
        "Team reads its own envelope alone.",
        "files.reach",
        "files.team-project",
    ),
    29: promised(
        "authorization bug 29",
        "An attachment is judged before it is copied.",
        "attach.first-judged",
    ),
    30: promised("authorization bug 30", "Skills of the system cannot be changed.", later="skills"),
    31: promised(
        "authorization bug 31", "The arguments of a server's tool are shown.", "mcp.consent"
    ),
    32: promised("authorization bug 32", "Exactly the named grant is revoked.", "approvals.revoke"),
    33: promised(
        "authorization bug 33", "Esc at a prompt refuses and leaves nothing.", "consent_cli.escape"
    ),
    34: promised(
        "authorization bug 34",
        "Calls nobody answered are closed with their batch.",
        "consent.abandoned",
        "consent.stop-turn",
        "consent.turn-failed",
    ),
    35: promised(
        "authorization bug 35",
        "Denied calls and cycles end.",
        "guard.weights",
        "guard.failures",
        "guard.cycles",
    ),
    36: promised("authorization bug 36", "Secrets of servers reach no log.", "mcp.secrets"),
    37: promised(
        "authorization bug 37", "Only an OAuth challenge speaks of OAuth.", "mcp.typed-status"
    ),
    38: promised(
        "authorization bug 38", "A status is never read out of a text.", "mcp.typed-status"
    ),
    39: promised(
        "authorization bug 39",
        "Only the loss of a connection makes a new one.",
        "mcp.no-replay",
        "mcp.application-error",
    ),
    40: promised(
        "authorization bug 40",
        "A server that refuses is not connected.",
        "mcp.states",
        "mcp.typed-status",
    ),
    41: promised("authorization bug 41", "A new tool has its server's mode.", "mcp.new-tool"),
    42: promised("authorization bug 42", "A webhook cannot be played again.", later="webhooks"),
    43: promised(
        "authorization bug 43",
        "A header makes nobody a reminder.",
        "child.requester-reminder",
        later="webhooks",
    ),
    44: promised(
        "authorization bug 44",
        "What a command leaves running hangs nobody.",
        "sandbox.tree-kill",
        "jobs.deaths",
    ),
    45: promised(
        "authorization bug 45",
        "A pairing code outlives a failed exchange.",
        later="pairing of devices",
    ),
}
