"""Lines that give declared metrics in plain forms, as programs print them: `loss:   0.9`, `step: 3, loss: 0.5`; and
digests of an output: `checksum=3f2a rows=9`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from logbook_agent.model.values import is_digest_name, is_not_finite
from logbook_agent.running.results.curve_points import PointRules
from logbook_agent.running.results.line_prefix import bodies
from logbook_agent.running.results.result_lines import TYPED, measured_number

# A longer line is none of these forms.
_LONGEST = 1_000
_IS = r"[ \t]{0,100}[:=][ \t]{0,100}"
_VALUE = re.compile(rf"({TYPED}|\S+)(?:[ \t]+([A-Za-zµ°%][^\s:=,;|]{{0,19}}))?\s*")
_STEP = r"(?i:step|epoch)"
_PAIR = rf"(?:[^\s:=,;|]{{1,100}}{_IS}[^\s:=,;|]{{1,60}}|{_STEP}[ ]\d+(?:/\d+)?:?)"
_PAIRS = re.compile(rf"{_PAIR}(?:[ \t,;|]{{1,20}}(?:-[ \t]{{1,20}})?{_PAIR}){{1,50}}[\s,;]*")
_NAMED = re.compile(rf"(?:({_STEP})[ ]|([^\s:=,;|]+){_IS})([^\s:=,;|]+)")
_DIGEST = re.compile(rf"([A-Za-z_][\w./-]{{0,60}}){_IS}([\w+/=:-]{{1,200}})\s*")
_WORDS = re.compile(r"(?:[A-Za-z_][^\s=]{0,60}=[^\s=]{1,200}\s+){1,50}[A-Za-z_][^\s=]{0,60}=[^\s=]{1,200}\s*")
_OF_DIGEST = re.compile(r"(?i)checksum|digest|hash|sha\d|md5|crc")
EPOCH = "epoch"


class PlainPoint(NamedTuple):
    """The steps, metrics and config of a line with a step, and the rank that printed it."""

    rank: str | None
    pairs: dict[str, object]


class PlainValue(NamedTuple):
    """What a line gives of a metric: the `text` that stands there, and the `number` that it is, if it is one."""

    name: str
    rank: str | None
    text: str
    number: float | None
    unit: str | None


def digests_of(line: str) -> dict[str, str]:
    """The digests of the output that a whole line gives, after a prefix: `checksum: 3f2a`, or `checksum=3f2a rows=9`,
    of whose words only the digests are taken."""
    if len(line) > _LONGEST or _OF_DIGEST.search(line) is None:
        return {}
    for at, _ in bodies(line):
        words = line[at:].split() if _WORDS.fullmatch(line, at) else [line[at:]]
        found = [
            one
            for word in words
            if (one := _DIGEST.fullmatch(word.rstrip(",;"))) is not None and is_digest_name(one[1])
        ]
        if found:
            return {one[1]: one[2] for one in found}
    return {}


class PlainForms:
    """The plain forms of the metrics that a logbook declares; nothing else is one."""

    def __init__(self, rules: PointRules, step_keys: Sequence[str]) -> None:
        self._rules, self._names = rules, "|".join(map(re.escape, sorted(rules.over, key=len, reverse=True)))
        self._name = re.compile(f"({self._names}){_IS}")
        epoch = () if EPOCH in rules.over or rules.is_config(EPOCH) else (EPOCH,)
        self.step_keys = tuple(dict.fromkeys((*step_keys, *epoch))) if step_keys else ()

    def read(self, line: str) -> PlainValue | PlainPoint | None:
        """The metric that a whole line gives, after a prefix; of a line with a step its steps, metrics and config."""
        if not self._names or len(line) > _LONGEST or self._name.search(line) is None:
            return None
        is_stepped = any(key in line.lower() for key in self.step_keys)
        for at, rank in bodies(line):
            name = self._name.match(line, at)
            value = _VALUE.fullmatch(line, name.end()) if name is not None else None
            if name is not None and value is not None:
                number, unit = measured_number(value[1])
                # A word is prose: `loss: see below`.
                is_prose = number is None and not is_not_finite(value[1]) and re.search(r"\d", value[1]) is None
                return None if is_prose else PlainValue(name[1], rank, value[1], number, unit or value[2])
            if is_stepped and _PAIRS.fullmatch(line, at):
                pairs = self._point(_NAMED.findall(line, at))
                return PlainPoint(rank, pairs) if pairs is not None else None
        return None

    def _point(self, named: Sequence[tuple[str, str, str]]) -> dict[str, object] | None:
        pairs: dict[str, object] = {}
        for word, other, text in named:
            name = other or word
            key, number = name if name in self._rules.over else name.lower(), measured_number(text)[0]
            if key in self.step_keys:
                pairs.setdefault(key, text.partition("/")[0])
            elif key in self._rules.over and (number is not None or is_not_finite(text)):
                pairs.setdefault(key, text if number is None else number)
            elif self._rules.is_config(name):
                pairs.setdefault(name, text)
        return pairs if not pairs.keys().isdisjoint(self._rules.over) and pairs.keys() & {*self.step_keys} else None
