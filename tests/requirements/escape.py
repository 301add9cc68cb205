"""Promises about attempts to get out: real ones, as root and as an ordinary user."""

from tests.requirements.manifest import Requirement

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "escape.spellings",
        "issue 4, Must be shown",
        "No way of writing or computing the path of a protected file reads it: the judge denies "
        "every text that names it, and a sandbox that ran the text shows nothing.",
    ),
    Requirement(
        "escape.magic-links",
        "issue 4, Must be shown",
        "A path through a link of /proc that differs from process to process is judged as one "
        "that cannot be resolved, for commands and file tools alike.",
    ),
    Requirement(
        "escape.kernel",
        "issue 4, Must be shown",
        "Nothing that a command asks of the kernel lets it out: no namespace, mount, handle, "
        "device, key, trace, cgroup, terminal, raw socket, or process of the host.",
    ),
    Requirement(
        "escape.races",
        "issue 4, Must be shown",
        "A folder or link that is swapped between judgement, plan and start shows a command "
        "nothing that was not judged.",
    ),
    Requirement(
        "escape.daemon",
        "issue 4, Must be shown; decision 40",
        "A command cannot drive the operator API, read a secret of, trace, stop or end the daemon "
        "or a session, by whatever path, name, descriptor or program.",
    ),
    Requirement(
        "escape.floods",
        "issue 4, Must be shown",
        "1.5 GB of output, a fork storm and a memory bomb end bounded, and neither the daemon nor "
        "the session grows by more than 10 MiB.",
    ),
    Requirement(
        "escape.users",
        "issue 4, Must be shown",
        "Every attempt fails as root and as an ordinary user, on each backend.",
    ),
    Requirement(
        "escape.refused",
        "issue 4, Must be shown",
        "Where the kernel lacks user namespaces and Landlock, no command runs, and the reason of "
        "each backend is said.",
    ),
    Requirement(
        "escape.bad-input",
        "issue 4, Bad input",
        "Whatever a model sends or finds on disk is answered with a stable category and has no "
        "effect where it is refused.",
    ),
)
