"""Promises of the tools and their dispatcher."""

from tests.requirements.manifest import Requirement

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "tools.never-raises",
        "decision 43",
        "Every way a call can go ends as a result with a receipt; only cancellation propagates.",
    ),
    Requirement(
        "tools.arguments",
        "issue 2 item 6",
        "Wrong arguments are named one by one in a sentence each, and the tool is not run.",
    ),
    Requirement(
        "tools.audiences",
        "decision 37 and authorization reference 2",
        "A model sees exactly the tools its audience may use; the shell is Personal's alone, "
        "Public only reads, and a call of anything else is denied.",
    ),
    Requirement(
        "tools.places",
        "issue 2 item 6",
        "File tools reach the session's own folders and a declared project directory, nothing "
        "else, however a path is spelled.",
    ),
    Requirement(
        "tools.beneath",
        "decision 88",
        "A link swapped in while a file is opened never leads out of the judged root.",
    ),
    Requirement(
        "tools.protected",
        "decision 83",
        "No file tool shows or changes anything of the netclaw home outside the session's own "
        "folders, also where the project directory holds the home.",
    ),
    Requirement(
        "tools.atomic-write",
        "issue 2 item 6",
        "A written file is the old one or the new one, never a mixture, and keeps its mode.",
    ),
    Requirement(
        "tools.modes",
        "issue 2 item 6",
        "A file that exists keeps its mode; new ones get the operator's umask in a project and are "
        "private in the session's own folders.",
    ),
    Requirement(
        "tools.redact-then-bound",
        "decision 15",
        "A result is redacted whole before it is cut, and what is stored is the redacted text.",
    ),
    Requirement(
        "tools.spill",
        "decision 87",
        "A long result is stored complete up to the ceiling, private, named by its call id only, "
        "and says where something is missing.",
    ),
    Requirement(
        "tools.output-read",
        "authorization reference 7",
        "tool_output_read gives bounded windows of this session's results and takes no path.",
    ),
    Requirement(
        "tools.file-read",
        "issue 2 item 6",
        "Text is read in numbered windows that fit one result; what is not text is said to be so.",
    ),
    Requirement(
        "tools.file-list",
        "issue 2 item 6",
        "Folders are listed in a stable order, bounded, without following links.",
    ),
    Requirement(
        "tools.file-search",
        "decision 86",
        "A search runs outside the session process, is bounded, and ends when it is too slow or "
        "cancelled.",
    ),
    Requirement(
        "tools.file-edit",
        "authorization reference 6",
        "An edit replaces exact text that occurs once, or says why it cannot.",
    ),
    Requirement(
        "tools.shell",
        "decisions 30 and 38",
        "shell_execute runs the judged bytes or refuses them, bounds its time, and gives output "
        "and status in words that do not change between equal outcomes.",
    ),
    Requirement(
        "tools.tree-announced",
        "protocol, Recovery",
        "A command's tree is announced before it runs and closed only when it is gone.",
    ),
    Requirement(
        "tools.worktree",
        "decision 45",
        "The shared Git folder of a linked worktree is writable, a forged one is not.",
    ),
    Requirement(
        "tools.session-status",
        "decision 93",
        "session_status tells facts of the own session.",
    ),
    Requirement(
        "tools.light",
        "decision 77",
        "Importing the tools and the sandbox loads no heavy library.",
    ),
)
