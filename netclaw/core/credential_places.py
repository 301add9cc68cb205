"""The places below a user's home where programs keep what lets them in elsewhere (ADR 0010).

Data alone: commands in a sandbox do not see them, file tools do not open them, and none of them is
a project. Only the usual places are known; a credential in a project is the project's.
"""

from __future__ import annotations

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
