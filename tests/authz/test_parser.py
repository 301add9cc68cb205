"""The parsers and the file system behind the facts, as they really are here."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from netclaw.core.authz.facts import ParsedShell, PathFact, PathKind, Surroundings
from netclaw.linux import magic_links
from netclaw.ports.shell_parser import PathFacts, ShellParser, ShellParserError
from netclaw.sandbox import shell_parser
from netclaw.sandbox.path_facts import HostPaths
from netclaw.sandbox.shell_parser import ShfmtParser, find_program
from netclaw.sandbox.shell_scan import loose_commands
from netclaw.tools.authorization import fact_gathering
from netclaw.tools.authorization.fact_gathering import gather, shell_call

PARSER: ShellParser = ShfmtParser()
PATHS: PathFacts = HostPaths()


@pytest.mark.requirement("authz.parser")
async def test_an_accepted_text_has_a_tree_and_nothing_loose() -> None:
    parsed = await PARSER.parse("git push && ls \u00e4")
    assert parsed.tree is not None
    assert parsed.loose == ()
    assert [node.kind for node in parsed.tree.many("Stmts")] == ["Stmt"]


@pytest.mark.requirement("authz.parser")
async def test_a_refused_text_has_loose_commands_only() -> None:
    parsed = await PARSER.parse('ls -l "unterminated && sudo x')
    assert parsed.tree is None
    assert any(words[:2] == ("ls", "-l") for words in parsed.loose)


@pytest.mark.requirement("authz.parser")
@pytest.mark.parametrize("text", ["$((" * 3000, "a" * 90_000, "echo " + "$(" * 2000 + ")" * 2000])
async def test_a_text_that_would_make_a_huge_or_deep_tree_is_bounded(text: str) -> None:
    parsed = await PARSER.parse(text)
    assert isinstance(parsed, ParsedShell)


@pytest.mark.requirement("authz.parser")
async def test_a_tree_beyond_the_limit_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell_parser, "MAX_TREE_BYTES", 1000)
    parsed = await PARSER.parse("git push; git fetch; git pull")
    assert parsed.tree is None


@pytest.mark.requirement("authz.parser")
async def test_a_parser_that_is_missing_is_an_error_and_a_slow_one_proves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ShellParserError, match="not installed"):
        await ShfmtParser("").parse("ls")
    with pytest.raises(ShellParserError, match="could not be started"):
        await ShfmtParser(str(tmp_path)).parse("ls")
    slow = tmp_path / "slow"
    slow.write_text("#!/bin/sh\nexec sleep 30\n")
    slow.chmod(0o755)
    monkeypatch.setattr(shell_parser, "PARSE_S", 0.2)
    assert (await ShfmtParser(str(slow)).parse("ls")).tree is None


@pytest.mark.requirement("authz.parser")
async def test_an_answer_that_is_no_tree_proves_nothing(tmp_path: Path) -> None:
    odd = tmp_path / "odd"
    odd.write_text("#!/bin/sh\necho nonsense\n")
    odd.chmod(0o755)
    assert (await ShfmtParser(str(odd)).parse("ls " + "x" * 90_000)).tree is None


@pytest.mark.requirement("authz.parser")
async def test_no_configuration_of_a_project_changes_how_a_command_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".editorconfig").write_text("root = true\n[*]\nshell_variant = posix\n")
    monkeypatch.chdir(tmp_path)
    assert (await PARSER.parse("[[ -f x ]]")).tree is not None


def test_the_program_is_found_beside_the_interpreter_or_on_the_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert os.access(find_program(), os.X_OK)
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_program() == ""


@pytest.mark.requirement("authz.denials-see-everything")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("if true; then sudo ls", ("sudo", "ls")),
        ("ls ;; sudo rm", ("sudo", "rm")),
        ("echo $(sudo ls", ("sudo", "ls")),
        ("cat <<EOF; sudo x", ("sudo", "x")),
    ],
)
def test_broken_text_is_searched_for_commands(text: str, words: Sequence[str]) -> None:
    assert tuple(words) in loose_commands(text)


def test_the_search_of_broken_text_is_bounded() -> None:
    assert len(loose_commands("(( a " * 5000)) <= 2000


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder with files, links and repositories."""
    base = tmp_path.resolve()
    (base / "real/deep").mkdir(parents=True)
    (base / "real/file").write_text("x")
    (base / "link").symlink_to("real/deep")
    (base / "loop").symlink_to("loop")
    (base / "gone").symlink_to("nowhere")
    os.mkfifo(base / "pipe")
    return base


