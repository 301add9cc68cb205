"""What the people of a soak write: messages that script the model, with faults, at random.

The answer of the scripted model depends on a message's text (see `tests.fakes.model_script`), so a
history is decided by the seed alone, however often its session is killed and started again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random

CUT_REPLY = "to be cut"
"""The model says something else instead, which nobody else ever says."""

_PADDING = "all work and no play makes the window full "


class Scripts:
    """Makes the messages of one session; tags are unique in the whole soak."""

    def __init__(self, random: Random, *, session: str, effects_file: str) -> None:
        self._random = random
        self._session = session
        self._effects_file = effects_file
        self._number = 0
        self._tags = 0
        self._kinds: tuple[tuple[int, Callable[[str], str]], ...] = (
            (16, self._plain),
            (8, self._streamed),
            (10, self._one_tool),
            (8, self._batch),
            (8, self._rounds),
            (5, self._failing_tools),
            (3, self._ever_failing),
            (3, self._repeating),
            (4, self._slow_tool),
            (4, self._loud_tool),
            (3, self._flood),
            (4, self._file_work),
            (4, self._nothing),
            (4, self._cut_at_limit),
            (5, self._refused),
            (4, self._cut_connection),
            (5, self._stalled),
            (3, self._overflow),
            (3, self._broken_stream),
            (3, self._bad_call),
        )

    def message(self) -> str:
        """The next message."""
        self._number += 1
        name = f"{self._session}-{self._number}"
        weights = [weight for weight, _ in self._kinds]
        (_, make), *_ = self._random.choices(self._kinds, weights)
        padding = _PADDING * self._random.choice((0, 0, 0, 5, 15, 40))
        return f"{name} {padding}{make(name)}"

    # What a model can do right

    def _plain(self, name: str) -> str:
        return f"[[reply:{name} {_PADDING * self._random.choice((0, 1, 20))}]]"

    def _streamed(self, name: str) -> str:
        thinking = self._random.choice(("", "[[think_tokens:10]]"))
        return f"{thinking}[[tokens:{self._random.randint(2, 40)}]][[pace:5]]{name}"

    def _one_tool(self, name: str) -> str:
        return f"{self._preamble()}{self._shell(self._wait())} [[reply:{name}]]"

    def _batch(self, name: str) -> str:
        tools = (self._shell(self._wait()) for _ in range(self._random.randint(2, 3)))
        return f"{' '.join(tools)} [[reply:{name}]]"

    def _rounds(self, name: str) -> str:
        rounds = (self._shell(self._wait()) for _ in range(self._random.randint(2, 5)))
        return f"{' [[next]] '.join(rounds)} [[reply:{name}]]"

    def _loud_tool(self, name: str) -> str:
        size = self._random.choice((1500, 4000, 60_000))
        return f"{self._shell(f'head -c {size} /dev/zero | base64 -w 0')} [[reply:{name}]]"

    def _flood(self, name: str) -> str:
        """More results in one round than the window has room for once it is half full."""
        reads = " ".join([_tool("file_read", path="loud.txt")] * 14)
        return f"{self._shell('seq 1 3000 > loud.txt')} [[next]] {reads} [[reply:{name}]]"

    def _file_work(self, name: str) -> str:
        write = _tool("file_write", path=f"{name}.txt", content=name)
        change = _tool("file_edit", path=f"{name}.txt", old_string=name, new_string="other")
        declare = _tool("set_working_directory", path=self._random.choice((".", "no/such")))
        return f"{write} [[next]] {change} {declare} [[reply:{name}]]"

    # What a model can do wrong

    def _failing_tools(self, name: str) -> str:
        failing = self._random.choice((self._shell("exit 3"), _tool("file_read", path="no/such")))
        return f"{failing} [[next]] {self._shell('true')} [[reply:{name}]]"

    def _ever_failing(self, name: str) -> str:
        rounds = (self._shell(f"exit {number}") for number in range(1, 11))
        return f"{' [[next]] '.join(rounds)} [[reply:{name}]]"

    def _repeating(self, name: str) -> str:
        return f"{' [[next]] '.join([self._shell('true')] * 10)} [[reply:{name}]]"

    def _slow_tool(self, name: str) -> str:
        return f"{self._shell(f'sleep {self._random.choice((0.4, 4))}')} [[reply:{name}]]"

    def _nothing(self, name: str) -> str:
        reply = self._random.choice(("[[empty]]", f"[[think:about {name}]]"))
        return " [[next]] ".join([reply] * self._random.randint(1, 3))

    def _cut_at_limit(self, _name: str) -> str:
        return f"[[reply:{CUT_REPLY}]][[finish:length]]"

    def _bad_call(self, name: str) -> str:
        bad = self._random.choice(("[[tool:shell_execute {no json]]", "[[tool:no_such_tool {}]]"))
        shape = self._random.choice(("", "[[ids:same]]", "[[ids:missing]]", "[[calls:no_index]]"))
        return f"{bad}{shape} [[reply:{name}]]"

    # What a provider can do wrong

    def _refused(self, name: str) -> str:
        status = self._random.choice((429, 503, 500, 401))
        attempts = self._random.choice((":1", ""))
        return f"[[reply:{name}]][[status:{status}{attempts}]]"

    def _cut_connection(self, name: str) -> str:
        chunks, attempts = self._random.choice(((0, ":1"), (3, "")))
        return f"[[tokens:20]] [[reply:{name}]][[cut:{chunks}{attempts}]]"

    def _stalled(self, name: str) -> str:
        return self._random.choice(
            (
                f"[[tokens:9]][[stall_after:3:5]] {name}",
                f"[[reply:{name}]][[stall:5]][[keepalive:0.3]]",
                f"[[reply:{name}]][[stall:0.7]]",
                f"[[reply:{name}]][[stall_headers:0.7]]",
            )
        )

    def _overflow(self, name: str) -> str:
        shape = self._random.choice(("openai", "llamacpp", "vllm", "plain"))
        return f"[[reply:{name}]][[overflow:{shape}{self._random.choice((':1', ''))}]]"

    def _broken_stream(self, name: str) -> str:
        fault = self._random.choice(
            ("garbage:2", "error_event:2", "html", "no_done", "no_finish", "finish:content_filter")
        )
        return f"[[tokens:6]][[{fault}]] {name}"

    # Parts

    def _preamble(self) -> str:
        return self._random.choice(("", "[[reply:let me look]]"))

    def _wait(self) -> str:
        return self._random.choice(("true", "true", "sleep 0.1", "sleep 0.3"))

    def _shell(self, then: str) -> str:
        """One call that leaves a tag of its own behind, before it does anything else."""
        self._tags += 1
        tag = f"{self._session}.{self._tags}"
        return _tool("shell_execute", command=f"echo {tag} >> {self._effects_file}; {then}")


def _tool(name: str, **arguments: str) -> str:
    return f"[[tool:{name} {json.dumps(arguments)}]]"
