"""Promises about the configuration."""

from tests.requirements.manifest import Requirement

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "config.home-resolved",
        "protocol, Configuration",
        "Two homes are the same only by their resolved path, followed through at most 40 links.",
    ),
    Requirement(
        "config.comments",
        "issue 2 item 8",
        "netclaw.json may hold comments and trailing commas.",
    ),
    Requirement(
        "config.malformed-place",
        "issue 2, Bad input",
        "A malformed netclaw.json is refused with line, column and what is wrong there.",
    ),
    Requirement(
        "config.one-sentence",
        "issue 2, Bad input",
        "Whatever the files hold, they load or fail in one sentence, and loading changes nothing.",
    ),
    Requirement(
        "config.letter-case",
        "protocol, Configuration",
        "Sections and keys are found in any letter case.",
    ),
    Requirement(
        "config.precedence",
        "surface, Configuration",
        "netclaw.json is overridden by secrets.json, and both by NETCLAW_ environment variables.",
    ),
    Requirement(
        "config.persistence-refused",
        "protocol, Configuration",
        "A supplied Persistence section fails startup, wherever it stands.",
    ),
    Requirement(
        "config.degraded-without-model",
        "issue 2, Bad input",
        "A home without a model loads degraded and says how to configure one.",
    ),
    Requirement(
        "config.defaults",
        "protocol, Configuration",
        "The defaults of the schema are those of the core's settings.",
    ),
    Requirement(
        "config.legacy-token-gap",
        "S0 What ends or stalls a turn",
        "TurnLlmTimeoutSeconds away from 180 is the gap limit unless FirstTokenTimeoutSeconds is.",
    ),
    Requirement(
        "config.legacy-tuning",
        "surface, Configuration",
        "Tuning keys directly under Session are still read; Session.Tuning wins.",
    ),
    Requirement(
        "config.posture",
        "decision 37",
        "The shell is SandboxOnly for Personal and Off for Team and Public unless it is set.",
    ),
    Requirement(
        "config.models",
        "surface, Providers",
        "Main is required, roles name known definitions, and a role's window is at least 4096.",
    ),
    Requirement(
        "config.secrets-encrypted",
        "issue 2 item 8",
        "Secrets are stored encrypted in a private file; plain ones are encrypted when first read.",
    ),
    Requirement(
        "config.secrets-orphan",
        "issue 2 item 8",
        "A stored secret whose provider is not configured is a warning and stops no start.",
    ),
    Requirement(
        "config.secrets-checked",
        "surface, CLI",
        "secrets set refuses a key that names nothing configured before anything is written.",
    ),
    Requirement(
        "config.secrets-bound",
        "issue 2 item 8",
        "An encrypted secret opens only under the key that it was stored for.",
    ),
    Requirement(
        "config.secrets-write-only",
        "surface, CLI",
        "No command shows a secret; config set refuses one.",
    ),
    Requirement(
        "config.lost-keys",
        "surface, Secrets",
        "Lost keys are lost secrets: loading says which secret cannot be decrypted.",
    ),
    Requirement(
        "config.service-credentials",
        "issue 2 item 8",
        "Credentials that systemd passes as files override secrets.json.",
    ),
    Requirement(
        "config.round-trip",
        "cli, config",
        "Every key that is set is read back, unset again, and comments stay.",
    ),
    Requirement(
        "config.set-validates",
        "cli, config",
        "config set validates before it writes; a wrong key or value leaves the file untouched.",
    ),
    Requirement(
        "config.reload-effects",
        "protocol, Configuration",
        "A change that leaves the effective configuration equal does nothing; live keys restart"
        " nothing.",
    ),
    Requirement(
        "config.watched",
        "surface, Hot reload",
        "A burst of writes to the configuration is noticed once, after it is over.",
    ),
    Requirement(
        "config.session-settings",
        "S0 What ends or stalls a turn",
        "Each Session setting has its documented default and bounds, and arrives in the rules.",
    ),
    Requirement(
        "config.write-deadline",
        "decision 11",
        "A write of the journal has the configured time and ten seconds more.",
    ),
)
