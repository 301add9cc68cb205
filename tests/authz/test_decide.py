"""The decision as a whole: its order, its totality, and the calls that are no shell calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaw.core.authority import Audience
from netclaw.core.authz.decide import decide
from netclaw.core.authz.decisions import ruling_of
from netclaw.core.authz.facts import PathFact
from netclaw.core.authz.grants import Grant, GrantForm, GrantStore
from netclaw.core.authz.path_access import FileMode
from netclaw.core.authz.profiles import ConsentModes, ListMode
from netclaw.core.authz.reasons import RemediationCode
from netclaw.core.authz.requests import (
    AuthorizationRequest,
    Call,
    Consents,
    FileCall,
    PlainCall,
    Policy,
    ServerCall,
    ShellCall,
)
from netclaw.core.session.rulings import Outcome
from netclaw.core.settings import ShellMode
from netclaw.core.tool_call import FileOperation
from tests.authz.host import HOME, PROJECT
from tests.authz.table import described
from tests.authz.world import AT, HOST, POLICY, REQUESTER, Shell, policy, profile

PERSONAL, TEAM, PUBLIC = Audience.PERSONAL, Audience.TEAM, Audience.PUBLIC
NO_CONSENTS = Consents()
BROKEN_STORE = Consents(store=GrantStore(fault="the file is no JSON object"))


def request(tool: str, call: Call, audience: Audience = PERSONAL) -> AuthorizationRequest:
    """A call of any tool."""
    return AuthorizationRequest(
        attempt_id="auth-7",
        tool=tool,
        arguments='{"a": 1}',
        audience=audience,
        call=call,
        requester=REQUESTER,
        is_attended=True,
    )


def modes(audience: Audience = PERSONAL, **values: object) -> Policy:
    """A policy with consent modes."""
    return policy(profile(audience, modes=ConsentModes(**values)))  # type: ignore[arg-type]


@pytest.mark.requirement("authz.admission")
@pytest.mark.parametrize("command", ["git status", "sudo ls", "cat ~/.netclaw/keys/x"])
@pytest.mark.parametrize("audience", [TEAM, PUBLIC])
def test_row_83_no_shell_for_team_or_public(command: str, audience: Audience) -> None:
    shell = Shell(command, audience=audience)
    decision = shell.decide(under=policy(profile(audience)))
    assert decision.code == "tool_not_allowed_for_audience_profile"


@pytest.mark.requirement("authz.admission")
def test_a_shell_needs_personal_a_mode_and_a_sandbox() -> None:
    wide = replace(profile(TEAM), tools_mode=ListMode.ALL)
    shell = Shell("git status", audience=TEAM)
    assert shell.decide(under=policy(wide)).code == "shell_requires_personal_context"
    off = policy(shell_mode=ShellMode.OFF)
    assert Shell("git status").decide(under=off).code == "shell_disabled"
    bare = policy(has_sandbox=False)
    assert Shell("git status").decide(under=bare).code == "shell_requires_sandbox_backend"
    host = policy(has_sandbox=False, shell_mode=ShellMode.HOST_ALLOWED)
    assert described(Shell("git status").decide(under=host)) == "safe"
    job = request("check_background_job", PlainCall())
    assert decide(job, off, NO_CONSENTS).code == "shell_disabled"


@pytest.mark.requirement("authz.admission")
def test_servers_are_judged_before_their_tools() -> None:
    call = ServerCall(server="docs")
    team = profile(TEAM)
    asked = request("search", call, TEAM)
    refused = decide(asked, policy(team), NO_CONSENTS)
    assert refused.code == "mcp_server_not_allowed_for_audience_profile"
    listed = replace(
        team,
        allowed_servers=frozenset({"docs"}),
        server_tools={"docs": frozenset({"read"})},
    )
    refused = decide(asked, policy(listed), NO_CONSENTS)
    assert refused.code == "mcp_tool_not_allowed_for_audience_profile"
    open_team = replace(listed, server_tools={}, consent=ConsentModes(default="Approval"))
    decision = decide(asked, policy(open_team), NO_CONSENTS)
    assert described(decision) == "ask mcp:docs:search"
    assert decision.display == 'mcp:docs:search {"a": 1}'
    grant = Grant(
        audience=TEAM,
        tool="mcp:docs:search",
        form=GrantForm.TOOL,
        words=("mcp:docs:search",),
        created_at=AT,
    )
    given = Consents(store=GrantStore(grants=(grant,)))
    assert decide(asked, policy(open_team), given).outcome is Outcome.ALLOWED


@pytest.mark.requirement("authz.order")
def test_deny_rules_and_protection_come_before_modes_and_grants() -> None:
    auto = modes(tools={"shell_execute": "Auto"})
    denied = modes(tools={"shell_execute": "Deny"})
    for command in ("sudo ls", "cat ~/.netclaw/keys/x"):
        expected = Shell(command).decide().code
        assert Shell(command).decide(under=auto).code == expected
        assert Shell(command).decide(under=denied).code == expected
        assert Shell(command).decide(BROKEN_STORE).code == expected
    assert Shell("git status").decide(under=denied).code == "tool_denied_by_approval_policy"


@pytest.mark.requirement("authz.unresolved-auto", "authz.network")
def test_row_84_mode_auto_needs_no_consent() -> None:
    tools = {"shell_execute": "Auto"}
    auto = modes(tools=tools)
    decision = Shell("git push").decide(under=auto)
    assert described(decision) == "PolicyAuto"
    assert decision.has_network
    assert described(Shell('eval "$C"').decide(under=auto)) == "PolicyAuto"
    on_host = replace(auto, shell_mode=ShellMode.HOST_ALLOWED)
    assert described(Shell('eval "$C"').decide(under=on_host)) == "ask1"
    assert described(Shell("x=1").decide(under=on_host)) == "ask1"
    assert described(Shell("").decide(under=on_host)) == "ask1"
    assert described(Shell("git push").decide(under=on_host)) == "PolicyAuto"
    assert described(Shell("file_write x").decide(under=auto)) == "correct UseNativeTool"


@pytest.mark.requirement("escape.spellings")
@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("grep -r token /home", "ask grep"),
        ("grep -r token ~", "ask grep"),
        ("cd /home && rg token", "ask rg"),
        ("git diff --no-index /dev/null /", "ask git diff"),
        ("grep -rn x src", "safe"),
        ("rg x; git diff", "safe"),
        ("ls ~", "safe"),
    ],
)
def test_without_a_sandbox_no_safe_phrase_prints_a_folder_that_holds_the_home(
    command: str, expected: str
) -> None:
    on_host = policy(shell_mode=ShellMode.HOST_ALLOWED)
    assert described(Shell(command).decide(under=on_host)) == expected
    assert described(Shell(command).decide()) == "safe"


@pytest.mark.requirement("authz.table", "authz.paths")
@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cat /etc/passwd", "deny shell_path_outside_trust_zone"),
        ("cat ../x.txt", "deny shell_path_outside_trust_zone"),
        ("cat way-out/in.txt", "deny shell_path_outside_trust_zone"),
        ("ls > /outside/x", "deny shell_path_outside_trust_zone"),
        ("cd /ext && ls", "deny shell_working_directory_outside_trust_zone"),
        ("cd ..; ls", "deny shell_working_directory_outside_trust_zone"),
        ("cat README.md", "safe"),
        ("git push", "ask git push"),
    ],
)
def test_row_35_a_roots_profile_is_not_left(command: str, expected: str) -> None:
    bounded = policy(profile(mode=FileMode.ROOTS))
    assert described(Shell(command).decide(under=bounded)) == expected


@pytest.mark.requirement("authz.paths")
def test_a_profile_without_files_has_no_shell_directory() -> None:
    none = policy(profile(mode=FileMode.NONE))
    expected = "shell_working_directory_outside_trust_zone"
    assert Shell("ls").decide(under=none).code == expected


@pytest.mark.requirement("authz.paths")
def test_a_directory_argument_with_dots_is_invalid() -> None:
    shell = Shell("ls", directory_argument="src/../..")
    assert shell.decide().code == "shell_invalid_working_directory"
    assert described(Shell("ls", directory_argument="src/..x").decide()) == "safe"


@pytest.mark.requirement("authz.corrections")
def test_row_82_what_cannot_be_shown_is_to_be_shortened() -> None:
    long = "git push " + "x" * 4000
    assert described(Shell(long).decide()) == "correct ShortenShellCommand"
    safe = "git status " + "x" * 4000
    assert described(Shell(safe).decide()) == "safe"


@pytest.mark.requirement("authz.corrections")
def test_advice_on_temporary_folders_is_given_once_and_then_asked_once() -> None:
    again = Shell("cp a.txt /tmp/x", is_temporary_retry=True)
    assert described(again.decide()) == "ask1"


@pytest.mark.requirement("authz.corrections")
def test_a_correction_tells_what_is_the_case_and_asks_nobody() -> None:
    decision = Shell("rm *.tmp").decide()
    assert decision.options == ()
    assert decision.corrections == (RemediationCode.REWRITE_SHELL_COMMAND_WORDS,)
    assert decision.text.endswith("it was not run.")


@pytest.mark.requirement("authz.corrections")
def test_a_correction_is_not_sent_when_it_would_not_help() -> None:
    assert described(Shell('rm *.tmp; eval "$C"').decide()) == "ask1"


@pytest.mark.requirement("authz.store-unavailable")
@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("git status", "safe"),
        ("git push", "deny approval_store_unavailable"),
        ("echo hello", "deny approval_store_unavailable"),
        ('eval "$C"', "ask1"),
    ],
)
def test_without_a_store_only_what_needs_none_goes_on(command: str, expected: str) -> None:
    assert described(Shell(command).decide(BROKEN_STORE)) == expected


@pytest.mark.requirement("authz.store-unavailable")
def test_without_a_store_chat_grants_and_one_time_consents_still_work() -> None:
    key = Shell("git push").request().key
    once = replace(BROKEN_STORE, one_time=frozenset({key}))
    assert described(Shell("git push").decide(once)) == "OneTimeConsent"
    empty = Shell("x=1")
    once = Consents(one_time=frozenset({empty.request().key}))
    assert described(empty.decide(once)) == "OneTimeConsent"


@pytest.mark.requirement("authz.attended-is-unattended")
def test_nobody_is_asked_where_no_message_came_from_a_person() -> None:
    asked = replace(Shell("git push").request(), requester=None)
    assert decide(asked, POLICY, NO_CONSENTS).code == "approval_required_unattended"
    assert '"Always" grant' in decide(asked, POLICY, NO_CONSENTS).text


@pytest.mark.requirement("authz.network")
@pytest.mark.parametrize(
    ("command", "has_network"),
    [("git status", False), ("gh pr view 1", True), ("gh pr view 1 | head", True), ("ls", False)],
)
def test_a_safe_phrase_has_the_network_only_if_it_says_so(command: str, has_network: bool) -> None:
    assert Shell(command).decide().has_network is has_network


@pytest.mark.requirement("authz.network")
def test_consent_opens_the_network() -> None:
    shell = Shell("git push; ls")
    once = Consents(one_time=frozenset({shell.request().key}))
    assert shell.decide(once).has_network


@pytest.mark.requirement("authz.paths", "authz.modes")
@pytest.mark.parametrize(
    ("tool", "operation", "path", "audience", "expected"),
    [
        ("file_read", FileOperation.READ, "/etc/passwd", PERSONAL, "PolicyAuto"),
        ("file_read", FileOperation.READ, "/etc/passwd", TEAM, "deny outside_roots"),
        ("file_write", FileOperation.WRITE, f"{PROJECT}/a", TEAM, "PolicyAuto"),
        (
            *("file_write", FileOperation.WRITE, f"{PROJECT}/a", PUBLIC),
            "deny tool_not_allowed_for_audience_profile",
        ),
        (
            *("file_write", FileOperation.WRITE, f"{HOME}/config/netclaw.json", PERSONAL),
            "deny protected_for_operation",
        ),
        ("file_read", FileOperation.READ, f"{HOME}/config/netclaw.json", PERSONAL, "PolicyAuto"),
        (
            "file_read",
            FileOperation.READ,
            f"{PROJECT}/loop",
            PERSONAL,
            "deny protected_for_operation",
        ),
        (
            "attach_file",
            FileOperation.ATTACH,
            f"{HOME}/keys/x",
            PERSONAL,
            "deny protected_for_operation",
        ),
        ("file_read", FileOperation.READ, f"{PROJECT}/way-out/in.txt", TEAM, "deny link_boundary"),
    ],
)
def test_file_tools(
    tool: str, operation: FileOperation, path: str, audience: Audience, expected: str
) -> None:
    call = FileCall(operation=operation, fact=HOST.path(path))
    decision = decide(request(tool, call, audience), policy(profile(audience)), NO_CONSENTS)
    assert described(decision) == expected


def test_a_plain_tool_has_one_candidate() -> None:
    asked = request("session_status", PlainCall())
    assert described(decide(asked, POLICY, NO_CONSENTS)) == "PolicyAuto"
    careful = modes(default="Approval")
    decision = decide(asked, careful, NO_CONSENTS)
    assert described(decision) == "ask session_status"
    assert [option.key for option in decision.options] == [
        *("approve_once", "approve_session", "approve_everywhere", "deny")
    ]


@pytest.mark.requirement("authz.total")
def test_what_cannot_be_judged_is_denied() -> None:
    unknown_mode = modes(tools={"shell_execute": "Sometimes"})
    assert Shell("git status").decide(under=unknown_mode).code == "internal_policy_failure"
    team = policy(profile(TEAM))
    assert Shell("git status").decide(under=team).code == "internal_policy_failure"
    asked = Shell("git status").request()
    assert isinstance(asked.call, ShellCall)
    blank = replace(asked, call=replace(asked.call, facts=None))
    assert decide(blank, POLICY, NO_CONSENTS).code == "internal_policy_failure"
    lost = replace(asked, call=replace(asked.call, paths={}))
    assert decide(lost, POLICY, NO_CONSENTS).code == "internal_policy_failure"


class Exploding(Mapping[str, PathFact]):
    """A mapping that fails whenever it is looked at."""

    def __getitem__(self, key: str) -> PathFact:
        raise RecursionError(key)

    def __iter__(self) -> Iterator[str]:
        raise MemoryError

    def __len__(self) -> int:
        raise OSError


@pytest.mark.requirement("authz.total")
@given(command=st.sampled_from(["git push", "cd src && ls", "cat a.txt", "echo hi"]))
def test_a_fault_anywhere_denies(command: str) -> None:
    asked = Shell(command).request()
    assert isinstance(asked.call, ShellCall)
    broken = replace(asked, call=replace(asked.call, paths=Exploding()))
    assert decide(broken, POLICY, NO_CONSENTS).code == "internal_policy_failure"


@pytest.mark.requirement("authz.ruling")
def test_a_decision_becomes_a_redacted_ruling() -> None:
    command = "git push --token=s3cr3t; eval s3cr3t"
    decision = Shell(command).decide()
    ruling = ruling_of(decision, lambda text: text.replace("s3cr3t", "***"))
    assert ruling.outcome is Outcome.REQUIRES_CONSENT
    assert ruling.display == "git push --token=***; eval ***"
    assert ruling.candidates == ("git push", "eval ***")
    assert ruling.options == decision.options
    assert ruling.text == ""
    denied = ruling_of(Shell("sudo ls").decide(), str)
    assert (denied.outcome, denied.options) == (Outcome.DENIED, ())
    assert denied.text == "The command would take rights that nobody can give it here."
    allowed = ruling_of(Shell("git status").decide(), str)
    assert (allowed.outcome, allowed.text, allowed.display) == (Outcome.ALLOWED, "", "")


def test_the_attempt_stays_the_same() -> None:
    for command in ("git status", "git push", "sudo ls", "rm *.tmp"):
        assert Shell(command).decide().attempt_id == "auth-1"


def test_codes_are_stable_texts() -> None:
    assert Shell("git push").decide().code == "requires_consent"
    assert Shell("git status").decide().code == "ReviewedSafePolicy"
    assert Shell("rm *.tmp").decide().code == "RewriteShellCommandWords"
