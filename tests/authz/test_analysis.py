"""The analysis itself: its questions, its bounds, and what it does with trees nobody writes."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netclaw.core.authz.analysis import analyse
from netclaw.core.authz.facts import (
    Knowledge,
    Needs,
    ParsedShell,
    PathFact,
    ShellFacts,
    Unresolved,
)
from netclaw.core.authz.flow import State, is_sensitive, join
from netclaw.core.authz.profiles import ConsentModes
from netclaw.core.authz.shell_builtins import is_test_harmless
from netclaw.core.authz.shell_nodes import Node
from netclaw.core.authz.shell_paths import normal
from netclaw.core.authz.text_gate import refusal_of
from netclaw.core.authz.words import WordReader
from netclaw.core.session.rulings import Outcome
from netclaw.core.tool_call import FileOperation
from netclaw.tools.authorization.fact_gathering import gather
from tests.authz.host import HOME, PROJECT
from tests.authz.table import described
from tests.authz.world import HOST, PARSER, SURROUNDINGS, Shell, facts_of, policy, profile


def analysed(tree: Node) -> ShellFacts:
    """The facts of a tree that no parser gives."""
    known = Knowledge(sources={"x": ParsedShell(tree=tree)})
    return analyse("x", SURROUNDINGS, known)[0]


def word(text: str) -> Node:
    """A literal word."""
    lit = Node(kind="Lit", start=0, end=1, texts={"Value": text})
    return Node(kind="Word", start=0, end=1, children={"Parts": (lit,)})


def statement(command: Node) -> Node:
    """A statement of one command."""
    return Node(kind="Stmt", start=0, end=1, children={"Cmd": (command,)})


def file_of(command: Node) -> Node:
    """A file of one statement."""
    return Node(kind="File", start=0, end=1, children={"Stmts": (statement(command),)})


CALL = Node(kind="CallExpr", start=0, end=1, children={"Args": (word("ls"),)})


def test_questions_are_asked_by_name_until_none_are_left() -> None:
    _, needs = analyse("cd src && bash -c 'cat a.txt'", SURROUNDINGS, Knowledge())
    assert needs == Needs(sources=frozenset({"cd src && bash -c 'cat a.txt'"}))
    facts, known = facts_of("cd src && bash -c 'cat a.txt'")
    assert "cat a.txt" in known.sources
    assert f"{PROJECT}/src/a.txt" in known.paths
    assert facts.directories == (PROJECT, f"{PROJECT}/src")
    assert analyse("cd src && bash -c 'cat a.txt'", SURROUNDINGS, known) == (facts, Needs())


@pytest.mark.requirement("authz.listed-nodes")
@pytest.mark.parametrize(
    "command",
    [
        Node(kind="Novelty", start=0, end=1, children={"Stmts": (statement(CALL),)}),
        replace(CALL, flags=frozenset({"Novelty"})),
        Node(
            kind="IfClause",
            start=0,
            end=1,
            children={
                "Cond": (statement(CALL),),
                "Then": (statement(CALL),),
                "Else": (Node(kind="IfClause", start=0, end=1, flags=frozenset({"Novelty"})),),
            },
        ),
    ],
)
def test_what_is_not_listed_makes_a_command_unresolved(command: Node) -> None:
    reasons = {candidate.unresolved for candidate in analysed(file_of(command)).candidates}
    assert Unresolved.SYNTAX in reasons


@pytest.mark.requirement("authz.listed-nodes")
def test_a_file_that_is_not_listed_is_not_proved() -> None:
    facts = analysed(replace(file_of(CALL), flags=frozenset({"Novelty"})))
    assert not facts.is_parsed
    assert [candidate.unresolved for candidate in facts.candidates] == [Unresolved.SYNTAX]


@pytest.mark.requirement("authz.bash-traps")
def test_a_comparison_is_harmless_only_in_its_listed_forms() -> None:
    reader = WordReader(State(directories=("/",)), b"1", "/home/op")
    one = word("1")
    negated = Node(kind="UnaryTest", start=0, end=1, texts={"Op": "!"}, children={"X": (one,)})
    number = Node(
        kind="BinaryTest", start=0, end=1, texts={"Op": "-eq"}, children={"X": (one,), "Y": (one,)}
    )
    assert is_test_harmless(number, reader)
    assert not is_test_harmless(replace(number, children={"X": (negated,), "Y": (one,)}), reader)
    assert not is_test_harmless(replace(number, flags=frozenset({"Novelty"})), reader)
    assert not is_test_harmless(replace(number, texts={"Op": "=~"}), reader)
    assert not is_test_harmless(Node(kind="TestClause", start=0, end=1), reader)


@pytest.mark.requirement("authz.protected")
@pytest.mark.parametrize(
    "command",
    [
        "ls; " * 401,
        "ls " + " ".join(f"w{number}" for number in range(700)),
        f'for a in {" ".join(f"v{number}" for number in range(17))}; do cat "$a$a"; done',
        f'for a in {" ".join(f"v{number}" for number in range(300))}; do echo "$a"; done',
    ],
)
def test_more_than_can_be_judged_is_denied(command: str) -> None:
    assert described(Shell(command).decide()) == "deny shell_references_protected_path"


@pytest.mark.requirement("authz.protected")
def test_a_command_does_not_run_in_a_protected_folder() -> None:
    decision = Shell("ls", cwd=f"{HOME}/keys").decide()
    assert decision.code == "shell_references_protected_path"


@pytest.mark.requirement("authz.total")
def test_a_megabyte_is_refused_at_once() -> None:
    began = time.process_time()
    assert Shell("echo " + "x" * 1_048_576).decide().outcome is Outcome.REQUIRES_CORRECTION
    assert time.process_time() - began < 0.5


@pytest.mark.requirement("authz.total")
def test_a_large_command_is_judged_in_bounded_time() -> None:
    text = "cat > out.txt <<'EOF'\n" + "a line of text $x `y`\n" * 4000 + "EOF"
    began = time.process_time()
    assert described(Shell(text).decide()) == "correct ShortenShellCommand"
    deep = "echo " + "$(echo " * 300 + "x" + ")" * 300
    assert described(Shell(deep).decide()) in ("ask1", "deny shell_references_protected_path")
    assert time.process_time() - began < 5


HOSTILE = {
    "unproved": "'\"'" * 20_000,
    "unproved in a shell": f"bash -c '{'(' * 9000}'",
    "stars": "ls ./" + "*a" * 40_000,
    "patterns": "ls src/" + "*a" * 600 + "/x ~/.netclaw/" + "*a" * 600,
    "detours": "python3 -c '" + "a/" * 16_000 + "../" * 16_000 + "\n'",
    "colons": "ls " + ":/a" * 30_000,
    "braces": "echo " + "{a,b}" * 18_000,
    "escapes": "ls $'" + "\\x41" * 20_000 + "'",
    "words": "ls " + " ".join(f"w{number}" for number in range(4000)),
    "wrappers": "env " * 3000 + "ls",
    "finds": "find " + "-exec " * 3000,
    "shells": "timeout " + "bash " * 3000,
    "substitutions": "echo " + "$(" * 20_000,
    "pipes": "|".join(["ls"] * 300),
}


@pytest.mark.timeout(60)
@pytest.mark.requirement("authz.total")
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_costs_little(name: str) -> None:
    facts_of("ls")
    began = time.process_time()
    decision = Shell(HOSTILE[name]).decide()
    assert time.process_time() - began < 1.5
    assert decision.code != "internal_policy_failure"


@pytest.mark.requirement("authz.denials-see-everything")
def test_no_number_of_wrappers_hides_a_denial() -> None:
    for text in ("env " * 200 + "sudo ls", "nice find . -exec env timeout 5 sudo ls \\;"):
        assert Shell(text).decide().code == "hard_deny_privilege_escalation"


@pytest.mark.requirement("authz.corrections", "authz.text-first")
def test_a_long_text_that_is_not_proved_never_runs_not_even_under_auto() -> None:
    text = "ls '" + "x " * 5000
    auto = policy(profile(modes=ConsentModes(tools={"shell_execute": "Auto"})))
    assert described(Shell(text).decide(under=auto)) == "correct ShortenShellCommand"


def test_states_join_to_what_both_know() -> None:
    first = State(directories=("/a",), values={"x": ("1",), "y": ("1",)}, exports=(("x", "1"),))
    second = State(directories=("/b",), values={"x": ("2",), "z": ("1",)})
    both = join(first, second)
    assert both.directories == ("/a", "/b")
    assert both.value("x") == ("1", "2")
    assert both.value("y") is None
    assert both.exports == (("x", "1"),)
    assert join(first, first) is first
    assert join(first, first.at(None)).directories is None
    many = tuple(f"/{number}" for number in range(9))
    assert first.at(many).directories is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [("PATH", True), ("LD_PRELOAD", True), ("BASH_ENV", True), ("LDFLAGS", False), ("CI", False)],
)
def test_names_that_change_what_runs(name: str, expected: bool) -> None:
    assert is_sensitive(name) is expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/a//b/./c/../d/", "/a/b/d"), ("/..", "/"), ("/", "/")],
)
def test_normal_paths(path: str, expected: str) -> None:
    assert normal(path) == expected


@pytest.mark.requirement("authz.paths")
@pytest.mark.parametrize(
    ("command", "paths"),
    [
        ("cat a.txt", {"a.txt": "Read"}),
        ("cat -n a.txt nothing", {"a.txt": "Read"}),
        ("X=1 cat a.txt", {"a.txt": "Write"}),
        ("cp a.txt src/new", {"a.txt": "Write", "src/new": "Write"}),
        ("curl --data=@r.json -o./out https://h/a", {"r.json": "Write", "out": "Write"}),
        ("gcc -I/etc a.txt", {"/etc": "Write", "a.txt": "Write"}),
        ("docker run -v /etc:/data x", {"/etc": "Write"}),
        (
            "dd if=a.txt of=/outside/x",
            {"a.txt": "Write", "/outside/x": "Write", "of=/outside/x": "Write"},
        ),
        ("gh api /repos/o/r", {}),
        ("ls > /dev/null", {}),
        ("cat < a.txt > src/o", {"a.txt": "Read", "src/o": "Write"}),
        ("ls src/*.py", {"src": "Write"}),
        ("f=a.txt; cat $f", {"a.txt": "Read"}),
        ("python3 -c 'open(\"src/main.py\")\nx'", {}),
        ("python3 -c 'src/main.py\nx'", {"src": "Write"}),
        ("./run.sh .", {"run.sh": "Write", "": "Write"}),
        ("[ -f a.txt ]", {"a.txt": "Write"}),
        ("echo src/main.py", {}),
        (f"cat {'x/' * 2500}", {}),
    ],
)
def test_the_paths_of_a_command(command: str, paths: dict[str, str]) -> None:
    facts, _ = facts_of(command)
    found = {
        use.fact.canonical: use.operation.value
        for candidate in facts.candidates
        for use in candidate.paths
    }
    wanted = {
        (name if name.startswith("/") else f"{PROJECT}/{name}".rstrip("/")): operation
        for name, operation in paths.items()
    }
    assert found == wanted


@pytest.mark.requirement("authz.paths")
def test_an_unreadable_fact_of_a_path_denies() -> None:
    path = PathFact(canonical="/x", resolved=None)
    protected = policy().protected
    assert protected.is_protected(path, FileOperation.READ)


TOKENS = st.sampled_from(
    [
        *(
            "git push",
            "ls",
            "cat a.txt",
            "echo hi",
            "rm -rf src",
            "cd src",
            "cd ..",
            "x=a",
            "x=$(ls)",
        ),
        *(
            ";",
            "&&",
            "||",
            "|",
            "&",
            "\n",
            "(",
            ")",
            "{",
            "}",
            "!",
            "if",
            "then",
            "fi",
            "do",
            "done",
        ),
        *(
            "for f in a b",
            "while",
            "$(",
            "`",
            '"',
            "'",
            "$x",
            '"$x"',
            "${x:-y}",
            "*.txt",
            "<<E",
            "E",
        ),
        *("> out", "< a.txt", "2>&1", "[[ -f a ]]", "[ a = b ]", "case x in", "esac", "bash -c"),
        *(
            "~/.netclaw/keys",
            "sudo",
            "$'\\x41'",
            "\\",
            "{a,b}",
            "((",
            "))",
            "# c",
            "eval",
            "export",
        ),
    ]
)


@pytest.mark.timeout(60)
@pytest.mark.requirement("authz.total", "authz.unresolved-once")
@settings(max_examples=60)
@given(parts=st.lists(TOKENS, max_size=8))
def test_any_soup_of_tokens_is_judged_alike_twice_and_never_allowed_unproved(
    parts: list[str],
) -> None:
    text = " ".join(parts)
    first = Shell(text).decide()
    assert first == Shell(text).decide()
    assert first.code != "internal_policy_failure"
    if first.outcome is Outcome.ALLOWED:
        facts, _ = facts_of(text)
        assert all(candidate.unresolved is None for candidate in facts.candidates)
    auto = policy(profile())
    assert Shell(text, is_attended=False).decide(under=auto).outcome is not Outcome.REQUIRES_CONSENT


@pytest.mark.timeout(60)
@pytest.mark.requirement("authz.total")
@settings(max_examples=30)
@given(text=st.text(max_size=40))
def test_any_text_at_all_is_judged(text: str) -> None:
    decision = Shell(text).decide()
    assert decision.code != "internal_policy_failure"
    if refusal_of(text) is None:
        facts, _ = facts_of(text)
        again, _ = asyncio.run(gather(text, SURROUNDINGS, PARSER, HOST))
        assert facts == again
