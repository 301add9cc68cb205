"""What a command is told by its environment: its own folders, and where credentials are.

Variables here name places and switch programs off; none holds a secret.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from netclaw.core.authz.decisions import Decision
from netclaw.core.authz.reasons import AllowReason
from netclaw.core.settings import SessionStorage
from netclaw.linux.user_homes import user_homes

_NOBODY_ASKED = frozenset({AllowReason.REVIEWED_SAFE, AllowReason.EXEMPT})

_QUIET_GIT = (
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.sshCommand", "false"),
    *((f"gpg.{name}program", "false") for name in ("", "openpgp.", "ssh.", "x509.")),
    ("safe.bareRepository", "explicit"),
)
"""For calls that nobody was asked about: no monitor, hook or checker of signatures of the
repository's choosing (`git status` has a hook, which may lie in an ordinary folder), and no
repository made of plain files in a folder that is not called `.git`."""

_VARIABLES = {
    ".config/gh": "GH_CONFIG_DIR",
    ".config/glab-cli": "GLAB_CONFIG_DIR",
    ".config/gcloud": "CLOUDSDK_CONFIG",
    ".config/git/config": "GIT_CONFIG_GLOBAL",
    ".gitconfig": "GIT_CONFIG_GLOBAL",
    ".docker": "DOCKER_CONFIG",
    ".npmrc": "NPM_CONFIG_USERCONFIG",
}
"""How programs find a place of the user's home: `HOME` is the run's temporary folder. SSH asks the
system's list of users, and needs nothing."""

_GIT_STORES = (".git-credentials", ".config/git/credentials")


def environment_of(
    storage: SessionStorage, decision: Decision, credentials: Iterable[str]
) -> dict[str, str]:
    """The variables of one command. `credentials` are those it is shown, as they are configured."""
    tmp, shown = storage.tmp, tuple(credentials)
    settings = list(_QUIET_GIT if decision.allow in _NOBODY_ASKED else ())
    made = {"HOME": tmp, "TMPDIR": tmp, "TMP": tmp, "TEMP": tmp}
    for home in user_homes():
        made |= {
            variable: f"{home}/{name}"
            for name, variable in _VARIABLES.items()
            if f"{home}/{name}" in shown
        }
        stores = (f"{home}/{name}" for name in _GIT_STORES)
        settings += [("credential.helper", _store(path)) for path in stores if path in shown]
    return made | dict(_git(settings))


def _store(path: str) -> str:
    quoted = path.replace("'", "'\\''")
    return f"store --file='{quoted}'"


def _git(settings: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Settings as Git reads them from its environment: stronger than any file."""
    if not settings:
        return
    yield "GIT_CONFIG_COUNT", str(len(settings))
    for at, (key, value) in enumerate(settings):
        yield f"GIT_CONFIG_KEY_{at}", key
        yield f"GIT_CONFIG_VALUE_{at}", value
