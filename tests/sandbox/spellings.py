"""How a command may come to read a protected file: one shell text for each way, as templates.

`{p}` is the file, `{d}` its folder, `{b}` its name, `{h}` the netclaw home, `{n}` the file's path
below the home, `{u}` the home's path from the working directory, `{s}` a folder of its own to
work in. What a text prints must never be the file's content.
"""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass
from pathlib import PurePosixPath

NAMED = {
    "absolute": "cat {p}",
    "relative": "cat {u}/{n}",
    "double-slash": "cat /{p} {d}//{b}",
    "dot": "cat {h}/./{n} {d}/./{b}",
    "detour": "cat {h}/x/../{n} {d}/../{last}/{b}",
    "case": "cat {upper}; cat {h}/{upper_name}",
    "quotes": "cat '{p}'; cat \"{p}\"",
    "split-quotes": "cat {split}",
    "escapes": "cat {escaped}",
    "ansi": "cat $'{hex}'",
    "variable": 'x={p}; cat "$x"',
    "variable-part": "x={d}; cat $x/{b}",
    "variable-default": 'cat "${{x:-{p}}}"',
    "brace": "cat {d}/{{{b},none}}",
    "brace-in-name": "cat {h}/{{{n},x}}",
    "glob": "cat {d}/{b0}*",
    "glob-question": "cat {d}/?{brest}",
    "glob-set": "cat {d}/[{b0}]{brest}",
    "glob-folder": "cat {hglob}/{n}",
    "cd": "cd {d} && cat {b}",
    "cd-twice": "cd {h}; cd {last_or_dot}; cat {b}",
    "redirect": "cat < {p}",
    "redirect-read": 'read -r x < {p}; echo "$x"',
    "here-substitution": 'cat <<< "$(<{p})"',
    "substitution": 'echo "$(cat {p})"',
    "nested-shell": "bash -c 'cat {p}'",
    "eval": "eval 'cat {p}'",
    "at-file": "curl -d @{p} http://127.0.0.1:9/",
    "link": "ln -s {p} {s}/l && cat {s}/l",
    "hard-link": "ln {p} {s}/l && cat {s}/l",
    "copy": "cp -r {p} {s}/c && cat {s}/c",
    "move": "mv {p} {s}/m; cat {s}/m",
    "archive": "tar -cf - {p} | cat",
    "grep": "grep -r . {p}",
    "find": "find {h} -name '{b}' -exec cat {{}} +",
    "diff": "diff /dev/null {p}",
    "dd": "dd if={p} status=none",
    "sort": "sort {p}",
    "git": "git diff --no-index /dev/null {p}",
    "python": "python3 -c \"print(open('{p}', errors='replace').read())\"",
    "mmap": (
        "python3 -c \"import mmap; print(mmap.mmap(open('{p}', 'rb').fileno(), 0, prot=1)[:])\""
    ),
    "heredoc": "python3 <<'E'\nprint(open('{p}', errors='replace').read())\nE",
    "source": "source {p}",
    "proc-root": "cat /proc/self/root{p}",
    "proc-root-of-one": "cat /proc/1/root{p}",
    "proc-cwd": "cat /proc/self/cwd/{u}/{n}",
    "fd": "exec 7< {p}; cat /dev/fd/7 /proc/self/fd/7",
    "mount": "mount --bind {d} {s} && cat {s}/{b}",
    "overlay": "mount -t overlay o -o lowerdir={d}:/usr {s} && cat {s}/{b}",
}
"""The file is in the text, in whatever dress: the judge denies each, whatever was granted."""

ESSENTIAL = (
    *("absolute", "relative", "double-slash", "dot", "detour", "split-quotes", "ansi", "variable"),
    *("brace", "glob", "cd", "redirect", "substitution", "nested-shell", "link", "hard-link"),
    *("copy", "move", "archive", "proc-root", "proc-cwd", "fd", "base64", "reversed"),
)
"""What is run for every file; everything else, for one."""

COMPUTED = {
    "base64": "echo {base64} | base64 -d | sh",
    "base64-file": "echo {base64} | base64 -d > {s}/x; sh {s}/x",
    "reversed": 'cat "$(echo {reversed} | rev)"',
    "printf": "cat \"$(printf '%b' '{octal}')\"",
    "xargs": "printf '%s/%s' {h} {n} | xargs cat",
    "python-joined": (
        "python3 -c \"print(open(chr(47).join('{pieces}'.split('|')), errors='replace').read())\""
    ),
    "script-file": "printf 'cat %s/%s\\n' {h} {n} > {s}/y; bash {s}/y",
    "read": 'read -r b <<< "$(echo {reversed} | rev)"; cat "$b"',
}
"""The text does not name the file, or only in pieces: a person may let it through."""

WALKS = {
    "grep": "grep -rs s3cr3t {hup}",
    "tar": "tar -cf - {hup}",
    "find": "find {hup} / -xdev -maxdepth 4 -type f -size -2 -name '*.[jxd]*' -exec cat {{}} +",
    "cd": "cd {hup}; cat */*/* */*",
    "copy": "cp -r {hup} {s}/all; cat {s}/all/*/* {s}/all/*/*/*",
    "python": (
        "python3 -c \"import pathlib; [print(f.read_text(errors='replace'))"
        " for f in pathlib.Path('{hup}').rglob('*') if f.is_file()]\""
    ),
}
"""Commands that read whatever lies around the home."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """One protected file of a home, seen from a working directory."""

    home: str
    name: str
    cwd: str
    scratch: str

    def write(self, template: str) -> str:
        """The template for this file."""
        path = f"{self.home}/{self.name}"
        folder, base = os.path.split(path)
        above, home_name = os.path.split(self.home)
        middle = len(path) // 2
        parts = PurePosixPath(self.name).parts
        return template.format(
            p=path,
            d=folder,
            b=base,
            b0=base[0],
            brest=base[1:],
            h=self.home,
            n=self.name,
            u=os.path.relpath(self.home, self.cwd),
            s=self.scratch,
            last=os.path.basename(folder),
            last_or_dot=str(PurePosixPath(*parts[:-1])) if len(parts) > 1 else ".",
            upper=path.upper(),
            upper_name=self.name.upper(),
            split=f"{path[:middle]}''{path[middle]}\"\"{path[middle + 1 :]}",
            escaped="".join(f"\\{char}" if char.isalpha() else char for char in path),
            hex="".join(f"\\x{ord(char):02x}" for char in path),
            octal="".join(f"\\{ord(char):03o}" for char in path),
            hglob=f"{above}/{home_name[0]}*",
            hup=above,
            reversed=path[::-1],
            pieces="|".join(path.split("/")),
            base64=base64.b64encode(f"cat {path}\n".encode()).decode(),
        )