@pytest.mark.requirement("authz.path-facts")
def test_facts_of_paths(tree: Path) -> None:
    def fact(name: str) -> PathFact:
        return PATHS.path(f"{tree}/{name}")

    assert fact("real/file").kind is PathKind.FILE
    assert fact("pipe").kind is PathKind.OTHER
    assert fact("nothing") == PathFact(
        canonical=f"{tree}/nothing",
        resolved=f"{tree}/nothing",
        kind=PathKind.MISSING,
        folder=str(tree),
        holder=str(tree),
    )
    link = fact("link")
    assert (link.is_link, link.kind, link.resolved) == (True, PathKind.FOLDER, f"{tree}/real/deep")
    detour = fact("link/../file")
    assert detour.is_ambiguous
    assert detour.canonical == f"{tree}/file"
    assert not fact("real/../real/file").is_ambiguous
    assert fact("loop").resolved is None
    assert fact("loop/x").resolved is None
    assert fact("gone").resolved == f"{tree}/nowhere"
    assert PATHS.path("/" + "x" * 300 + "/y").kind is PathKind.MISSING
    assert PATHS.path("/a\0b").resolved is None
    assert not PATHS.path("/surely-not-there/x").has_top
    assert PATHS.path("//etc").canonical == "/etc"


@pytest.mark.requirement("authz.path-facts")
@pytest.mark.parametrize(
    ("name", "folder", "holder"),
    [
        ("real", "real", ""),
        ("real/file", "real", "real"),
        ("real/new", "real", "real"),
        ("real/a/b/c", "real", "real"),
        ("real/file/below", "real", "real"),
        ("link", "real/deep", ""),
        ("link/new", "real/deep", "real/deep"),
        ("gone", "", ""),
        ("real/deep/../new", "real", "real"),
        ("pipe", "", ""),
    ],
)
def test_the_folders_around_a_path(tree: Path, name: str, folder: str, holder: str) -> None:
    fact = PATHS.path(f"{tree}/{name}")
    assert fact.folder == str(tree / folder)
    assert fact.holder == str(tree / holder)


def test_the_folder_around_the_root_is_the_root() -> None:
    fact = PATHS.path("/")
    assert (fact.folder, fact.holder) == ("/", "/")


