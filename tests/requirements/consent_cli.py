"""What a person at a terminal is promised about consent and authorization."""

from __future__ import annotations

from tests.requirements.manifest import Requirement

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "consent_cli.prompt",
        "issue 4 item 5",
        "A prompt in netclaw chat shows the tool, the whole command, its folder, what is not"
        " allowed yet, whose request it is, and the options in their order.",
    ),
    Requirement(
        "consent_cli.reply",
        "reference 5 Text fallback",
        "A prompt is answered by letter, label or key; any other reply asks again.",
    ),
    Requirement(
        "consent_cli.escape",
        "reference 11 bug 33",
        "Esc refuses the call that is asked about and never leaves the conversation.",
    ),
    Requirement(
        "consent_cli.stop",
        "decision 26",
        "Ctrl-C at a prompt stops the turn.",
    ),
    Requirement(
        "consent_cli.over",
        "ADR 0030",
        "A prompt that is answered elsewhere, withdrawn or over with its turn closes with a line.",
    ),
    Requirement(
        "consent_cli.in-turn",
        "reference surface, Chat TUI",
        "Several open prompts are asked one after another, and each is answered once.",
    ),
    Requirement(
        "consent_cli.typing",
        "issue 4 item 5",
        "A prompt takes the keyboard only after a pause: nothing that is being written is lost, or"
        " taken for an answer.",
    ),
    Requirement(
        "consent_cli.not-yours",
        "decision 48",
        "A prompt that only another person may answer is shown as theirs, with how to refuse it.",
    ),
    Requirement(
        "consent_cli.reconnect",
        "issue 4 item 5",
        "After a lost connection open prompts are asked once more, and closed ones told as such.",
    ),
    Requirement(
        "consent_cli.danger",
        "reference 5",
        "Always anywhere and Deny are marked as far-reaching, on a terminal with colours only.",
    ),
    Requirement(
        "consent_cli.count",
        "issue 4 item 5",
        "netclaw status and sessions show say how many calls wait for a decision, and where to"
        " decide.",
    ),
    Requirement(
        "consent_cli.headless",
        "decision 23",
        "chat -p is unattended: the session denies what needs consent at once, the run names it on"
        " standard error and goes on; a message behind a turn that waits for a decision says so.",
    ),
    Requirement(
        "consent_cli.authorize",
        "cli, authorize",
        "netclaw authorize says outcome, reason, coverage of each command, options and what the"
        " kernel would allow, of any tool and audience; it runs and changes nothing.",
    ),
    Requirement(
        "consent_cli.authorize-table",
        "issue 4 item 8",
        "netclaw authorize decides every row of the decision tables that does not depend on the"
        " host as the tables say, attended and unattended.",
    ),
    Requirement(
        "consent_cli.authorize-view",
        "issue 4, Purpose",
        "A person reads why: the rule, the path, what covers each command, what would be asked,"
        " what may be written and reached.",
    ),
    Requirement(
        "consent_cli.authorize-grants",
        "decision 47",
        "netclaw authorize counts the stored grants of the moment and names a file that cannot be"
        " believed, which it leaves as it is.",
    ),
    Requirement(
        "consent_cli.authorize-input",
        "issue 4, Bad input",
        "A wrong audience, folder, tool or argument of netclaw authorize is a stable code and has"
        " no effect.",
    ),
    Requirement(
        "consent_cli.real",
        "issue 4 item 5",
        "With a real daemon a person in netclaw chat lets a call run once or for the chat, refuses"
        " one, stops the turn, and finds the prompt again after the terminal, the session and the"
        " daemon ended.",
    ),
    Requirement(
        "consent_cli.doctor",
        "issue 4 item 8",
        "netclaw doctor warns by example of what this configuration would let run unasked, of"
        " grants that cover everything, and fails where no command can be judged.",
    ),
    Requirement(
        "consent_cli.authorize-true",
        "issue 4 item 6",
        "What netclaw authorize says of a call is what becomes of it in a session: outcome, what"
        " is asked for, options and what may be written.",
    ),
)
