"""What the processes of channels promise (issue 7, the adapter host)."""

from __future__ import annotations

from tests.requirements.manifest import Requirement

_ONE = "issue 7 item 1"

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        id="channel_host.fourth",
        source=_ONE,
        text="A channel of another package is found by its name, and has a kind and sessions of"
        " its own without a word in the core, the tools or the authorization.",
    ),
    Requirement(
        id="channel_host.contract",
        source=_ONE,
        text="Every channel's driver keeps one contract: threads, ids, failures, keys, buttons,"
        " files and reconnects mean the same on each platform.",
    ),
    Requirement(
        id="channel_host.process",
        source=_ONE,
        text="Every enabled channel is a process of its own, which tells its state, account and"
        " counters and holds its platform's token in memory alone.",
    ),
    Requirement(
        id="channel_host.off",
        source=_ONE,
        text="While no channel is enabled there is no process and no file of one.",
    ),
    Requirement(
        id="channel_host.restart",
        source=_ONE,
        text="An adapter that dies is started again by itself; a connection that is lost is made"
        " anew by the same process.",
    ),
    Requirement(
        id="channel_host.fatal",
        source=_ONE,
        text="A wrong token or an unknown channel ends that channel until its configuration"
        " changes, says why, and affects no other channel and no session.",
    ),
    Requirement(
        id="channel_host.transient",
        source=_ONE,
        text="A platform that cannot be reached is tried again and again, ever more slowly.",
    ),
    Requirement(
        id="channel_host.reload",
        source=_ONE,
        text="A change of a channel's section restarts that channel's adapter alone, and nothing"
        " else.",
    ),
    Requirement(
        id="channel_host.no-orphan",
        source=_ONE,
        text="No adapter outlives its daemon, however that ends, and the next daemon starts its"
        " own.",
    ),
    Requirement(
        id="channel_host.token",
        source=_ONE,
        text="An adapter's token lets it read its own channel's section; nobody else reads it.",
    ),
    Requirement(
        id="channel_host.order",
        source=_ONE,
        text="Messages of one thread are dealt with in their order, and neither a slow nor a"
        " failing one holds up another thread.",
    ),
    Requirement(
        id="channel_host.drain",
        source=_ONE,
        text="An adapter that is told to end delivers what is due, tells whoever writes"
        " meanwhile, and ends at the latest when its time is used.",
    ),
    Requirement(
        id="channel_host.backoff",
        source=_ONE,
        text="Waits before a new connection or process double from a second to a minute, begin"
        " again after a minute that held, and are never shorter than the platform asked.",
    ),
    Requirement(
        id="channel_host.news",
        source=_ONE,
        text="An adapter is told when there may be replies, prompts or a change of phase, and"
        " polls for none of them.",
    ),
    Requirement(
        id="channel_host.doctor",
        source=_ONE,
        text="Doctor asks the platform of every enabled channel who the token is, now, and says"
        " what to do about a refusal or a channel that serves nobody.",
    ),
    Requirement(
        id="channel_host.doctor-whole",
        source=_ONE,
        text="Doctor finds a channel well only if every token of it is taken, the daemon's own"
        " adapter is not held up, and what stands for an id looks like one; each refusal has its"
        " own way out.",
    ),
    Requirement(
        id="channel_host.unloadable",
        source=_ONE,
        text="Doctor tells a channel whose package is missing or cannot be loaded from a refusal"
        " by its platform, and says what to install.",
    ),
    Requirement(
        id="channel_host.status",
        source=_ONE,
        text="Status shows each enabled channel's process, account, counters and last failure, and"
        " is degraded by one that is not connected.",
    ),
    Requirement(
        id="channel_host.conversation",
        source="issue 7 item 1",
        text="A thread of a channel is a session; whoever may speak is answered there, once each,"
        " whether the adapter or the daemon is killed meanwhile.",
    ),
    Requirement(
        id="channel_host.hung",
        source=_ONE,
        text="An adapter that hangs is killed after a minute and started again.",
    ),
)