@pytest.mark.requirement("authz.path-facts")
def test_links_in_a_folder_are_listed_or_it_is_said_that_they_cannot_be(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert PATHS.path(str(tree)).links == ("gone", "link", "loop")
    monkeypatch.setattr("netclaw.sandbox.path_facts.MAX_ENTRIES", 2)
    assert PATHS.path(str(tree)).links is None

    def refuse(_path: str) -> None:
        raise PermissionError

    monkeypatch.setattr("netclaw.sandbox.path_facts.os.scandir", refuse)
    assert PATHS.path(f"{tree}/real").links is None


def git(*arguments: str, cwd: Path) -> None:
    """Runs git without anybody's configuration."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(cwd), "GIT_CONFIG_NOSYSTEM": "1"}
    names = ("-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(
        ["git", *names, *arguments], cwd=cwd, env=environment, check=True, capture_output=True
    )


@pytest.mark.requirement("authz.path-facts")
def test_repositories_are_believed_only_where_both_sides_agree(tmp_path: Path) -> None:
    base = tmp_path.resolve()
    main, linked = base / "main", base / "linked"
    main.mkdir()
    git("init", "-q", cwd=main)
    git("commit", "-q", "--allow-empty", "-m", "x", cwd=main)
    git("worktree", "add", "-q", str(linked), "-b", "y", cwd=main)
    (linked / "sub").mkdir()
    for folder, worktree in ((main, main), (linked, linked), (linked / "sub", linked)):
        found = PATHS.repository(str(folder))
        assert found is not None
        assert (found.common, found.worktree) == (str(main / ".git"), str(worktree))
    assert PATHS.repository(str(base)) is None
    copied = base / "copied"
    copied.mkdir()
    (copied / ".git").write_text((linked / ".git").read_text())
    moved = base / "moved"
    linked.rename(moved)
    assert PATHS.repository(str(copied)) is None
    assert PATHS.repository(str(moved)) is None
    for number, text in enumerate(("nonsense", "gitdir: /etc", "gitdir: ../main/.git/worktrees/x")):
        odd = base / f"odd{number}"
        odd.mkdir()
        (odd / ".git").write_text(text)
        assert PATHS.repository(str(odd)) is None
    empty = base / "empty"
    (empty / ".git").mkdir(parents=True)
    assert PATHS.repository(str(empty)) is None
    (base / "by-link").mkdir()
    (base / "by-link/.git").symlink_to(main / ".git")
    assert PATHS.repository(str(base / "by-link")) is None


@pytest.mark.requirement("authz.parser")
async def test_gathering_ends_even_if_the_questions_do_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    surroundings = Surroundings(
        cwd=str(tmp_path),
        user_home=str(tmp_path),
        shell_home=str(tmp_path),
        netclaw_home=str(tmp_path / "n"),
    )
    facts, known = await gather("cat a.txt", surroundings, PARSER, PATHS)
    assert [candidate.phrase for candidate in facts.candidates] == [("cat",)]
    assert set(known.paths) == {str(tmp_path), f"{tmp_path}/a.txt"}
    monkeypatch.setattr(fact_gathering, "MAX_ROUNDS", 1)
    with pytest.raises(ShellParserError):
        await gather("cat a.txt", surroundings, PARSER, PATHS)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The least that is a repository."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/HEAD").write_text("ref: refs/heads/main\n")
    return tmp_path.resolve()


@pytest.mark.requirement("authz.parser", "authz.total")
async def test_a_call_is_made_ready_for_its_decision(checkout: Path) -> None:
    base = checkout
    surroundings = Surroundings(
        cwd=str(base), user_home="/home/op", shell_home="/home/op", netclaw_home="/home/op/n"
    )
    call = await shell_call("cat a.txt", surroundings, PARSER, PATHS)
    assert call.facts is not None
    repository = call.repositories[str(base)]
    assert repository is not None
    assert repository.worktree == str(base)
    assert f"{base}/a.txt" in call.paths
    refused = await shell_call("ls \0", surroundings, PARSER, PATHS)
    assert (refused.facts, refused.refusal is None) == (None, False)
    failed = await shell_call("ls", surroundings, ShfmtParser(""), PATHS)
    assert (failed.facts, failed.refusal) == (None, None)


@pytest.mark.requirement("escape.magic-links")
def test_a_path_that_leads_elsewhere_in_every_process_is_not_resolved(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/proc/self/cwd")
    moving = (
        *("/proc/self/cwd", "/proc/self/cwd/x", "/proc/self/root/etc/passwd", "/proc/1/root/etc"),
        *(f"/proc/{os.getpid()}/cwd/../x", "/proc/thread-self/root", "/proc/self/exe"),
        *(str(tmp_path / "link"), str(tmp_path / "link/../config"), "/proc/self/fd/1/../x"),
        *("/proc/self/task/../cwd/x", "/dev/fd/../cwd"),
    )
    for path in moving:
        assert PATHS.path(path).resolved is None, path
    for path in ("/proc/self/status", "/proc/cpuinfo", "/dev/null", "/etc/passwd", str(tmp_path)):
        assert PATHS.path(path).resolved is not None, path
    for path in ("/dev/stdin", "/dev/stdout", "/dev/fd/2", "/proc/self/fd/0"):
        assert PATHS.path(path).resolved == path


@pytest.mark.requirement("escape.magic-links")
def test_a_kernel_that_cannot_be_asked_leaves_it_to_the_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(magic_links, "_OPENAT2", 100_000)
    assert PATHS.path("/proc/self/root/etc").resolved is None
    assert PATHS.path("/etc/passwd").resolved is not None
