"""The closed codes of authorization: why a call is allowed, denied, or to be written anew."""

from __future__ import annotations

from enum import StrEnum


class AllowReason(StrEnum):
    """Why a call may run."""

    ONE_TIME_CONSENT = "OneTimeConsent"
    STORED_APPROVAL = "StoredApproval"
    REVIEWED_SAFE = "ReviewedSafePolicy"
    EXEMPT = "ApprovalExemptShellCandidates"
    POLICY_AUTO = "PolicyAuto"


class DenyReason(StrEnum):
    """Why a call never runs; part of logs and of `netclaw authorize`."""

    TOOL_NOT_ALLOWED = "tool_not_allowed_for_audience_profile"
    SERVER_NOT_ALLOWED = "mcp_server_not_allowed_for_audience_profile"
    SERVER_TOOL_NOT_ALLOWED = "mcp_tool_not_allowed_for_audience_profile"
    SHELL_NOT_PERSONAL = "shell_requires_personal_context"
    SHELL_DISABLED = "shell_disabled"
    SHELL_NEEDS_SANDBOX = "shell_requires_sandbox_backend"
    SHELL_TEXT_REFUSED = "shell_text_refused"
    HARD_DENY_CUSTOM = "hard_deny_custom_deny"
    HARD_DENY_SELF = "hard_deny_self_destructive"
    HARD_DENY_SYSTEM = "hard_deny_system_destructive"
    HARD_DENY_PRIVILEGE = "hard_deny_privilege_escalation"
    SHELL_PROTECTED_PATH = "shell_references_protected_path"
    SHELL_INVALID_DIRECTORY = "shell_invalid_working_directory"
    SHELL_DIRECTORY_OUTSIDE = "shell_working_directory_outside_trust_zone"
    SHELL_PATH_OUTSIDE = "shell_path_outside_trust_zone"
    SHELL_PATHS_CHANGED = "shell_launch_paths_changed"
    INVALID_PATH = "invalid_path"
    FILE_MODE_NONE = "file_mode_none"
    OUTSIDE_ROOTS = "outside_roots"
    LINK_BOUNDARY = "link_boundary"
    PATH_PROTECTED = "protected_for_operation"
    WRONG_FILE = "wrong_exact_file"
    POLICY_DENY = "tool_denied_by_approval_policy"
    STORE_UNAVAILABLE = "approval_store_unavailable"
    UNATTENDED = "approval_required_unattended"
    INTERNAL = "internal_policy_failure"


class RemediationCode(StrEnum):
    """What the model can do about a correction (glossary "remediation code")."""

    SET_WORKING_DIRECTORY = "SetWorkingDirectory"
    USE_MANAGED_TEMPORARY_DIRECTORY = "UseManagedTemporaryDirectory"
    PROVIDE_UNIQUE_OLD_STRING = "ProvideUniqueOldString"
    USE_NATIVE_TOOL = "UseNativeTool"
    USE_SHELL_WORKING_DIRECTORY = "UseShellWorkingDirectory"
    REWRITE_SHELL_COMMAND_WORDS = "RewriteShellCommandWords"
    SHORTEN_SHELL_COMMAND = "ShortenShellCommand"
    BREAK_TOOL_CYCLE = "BreakToolCycle"


class Coverage(StrEnum):
    """Why a candidate needs no prompt (glossary "coverage"); the first that applies counts."""

    ONE_TIME = "one-time"
    CHAT_GRANT = "chat-grant"
    PERSISTENT_GRANT = "persistent-grant"
    REVIEWED_SAFE = "reviewed-safe"
    EXEMPT = "exempt"
    NONE = "none"


PROJECT_WAY_OUT = (
    "The operator alone can trust another: `netclaw config set Workspaces.Directory FOLDER`\n"
    "FOLDER is the one that holds the projects. More of them may stand in"
    " Tools.AudienceProfiles.Personal.ReadFiles.Roots."
)
"""How the operator gets a project declared that was refused."""

