"""Which next actions were carried out: by later runs of the commands that they name, which finished and count."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from logbook_agent.findings.attempts import command_key
from logbook_agent.findings.comparison.answer import Answer
from logbook_agent.model.codec import decode
from logbook_agent.model.comparison import CODE_AXIS, code_hash, code_name
from logbook_agent.model.entry import entry_of
from logbook_agent.model.summary import Summary
from logbook_agent.model.values import canonical
from logbook_agent.text.commands.flags import flags
from logbook_agent.text.shell_words import shell_syntax, split_env_words

_CODE_SPAN = re.compile(r"(`+)(.+?)\1")
# Of a command, the ID of an entry, or axis and values of a comparison.
_Key: TypeAlias = str | tuple[str, frozenset[str]] | None
_HEAD = re.compile(r"^(?:HEAD|@)[~^0-9]*$")
# Options of `ab --like` that ask the same.
_AS_BEFORE = {"like", "new", "max_pairs", "pairs", "setup", "title"}
# When an entry ran something, and its ID.
_Ran: TypeAlias = tuple[str, str]


def commands_in(text: str) -> list[tuple[str, ...]]:
    """The words of each command that a text names: what stands in code spans, or a text that is one `logbook`
    command."""
    found = [match[2].strip().removeprefix("$ ") for match in _CODE_SPAN.finditer(text)]
    found += [text.strip()] if text.strip().startswith("logbook ") else []
    return [words for one in found if len(words := _words(one)) > 1 and not words[0].startswith("-")]


def _words(text: str) -> tuple[str, ...]:
    """The words of a command; none of one that would mean something else to a shell."""
    if shell_syntax(text) is not None:
        return ()
    try:
        return tuple(shlex.split(text))
    except ValueError:
        return ()


def runs_of(entries: Iterable[Summary]) -> Mapping[_Key, Sequence[_Ran]]:
    """When entries ran each command well, by its key, by their own IDs, and by what they compare."""
    found: dict[_Key, list[_Ran]] = {}
    asking: dict[str, list[_Ran]] = {}
    for one in entries:
        last: dict[_Key, str] = {key: at for key, (_, at) in one["finished"].items()}
        if one["comparison"] is not None:
            answer = decode(Answer, one["comparison"])
            last |= _pairs_of(answer)
            asking.setdefault(answer.asks or answer.entry, []).append((answer.last, answer.entry))
        else:
            last[one["id"]] = max(last.values(), default="")
        for key, at in last.items():
            found.setdefault(key, []).append((at, one["id"]))
    for together in asking.values():
        found |= {_like(entry): together for _, entry in together}
    return found


def is_carried_out(action: Summary, runs: Mapping[_Key, Sequence[_Ran]]) -> bool:
    """Whether every command that the next action of an entry names was run by another entry, after the action was
    written."""
    written = action["next_at"] or action["opened"]
    keys = list(map(_key, commands_in(action["next"] or "")))
    return bool(keys) and all(
        key is not None and any(ran[1] != action["id"] and _is_after(ran, written, key) for ran in runs.get(key, ()))
        for key in keys
    )


def _is_after(ran: _Ran, written: str, key: _Key) -> bool:
    """Whether something was run after an action was written. What is to be asked again was run before it, if both were
    in one second."""
    at, entry = ran
    return at > written or (at == written and key != _like(entry))


def _key(words: Sequence[str]) -> _Key:
    """What the runs of a command are found by; None for a command that makes none."""
    if words[0] != "logbook":
        return command_key(split_env_words(words)[1])
    at = words.index("--") if "--" in words else len(words)
    own, command = words[:at], words[at + 1 :]
    options = flags(own)
    if options.get("id"):
        return options["id"]
    if words[1] == "ab" and "--code" in own:
        place = own.index("--code")
        return CODE_AXIS, frozenset(_HEAD.sub("HEAD", name) for name in own[place + 1 : place + 3])
    if words[1] == "ab":
        axis, equals, values = (options.get("axis") or "").partition("=")
        if options.get("like") and not options.keys() - _AS_BEFORE:
            return _like(entry_of(options["like"] or "").partition(".")[0])
        return (axis, frozenset(map(canonical, values.split(",")))) if equals else None
    return command_key(split_env_words(command)[1]) if command and words[1] == "run" else None


def _like(entry: str) -> _Key:
    """What the comparisons are found by that ask what an entry asks."""
    return "--like", frozenset({entry})


def _typed(code: str) -> str:
    """The name of a code as somebody typed it; HEAD for a commit that goes by its subject."""
    name = code_name(code)
    return "HEAD" if name.startswith('"') else name


def _pairs_of(answer: Answer) -> Mapping[_Key, str]:
    """When the last pair of a comparison began, by the ID of its entry, and by axis and values. Code goes by its
    commit, and by the name that was typed."""
    question = answer.question
    forms = (code_hash, _typed) if question.axis == CODE_AXIS else (canonical,)
    own: dict[_Key, str] = {answer.entry: answer.last}
    return own | {(question.axis, frozenset(map(form, question.values))): answer.last for form in forms}
