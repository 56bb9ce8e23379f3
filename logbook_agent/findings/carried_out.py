"""Which next actions were carried out: a later run of the commands that they name."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from functools import cached_property

from logbook_agent.findings.attempts import FAILURE, command_key
from logbook_agent.findings.comparison.answer import EntryPairs
from logbook_agent.model.comparison import CODE_AXIS, code_hash
from logbook_agent.model.summary import Summary
from logbook_agent.model.values import canonical
from logbook_agent.text.shell_words import split_env_words

_CODE_SPAN = re.compile(r"(`+)(.+?)\1")
# Axis and values of a comparison.
_Asked = tuple[str, frozenset[str]]
# When an entry ran something, and its ID.
_Ran = tuple[str, str]


def commands_in(text: str) -> list[tuple[str, ...]]:
    """The words of each command that a text names: what stands in code spans, or a text that is one `logbook`
    command."""
    found = [match[2].strip().removeprefix("$ ") for match in _CODE_SPAN.finditer(text)]
    found += [text.strip()] if text.strip().startswith("logbook ") else []
    return [words for one in found if len(words := _words(one)) > 1]


def _words(text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError:
        return ()


class CommandsRun:
    """Which commands entries have run, and when."""

    def __init__(self, entries: Iterable[Summary]) -> None:
        self._entries = [*entries]

    def carried_out(self, action: Summary) -> bool:
        """Whether every command that the next action of an entry names was run by another entry, after the action's
        entry was opened."""
        named = commands_in(action["next"] or "")
        return bool(named) and all(self._was_run(words, action) for words in named)

    def _was_run(self, words: Sequence[str], action: Summary) -> bool:
        is_ours = words[0] == "logbook"
        command = words[words.index("--") + 1 :] if is_ours and "--" in words else () if is_ours else words
        entry_id = _option(words, "--id") if is_ours else ""
        if entry_id:
            runs = [(at, entry_id) for at in self._by_entry.get(entry_id, {}).values()]
        elif is_ours and words[1] == "ab":
            runs = self._by_question.get(_asked(words), [])
        elif command and (not is_ours or words[1] == "run"):
            runs = self._by_command.get(command_key(split_env_words(command)[1]), [])
        else:
            return False
        return any(at >= action["opened"] and of != action["id"] for at, of in runs)

    @cached_property
    def _by_entry(self) -> dict[str, dict[str, str]]:
        """By entry: when it last ran each command, by the key of the command."""
        return {one["id"]: _last_runs(one) for one in self._entries}

    @cached_property
    def _by_command(self) -> dict[str, list[_Ran]]:
        found: dict[str, list[_Ran]] = {}
        for entry_id, runs in self._by_entry.items():
            for key, at in runs.items():
                found.setdefault(key, []).append((at, entry_id))
        return found

    @cached_property
    def _by_question(self) -> dict[_Asked | None, list[_Ran]]:
        found: dict[_Asked | None, list[_Ran]] = {}
        for one in self._entries:
            if (asked := _compares(one)) is not None and (runs := self._by_entry[one["id"]]):
                found.setdefault(asked, []).append((max(runs.values()), one["id"]))
        return found


def _last_runs(one: Summary) -> dict[str, str]:
    """When an entry last ran each command, whether it finished or failed, by the key of the command."""
    found = {key: started for key, (_, started) in one["finished"].items()}
    for item in one["tried"]:
        if item["kind"] == FAILURE and item["run"] is not None:
            key = command_key(item["command"])
            found[key] = max(found.get(key, ""), item["at"])
    return found


def _option(words: Sequence[str], name: str) -> str:
    """The value of an option of a `logbook` command; empty where it has none."""
    own = words[: words.index("--")] if "--" in words else words
    for at, word in enumerate(own):
        if word == name and at + 1 < len(own):
            return own[at + 1]
        if word.startswith(f"{name}="):
            return word.removeprefix(f"{name}=")
    return ""


def _asked(words: Sequence[str]) -> _Asked | None:
    """Axis and values that a `logbook ab` command compares."""
    if "--code" in words:
        at = words.index("--code")
        return CODE_AXIS, frozenset(words[at + 1 : at + 3])
    axis, equals, values = _option(words, "--axis").partition("=")
    return (axis, frozenset(canonical(value) for value in values.split(","))) if equals else None


def _compares(one: Summary) -> _Asked | None:
    """Axis and values of the comparison that an entry states. Code goes by its commit."""
    if one["comparison"] is None:
        return None
    question = EntryPairs.of(one["comparison"]).question
    if question.axis == CODE_AXIS:
        return CODE_AXIS, frozenset(code_hash(value) for value in question.values)
    return question.axis, frozenset(canonical(value) for value in question.values)
