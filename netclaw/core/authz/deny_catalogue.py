"""The deny rules that ship with netclaw; data only (reference 3 "Deny rules")."""

from __future__ import annotations

from netclaw.core.authz.deny_rules import DenyCategory, DenyRule, FirstPath, check

BUILT_IN = check(
    (
        DenyRule(
            category=DenyCategory.SELF_DESTRUCTIVE,
            reason="It would stop the daemon that runs it.",
            programs=frozenset({"netclaw"}),
            words=(frozenset({"daemon"}), frozenset({"stop", "kill"})),
            match=(
                "netclaw daemon stop",
                "/usr/bin/netclaw --home x daemon kill",
                "env netclaw daemon stop",
            ),
            not_match=("netclaw daemon status", "echo netclaw daemon stop"),
        ),
        DenyRule(
            category=DenyCategory.SELF_DESTRUCTIVE,
            reason="It would stop the service of the daemon that runs it.",
            programs=frozenset({"systemctl"}),
            words=(
                frozenset({"stop", "kill"}),
                frozenset({"netclaw", "netclaw.service", "netclawd", "netclawd.service"}),
            ),
            match=("systemctl --user stop netclaw", "systemctl kill netclawd.service"),
            not_match=("systemctl status netclaw", "systemctl stop nginx"),
        ),
        DenyRule(
            category=DenyCategory.SELF_DESTRUCTIVE,
            reason="It would kill the daemon that runs it.",
            programs=frozenset({"kill", "killall", "pkill", "stop-process"}),
            mentions=("netclaw",),
            match=("pkill -f netclawd", "kill $(cat ~/.netclaw/netclaw.pid)"),
            not_match=("kill 12345", "pkill -f http.server"),
        ),
        DenyRule(
            category=DenyCategory.PRIVILEGE_ESCALATION,
            reason="It would run with the rights of another user.",
            programs=frozenset({"sudo", "su", "doas", "pkexec", "run0"}),
            match=("sudo ls", "/usr/bin/sudo -n true", "timeout 5 sudo ls", "xargs -n 1 sudo rm"),
            not_match=("git commit -m sudo", "suspend", "grep sudo file"),
        ),
        DenyRule(
            category=DenyCategory.PRIVILEGE_ESCALATION,
            reason="It would give itself the consent that is a person's to give.",
            programs=frozenset({"netclaw"}),
            words=(frozenset({"approvals"}), frozenset({"answer", "trust-verb"})),
            match=(
                "netclaw approvals answer 01J approve_everywhere",
                "timeout 5 netclaw approvals trust-verb rm --shell bash",
            ),
            not_match=("netclaw approvals pending", "echo netclaw approvals answer"),
        ),
        DenyRule(
            category=DenyCategory.PRIVILEGE_ESCALATION,
            reason="It would change the configuration that no tool may write.",
            programs=frozenset({"netclaw"}),
            words=(frozenset({"config", "secrets"}), frozenset({"set", "unset"})),
            match=("netclaw config set Tools.ShellMode HostAllowed", "netclaw secrets set a b"),
            not_match=("netclaw config show", "netclaw secrets list"),
        ),
        DenyRule(
            category=DenyCategory.PRIVILEGE_ESCALATION,
            reason="It would speak with the voice of a person.",
            programs=frozenset({"netclaw"}),
            words=(frozenset({"sessions"}), frozenset({"inject"})),
            match=("netclaw sessions inject cli/a hello --source cli --principal operator",),
            not_match=("netclaw sessions list",),
        ),
        DenyRule(
            category=DenyCategory.PRIVILEGE_ESCALATION,
            reason="It would run with the rights of an administrator.",
            flags=(frozenset({"-verb"}), frozenset({"runas"})),
            match=("start-process pwsh -Verb RunAs",),
            not_match=("start-process pwsh -Verb Open",),
        ),
        DenyRule(
            category=DenyCategory.SYSTEM_DESTRUCTIVE,
            reason="It would remove a whole system or home.",
            programs=frozenset({"rm"}),
            flags=(frozenset({"-r", "--recursive"}), frozenset({"-f", "--force"})),
            first_path=FirstPath.ROOT_OR_HOME,
            match=(
                "rm -rf /",
                "rm -r -f //",
                "rm -Rf ~",
                "rm -rf $HOME",
                "rm --force --recursive /home/op/",
            ),
            not_match=("rm -rf build", "rm -r /tmp/x", "rm -f /"),
        ),
        DenyRule(
            category=DenyCategory.SYSTEM_DESTRUCTIVE,
            reason="It would make a new file system over an old one.",
            prefix="mkfs",
            match=("mkfs.ext4 x", "/sbin/mkfs /dev/sda"),
            not_match=("man mkfs",),
        ),
        DenyRule(
            category=DenyCategory.SYSTEM_DESTRUCTIVE,
            reason="It would start processes without end.",
            raw=":(){:|:&};:",
            match=(":(){ :|:& };:",),
            not_match=("echo :",),
        ),
        DenyRule(
            category=DenyCategory.SYSTEM_DESTRUCTIVE,
            reason="It would start processes without end.",
            raw="bomb(){bomb|bomb&};bomb",
            match=("bomb() { bomb | bomb & }; bomb",),
            not_match=("echo bomb",),
        ),
    )
)
