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
)
