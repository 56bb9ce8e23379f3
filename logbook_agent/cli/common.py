"""The options of every command: taken from the command line once, wherever they stand before `--`."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from logbook_agent.cli.output import emit
from logbook_agent.model.errors import UsageError

if TYPE_CHECKING:
    from logbook_agent.store.workspace import Workspace

_WITH_VALUE = re.compile(r"(--root|--logbook|-L)(?:(?:=|(?<=-L)(?!$))(.*))?", re.DOTALL)
EVERYWHERE = "-L TOPIC, --root DIR, --json"


@dataclass(frozen=True, kw_only=True)
class Common:
    """Which logbook, how to answer, and the whole command line with the name of the command first."""

    logbook: str | None = None
    root: str | None = None
    as_json: bool = False
    words: tuple[str, ...] = ()

    def space(self) -> Workspace:
        """The workspace of the command."""
        return self._space

    @cached_property
    def _space(self) -> Workspace:
        from logbook_agent.cli.spaces import workspace

        return workspace(self.logbook, self.root)

    def emit(
        self,
        command: str,
        data: Any,
        text: str | Callable[[], str] = "",
        *,
        draw: Callable[[Any], None] | None = None,
    ) -> None:
        """Print the answer of a command, as `output.emit` does, with what its workspace warns of. A `text` that takes
        time to make is a function, which JSON does not need."""
        shown = text if isinstance(text, str) else "" if self.as_json else text()
        emit(command, data, shown, as_json=self.as_json, warnings=self._space.warnings, draw=draw)

    def space_without_logbook(self, command: str) -> Workspace:
        """The workspace for a command that works in no logbook that exists already. Raises UsageError for -L."""
        if self.logbook is not None:
            raise UsageError(
                f"logbook {command} takes no -L",
                cause="it makes a logbook of its own",
                hint=f"leave -L {self.logbook} out; to choose the folder of logbooks: --root DIR",
            )
        return self.space()


def command_first(words: Sequence[str]) -> list[str]:
    """The words with the options that stand before the name of the command behind it."""
    at = 0
    while at < len(words) and (found := _option(words[at]))[0] is not None:
        at += 1 if found[1] is not None else 2
    return [*words[at : at + 1], *words[:at], *words[at + 1 :]]


def lifted(words: Sequence[str], values: Mapping[str, int]) -> tuple[list[str], Common]:
    """The words without the options of every command, and what those say. `values` holds how many values each option
    of the command takes: they are left alone, whatever they look like. Raises UsageError where a value is missing."""
    rest: list[str] = []
    said: dict[str, str] = {}
    left = deque(words)
    while left:
        word = left.popleft()
        option, value = _option(word)
        if option is None:
            rest.append(word)
            behind = len(left) if word == "--" else values.get(word, 0)
            rest += [left.popleft() for _ in range(min(behind, len(left)))]
            continue
        if value is None:
            value = left.popleft() if left else "--"
            if value == "--":
                hint = f"write: {word} {'DIR' if option == 'root' else 'TOPIC'}"
                raise UsageError(f"{word} needs a value", cause="the options end after it", hint=hint)
        said[option] = value
    as_json = said.pop("json", None) is not None
    return rest, Common(logbook=said.get("logbook"), root=said.get("root"), as_json=as_json, words=tuple(words))


def _option(word: str) -> tuple[str | None, str | None]:
    """Which option of every command a word is (None: another word), and the value that it holds (None: the next word
    does)."""
    if word == "--json":
        return "json", ""
    found = _WITH_VALUE.fullmatch(word)
    return ("root" if found[1] == "--root" else "logbook", found[2]) if found else (None, None)
