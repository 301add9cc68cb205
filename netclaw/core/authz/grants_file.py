"""Reads and writes the text of the grants file, strictly (reference 5 "Grants file").

Version 3 is written. Version 2 is migrated: its phrases keep matching as exact texts. Anything
else, and anything that is not exactly as it should be, is a fault: the file is left as it is and
nothing persistent is granted. Pure: the store does the reading, the backup and the replacing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

from netclaw.core.authority import Audience
from netclaw.core.authz.grants import Grant, GrantForm
from netclaw.core.authz.text_gate import is_printable_word

VERSION = 3
MAX_BYTES = 4 * 1024 * 1024
SHELL_NAMES = frozenset({"Bash", "PowerShell"})

_TOOL = re.compile(r"[a-z][a-z0-9_]*|mcp:[A-Za-z0-9_.-]+:[A-Za-z0-9_.-]+")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_COMMON = frozenset({"directory", "createdAt"})
_OF_TOKENS = frozenset({"verbTokens", "repository", "repositoryWorktree", "assignmentDigest"})
_OF_SHELL = frozenset({"shell", "match"})
_MEMBERS = {
    GrantForm.TOKENS: _COMMON | _OF_SHELL | _OF_TOKENS,
    GrantForm.LEGACY_EXACT: _COMMON | _OF_SHELL | {"verb"},
    GrantForm.TOOL: _COMMON | {"verb"},
}

_Entry = Callable[[Audience, str, object], Grant]


class GrantsFileError(ValueError):
    """The file is not one that can be believed; the sentence says where."""


class NeedsMigrationError(GrantsFileError):
    """The file is of version 2: `read_version_2` gives what it holds."""


def version_of(text: str) -> int | None:
    """The version that a file says it has; None if it says none that could be one.

    Raises `GrantsFileError` for what is no file of grants of any version.
    """
    version = _json(text).get("version")
    return version if isinstance(version, int) and not isinstance(version, bool) else None


def read(text: str) -> tuple[Grant, ...]:
    """The grants of a version 3 file. Raises `GrantsFileError`, `NeedsMigrationError` for 2."""
    data = _object(text)
    version = data.get("version")
    if version == 2 and not isinstance(version, bool):
        raise NeedsMigrationError("the file has version 2")
    if version != VERSION or isinstance(version, bool):
        raise GrantsFileError("the file has a version that is not known")
    return _grants(data, _entry)


def read_version_2(text: str) -> tuple[Grant, ...]:
    """The grants of a version 2 file, as exact texts. Raises `GrantsFileError`."""
    data = _object(text)
    if data.get("version") != 2:
        raise GrantsFileError("the file does not have version 2")
    return _grants(data, _old_entry)


def write(grants: Iterable[Grant]) -> str:
    """The text of a version 3 file; equal grants give equal bytes."""
    audiences: dict[str, dict[str, list[dict[str, object]]]] = {}
    for grant in grants:
        tools = audiences.setdefault(grant.audience.value, {})
        tools.setdefault(grant.tool, []).append(_written(grant))
    document = {"version": VERSION, "audiences": audiences}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _written(grant: Grant) -> dict[str, object]:
    base: dict[str, object] = {"directory": grant.directory, "createdAt": grant.created_at}
    if grant.form is GrantForm.TOOL:
        return {"verb": grant.words[0], **base}
    made: dict[str, object] = {"shell": grant.shell_name, "match": grant.form.value}
    if grant.form is GrantForm.LEGACY_EXACT:
        return {**made, "verb": grant.words[0], **base}
    made |= {"verbTokens": list(grant.words), **base}
    optional = {
        "repository": grant.repository,
        "repositoryWorktree": grant.worktree,
        "assignmentDigest": grant.digest,
    }
    return made | {name: value for name, value in optional.items() if value is not None}


def _json(text: str) -> Mapping[str, object]:
    if len(text) > MAX_BYTES:
        raise GrantsFileError("the file is too large")
    try:
        data = json.loads(text, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as fault:
        raise GrantsFileError(f"the file is no JSON object: {fault}") from None
    if not isinstance(data, dict):
        raise GrantsFileError("the file is no object")
    return data


def _object(text: str) -> Mapping[str, object]:
    return _known(_json(text), frozenset(("version", "audiences")), "the file")


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise GrantsFileError("a member is there twice")
    return made


def _known(data: object, names: frozenset[str], what: str) -> Mapping[str, object]:
    if not isinstance(data, dict):
        raise GrantsFileError(f"{what} is no object")
    unknown = [str(name) for name in data if name not in names]
    if unknown:
        raise GrantsFileError(f"{what} has a member that is not known")
    return data


def _grants(data: Mapping[str, object], entry: _Entry) -> tuple[Grant, ...]:
    audiences = _known(
        data.get("audiences"), frozenset(audience.value for audience in Audience), "audiences"
    )
    made: list[Grant] = []
    for name, tools in audiences.items():
        if not isinstance(tools, dict):
            raise GrantsFileError("an audience is no object")
        for tool, entries in tools.items():
            if not _TOOL.fullmatch(tool) or not isinstance(entries, list):
                raise GrantsFileError("a tool has a name or a value that is not known")
            made.extend(entry(Audience(name), tool, item) for item in entries)
    return tuple(made)


def _entry(audience: Audience, tool: str, data: object) -> Grant:
    form = _form(data)
    known = _known(data, _MEMBERS[form], "a grant")
    if form is GrantForm.TOKENS:
        words = _tokens(known.get("verbTokens"))
    else:
        words = (_word(known.get("verb"), "verb"),)
    shell = known.get("shell", "Bash")
    if not isinstance(shell, str) or shell not in SHELL_NAMES:
        raise GrantsFileError("a grant has a shell that is not known")
    digest = _optional(known, "assignmentDigest")
    if digest is not None and not _DIGEST.fullmatch(digest):
        raise GrantsFileError("a grant has a digest that is none")
    return Grant(
        audience=audience,
        tool=tool,
        form=form,
        words=words,
        created_at=_instant(known.get("createdAt")),
        shell_name=shell,
        directory=_path(known, "directory", is_required=True),
        repository=_path(known, "repository"),
        worktree=_path(known, "repositoryWorktree"),
        digest=digest,
    )


def _old_entry(audience: Audience, tool: str, data: object) -> Grant:
    """Version 2 knew phrases as texts, for shells and other tools alike."""
    known = _known(data, _COMMON | {"shell", "verb"}, "a grant")
    is_shell = "shell" in known
    shell = known.get("shell", "Bash")
    if not isinstance(shell, str) or shell not in SHELL_NAMES:
        raise GrantsFileError("a grant has a shell that is not known")
    return Grant(
        audience=audience,
        tool=tool,
        form=GrantForm.LEGACY_EXACT if is_shell else GrantForm.TOOL,
        words=(_word(known.get("verb"), "verb"),),
        created_at=_instant(known.get("createdAt")),
        shell_name=shell,
        directory=_path(known, "directory", is_required=True),
    )


def _form(data: object) -> GrantForm:
    if not isinstance(data, dict):
        raise GrantsFileError("a grant is no object")
    if "match" not in data:
        return GrantForm.TOOL
    if data["match"] not in (GrantForm.TOKENS.value, GrantForm.LEGACY_EXACT.value):
        raise GrantsFileError("a grant has a match that is not known")
    return GrantForm(data["match"])


def _tokens(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        raise GrantsFileError("a grant has no words")
    return tuple(_word(item, "verbTokens") for item in value)


def _word(value: object, name: str) -> str:
    if not isinstance(value, str) or not value or not is_printable_word(value):
        raise GrantsFileError(f"a grant's {name} is no clean text")
    return value


def _optional(data: Mapping[str, object], name: str) -> str | None:
    return _word(data[name], name) if name in data else None


def _path(data: Mapping[str, object], name: str, *, is_required: bool = False) -> str | None:
    if name not in data:
        if is_required:
            raise GrantsFileError(f"a grant does not say its {name}")
        return None
    if data[name] is None and is_required:
        return None
    path = _word(data[name], name)
    if not path.startswith("/"):
        raise GrantsFileError(f"a grant's {name} is no absolute path")
    return path


def _instant(value: object) -> str:
    text = _word(value, "createdAt")
    try:
        is_aware = datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        is_aware = False
    if not is_aware:
        raise GrantsFileError("a grant's createdAt is no instant")
    return text
