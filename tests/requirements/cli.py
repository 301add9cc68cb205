"""Promises about the command line."""

from tests.requirements.manifest import Requirement

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "cli.chat-headless",
        "cli, chat -p",
        "chat -p puts the answer alone on standard output and everything else beside it.",
    ),
    Requirement(
        "cli.chat-json",
        "cli, chat -p",
        "chat -p --json prints one object with the turn's session, text, calls, usage and times.",
    ),
    Requirement(
        "cli.chat-exit",
        "decision 23",
        "chat -p exits 0 on a completed turn, 1 on a failed one with its code and reference.",
    ),
    Requirement(
        "cli.chat-own-turn",
        "protocol, Streams",
        "A client waits for the turn that lists its own input, and takes no other for it.",
    ),
    Requirement(
        "cli.chat-ends",
        "issue 2 item 8",
        "chat -p never waits without end: it looks its message up every 10 s, says what is known,"
        " and ends with the message's turn, session or process in whatever way that ends.",
    ),
    Requirement(
        "cli.held-home",
        "issue 2 item 8",
        "A daemon that holds its home and cannot be asked is told apart from none, and waited for"
        " while it restarts.",
    ),
    Requirement(
        "cli.chat-child-runs",
        "decision 71",
        "A headless run ends with a completed or failed turn that reports no open child run.",
    ),
    Requirement(
        "cli.message-id",
        "decision 33",
        "A resend with the same message id is answered by the first admission's turn.",
    ),
    Requirement(
        "cli.resend",
        "decision 33",
        "chat -p sends a message again by itself under its own id when a restart took its answer.",
    ),
    Requirement(
        "cli.wait-restart",
        "issue 2, restarts",
        "A conversation begun while the daemon restarts waits for it instead of failing.",
    ),
    Requirement(
        "cli.quiet-grpc",
        "cli, output",
        "gRPC's own log never reaches a person's terminal.",
    ),
    Requirement(
        "cli.delivery-unconfirmed",
        "decision 33",
        "A send without a reliable answer is called unconfirmed, is never repeated without its id,"
        " and says how to look it up.",
    ),
    Requirement(
        "cli.reconnect",
        "surface, Chat TUI",
        "A lost connection is taken up again after 1, 2, 5 and 10 seconds without losing facts.",
    ),
    Requirement(
        "cli.resume",
        "protocol, Identifiers",
        "--resume begins a session only for a name without a slash or a cli/ id.",
    ),
    Requirement(
        "cli.bad-input",
        "issue 2, Bad input",
        "Empty and oversized texts and bytes that are no UTF-8 are refused with code and way out.",
    ),
    Requirement(
        "cli.usage",
        "cli",
        "Unknown commands and flags and wrong usage exit 2 and say how to see what is right.",
    ),
    Requirement(
        "cli.errors",
        "cli",
        "Errors are [FAIL] and fix: on standard error, and with --json one error object on standard"
        " output.",
    ),
    Requirement(
        "cli.daemon-down",
        "cli",
        "A command that needs the daemon and finds none exits 1 and says how to start it.",
    ),
    Requirement(
        "cli.clean-ends",
        "issue 2 item 8",
        "A closed pipe and Ctrl-C end a command without a trace.",
    ),
    Requirement(
        "cli.light",
        "architecture, Speed",
        "A command imports only what it needs; status loads no schema, no terminal library.",
    ),
    Requirement(
        "cli.help",
        "issue 2 item 8",
        "Every command has help with examples.",
    ),
    Requirement(
        "cli.sessions-list",
        "cli, sessions",
        "sessions lists every session; one without a process is passive.",
    ),
    Requirement("cli.sessions-show", "cli, sessions show", "sessions show adds storage and work."),
    Requirement(
        "cli.sessions-history", "cli, sessions history", "sessions history reads the conversation."
    ),
    Requirement(
        "cli.sessions-journal", "cli, sessions journal", "sessions journal prints JSON lines."
    ),
    Requirement(
        "cli.sessions-steering",
        "cli, sessions kill",
        "kill, stop, restart, compact, reset and delete act on one session and print its phase.",
    ),
    Requirement(
        "cli.attach", "cli, sessions attach", "attach prints one JSON line per output until Ctrl-C."
    ),
    Requirement(
        "cli.inject", "cli, sessions inject", "inject delivers a message with the given authority."
    ),
    Requirement("cli.ledger", "cli, ledger", "ledger says what became of each message."),
    Requirement(
        "cli.daemon-status", "cli, daemon", "daemon status shows state, processes and sandbox."
    ),
    Requirement(
        "cli.daemon-start",
        "cli, daemon",
        "daemon start returns when the daemon is ready, or with the reason why it is not.",
    ),
    Requirement(
        "cli.daemon-stop",
        "decision 9",
        "daemon stop ends the daemon gracefully, and by force after 45 seconds.",
    ),
    Requirement(
        "cli.daemon-restart",
        "decision 80",
        "daemon restart returns when the next generation is ready.",
    ),
    Requirement(
        "cli.status", "cli, status", "status exits 0 healthy, 2 degraded, 1 down, and says why."
    ),
    Requirement(
        "cli.doctor",
        "issue 2 item 8",
        "doctor checks configuration, permissions, daemon, storage, sandbox and model, each with a"
        " way out; it exits 0, 1 for failures, 2 for warnings only.",
    ),
    Requirement(
        "cli.init",
        "cli, init",
        "init writes a configuration that loads, and refuses to replace one without --force.",
    ),
    Requirement(
        "cli.config-in-force",
        "protocol, Configuration",
        "config set on a running daemon returns when the change is in force, or undoes it.",
    ),
    Requirement(
        "cli.interactive",
        "cli, chat",
        "An interactive chat streams, shows tools, stops a turn with Ctrl-C, leaves with Ctrl-D.",
    ),
    Requirement(
        "cli.init-identity",
        "decision 21",
        "init writes the identity files that are missing and touches none that is there.",
    ),
    Requirement(
        "cli.init-workspaces",
        "cli, init; field report: a refused project named no way out",
        "init asks for or takes the folder of the projects, and keeps it when it is run again.",
    ),
)
