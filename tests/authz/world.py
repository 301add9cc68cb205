"""Judges a command in a described world, the way the launch will: gather facts, then decide."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache

from netclaw.core.authority import Audience, Principal, Requester, SourceKind
from netclaw.core.authz.decide import decide
from netclaw.core.authz.decisions import Decision
from netclaw.core.authz.facts import Knowledge, ShellFacts, Surroundings
from netclaw.core.authz.grants import (
    ChatGrant,
    Grant,
    GrantForm,
    GrantStore,
)
from netclaw.core.authz.path_access import FileMode, Root
from netclaw.core.authz.profiles import (
    AudienceProfile,
    ConsentModes,
    FileRule,
    SessionRoots,
    default_profile,
)
from netclaw.core.authz.protected import ProtectedPaths
from netclaw.core.authz.requests import (
    AuthorizationRequest,
    Consents,
    Policy,
    ShellCall,
)
from netclaw.core.authz.text_gate import refusal_of
from netclaw.core.ids import SessionId
from netclaw.core.settings import ShellMode
from netclaw.sandbox.shell_parser import ShfmtParser
from netclaw.tools.authorization.fact_gathering import gather, look_up
from tests.authz.host import HOME, KEY_FOLDER, PROJECT, SESSION, TMP, USER_HOME, MemoryHost

AT = "2026-11-30T12:00:00+00:00"
HOST = MemoryHost()
PARSER = ShfmtParser()
SURROUNDINGS = Surroundings(
    cwd=PROJECT,
    user_home=USER_HOME,
    shell_home=USER_HOME,
    netclaw_home=HOME,
    variables={"TMPDIR": TMP},
)
REQUESTER = Requester(
    session_id=SessionId("cli/abc"),
    audience=Audience.PERSONAL,
    boundary="local",
    channel_type=SourceKind.CLI,
    sender_id="local",
    principal=Principal.OPERATOR,
)
PROTECTED = ProtectedPaths(homes=(HOME,), user_home=USER_HOME)


def root(path: str, **options: bool) -> Root:
    """A root without links."""
    return Root(canonical=path, resolved=path, **options)


ROOTS = SessionRoots(
    own=(root(SESSION), root(KEY_FOLDER)),
    project=root(PROJECT),
    global_read=(root(f"{HOME}/identity"),),
    shared=(root(f"{HOME}/sessions"), root(f"{HOME}/logs")),
)


def profile(
    audience: Audience = Audience.PERSONAL,
    *,
    mode: FileMode | None = None,
    modes: ConsentModes | None = None,
) -> AudienceProfile:
    """The default profile, with one file mode or the consent modes changed."""
    made = default_profile(audience)
    if mode is not None:
        rule = FileRule(mode=mode)
        made = replace(made, read=rule, write=rule, attach=rule)
    return replace(made, consent=modes) if modes is not None else made


def policy(
    audience_profile: AudienceProfile | None = None,
    *,
    shell_mode: ShellMode = ShellMode.SANDBOX_ONLY,
    has_sandbox: bool = True,
) -> Policy:
    """The policy of a Personal session with a project directory."""
    return Policy(
        profile=audience_profile or profile(),
        roots=ROOTS,
        protected=PROTECTED,
        shell_mode=shell_mode,
        has_sandbox=has_sandbox,
        native_tools=frozenset({"file_write", "file_read", "set_working_directory"}),
    )


POLICY = policy()


@cache
def facts_of(command: str, cwd: str = PROJECT) -> tuple[ShellFacts, Knowledge]:
    """The facts of a command; the same command is parsed once in a run."""
    return asyncio.run(gather(command, replace(SURROUNDINGS, cwd=cwd), PARSER, HOST))


@dataclass(frozen=True)
class Shell:
    """One shell call and who makes it."""

    command: str
    cwd: str = PROJECT
    audience: Audience = Audience.PERSONAL
    is_attended: bool = True
    is_temporary_retry: bool = False
    directory_argument: str = ""

    def request(self, grants: Iterable[Grant] = ()) -> AuthorizationRequest:
        """The request, with all it needs looked up."""
        refusal = refusal_of(self.command)
        call = ShellCall(
            command=self.command,
            surroundings=replace(SURROUNDINGS, cwd=self.cwd),
            refusal=refusal,
            directory_argument=self.directory_argument,
            is_temporary_retry=self.is_temporary_retry,
        )
        if refusal is None:
            facts, known = facts_of(self.command, self.cwd)
            places = look_up(facts, known, grants, HOST)
            call = replace(call, facts=facts, paths=places.paths, repositories=places.repositories)
        return AuthorizationRequest(
            attempt_id="auth-1",
            tool="shell_execute",
            arguments="{}",
            audience=self.audience,
            call=call,
            requester=REQUESTER,
            is_attended=self.is_attended,
        )

    def decide(self, consents: Consents | None = None, under: Policy = POLICY) -> Decision:
        """The decision."""
        given = consents or Consents()
        return decide(self.request(given.store.grants), under, given)


def grants_for(letter: str, decision: Decision, folder: str = PROJECT) -> Consents:
    """Consents of one scope for all that is asked: C chat, F folder, R repository, A anywhere."""
    candidates = [candidate for candidate in decision.uncovered if candidate.phrase]
    if letter == "C":
        return Consents(
            chat=frozenset(
                ChatGrant(
                    audience=Audience.PERSONAL,
                    tool="shell_execute",
                    words=candidate.phrase,
                    digest=candidate.digest,
                )
                for candidate in candidates
            )
        )
    grants = (
        Grant(
            audience=Audience.PERSONAL,
            tool="shell_execute",
            form=GrantForm.TOKENS,
            words=candidate.phrase,
            created_at=AT,
            directory=folder if letter == "F" else None,
            repository=f"{PROJECT}/.git" if letter == "R" else None,
            digest=candidate.digest,
        )
        for candidate in candidates
    )
    return Consents(store=GrantStore(grants=tuple(grants)))
