"""The places below a user's home where programs keep what lets them in elsewhere.

No command sees them, whatever is bound beside them (ADR 0010). A folder is hidden whole, so that
what is renamed inside it stays hidden. A file is covered by itself, since its folder is somebody
else's: once a program of the host renames another file over it, a command that is already running
sees the new one. Only the usual places are known; a credential in a project is the project's.
"""

from __future__ import annotations

import functools
import os
import pwd
import stat
from collections.abc import Iterable, Iterator

FOLDERS = (
    # keys
    *(".ssh", ".gnupg", ".pki", ".password-store", ".age", ".config/age", ".config/sops"),
    *(".local/share/keyrings", ".kde/share/apps/kwallet", ".local/share/kwalletd"),
    *(".config/Bitwarden CLI", ".config/op", ".op", ".local/share/pass"),
    # clouds, clusters, containers
    *(".aws", ".azure", ".config/gcloud", ".config/doctl", ".config/hcloud", ".oci", ".aliyun"),
    *(".kube", ".docker", ".config/containers", ".config/helm", ".terraform.d", ".fly"),
    *(".config/flyctl", ".config/rclone", ".config/heroku", ".config/netlify", ".config/vercel"),
    # forges
    *(".config/gh", ".config/glab-cli", ".config/hub", ".cache/git/credential"),
    # agents and models
    *(".claude", ".codex", ".gemini", ".openclaw", ".config/openai", ".config/anthropic"),
    *(".config/github-copilot", ".cache/huggingface/stored_tokens"),
    # browsers and mail
    *(".mozilla", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware"),
    *(".thunderbird", ".config/microsoft-edge"),
)

FILES = (
    *(".netrc", ".authinfo", ".authinfo.gpg", ".git-credentials", ".config/git/credentials"),
    *(".npmrc", ".yarnrc", ".yarnrc.yml", ".config/pnpm/rc", ".bunfig.toml"),
    *(".pypirc", ".config/pip/pip.conf", ".pip/pip.conf", ".config/pypoetry/auth.toml"),
    *(".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".bundle/config"),
    *(".m2/settings.xml", ".m2/settings-security.xml", ".gradle/gradle.properties"),
    *(".composer/auth.json", ".config/composer/auth.json", ".nuget/NuGet/NuGet.Config"),
    *(".pgpass", ".my.cnf", ".mylogin.cnf", ".s3cfg", ".boto", ".vault-token", ".dockercfg"),
    *(".terraformrc", ".databrickscfg", ".kaggle/kaggle.json", ".huggingface/token"),
    *(".cache/huggingface/token", ".claude.json", ".Xauthority", ".ICEauthority"),
    *(".msmtprc", ".fetchmailrc", ".smbcredentials", ".rhosts"),
)

PLACES = (*FOLDERS, *FILES)


@functools.cache
def _account_home() -> str:
    """The home that the system's own list gives this user; empty where it knows nobody."""
    try:
        return os.path.realpath(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        return ""


def user_homes() -> tuple[str, ...]:
    """The user's homes, resolved: what `HOME` says first, then the account's if it is another."""
    said = os.path.realpath(os.path.expanduser("~"))
    return tuple(dict.fromkeys(home for home in (said, _account_home()) if home not in {"", "/"}))


def find_credentials(homes: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Every known place that exists, resolved, and whether it is a folder; about 0.1 ms a home."""
    for home in homes:
        for name in PLACES:
            path = f"{home}/{name}"
            if not os.access(path, os.F_OK):
                continue
            real = os.path.realpath(path)
            try:
                yield real, stat.S_ISDIR(os.lstat(real).st_mode)
            except OSError:
                continue  # gone meanwhile
