"""Names of programs that the analysis treats in a way of their own (reference 3).

Data only. Changing a table changes what a grant covers, so every entry has a reason.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ONE_TOKEN = _words(
    """
    echo printf : true false cd ls dir cat less more head tail grep rg find jq awk sed strings
    xxd hexdump cp mv tar zip unzip scp rsync curl wget nc ncat python python3 node ruby perl
    php bash sh zsh date whoami id groups hostname uname uptime free nproc which mkdir rmdir
    touch tee sort uniq wc cut tr tree du df stat file kill pkill killall
    """
)
"""Programs whose further words are all arguments, so that the program alone is the phrase.

Never a program that runs other programs named by its words (`env`, `xargs`, `timeout`, ...).
"""

SHELLS = frozenset(
    f"{folder}{name}"
    for folder in ("", "/bin/", "/usr/bin/")
    for name in ("bash", "sh", "dash", "ash", "ksh", "mksh", "zsh")
)
"""Shells of the same language: `-c TEXT` is judged as TEXT."""

JUDGED_SHELLS = frozenset(
    f"{folder}{name}"
    for folder in ("", "/bin/", "/usr/bin/")
    for name in ("bash", "sh", "dash", "ash")
)
"""Shells whose `-c` text is judged; others differ too much (`path` of zsh is `PATH`)."""

SPECIAL_BUILTINS = _words(": break continue exit export readonly return set shift times unset")
"""Assignments before these stay in force in a plain `sh`."""

BASHES = frozenset({"bash", "/bin/bash", "/usr/bin/bash"})

INTERPRETERS = SHELLS | _words(
    """
    python python3 perl ruby node php lua tclsh Rscript psql mysql sqlite3 bc dc ed ex
    """
)
"""Programs that run what they read; a document fed to one is a program text."""

UNRESOLVED_BUILTINS = _words(
    """
    eval source . exec alias unalias hash shopt enable declare typeset local readonly nameref
    trap builtin fc bind jobs complete compgen compopt let pushd popd dirs getopts caller history
    """
)
"""Builtins that run text, or change what later words mean."""

EXPORT = "export"

READERS_OF_NAMES: Mapping[str, re.Pattern[str]] = {
    "read": re.compile(r"-[rs]+"),
    "mapfile": re.compile(r"-t"),
    "readarray": re.compile(r"-t"),
    "unset": re.compile(r"-v"),
}
"""Builtins that assign to the names they are given, with the options that do no more."""

SET_OPTIONS = re.compile(r"[-+][eufxv]+|[-+][eufxv]*o|pipefail|errexit|nounset|noglob|--")
"""Words of `set` that only make a command stop earlier, or print more."""

READ_ONLY_PROGRAMS = frozenset({"cat", "head", "tail", "wc", "grep", "jq", "diff"})
"""Programs that only read their operands: they may read ordinary configuration (decision 50)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrapper:
    """A program that runs the program named by its words."""

    valued: frozenset[str] = frozenset()
    """Options whose value is the next word."""
    operands: int = 0
    """Words before the wrapped program."""
    takes_assignments: bool = False
    after: frozenset[str] = frozenset()
    """The wrapped program follows one of these words, wherever it stands."""


def _wrapper(
    valued: str = "", *, operands: int = 0, takes_assignments: bool = False, after: str = ""
) -> Wrapper:
    return Wrapper(
        valued=frozenset(valued.split()),
        operands=operands,
        takes_assignments=takes_assignments,
        after=frozenset(after.split()),
    )


WRAPPERS: Mapping[str, Wrapper] = {
    "env": _wrapper("-u --unset -C --chdir", takes_assignments=True),
    "nohup": _wrapper(),
    "timeout": _wrapper("-k --kill-after -s --signal", operands=1),
    "nice": _wrapper("-n --adjustment"),
    "ionice": _wrapper("-c -n -p --class --classdata"),
    "stdbuf": _wrapper("-i -o -e --input --output --error"),
    "setsid": _wrapper(),
    "chrt": _wrapper(operands=1),
    "taskset": _wrapper(operands=1),
    "command": _wrapper(),
    "builtin": _wrapper(),
    "exec": _wrapper("-a"),
    "eval": _wrapper(),
    "time": _wrapper("-f -o"),
    "coproc": _wrapper(),
    "!": _wrapper(),
    "xargs": _wrapper("-a -d -E -I -L -n -P -s --max-args --max-procs --delimiter --replace"),
    "parallel": _wrapper("-j --jobs"),
    "watch": _wrapper("-n --interval"),
    "strace": _wrapper("-o -e -s -p"),
    "unshare": _wrapper(),
    "nsenter": _wrapper("-t"),
    "chroot": _wrapper(operands=1),
    "flock": _wrapper("-w", operands=1),
    "script": _wrapper(after="-c --command"),
    "busybox": _wrapper(),
    "find": _wrapper(after="-exec -execdir -ok -okdir"),
    "fd": _wrapper(after="-x -X --exec --exec-batch"),
}
"""What a denial looks through; `env`, `nohup` and `timeout` also for nested shells."""

SHELL_WRAPPERS = frozenset({"env", "nohup", "timeout"})

VALUED_GLOBALS: Mapping[str, frozenset[str]] = {
    "git": frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"}),
    "gh": frozenset({"-R", "--repo"}),
    "kubectl": frozenset({"-n", "--namespace", "--context", "--kubeconfig", "--cluster"}),
    "docker": frozenset({"-H", "--host", "--context", "-l", "--log-level", "--config"}),
    "npm": frozenset({"--prefix", "-w", "--workspace"}),
    "make": frozenset({"-C", "-f", "-j"}),
    "systemctl": frozenset({"-t", "--type", "-H", "--host", "-M", "--machine"}),
    "netclaw": frozenset({"--home"}),
}
"""Options before the verb slot whose value is the next word."""