DENIED_TEXTS = {
    DenyReason.TOOL_NOT_ALLOWED: "This tool is not available in this conversation.",
    DenyReason.SERVER_NOT_ALLOWED: "This tool is not available in this conversation.",
    DenyReason.SERVER_TOOL_NOT_ALLOWED: "This tool is not available in this conversation.",
    DenyReason.SHELL_NOT_PERSONAL: "Shell commands are for the operator's own conversations.",
    DenyReason.SHELL_DISABLED: "Shell commands are switched off here.",
    DenyReason.SHELL_NEEDS_SANDBOX: (
        "Shell commands are refused: no sandbox works on this machine."
    ),
    DenyReason.SHELL_TEXT_REFUSED: "The command text cannot be judged.",
    DenyReason.HARD_DENY_CUSTOM: "A rule of the operator forbids this command.",
    DenyReason.HARD_DENY_SELF: "The command would stop the daemon that runs it.",
    DenyReason.HARD_DENY_SYSTEM: "The command would destroy a whole system or home.",
    DenyReason.HARD_DENY_PRIVILEGE: "The command would take rights that nobody can give it here.",
    DenyReason.SHELL_PROTECTED_PATH: "The command names a protected place.",
    DenyReason.SHELL_INVALID_DIRECTORY: "The working directory holds a `..` segment.",
    DenyReason.SHELL_DIRECTORY_OUTSIDE: (
        "The command would run outside the folders this conversation may use."
    ),
    DenyReason.SHELL_PATH_OUTSIDE: (
        "The command names a path outside the folders this conversation may use."
    ),
    DenyReason.SHELL_PATHS_CHANGED: (
        "A path of the command led elsewhere when it was to start; it was not run."
    ),
    DenyReason.INVALID_PATH: "The path is not usable: it must be absolute, clean and short.",
    DenyReason.FILE_MODE_NONE: "This operation on files is not available in this conversation.",
    DenyReason.OUTSIDE_ROOTS: "The path is outside the folders this conversation may use.",
    DenyReason.LINK_BOUNDARY: "The path leads out of its folder through a link.",
    DenyReason.PATH_PROTECTED: "The path is protected.",
    DenyReason.WRONG_FILE: "Only one file in that place may be used.",
    DenyReason.POLICY_DENY: "The operator has switched this tool off for this conversation.",
    DenyReason.STORE_UNAVAILABLE: (
        "The stored consents cannot be read, so nothing that needs one can run."
    ),
    DenyReason.UNATTENDED: (
        "Denied (approval_required_unattended): this call needs a person's consent, and nobody can"
        ' give it here. It was not run. An "Always" grant that was saved for it in a chat of the'
        " same audience lets it run."
    ),
    DenyReason.INTERNAL: (
        "The call could not be judged, so it was not run. The operator can find out why with"
        " `netclaw doctor`."
    ),
}
"""What the model reads; no path, no rule text, no root."""

CORRECTION_TEXTS = {
    RemediationCode.SET_WORKING_DIRECTORY: "No project or session directory is available.",
    RemediationCode.USE_MANAGED_TEMPORARY_DIRECTORY: (
        "The command uses a shared temporary folder; it was not run."
    ),
    RemediationCode.PROVIDE_UNIQUE_OLD_STRING: "The text to replace is not there exactly once.",
    RemediationCode.USE_NATIVE_TOOL: (
        "The command names one of your tools as a program; it was not run."
    ),
    RemediationCode.USE_SHELL_WORKING_DIRECTORY: (
        "The command changes its folder in a way that cannot be judged; it was not run."
    ),
    RemediationCode.REWRITE_SHELL_COMMAND_WORDS: (
        "A word of the command could become something else than it says; it was not run."
    ),
    RemediationCode.SHORTEN_SHELL_COMMAND: (
        "The command is too long to be shown for consent; it was not run."
    ),
    RemediationCode.BREAK_TOOL_CYCLE: "The same call has been made again and again.",
}
"""What is the case, for the model that can mend the call; what to do is the presenter's to say."""
