"""What a launcher tells of a job, read from what it prints."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

# What became of a job, whatever its launcher calls that.
Fate = Literal["waiting", "running", "succeeded", "failed", "killed", "lost", "never-started"]
FATES: tuple[Fate, ...] = ("waiting", "running", "succeeded", "failed", "killed", "lost", "never-started")
# What a launcher may tell of a job, and by how much that is divided.
FACTS = {
    "state": None,
    "exit_code": 1.0,
    "duration_s": 1.0,
    "duration_ms": 1e3,
    "peak_memory_bytes": 1.0,
    "peak_memory_mb": 1e-6,
    "reason": None,
}
# Beyond these, a number was made up.
_MOST_CODE, _MOST = 2**31, 2**53


@dataclass(frozen=True, slots=True, kw_only=True)
class JobState:
    """What a launcher tells of a job: the state in its own word, and what that means. Unknown is None. `odd_code`: it
    told an exit code that no job has."""

    state: str
    fate: Fate
    exit_code: int | None = None
    odd_code: bool = False
    duration_s: float | None = None
    peak_memory_bytes: int | None = None
    reason: str | None = None

    @property
    def said(self) -> str:
        return self.state + (f": {self.reason}" if self.reason else "")


def told(text: str, facts: Mapping[str, str], states: Mapping[str, str]) -> JobState | None:
    """What is printed of a job: JSON, where `facts` says what stands elsewhere than under its own name, or a line
    whose last word is the state. `states` says what each one means. None where no state can be read."""
    try:
        plain = json.loads(text)
    except (ValueError, RecursionError):
        lines = text.split("\n")
        words = next((line.split() for line in reversed(lines) if line.strip()), [])
        plain = {"state": words[-1]} if words else {}
    paths = {name: facts.get(name, name) for name in FACTS}
    state = next((str(value) for value in _at(plain, paths["state"].split("."))), None)
    if state is None:
        return None
    numbers = {name: _number(plain, name, paths[name], part) for name, part in FACTS.items() if part is not None}
    code, bytes_ = numbers["exit_code"], (numbers["peak_memory_bytes"], numbers["peak_memory_mb"])
    duration_s = numbers["duration_s"] if numbers["duration_s"] is not None else numbers["duration_ms"]
    peak = next((value for value in bytes_ if value), None)
    reasons = [str(value) for value in _at(plain, paths["reason"].split(".")) if value]
    return JobState(
        state=state,
        fate=_fate(states, state),
        exit_code=None if code is None else int(code),
        odd_code=len(_numbers(plain, "exit_code", paths["exit_code"])) < len(_at(plain, paths["exit_code"].split("."))),
        duration_s=duration_s,
        peak_memory_bytes=None if peak is None else int(peak),
        reason=reasons[0] if reasons else None,
    )


def _fate(states: Mapping[str, str], state: str) -> Fate:
    """What a state means. One that the settings do not know is taken for a job that goes on."""
    meant = states.get(state, state.lower())
    return next((fate for fate in FATES if fate == meant), "running")


def _number(plain: Any, name: str, path: str, divisor: float) -> float | None:
    """The largest of the numbers there: of several tasks, the one that failed, took longest or needed most. None where
    no job has such a number."""
    return max((value / divisor for value in _numbers(plain, name, path)), default=None)


def _numbers(plain: Any, name: str, path: str) -> list[float]:
    """The numbers there that a job may have."""
    numbers = [v for v in _at(plain, path.split(".")) if isinstance(v, int | float) and not isinstance(v, bool)]
    least = -_MOST_CODE if name == "exit_code" else 0
    most = _MOST_CODE if name == "exit_code" else _MOST
    # Compared as they are: not every int is a float, and NaN is nowhere between.
    return [v for v in numbers if least <= v <= most]


def _at(plain: Any, path: Sequence[str]) -> list[Any]:
    """The values at a path through mappings and lists; `*` means all of a list."""
    if not path:
        return [] if plain is None else [plain]
    if isinstance(plain, list):
        items = plain if path[0] == "*" else plain[int(path[0]) : int(path[0]) + 1] if path[0].isdigit() else []
        return [value for item in items for value in _at(item, path[1:])]
    return _at(plain.get(path[0]), path[1:]) if isinstance(plain, dict) else []
