"""The output of a command as a terminal shows it: long machine lines are folded, and nothing in it moves the cursor to
where it has no business. The log keeps every byte. Functions of bytes, no terminal."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from logbook_agent.model.units import format_value
from logbook_agent.model.values import finite, parse_scalar
from logbook_agent.running.results.reader import ResultReader
from logbook_agent.running.results.result_lines import split_line, split_pairs
from logbook_agent.text.escapes import obeyed, without_escapes
from logbook_agent.text.phrases import size_text

# A machine line that has no end is held back up to here.
_HELD_BYTES = 1 << 20
_WORDS = (b"RESULT_JSON", b"RESULT", b"METRIC")
# Left as it is: colours, erasing within a line, steps of the cursor (bars of several lines), backspace, return.
_OBEYED = obeyed(colours="mKABCD", kept=b"\b")
# A sequence that the next bytes complete.
_BEGUN = re.compile(rb"(?:\x1b(?:\[[0-9;]{0,40})?|\xc2|\xd8|\xe2[\x80\x81]?)\Z")
# What is shown in place of a line; None: nothing.
Fold = Callable[[str, str, str], str | None]


class ChildOutput:
    """Feed it the bytes of one stream as they come. `fold` says what is shown of a machine line, from its kind, its
    body, and the line."""

    def __init__(self, fold: Fold) -> None:
        self._fold = fold
        self._held = b""
        self._begun = b""
        self._is_line_start = True
        self._is_skipping = False

    def feed(self, data: bytes) -> bytes:
        """The bytes that can be shown now."""
        data, self._held = self._held + data, b""
        if not self._is_skipping and b"RESULT" not in data and b"METRIC" not in data:
            # Only the last line, if it has no end yet, can become one.
            whole = data.rfind(b"\n") + 1
            self._is_line_start = self._is_line_start or whole > 0
            rest = data[whole:]
            return self._safe(data[:whole] + (self._line(rest) if rest else b""))
        return self._safe(b"".join([self._line(line) for line in _lines(data)]))

    def finish(self) -> bytes:
        """What was held back at the end."""
        rest, self._held = self._held, b""
        begun, self._begun = self._begun, b""
        return _OBEYED.sub("\ufffd".encode(), begun + (self._machine_line(rest) if rest else b""))

    def _line(self, line: bytes) -> bytes:
        """A line, or the part of one that has come."""
        is_whole = line.endswith(b"\n")
        is_start, self._is_line_start, self._held = self._is_line_start, is_whole, b""
        if self._is_skipping:
            self._is_skipping = not is_whole
            return b""
        if not is_start or not _may_be_machine(line):
            return line
        if is_whole:
            return self._machine_line(line)
        self._is_line_start = True
        if len(line) < _HELD_BYTES:
            self._held = line
            return b""
        self._is_skipping = True
        return f"{line[:20].decode('utf-8', 'replace')}… (over {len(line):,} bytes)\n".encode()

    def _machine_line(self, line: bytes) -> bytes:
        text = without_escapes(line.decode("utf-8", "replace")).rstrip("\r\n")
        found = split_line(text)
        if found is None:
            return line
        shown = self._fold(found.kind, found.body, text)
        return line if shown == text else b"" if shown is None else f"{shown}\n".encode()

    def _safe(self, shown: bytes) -> bytes:
        shown = self._begun + shown
        begun = _BEGUN.search(shown)
        self._begun = begun[0] if begun is not None else b""
        whole = shown[: len(shown) - len(self._begun)]
        return _OBEYED.sub("\ufffd".encode(), whole)


def _lines(data: bytes) -> list[bytes]:
    """Lines that only a line feed ends, with it: a carriage return writes the same line again."""
    parts = data.split(b"\n")
    return [*(part + b"\n" for part in parts[:-1]), *filter(None, parts[-1:])]


def _may_be_machine(line: bytes) -> bool:
    """Whether a line, or the beginning of one, starts with the word of a machine line."""
    return any(word.startswith(line) or (line.startswith(word) and line[len(word)] in b" \t:\r\n") for word in _WORDS)


def folded(kind: str, body: str, line: str, width: int) -> str:
    """The line itself where it fits, else its first values and its size: `RESULT_JSON tflops=2 … (1.5 KiB)`."""
    if len(line) <= width:
        return line
    reader = ResultReader(lambda text: text)
    reader.feed(line)
    words = [
        f"{name}={value}"
        for row in reader.finish().rows[:1]
        if kind == "RESULT_JSON"
        for name, value in (*row.config.items(), *((name, m.samples[-1]) for name, m in row.metrics.items()))
    ]
    end = f" … ({size_text(len(line.encode('utf-8', 'replace')))})"
    head = f"{kind} {' '.join(words[:6]) or body}"
    return (head if len(head) + len(end) <= width else head[: max(8, width - len(end))].rstrip("… ")) + end


def step_of(kind: str, body: str) -> tuple[float, dict[str, float]] | None:
    """The step of a machine line and the numbers at it; None for a line without one."""
    if "step" not in body or len(body) > 10_000:
        return None
    values = _json_values(body) if kind == "RESULT_JSON" else split_pairs(body)[0]
    numbers = {name: number for name, text in values.items() if (number := _number(text)) is not None}
    step = numbers.pop("step", None)
    return None if step is None else (step, numbers)


def _json_values(body: str) -> Mapping[str, object]:
    """The keys of a row, its metrics among them; a step in its config is none."""
    try:
        row = json.loads(body)
    except ValueError:
        return {}
    if not isinstance(row, dict):
        return {}
    metrics = row.get("metrics")
    return {**(metrics if isinstance(metrics, dict) else {}), **row}


def _number(value: object) -> float | None:
    if isinstance(value, str):
        return finite(parse_scalar(value))
    return finite(value)


# So much of the past makes the rate, and so many values are shown.
_WINDOW_S, _SHOWN_VALUES = 10.0, 4


class StepRate:
    """The last step of a command, its values, and how many steps it makes in a second."""

    def __init__(self) -> None:
        self.lines = 0
        self.first: float | None = None
        self._step = 0.0
        self._values: dict[str, float] = {}
        self._past: list[tuple[float, float]] = []

    def add(self, step: float, values: Mapping[str, float], now: float) -> None:
        """Count a line. A step that goes back begins again."""
        self.lines += 1
        if self.first is None or step < self._step:
            self.first, self._past = step, []
        self._step = step
        self._values = {**self._values, **values}
        # Several lines may be of one step.
        if not self._past or now - self._past[-1][0] > _WINDOW_S / 100:
            self._past.append((now, step))
        while len(self._past) > 2 and now - self._past[0][0] > _WINDOW_S:
            self._past.pop(0)

    def text(self) -> str:
        """`step 600  loss 3.870  12.3 steps/s`; empty before the first step."""
        if self.first is None:
            return ""
        values = [f"{name} {format_value(value)}" for name, value in [*self._values.items()][-_SHOWN_VALUES:]]
        more = ["…"] if len(self._values) > _SHOWN_VALUES else []
        (began, first), (ended, last) = self._past[0], self._past[-1]
        rate = [f"{(last - first) / (ended - began):.3g} steps/s"] if ended > began and last > first else []
        return "  ".join([f"step {self._step:g}", *values, *more, *rate])
