"""Which lines of an output report something to the logbook, whatever prefix stands in front of them."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

Kind = Literal["RESULT", "METRIC", "RESULT_JSON", "ARTIFACT"]
# What Ray adds to the end of a line that several of its workers printed.
_REPEATED = re.compile(r"\s*\[repeated \d+x across cluster\][^\n]*$")
_WORD = re.compile(r"(RESULT_JSON|RESULT|METRIC|ARTIFACT)(?::?(?=\s|$)|:(?=\{))")


class ResultLine(NamedTuple):
    """The kind and body of a line that reports a result, and the rank that its prefix names. `is_alike`: the prefix may
    stand before many lines as it is, so it holds no time."""

    kind: Kind
    body: str
    rank: str | None = None
    is_alike: bool = True


def split_line(line: str) -> ResultLine | None:
    """What a line reports that starts, after any prefix of a rank, a job or a logger, with RESULT, METRIC, RESULT_JSON
    or ARTIFACT as a whole word (a colon after it is allowed); None for every other line."""
    if "RESULT" not in line and "METRIC" not in line and "ARTIFACT" not in line:
        return None
    for at, rank in bodies(line):
        if (word := _WORD.match(line, at)) is not None:
            body = line[word.end() :].strip()
            if "x across cluster]" in body[-200:]:
                body = _REPEATED.sub("", body)
            return ResultLine(word[1], body, rank, ":" not in line[:at].rstrip(": "))  # type: ignore[arg-type]
    return None


# -- what stands in front of a line ----------------------------------------------------------------


_DATE = r"(?:\d{4}[-/]\d\d[-/]\d\d|\d\d[-/]\d\d[-/]\d{4})[ T,]{1,2}"
_TIME = rf"\[?(?:{_DATE})?\d\d:\d\d:\d\d(?:[.,]\d{{1,9}})?(?:Z|[ ]?[+-]\d\d:?\d\d)?\]?"
# As absl and glog begin a line: `I0101 10:00:00.123456 4711 train.py:42] `.
_ABSL = r"[DIWEF]\d{4,8} \d\d:\d\d:\d\d\.\d{1,9}[ ]{1,8}\d{1,20} [^\s\]]{1,100}\]"
_LEVELS = "TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL"
_ONE = (
    r"(?i:(?:local_?|global_?)?rank|default|trainer|worker|proc|process|task|node|host|gpu|device|pe)[ _:=#-]?\d{1,9}"
)
_TOKEN = (
    rf"(?:(?P<rank>\[(?:{_ONE}|(?:\d{{1,9}},)?\d{{1,9}})\](?:<std(?:out|err)>)?"  # torchrun; mpirun --tag-output
    rf"|{_ONE}[ \t]{{0,40}}[:|]|(?<![:\w])\d{{1,9}}:(?=[ \t]))"  # srun --label
    r"|(?P<plain>\((?:[^()\s]{1,200} )?pid=\d{1,20}(?:, ip=[^()\s]{1,100})?\)"  # Ray
    rf"|{_ABSL}|{_TIME})"
    rf"|(?P<level>\[(?i:{_LEVELS})[ ]{{0,8}}\]|(?:{_LEVELS})(?!\w))"
    # A logger, or a place in its code.
    r"|(?P<part>\[[^\[\]]{1,80}\]|[\w.<>$/-]{1,80}(?=[ \t]{0,40}[:|>-]))|(?P<word>[\w.<>$/-]{1,80}))"
    r"[ \t]{0,40}(?:[-|:>][ \t]{0,40})?"
)
_MOST_TOKENS, _MOST_PARTS = 10, 2
# Compiled with the first line that may hold a result.
_token = functools.cache(functools.partial(re.compile, _TOKEN))


def bodies(line: str) -> Iterator[tuple[int, str | None]]:
    """Where the text of a line may begin, after nothing or a whole prefix, and the rank that this names."""
    at, rank, is_logged, parts = len(line) - len(line.lstrip("\ufeff \t")), None, False, 0
    for _ in range(_MOST_TOKENS):
        if is_logged or not parts:
            yield at, rank
        found = _token().match(line, at)
        kind = found.lastgroup if found is not None else None
        # A word is the name of a logger where the level follows it.
        if found is None or (kind == "word" and is_logged) or (parts > _MOST_PARTS and not is_logged):
            return
        rank = re.findall(r"\d+", found["rank"])[-1] if kind == "rank" else rank
        is_logged, parts = is_logged or kind == "level", parts + (kind in ("part", "word"))
        at = found.end()
