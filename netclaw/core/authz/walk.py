"""Walks a parsed command and finds every candidate: lists, pipes, branches, loops, shells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from netclaw.core.authz import commands, scan, shell_builtins
from netclaw.core.authz.candidates import Command
from netclaw.core.authz.collector import Collector
from netclaw.core.authz.facts import Candidate, Unresolved
from netclaw.core.authz.flow import NAME, Flow, State, is_sensitive, join, same
from netclaw.core.authz.redirects import NONE, Redirects, read_redirects
from netclaw.core.authz.shell_nodes import Node
from netclaw.core.authz.shell_paths import PathFinder
from netclaw.core.authz.vocabulary import EXPORT, READERS_OF_NAMES
from netclaw.core.authz.words import WordFact, WordReader
from netclaw.core.tool_call import FileOperation


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """What surrounds a statement."""

    redirects: Redirects = NONE
    is_piped: bool = False


_TOP = _Place()


class Walk:
    """Walks one text; nested shells get a walk of their own with the same collector."""

    def __init__(
        self, collector: Collector, source: str, *, depth: int = 0, is_bash: bool = True
    ) -> None:
        self.collector = collector
        self.depth = depth
        self._source = source.encode("utf-8", "replace")
        self.is_bash = is_bash
        self._redirects = NONE
        self._handlers: dict[str, Callable[[Node, State, _Place], Flow]] = {
            "BinaryCmd": self._binary,
            "Subshell": self._subshell,
            "IfClause": self._branch,
            "WhileClause": self._while,
            "ForClause": self._for,
            "CaseClause": self._case,
            "TestClause": self._test,
            "DeclClause": self._declaration,
        }

    def reader(self, state: State) -> WordReader:
        """Reads words in a state."""
        home = self.collector.surroundings.shell_home
        return WordReader(state, self._source, home, is_bash=self.is_bash)

    def text(self, node: Node) -> str:
        """The source text of a node."""
        return self._source[node.start : node.end].decode("utf-8", "replace")

    def under(self, redirects: Redirects) -> None:
        """Sets the redirects of what is around the whole text."""
        self._redirects = redirects

    def exact(self, node: Node, reason: Unresolved, state: State) -> None:
        """One candidate for a text whose effect is not proved; denials still look inside."""
        scan.scan_tree(self.collector, node, self.reader(state), state, self.depth)
        self.collector.add(
            Candidate(
                text=self.text(node).strip(),
                cwds=state.directories or (),
                unresolved=reason,
                has_redirect=True,
            )
        )

    def statements(self, nodes: Iterable[Node], state: State, place: _Place = _TOP) -> Flow:
        """The flow of a list."""
        flow = same(state)
        for node in nodes:
            flow = self.statement(node, flow.either, place)
        return flow

    def statement(self, node: Node, state: State, place: _Place = _TOP) -> Flow:
        """The flow of one statement with its redirects."""
        command = node.one("Cmd")
        if command is None or not self._is_known(node, command):
            self.exact(node, Unresolved.SYNTAX, state)
            return same(state.unknown())
        own = read_redirects(node.many("Redirs"), self.reader(state))
        for word in own.words:
            self.collector.mentions.extend(word.shapes)
        if any(word.has_problem for word in own.words):
            scan.scan_tree(self.collector, node, self.reader(state), state, self.depth)
        redirects = own.within(place.redirects).within(self._redirects)
        if "Background" in node.flags:
            place = replace(place, is_piped=True)
        if command.kind == "CallExpr":
            flow = commands.judge(self, command, redirects, state, is_piped=place.is_piped)
        else:
            for word in own.words:
                self.look_inside(word, state)
            inside = _Place(redirects=own.within(place.redirects), is_piped=place.is_piped)
            flow = self._handlers[command.kind](command, state, inside)
        return same(state) if "Background" in node.flags else flow

    def _is_known(self, statement: Node, command: Node) -> bool:
        is_handled = command.kind == "CallExpr" or command.kind in self._handlers
        return is_handled and statement.is_listed and command.is_listed

    def look_inside(self, word: WordFact, state: State) -> None:
        """Walks the substitutions of a word: what they run needs coverage of its own."""
        self.collector.mentions.extend((*word.shapes, *word.alternatives))
        self.collector.has_too_many_values |= word.has_too_many_values
        for node in word.substitutions:
            if not node.is_listed:
                self.exact(node, Unresolved.SYNTAX, state)
                continue
            self.statements(node.many("Stmts"), state)

    def nested(self, text: str, command: Command, state: State, *, is_bash: bool) -> None:
        """Judges the text that a command hands to a shell."""
        parsed = self.collector.parsed(text)
        if parsed is None:
            return
        if parsed.tree is None or not parsed.tree.many("Stmts"):
            self.collector.add(
                Candidate(
                    text=command.text,
                    cwds=state.directories or (),
                    unresolved=Unresolved.SYNTAX,
                    has_redirect=True,
                )
            )
            return
        inner = Walk(self.collector, text, depth=self.depth + 1, is_bash=is_bash)
        inner.under(command.redirects)
        inner.statements(parsed.tree.many("Stmts"), state)

    def _binary(self, node: Node, state: State, place: _Place) -> Flow:
        left, right = node.many("X"), node.many("Y")
        operator = node.text("Op")
        if operator in ("|", "|&"):
            piped = _Place(redirects=place.redirects, is_piped=True)
            self.statements(left, state, piped)
            self.statements(right, state, piped)
            return same(state)
        first = self.statements(left, state, place)
        if operator == "&&":
            second = self.statements(right, first.ok, place)
            return Flow(ok=second.ok, failed=join(first.failed, second.failed))
        second = self.statements(right, first.failed, place)
        return Flow(ok=join(first.ok, second.ok), failed=second.failed)

    def _subshell(self, node: Node, state: State, place: _Place) -> Flow:
        inside = _Place(redirects=place.redirects)
        self.statements(node.many("Stmts"), state, inside)
        return same(state)

    def _branch(self, node: Node, state: State, place: _Place) -> Flow:
        condition = self.statements(node.many("Cond"), state, place)
        chosen = self.statements(node.many("Then"), condition.ok, place).either
        otherwise = node.one("Else")
        if otherwise is None:
            return same(join(chosen, condition.failed))
        if not otherwise.is_listed:
            self.exact(otherwise, Unresolved.SYNTAX, condition.failed)
            return same(condition.failed.unknown())
        rest = self._branch(otherwise, condition.failed, place).either
        return same(join(chosen, rest))

    def _while(self, node: Node, state: State, place: _Place) -> Flow:
        start = self._before_loop(node, state)
        condition = self.statements(node.many("Cond"), start, place)
        body = self.statements(node.many("Do"), condition.either, place)
        return same(join(condition.either, body.either))

    def _for(self, node: Node, state: State, place: _Place) -> Flow:
        loop = node.one("Loop")
        name_node = loop.one("Name") if loop is not None else None
        name = name_node.text() if name_node is not None else ""
        if loop is None or not loop.is_listed or not NAME.fullmatch(name) or is_sensitive(name):
            self.exact(node, Unresolved.SYNTAX, state)
            return same(state.unknown())
        words = [self.reader(state).read(item) for item in loop.many("Items")]
        for word in words:
            self.look_inside(word, state)
        if any(word.has_problem for word in words):
            self.exact(node, Unresolved.SYNTAX, state)
            return same(state.unknown())
        start = self._before_loop(node, state)
        start = start.with_value(name, _item_values(words))
        body = self.statements(node.many("Do"), start, place)
        return same(join(start, body.either))

    def _before_loop(self, loop: Node, state: State) -> State:
        """The state in which any round may begin: what a round may change is not proved."""
        names: set[str] = set()
        moves = False
        for node in _own_shell(loop):
            names.update(child.text() for child in node.many("Name"))
            if node.kind == "CallExpr":
                words = [self.reader(state).read(word).literal or "" for word in node.many("Args")]
                moves |= words[:1] == ["cd"]
                if words and words[0] in READERS_OF_NAMES:
                    names.update(words)
        state = state.without_values(frozenset(names))
        return state.at(None) if moves else state

    def _case(self, node: Node, state: State, place: _Place) -> Flow:
        reader = self.reader(state)
        patterns = [word for item in node.many("Items") for word in item.many("Patterns")]
        words = [reader.read(word) for word in (*node.many("Word"), *patterns)]
        for word in words:
            self.look_inside(word, state)
        if any(word.has_problem for word in words) or not _are_listed(node.many("Items")):
            self.exact(node, Unresolved.SYNTAX, state)
            return same(state.unknown())
        after = state
        for item in node.many("Items"):
            after = join(after, self.statements(item.many("Stmts"), after, place).either)
        return same(after)

    def _test(self, node: Node, state: State, place: _Place) -> Flow:
        """`[[ .. ]]`: exempt like `[`, with the same care for what bash evaluates."""
        reader = self.reader(state)
        words = [reader.read(found) for found in node.every() if found.kind == "Word"]
        for word in words:
            self.look_inside(word, state)
        is_proved = shell_builtins.is_test_harmless(node, reader) and place.redirects == NONE
        if not is_proved or not self.is_bash or state.directories is None:
            self.exact(node, Unresolved.SYNTAX, state)
            return same(state)
        finder = PathFinder(self.collector, state.directories)
        finder.look_at([word for word in words if not word.is_glob], FileOperation.WRITE)
        found = finder.found()
        self.collector.add(
            Candidate(
                text=self.text(node),
                phrase=("[[",),
                argv=("[[",),
                cwds=state.directories,
                paths=found.uses,
                is_exempt=found.unresolved is None,
                unresolved=found.unresolved,
            )
        )
        return same(state)

    def _declaration(self, node: Node, state: State, place: _Place) -> Flow:
        """`export NAME=value` with a proved value; any other declaration proves nothing."""
        variant = node.one("Variant")
        reader = self.reader(state)
        is_proved = variant is not None and variant.text() == EXPORT and place.redirects == NONE
        made = state
        for item in node.many("Args"):
            name, value = item.one("Name"), item.one("Value")
            fact = reader.value(value) if value is not None else None
            if fact is not None:
                self.look_inside(fact, state)
            shapes = _exported(item, name, fact, made)
            if fact is not None and not (self.is_bash or fact.is_literal):
                shapes = None  # a plain sh takes the value apart at its spaces
            is_proved = is_proved and shapes is not None
            if shapes is not None and name is not None:
                made = commands.export(made.with_value(name.text(), shapes), name.text(), shapes)
        if is_proved:
            return same(made)
        self.exact(node, Unresolved.BUILTIN, state)
        return same(state.unknown())


def _exported(
    item: Node, name: Node | None, value: WordFact | None, state: State
) -> tuple[str, ...] | None:
    """The proved values that one word of `export` gives its variable; None if there are none."""
    if name is None or not item.is_listed or is_sensitive(name.text()) or "Append" in item.flags:
        return None
    if value is not None:
        return value.shapes if value.is_proved else None
    return state.value(name.text()) if "Naked" in item.flags else ("",)


def _item_values(words: Sequence[WordFact]) -> tuple[str, ...] | None:
    """All values of a loop's variable; None if one is not proved."""
    if not words or any(word.is_unknown or word.may_split or word.has_brace for word in words):
        return None
    return tuple(dict.fromkeys(shape for word in words for shape in word.shapes))


def _are_listed(nodes: Iterable[Node]) -> bool:
    return all(node.is_listed for node in nodes)


def _own_shell(node: Node) -> Iterator[Node]:
    """The nodes below one whose commands run in the same shell."""
    for group in node.children.values():
        for child in group:
            if child.kind not in ("Subshell", "CmdSubst"):
                yield child
                yield from _own_shell(child)
