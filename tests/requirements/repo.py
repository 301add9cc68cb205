"""Promises of the repository itself."""

from tests.requirements.manifest import Requirement

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "repo.requirements-two-way",
        "issue 2 item 1",
        "Every requirement is shown by a test and every requirement mark names a requirement.",
    ),
    Requirement(
        "repo.file-size",
        "issue 2 item 1",
        "No Python file or script holds more than 400 lines.",
    ),
    Requirement(
        "repo.no-fixed-sleeps",
        "issue 2, quality bar",
        "Tests wait for a condition with a bound, never for a fixed time.",
    ),
    Requirement(
        "repo.wheel-complete",
        "issue 2 item 1",
        "The wheel holds the package, its SQL and the generated protocol code, built offline.",
    ),
    Requirement(
        "repo.speaks-of-itself",
        "decision 78",
        "No tracked file names a package index, a machine path or a host of someone's network.",
    ),
    Requirement(
        "repo.locked",
        "decision 78",
        "Every dependency is locked with hashes in a file that agrees with the project's metadata.",
    ),
    Requirement(
        "repo.layers",
        "architecture, Tree",
        "Imports go one way; each import contract really breaks when its rule is broken.",
    ),
    Requirement(
        "repo.docs-true",
        "issue 2 item 1",
        "Links lead somewhere, and every error code, category, decision and script is documented.",
    ),
    Requirement(
        "repo.generated-protocol",
        "decision 78",
        "One function generates the protocol code for wheels, editable installs and by hand.",
    ),
    Requirement(
        "repo.promises-shown",
        "issue 3, Must be shown",
        "Each sentence of the session documents names the requirements that show it, what it"
        " waits for, or the decision against it.",
    ),
    Requirement(
        "repo.hangs",
        "feasibility, section 10",
        "A test that hangs, in its teardown too, is ended and shows what every task waits for.",
    ),
    Requirement(
        "repo.unsteady",
        "ADR 0050",
        "At most three failed tests of real processes are run once more, alone; what passes then"
        " is named as unsteady, and anything else stays a failure.",
    ),
    Requirement(
        "repo.seed-of-commit",
        "ADR 0050",
        "Every run of the gate over one commit has the same random seed.",
    ),
)
