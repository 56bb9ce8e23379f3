"""In what rows differ beside their results: config, facts, and what their commands say beyond config."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Sequence

from logbook_agent.findings.cases import Case
from logbook_agent.findings.tables.frame import ABSENT, Frame, Item, listed, show
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


_SHOWN_CHARACTERS = 60


def differences(
    frame: Frame, base: Sequence[Item], other: Sequence[Item], ignored: Collection[str] = ()
) -> dict[str, str]:
    """`commit` to `3357f54a5 | 99ab03c1d`: config, devices, facts, folder and the words of the commands, where they are
    not the same in two sets of items."""
    found = {}
    for name in (*frame.apart, frame.pseudo["devices"]):
        sides = [{item.key(name): _text(frame, name, item) for item in items} for items in (base, other)]
        is_meant = name in ignored or name.partition(":")[0] in ignored
        if not is_meant and (sides[0].keys() != sides[1].keys() or len(sides[0]) > 1):
            found[name] = " | ".join(_cut(listed(list(side.values()))) for side in sides)
    pair = base[0].case, other[0].case
    names = [*ignored, *frame.config]
    one, two = (beyond_config(case, names) for case in pair)
    if not {"argv", "command"} & {*ignored} and one != two:
        found["command"] = " | ".join(_cut(text or ABSENT) for text in differing(pair, names))
    if pair[0].cwd != pair[1].cwd:
        found["cwd"] = " | ".join(case.cwd or ABSENT for case in pair)
    return found


def _text(frame: Frame, name: str, item: Item) -> str:
    if item.key(name) is not None:
        return show(item.place.get(name))
    fact = frame.facts.get(name)
    return "not reported" if fact is None else "not set" if fact.startswith(("env:", "launcher")) else "not known"


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"
