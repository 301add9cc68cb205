"""What channels promise about messages of our own accord, files out and what a crash leaves."""

from __future__ import annotations

from tests.requirements.manifest import Requirement

_SENDS = "issue 7 item 9"
_FILES = "issue 7 item 6"
_SLACK = "issue 7 item 3"
_APPROVALS = "issue 7 item 8"

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        id="channel_sends.file-share",
        source=_SLACK,
        text="A file that is shared in a Slack channel stands for a mention.",
    ),
    Requirement(
        id="channel_sends.once",
        source=_SENDS,
        text="A message that begins a thread is sent once for its call, whichever process dies.",
    ),
    Requirement(
        id="channel_sends.acl",
        source=_SENDS,
        text="A place or person that the channel's lists do not name is refused before the"
        " platform is asked, a person also where direct messages are off; a public turn"
        " may send nothing.",
    ),
    Requirement(
        id="channel_sends.session",
        source=_SENDS,
        text="The thread of such a message is a session, which knows what was posted.",
    ),
    Requirement(
        id="channel_sends.words",
        source=_SENDS,
        text="A model is told fixed sentences and the keys of sessions, never a platform's words.",
    ),
    Requirement(
        id="channel_sends.lookup",
        source=_SENDS,
        text="People and places are found by name, at most ten, of those that may be written"
        " to; the platform is asked once in five minutes.",
    ),
    Requirement(
        id="channel_sends.file",
        source=_FILES,
        text="An attached file comes into the thread before the reply, once, as it was when it"
        " was judged; what cannot come is told in a fixed sentence.",
    ),
    Requirement(
        id="channel_sends.child",
        source=_FILES,
        text="A child run has neither attach_file nor tools that write to channels.",
    ),
    Requirement(
        id="channel_sends.backfill",
        source=_SLACK,
        text="A thread that was never read gives its newest messages.",
    ),
    Requirement(
        id="channel_sends.dead-buttons",
        source=_APPROVALS,
        text="A prompt that was answered while its adapter was down is its result after the start.",
    ),
    Requirement(
        id="channel_sends.orphan",
        source=_FILES,
        text="A message that showed a reply and lost its adapter is replaced by the reply, or"
        " taken away if none comes.",
    ),
)
