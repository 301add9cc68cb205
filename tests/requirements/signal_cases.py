"""How state awareness must look from outside: its acceptance cases, and mistakes made elsewhere.

P is a session that handed a task to its child run C; Q and W are sessions that watch; D is a
session that nobody watches at first. What is numbered but missing concerns parts that netclaw
does not have.
"""

from __future__ import annotations

from tests.requirements.manifest import Promise, Requirement


def _case(number: int, text: str) -> Requirement:
    return Requirement(f"signals.case-{number:02}", f"state awareness, acceptance {number}", text)


def _trouble(number: int, text: str) -> Requirement:
    return Requirement(f"signals.trouble-{number:02}", f"state awareness, trouble {number}", text)


CASES: tuple[Requirement, ...] = (
    _case(
        1,
        "A new child run is one event child_spawned by its parent, its version is the child's"
        " state version, and the parent is told nothing.",
    ),
    _case(
        2,
        "A person's message to C is one line in P's next turn that names C and the version that P"
        " knew; what changed since is one event without a word of the message.",
    ),
    _case(
        3,
        "Twenty messages of people to C before P's turn are one line there, one in the turn after"
        " that, and none in the third.",
    ),
    _case(
        4,
        "Asking what changed moves nothing: the answers are equal and the line still comes once.",
    ),
    _case(
        5,
        "A child run that completes is logged and told of by its ordinary result alone.",
    ),
    _case(6, "A child run that times out is a run_failed whose payload says timeout."),
    _case(
        8,
        "A goal that a person changes and then clears is two events by a person, and clearing it"
        " again is none.",
    ),
    _case(
        9,
        "A message to a session that nobody watches is no event; the session has version 0 and a"
        " list leaves it out.",
    ),
    _case(
        10,
        "A send with watch answers watched, tells nothing of what was before, and the next"
        " message of a person is told from the version at the send.",
    ),
    _case(11, "A send without watch says nothing of watching."),
    _case(12, "A send that is refused leaves no watch."),
    _case(14, "A session that sends to itself is refused at once, whatever it would wait for."),
    _case(
        15,
        "After a kill -9 of the daemon an open notice wakes its top-level watcher, who is told"
        " once, from the same version.",
    ),
    _case(
        16,
        "A line that was rendered before a kill -9 is in the watcher's history afterwards, once.",
    ),
    _case(18, "Of two watchers each is told by itself: one that is told takes nothing away."),
    _case(
        19,
        "A reset of the watcher ends its explicit watches, leaves those of others, and the target"
        " keeps its history.",
    ),
    _case(
        20,
        "After the deletion of the target its version is 0 or it is unknown, nobody is told of it,"
        " and the log holds no row of it.",
    ),
    _case(
        21,
        "Whoever asks for a version older than what was pruned is told of a gap, whoever asks for"
        " what was pruned last is not, and the state version stays.",
    ),
    _case(
        23,
        "An answer holds 200 events and says that there are more; the last of them asks for the"
        " rest; a negative version is refused.",
    ),
    _case(
        24,
        "When the log cannot be written, C answers as ever and one warning is logged.",
    ),
    _case(
        27,
        "Five messages of people within the window are one wake of an idle top-level watcher at"
        " once and at most one at its end.",
    ),
    _case(
        28,
        "A line of a person in an adopted transcript is one event within two ticks; an echo of an"
        " own message is none, three lines are one event with turns 3, half a line waits.",
    ),
    _case(
        29,
        "A transcript that is gone is one upstream_missing after three ticks, and its link goes;"
        " one that is back after two ticks is none.",
    ),
    _case(
        30,
        "Appends of many sessions at once get distinct rising sequences, the head is their"
        " maximum, and every cursor keeps seen <= notified <= material.",
    ),
)

TROUBLES: tuple[Requirement, ...] = (
    _trouble(1, "A parent learns before it acts that somebody wrote to its child run."),
    _trouble(2, "A peer that handed nothing over is told once it watches; watching again keeps."),
    _trouble(3, "The way a run ended is kept exactly: error, timeout or cancelled."),
    _trouble(
        5,
        "A transcript whose session starts to work during its third missing check is kept.",
    ),
    _trouble(
        6,
        "A check that ends after its session was replaced, or its link changed, writes nothing.",
    ),
    _trouble(7, "What an event costs does not grow with the number of sessions or notices."),
    _trouble(8, "Only a line that was shown is acknowledged."),
    _trouble(9, "A turn that is not for the watcher's notices, like an aside, takes none of them."),
    _trouble(11, "A notice is kept durably until the turn that shows it has begun durably."),
    _trouble(12, "A wake of a busy watcher waits, and one whose turn fails is woken for again."),
    _trouble(14, "A child's result is told once over restart, drain and pruning."),
    _trouble(15, "A notice whose wakes fail is tried again a bounded number of times, then waits."),
    _trouble(17, "What belongs to a session's former life is not delivered into its next one."),
    _trouble(18, "A reset leaves no watch behind that the session did not ask for anew."),
    _trouble(19, "A deletion removes nothing of a session that came after under the same name."),
    _trouble(20, "A session that was reset is told again of what changes."),
    _trouble(21, "A wait that ended is told as accepted, not as not delivered."),
    _trouble(23, "A reply that comes late comes exactly once, and never inline as well."),
    _trouble(24, "Sessions that send to each other at once block nobody."),
    _trouble(25, "A send into a busy session waits there; one session runs one turn at a time."),
    _trouble(27, "A session id that somebody made up starts nothing."),
    _trouble(28, "A parent whose child run ended while it rested is woken for it once."),
    _trouble(29, "A run that parks, is drained or restarts is not logged as ended."),
    _trouble(30, "A compaction drops nothing that was admitted, and no notice."),
    _trouble(31, "After a kill -9 no run that is over is shown as running."),
    _trouble(32, "Ended runs are not listed as open, and a run at work is never pruned."),
    _trouble(33, "What an agent sends is marked as an agent's and is no event of a person."),
)


RULED_OUT: tuple[Promise, ...] = (
    Promise(
        "state awareness, trouble 4",
        "A bare key `global` of two agents shares no watch.",
        not_here="decision 60",
    ),
)
"""Troubles that cannot be had here."""

REQUIREMENTS: tuple[Requirement, ...] = CASES + TROUBLES
