"""Promises of the sandbox: what a command sees, may use, and leaves behind."""

from tests.requirements.manifest import Requirement

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "sandbox.proved",
        "architecture, Security 3",
        "The backend in use was proved by running a command in it; the answer names what each "
        "stronger one said.",
    ),
    Requirement(
        "sandbox.home-hidden",
        "decision 83",
        "No spelling of a path reaches a protected file of the netclaw home, also after a rename.",
    ),
    Requirement(
        "sandbox.private-places",
        "ADR 0010",
        "A command sees no other netclaw home and none of the usual credentials of its user, "
        "whatever is bound beside them; ~/.netclaw is hidden in any case.",
    ),
    Requirement(
        "sandbox.vanished",
        "ADR 0010",
        "What was to be hidden and is gone when a view is made needs no hiding: the command runs, "
        "everything else stays hidden, and a missing root is said.",
    ),
    Requirement(
        "sandbox.sockets",
        "decision 83",
        "A command reaches no Unix socket of the host, of whatever kind, wherever it lies and "
        "whenever it was made, neither by path nor by abstract name.",
    ),
    Requirement(
        "sandbox.pairs",
        "decision 83",
        "Processes of a command can talk over socket pairs, so that ordinary programs work.",
    ),
    Requirement(
        "sandbox.umask",
        "issue 2 item 6",
        "What a command makes has the mode the operator's umask gives, not the daemon's.",
    ),
    Requirement(
        "sandbox.read-only",
        "decisions 45 and 83",
        "A command writes only below its roots and its temporary places; the user's home, system "
        "folders and ancestors of protected paths are never writable.",
    ),
    Requirement(
        "sandbox.processes",
        "decision 83",
        "A command cannot trace, read the environment of, or signal a process outside its tree.",
    ),
    Requirement(
        "sandbox.no-privileges",
        "decision 83",
        "A command holds no capability, cannot gain one and makes no namespace of its own.",
    ),
    Requirement(
        "sandbox.network",
        "decision 44",
        "The network is off unless it was granted, then on.",
    ),
    Requirement(
        "sandbox.environment",
        "decision 83",
        "A command's environment is an allow list: no BASH_ENV, exported function, LD_ variable, "
        "NETCLAW_ variable or token.",
    ),
    Requirement(
        "sandbox.exec-what-was-judged",
        "architecture, Security 4",
        "The argv that was judged is executed byte for byte, and no descriptor of ours with it.",
    ),
    Requirement(
        "sandbox.held-until-acknowledged",
        "protocol, Recovery",
        "A command does not run before its tree was acknowledged, and never if its session dies "
        "before that.",
    ),
    Requirement(
        "sandbox.tree-kill",
        "decisions 82 and 83",
        "When a command ends, is cancelled or passes a limit, no process of its tree is left, "
        "daemons and fork storms included.",
    ),
    Requirement(
        "sandbox.dies-with-session",
        "decision 6",
        "A session killed at any moment takes its commands with it.",
    ),
    Requirement(
        "sandbox.limits",
        "decision 84",
        "Memory, processes, file size, silence and total time of a tree are bounded.",
    ),
    Requirement(
        "sandbox.output-streams",
        "architecture, Security",
        "Output is streamed in bounded pieces and never gathers in the process that reads it.",
    ),
    Requirement(
        "sandbox.filter",
        "decision 83",
        "The seccomp filter denies the listed calls on x86_64 and aarch64 and allows the rest.",
    ),
    Requirement(
        "sandbox.ordinary-user",
        "feasibility 6",
        "The sandbox works for an ordinary user as it does for root.",
    ),
)
