"""Makes shell commands at random and runs them where every program only records its arguments."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hypothesis import strategies as st

from netclaw.core.authz.facts import ShellFacts, Surroundings
from netclaw.ports.shell_runner import ShellLimits
from netclaw.sandbox.path_facts import HostPaths
from netclaw.sandbox.shell_parser import ShfmtParser
from netclaw.tools.authorization.fact_gathering import gather
from tests.sandbox.rig import Rig

PROGRAMS = ("git", "ls", "cat", "npm", "rm", "cp", "tool", "python3", "env", "timeout", "xargs")
SHELLS = {"bash": "/bin/bash", "sh": "/bin/sh"}
EVIL = "evil"
"""Only ever data in a generated command: whoever runs it unasked evaluated data."""

DATA = f"a[$({EVIL})]"
"""What every program prints and what the environment holds: harmful to whoever evaluates it."""

_NAMES = st.sampled_from(PROGRAMS)
_PLAIN = st.sampled_from(("status", "push", "a.txt", "b", "src", "-x", "--opt=v", "7", ".", "$?"))
_ODD = st.sampled_from(
    (
        *('"a b"', "'$x'", "$'\\x61'", '"$x"', "$x", "${y}", '"${x:-b}"', "~", "*.txt", "./*.txt"),
        *("{a,b}", "a\\ b", "''", "r''m", '"$(git log)"', "$(ls)", "`cat b`", "$((1+2))", "$((n))"),
        *("${x@P}", "${!x}", "$X", '"$X"', "$[n]", "a[1]", "[", "]", "%s", "%n", "-v", "x", "n"),
        *("'$(evil)'", '"\\$(evil)"', "\"${x:-'$(evil)'}\"", '"${x:-\'}"', "'}\"'", "\\$(evil)"),
        *("$'\\x24(evil)'", "`echo '\\$(evil)'`", '"`echo \\"\\$(evil)\\"`"', "$((ls) )", "((1))"),
        *("${x//$(ls)/b}", "${x#'$(evil)'}", "<<'E'\n$(evil)\nE\n", "<<E\n\\$(evil)\nE\n", "$[1]"),
        *('"$1"', "$@", "$*", "$#", "\\", "#c", "!", "$", '"', "'", "(", "&", "<(ls)", "${X}x"),
    )
)
_WORD = st.one_of(_PLAIN, _PLAIN, _ODD)
_BUILTIN = st.sampled_from(
    (
        *("echo", "printf", "test", "[", ":", "true", "cd", "read", "export", "unset", "set"),
        *("eval", "exec", ".", "let", "declare", "trap", "command", "builtin", "type", "break"),
    )
)
_ASSIGNMENT = st.sampled_from(
    (
        *("x=a", "x=push", "x='a b'", "n=3", "x=$X", "x=$(ls)", "n=$X", "x='*.txt'", 'y="$x"'),
        *("PATH=.", "IFS=a", "x+=b", "a[0]=1", "a=(1 2)", f"n='{DATA}'", "x=~", "git=ls"),
    )
)
_REDIRECT = st.sampled_from(
    ("", "", "", ">o", "2>&1", "<b", ">$x", ">>o", "<<<x", "<<<$(ls)", "2>/dev/null", ">(cat)")
)


@st.composite
def _simple(draw: st.DrawFn) -> str:
    prefix = draw(st.lists(_ASSIGNMENT, max_size=1))
    program = draw(st.one_of(_NAMES, _NAMES, _NAMES, _BUILTIN, _ODD))
    words = draw(st.lists(_WORD, max_size=4))
    if program == "[":
        words = [*words, "]"]
    return " ".join([*prefix, program, *words, draw(_REDIRECT)])


def _joined(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    one, pair = parts, st.tuples(parts, parts)
    shapes = (
        *("{0} && {1}", "{0} || {1}", "{0}; {1}", "{0} | {1}", "{0} & {1}", "{0}\n{1}"),
        *("if {0}; then {1}; fi", "while {0}; do {1}; break; done", "({0}; {1})"),
        *("for x in a b; do {0}; done; {1}", "for x in *.txt; do {0}; done; {1}"),
        *("case $x in a) {0};; *) {1};; esac", "{{ {0}; {1}; }}", "f() {{ {0}; }}; {1}; f"),
        *("x=$({0}); {1}", 'echo "$({0})"; {1}', "cat <<E\n$({0})\nE\n{1}", "! {0}; {1}"),
        *("cat <<'E'\n{0}\nE\n{1}", "[[ -n x && $x == a ]] && {0}; {1}", "time {0}; {1}"),
    )
    nested = ("bash -c '{0}'", "sh -c '{0}'", "timeout 5 bash -c '{0}'", "env sh -c '{0}'")
    return st.one_of(
        one,
        st.builds(lambda shape, two: shape.format(*two), st.sampled_from(shapes), pair),
        st.builds(
            lambda shape, text: shape.format(text.replace("'", "'\\''")),
            st.sampled_from(nested),
            one,
        ),
    )


_BASES = (
    *(
        'echo "$(ls)"',
        "cat <<E\n$(ls)\nE\n",
        'for i in a b; do ls "$i"; done',
        "bash -c 'ls; git x'",
    ),
    *(
        "case a in a) ls;; esac",
        'x=a; ls "$x"',
        "[[ -f b ]] && ls",
        "echo `ls`",
        "(cd src && ls) > o",
    ),
    *("ls | cat && git x", "if ls; then git y; fi", 'echo ${x:-a} "${x:-b}"', "echo $((1+2))"),
    *("ls 'a b' \"c d\" $'e\\x41'", "x=1 y=$x; git $y", "sh -c 'export X=a; ls'", "printf %s a"),
)
_PIECES = (
    *(
        "'",
        '"',
        "`",
        "$(",
        ")",
        "${x:-",
        "${x#",
        "}",
        "\\",
        "\n",
        "#",
        "<<E\n",
        "\nE\n",
        "<<'E'\n",
        " ",
    ),
    *(
        ";",
        "ls ",
        "echo ",
        EVIL,
        "&",
        "|",
        "&&",
        "||",
        "$((",
        "))",
        "[[ ",
        " ]]",
        "{ ",
        "; }",
        "a) ",
    ),
    *(
        ";;",
        " esac",
        "if ",
        "; then ",
        "; fi",
        "$'",
        "x=",
        "x",
        "$x",
        '"$x"',
        "*",
        "?",
        "[",
        "]",
        "~",
    ),
    *(
        "!",
        ">o ",
        "<b ",
        "2>&1",
        "<<<",
        "bash -c ",
        "; done",
        "(",
        "\\\n",
        '$"',
        "%",
        "{a,b}",
        "$?",
    ),
)


@st.composite
def _mutated(draw: st.DrawFn) -> str:
    """An ordinary command with a few characters too many or too few: where parsers disagree."""
    text = draw(st.sampled_from(_BASES))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(text)))
        cut = draw(st.sampled_from((0, 0, 0, 1, 2)))
        piece = draw(st.sampled_from(_PIECES)) if not cut else ""
        text = text[:at] + piece + text[at + cut :]
    return text


SHAPES = {
    "mutated": _mutated().filter(str.strip),
    "simple": _joined(_simple()),
    "nested": _joined(_joined(_simple())),
    "soup": st.lists(st.one_of(_NAMES, _WORD, _ASSIGNMENT, st.sampled_from((";", "|", "&&", "\n"))))
    .map(" ".join)
    .filter(str.strip),
}
"""The kinds of generated commands; each is a test of its own, so that they run side by side."""


@dataclass(frozen=True)
class Field:
    """The folder in which commands run, and the programs that they find."""

    rig: Rig

    @property
    def cwd(self) -> Path:
        """The working directory, made anew for every command."""
        return self.rig.workspace / "w"

    @property
    def logs(self) -> Path:
        """One file for each command: what it executed; fields end with US, records with RS."""
        return self.rig.workspace / "logs"

    def prepare(self) -> None:
        """Writes the programs."""
        programs = self.rig.workspace / "programs"
        programs.mkdir()
        # In one write: programs of a pipe record at the same time.
        record = 'r=$(printf \'%s\\037\' "${0##*/}" "$@"); printf \'%s\\036\' "$r" >>$FUZZ_LOG'
        for name, output in ((EVIL, "0"), *((name, DATA) for name in PROGRAMS)):
            self._write(programs / name, f"#!/bin/sh\n{record}\nprintf '%s\\n' '{output}'\n")
        for name, real in SHELLS.items():
            self._write(programs / name, f'#!/bin/sh\n{record}\nexec {real} "$@"\n')
        self.fill()

    def _write(self, path: Path, text: str) -> None:
        path.write_text(text)
        path.chmod(0o755)

    def fill(self) -> None:
        """Makes the working directory as the facts see it."""
        (self.cwd / "src").mkdir(parents=True, exist_ok=True)
        for name in ("a.txt", "c.txt", "b"):
            (self.cwd / name).write_text("data\n")

    async def facts(self, command: str) -> ShellFacts:
        """What the analysis says of a command here."""
        surroundings = Surroundings(
            cwd=str(self.cwd),
            user_home="/home/nobody-here",
            shell_home=str(self.rig.tmp),
            netclaw_home=str(self.rig.home),
        )
        facts, _ = await gather(command, surroundings, ShfmtParser(), HostPaths())
        return facts

    async def executed(self, commands: Sequence[str]) -> list[list[list[str]]]:
        """For each command, the arguments of every program that it executed."""
        script = f"""
number=0
for text in "$@"; do
  /bin/rm -rf {self.cwd}; /bin/mkdir -p {self.cwd}/src; cd {self.cwd}
  for name in a.txt c.txt b; do echo data >$name; done
  number=$((number + 1))
  : >{self.logs}/$number
  /usr/bin/env -i PATH={self.rig.workspace}/programs HOME={self.rig.tmp} X='{DATA}' LANG=C.UTF-8 \
    FUZZ_LOG={self.logs}/$number \
    /usr/bin/timeout -s KILL 3 /bin/bash --norc --noprofile -c "$text" </dev/null >/dev/null 2>&1
done
exit 0
"""
        shutil.rmtree(self.logs, ignore_errors=True)
        self.logs.mkdir()
        ran = await self.rig.bash(script, *commands, bounds=ShellLimits(total_s=150))
        assert ran.outcome.exit_code == 0, ran
        logs = [self.logs / str(number) for number in range(1, len(commands) + 1)]
        return [
            [record.split("\037")[:-1] for record in log.read_text(errors="replace").split("\036")][
                :-1
            ]
            for log in logs
        ]
