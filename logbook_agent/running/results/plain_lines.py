"""Lines that give declared metrics in plain forms, as programs print them: `loss:   0.9`, `step: 3, loss: 0.5`; and
digests of an output: `checksum=3f2a rows=9`."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence

from logbook_agent.model.values import is_digest_name, is_not_finite
from logbook_agent.running.results.result_lines import TYPED, ResultWords, bodies, measured_number

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
_OF_DIGEST = ("checksum", "digest", "hash", "sha1", "sha2", "sha5", "md5", "crc")


def digests_of(line: str) -> dict[str, str]:
    """The digests of the output that a whole line gives, after a prefix: `checksum: 3f2a`, or `checksum=3f2a rows=9`,
    of whose words only the digests are taken."""
    lower = line.lower()
    if len(line) > _LONGEST or not any(word in lower for word in _OF_DIGEST):
        return {}
    for at, _ in bodies(line):
        words = line[at:].split() if _WORDS.fullmatch(line, at) else [line[at:]]
        found = [match for word in words if (match := _DIGEST.fullmatch(word.rstrip(",;"))) is not None]
        if digests := {match[1]: match[2] for match in found if is_digest_name(match[1])}:
            return digests
    return {}


class PlainForms:
    """The plain forms of the metrics that a logbook declares; nothing else is one. `steps` number points."""

    def __init__(self, metrics: Collection[str], steps: Sequence[str], is_config: Callable[[str], bool]) -> None:
        self._metrics, self._steps, self._is_config = metrics, steps, is_config
        names = "|".join(map(re.escape, sorted(metrics, key=len, reverse=True)))
        self._name = re.compile(f"({names}){_IS}")

    def read(self, line: str) -> ResultWords | None:
        """The metric that a whole line gives, after a prefix; of a line with a step its steps, metrics and config."""
        if len(line) > _LONGEST or not any(name in line for name in self._metrics) or not self._name.search(line):
            return None
        lower = line.lower()
        is_stepped = any(key in lower for key in self._steps)
        for at, rank in bodies(line):
            name = self._name.match(line, at)
            value = _VALUE.fullmatch(line, name.end()) if name is not None else None
            if name is not None and value is not None:
                # A word is prose: `loss: see below`.
                is_prose = not _is_value(value[1]) and re.search(r"\d", value[1]) is None
                return None if is_prose else ResultWords({name[1]: value[1]}, rank, value[2])
            if is_stepped and _PAIRS.fullmatch(line, at):
                pairs = self._of_step(_NAMED.findall(line, at))
                return ResultWords(pairs, rank) if pairs else None
        return None

    def _of_step(self, named: Sequence[tuple[str, str, str]]) -> dict[str, str]:
        """The steps, metrics and config of a line; none where it has no step or no metric."""
        pairs: dict[str, str] = {}
        for word, other, text in named:
            name = other or word
            key = name if name in self._metrics else name.lower()
            if key in self._steps:
                pairs.setdefault(key, text.partition("/")[0])
            elif key in self._metrics and _is_value(text):
                pairs.setdefault(key, text)
            elif self._is_config(name):
                pairs.setdefault(name, text)
        return pairs if pairs.keys() & set(self._metrics) and pairs.keys() & set(self._steps) else {}


def _is_value(text: str) -> bool:
    return is_not_finite(text) or measured_number(text)[0] is not None
