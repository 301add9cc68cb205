"""What the sandbox reports to its runner; none of these crosses the process boundary."""

from __future__ import annotations


class SandboxError(Exception):
    """A command could not be confined as its profile demands; it was not run.

    The text is a plain sentence that may be shown to the model: no secret, no host detail beyond
    the paths of the profile itself.
    """


class ViewError(SandboxError):
    """The profile asks for something that no view may hold, such as a protected root."""


class StartError(SandboxError):
    """The backend's program did not reach the point where the command may run."""
