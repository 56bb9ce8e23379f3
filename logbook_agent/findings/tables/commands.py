"""What the command of a case says beyond its config: repeats of one case agree in it."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Sequence

from logbook_agent.findings.tables.spec import Case
from logbook_agent.text.commands.flags import Parts, normal_name, parts


def results(case: Case) -> frozenset[str]:
    """What a case measured, as names of flags."""
    return frozenset(map(normal_name, (*case.row.metrics, *case.row.observations)))


def switches(case: Case) -> frozenset[str]:
    """The keys of a case that are true or false, whose flags take no value."""
    return frozenset(normal_name(k) for k, v in case.row.config.items() if isinstance(v, bool))


def beyond_config(case: Case, names: Iterable[str] = ()) -> Parts:
    """The words of its command that neither its config explains, nor one of these names."""
    keys = frozenset(map(normal_name, (*case.row.config, *names)))
    return parts(case.command, keys, switches(case), results(case))


def differing(cases: Sequence[Case], names: Collection[str] = ()) -> list[str | None]:
    """Of each case the words in which the commands of some cases, and their folders, differ: `--fast`; None: no word
    that the others lack. `names` are explained beside the config of each."""
    said = [beyond_config(case, names) for case in cases]
    shared = set.intersection(*(set(one.flags) for one in said)) if said else set()
    words = _without_ends([one.words for one in said])
    folders = len({case.cwd for case in cases}) > 1
    found: list[str | None] = []
    for case, one, rest in zip(cases, said, words, strict=True):
        flags = [word for flag in one.flags if flag not in shared for word in _typed(*flag)]
        place = ["in", case.cwd] if folders and case.cwd is not None else []
        found.append(shlex.join([*rest, *flags, *place]) or None)
    return found


def _typed(flag: str, values: Sequence[str]) -> Iterable[str]:
    for value in values:
        yield from (flag, value) if value and flag.startswith("-") else (f"{flag}={value}" if value else flag,)


def _without_ends(texts: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """Sequences without the words with which all of them start and end."""
    if not texts:
        return []
    least, first = min(map(len, texts)), texts[0]
    start = 0
    while start < least and all(text[start] == first[start] for text in texts):
        start += 1
    end = 0
    while end < least - start and all(text[-1 - end] == first[-1 - end] for text in texts):
        end += 1
    return [text[start : len(text) - end] for text in texts]
