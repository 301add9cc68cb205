"""The one decision about a tool call: pure, total, in the order of the reference's pipeline.

The first deciding rule wins. Whatever goes wrong in here denies (`internal_policy_failure`).
Deny rules and protected places are judged before any grant is looked at.
"""

from __future__ import annotations

from netclaw.core.authority import Audience
from netclaw.core.authz import consent, shell_checks
from netclaw.core.authz.consent_modes import ModeQuestion, mode_of
from netclaw.core.authz.coverage import StoreUnavailableError
from netclaw.core.authz.decisions import Decision
from netclaw.core.authz.path_access import decide as decide_path
from netclaw.core.authz.profiles import SHELL_TOOLS, ConsentMode, reach_of
from netclaw.core.authz.reasons import (
    PROJECT_WAY_OUT,
    AllowReason,
    DenyReason,
    RemediationCode,
)
from netclaw.core.authz.requests import (
    AuthorizationRequest,
    Consents,
    FileCall,
    Policy,
    ServerCall,
    ShellCall,
)
from netclaw.core.authz.startup_places import is_startup_call
from netclaw.core.authz.text_gate import TextFault
from netclaw.core.session.rulings import Outcome
from netclaw.core.settings import ShellMode
from netclaw.core.tool_call import FileOperation

_DECLARE = FileOperation.DECLARE_PROJECT_SCOPE


def decide(request: AuthorizationRequest, policy: Policy, consents: Consents) -> Decision:
    """Judges one call. Never raises; equal input gives an equal decision."""
    try:
        return _decide(request, policy, consents)
    except StoreUnavailableError:
        return denied(request, DenyReason.STORE_UNAVAILABLE)
    except Exception:  # noqa: BLE001 - total: what cannot be judged does not run
        return denied(request, DenyReason.INTERNAL)


def denied(request: AuthorizationRequest, reason: DenyReason) -> Decision:
    """A denial."""
    return Decision(
        attempt_id=request.attempt_id,
        outcome=Outcome.DENIED,
        deny=reason,
        way_out=_way_out(request, reason),
    )


def _way_out(request: AuthorizationRequest, reason: DenyReason) -> str:
    """Told in the operator's own conversations alone: to others it would name what is trusted."""
    call = request.call
    is_project = isinstance(call, FileCall) and call.operation is _DECLARE
    is_theirs = request.audience is Audience.PERSONAL
    is_outside = reason is DenyReason.OUTSIDE_ROOTS
    return PROJECT_WAY_OUT if is_project and is_theirs and is_outside else ""


def _corrected(request: AuthorizationRequest, *codes: RemediationCode) -> Decision:
    return Decision(
        attempt_id=request.attempt_id, outcome=Outcome.REQUIRES_CORRECTION, corrections=codes
    )


def _decide(request: AuthorizationRequest, policy: Policy, consents: Consents) -> Decision:
    refused = _admission(request, policy) or _boundaries(request, policy)
    if refused is not None:
        return denied(request, refused)
    mode = mode_of(policy.profile, question_of(request, policy))
    if mode is ConsentMode.DENY:
        return denied(request, DenyReason.POLICY_DENY)
    advice = _advice(request, policy)
    if advice is not None:
        return _corrected(request, advice)
    if mode is ConsentMode.AUTO and not _asks_in_spite_of_auto(request, policy):
        return Decision(
            attempt_id=request.attempt_id,
            outcome=Outcome.ALLOWED,
            allow=AllowReason.POLICY_AUTO,
            has_network=True,
        )
    return consent.decide(request, policy, consents)


def _admission(request: AuthorizationRequest, policy: Policy) -> DenyReason | None:
    """Step 3: what the audience may use at all."""
    profile, call = policy.profile, request.call
    if profile.audience is not request.audience:
        return DenyReason.INTERNAL
    if isinstance(call, ServerCall):
        if not profile.allows_server(call.server):
            return DenyReason.SERVER_NOT_ALLOWED
        is_listed = profile.allows_server_tool(call.server, request.tool)
        return None if is_listed else DenyReason.SERVER_TOOL_NOT_ALLOWED
    if not profile.allows_tool(request.tool):
        return DenyReason.TOOL_NOT_ALLOWED
    if request.tool not in SHELL_TOOLS and not isinstance(call, ShellCall):
        return None
    return _shell_admission(request, policy)


def _shell_admission(request: AuthorizationRequest, policy: Policy) -> DenyReason | None:
    if request.audience is not Audience.PERSONAL:
        return DenyReason.SHELL_NOT_PERSONAL
    if policy.shell_mode is ShellMode.OFF:
        return DenyReason.SHELL_DISABLED
    needs_sandbox = policy.shell_mode is ShellMode.SANDBOX_ONLY
    return DenyReason.SHELL_NEEDS_SANDBOX if needs_sandbox and not policy.has_sandbox else None


def _boundaries(request: AuthorizationRequest, policy: Policy) -> DenyReason | None:
    """Steps 4 and 5: what neither consent nor a grant lifts."""
    call = request.call
    if isinstance(call, ShellCall):
        return shell_checks.refusal(call, policy)
    if isinstance(call, FileCall):
        reach = reach_of(policy.profile, call.operation, policy.roots)
        failure = decide_path(call.fact, call.operation, reach, policy.protected).failure
        return None if failure is None else DenyReason(failure.value)
    return None


def question_of(request: AuthorizationRequest, policy: Policy) -> ModeQuestion:
    """What the consent mode of a call depends on."""
    call = request.call
    server = call.server if isinstance(call, ServerCall) else ""
    is_control_plane = is_startup_call(call, policy)
    return ModeQuestion(tool=request.tool, server=server, is_control_plane=is_control_plane)


def _advice(request: AuthorizationRequest, policy: Policy) -> RemediationCode | None:
    """Step 7: corrections that come before grants and before mode Auto."""
    call = request.call
    if not isinstance(call, ShellCall):
        return None
    if call.refusal is not None and call.refusal.fault is TextFault.TOO_LONG:
        return RemediationCode.SHORTEN_SHELL_COMMAND
    if call.facts is not None and call.facts.is_too_long:
        return RemediationCode.SHORTEN_SHELL_COMMAND
    candidates = call.facts.candidates if call.facts is not None else ()
    if any(item.argv[:1] and item.argv[0] in policy.native_tools for item in candidates):
        return RemediationCode.USE_NATIVE_TOOL
    return None


def _asks_in_spite_of_auto(request: AuthorizationRequest, policy: Policy) -> bool:
    """Decision 46: Auto means no consent inside the sandbox; unproved commands outside ask."""
    call = request.call
    if not isinstance(call, ShellCall) or policy.shell_mode is not ShellMode.HOST_ALLOWED:
        return False
    candidates = call.facts.candidates if call.facts is not None else ()
    return not candidates or any(item.unresolved is not None for item in candidates)
