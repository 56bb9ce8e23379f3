"""In what measured rows differ, beside their results."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from logbook_agent.findings.tables.commands import beyond_config, differing
from logbook_agent.findings.tables.frame import ABSENT, Frame, Item, listed, show

_SHOWN_CHARACTERS = 60


def differences(
    frame: Frame, base: Sequence[Item], other: Sequence[Item], ignored: Collection[str] = ()
) -> dict[str, str]:
    """`commit` to `3357f54a5 | 99ab03c1d`: the config, devices and facts, and the words of the commands, that are not
    the same in two sets of items. A fact that one side does not tell is no difference."""
    found = {}
    for name in (*frame.apart, frame.pseudo["devices"]):
        if name in ignored or name.partition(":")[0] in ignored:
            continue
        sides = [{i.key(name): show(i.place.get(name)) for i in items if i.says(name)} for items in (base, other)]
        if all(sides) and (sides[0].keys() != sides[1].keys() or len(sides[0]) > 1):
            found[name] = " | ".join(_cut(listed(list(side.values()))) for side in sides)
    pair = base[0].case, other[0].case
    names = [*ignored, *frame.config]
    said = [(beyond_config(case, names), case.cwd) for case in pair]
    if not {"argv", "command"} & {*ignored} and said[0] != said[1]:
        found["command"] = " | ".join(_cut(text or ABSENT) for text in differing(pair, names))
    return found


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"
