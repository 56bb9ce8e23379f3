"""Which next actions were carried out: a later run of the commands that they name."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

from logbook_agent.findings.attempts import FAILURE, command_key
from logbook_agent.findings.comparison.answer import EntryPairs
from logbook_agent.model.comparison import CODE_AXIS, code_hash
from logbook_agent.model.summary import Summary
from logbook_agent.model.values import canonical
from logbook_agent.text.shell_words import split_env_words

_CODE_SPAN = re.compile(r"(`+)(.+?)\1")
# Axis and values of a comparison.
_Asked = tuple[str, frozenset[str]]


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


def is_carried_out(action: Summary, others: Mapping[str, Summary]) -> bool:
    """Whether every command that the next action of an entry names was run by another entry, after the action's entry
    was opened."""
    named = commands_in(action["next"] or "")
    return bool(named) and all(_was_run(words, action, others) for words in named)


def _was_run(words: Sequence[str], action: Summary, others: Mapping[str, Summary]) -> bool:
    since = action["opened"]
    rest = [one for one in others.values() if one["id"] != action["id"]]
    if words[0] != "logbook":
        key = command_key(split_env_words(words)[1])
        return any(key in _run_since(one, since) for one in rest)
    command = words[words.index("--") + 1 :] if "--" in words else ()
    named = _option(words, "--id")
    if named:
        return any(one["id"] == named and bool(_run_since(one, since)) for one in rest)
    if words[1] == "run" and command:
        key = command_key(split_env_words(command)[1])
        return any(key in _run_since(one, since) for one in rest)
    if words[1] == "ab":
        asked = _asked(words)
        return asked is not None and any(asked == _compares(one) and bool(_run_since(one, since)) for one in rest)
    return False


def _run_since(one: Summary, since: str) -> set[str]:
    """The keys of the commands that an entry ran after this moment."""
    finished = {key for key, (_, started) in one["finished"].items() if started >= since}
    failed = (i for i in one["tried"] if i["kind"] == FAILURE and i["run"] is not None and i["at"] >= since)
    return finished | {command_key(i["command"]) for i in failed}


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
