"""In what measured rows differ, beside their results."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from logbook_agent.findings.tables.commands import beyond_config, differing
from logbook_agent.findings.tables.frame import ABSENT, Frame, Item, listed, show

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
