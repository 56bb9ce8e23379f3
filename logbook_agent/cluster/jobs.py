"""What a launcher tells of the state of a job, read from what it prints."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

# The state of a job, whatever its launcher calls that.
Fate = Literal["waiting", "running", "succeeded", "failed", "killed", "lost", "never-started"]
FATES: tuple[Fate, ...] = get_args(Fate)
# Numbers that a launcher may tell of a job, and by how much each is divided.
_NUMBERS = {
    "exit_code": 1.0,
    "duration_s": 1.0,
    "duration_ms": 1e3,
    "peak_memory_bytes": 1.0,
    "peak_memory_mb": 1e-6,
}
FACTS = ("state", "task_states", *_NUMBERS, "reason")
# Beyond these, a number was made up.
_MOST_CODE, _MOST, _SIGNAL = 2**31, 2**53, 128


@dataclass(frozen=True, slots=True, kw_only=True)
class JobState:
    """What a launcher tells of a job: the state in its own word, and what that means. Unknown is None."""

    state: str
    fate: Fate
    exit_code: int | None = None
    duration_s: float | None = None
    peak_memory_bytes: int | None = None
    reason: str | None = None

    @property
    def said(self) -> str:
        return self.state + (f": {self.reason}" if self.reason else "")


def job_state(text: str, facts: Mapping[str, str], states: Mapping[str, Fate]) -> JobState | None:
    """The state of a job from what is printed of it: JSON, where `facts` says what stands elsewhere than under its own
    name, or a line whose last word is the state. `states` says what each one means. None where no state can be read."""
    try:
        plain = json.loads(text)
    except (ValueError, RecursionError):
        lines = text.split("\n")
        words = next((line.split() for line in reversed(lines) if line.strip()), [])
        plain = {"state": words[-1]} if words else {}
    told = {name: _at(plain, facts.get(name, name).split(".")) for name in FACTS}
    state = next(map(str, told["state"]), None)
    if state is None:
        return None
    # Of several tasks: the one that failed, took longest or needed most.
    sound = {name: [value for value in told[name] if _is_sound(name, value)] for name in _NUMBERS}
    numbers = {name: max(values, key=abs) / _NUMBERS[name] for name, values in sound.items() if values}
    peak = numbers.get("peak_memory_bytes") or numbers.get("peak_memory_mb")
    code = numbers.get("exit_code")
    # One that the settings do not know is taken for a job that goes on.
    fate, *tasks = (fate_of(str(one), states) or "running" for one in (state, *told["task_states"]))
    if fate == "succeeded":
        fate = next((task for task in tasks if task in ("failed", "killed", "lost")), fate)
    return JobState(
        state=state,
        fate=fate,
        # Below zero it is a signal, as a shell counts it.
        exit_code=None if code is None else int(code if code >= 0 else _SIGNAL - code),
        duration_s=numbers.get("duration_s", numbers.get("duration_ms")),
        peak_memory_bytes=int(peak) if peak else None,
        reason=next((str(value) for value in told["reason"] if value), None),
    )


def fate_of(state: str, states: Mapping[str, Fate]) -> Fate | None:
    """What a state means; None where nothing says that."""
    return states.get(state) or next((fate for fate in FATES if fate == state.lower()), None)


def _is_sound(name: str, value: Any) -> bool:
    """Whether a job may have this number."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    # Compared as they are: not every int is a float, and NaN is nowhere between.
    return -_MOST_CODE <= value <= _MOST_CODE if name == "exit_code" else 0 <= value <= _MOST


def _at(plain: Any, path: Sequence[str]) -> list[Any]:
    """The values at a path through mappings and lists; `*` means all of a list."""
    if not path:
        return [] if plain is None else [plain]
    if isinstance(plain, list):
        items = plain if path[0] == "*" else plain[int(path[0]) : int(path[0]) + 1] if path[0].isdigit() else []
        return [value for item in items for value in _at(item, path[1:])]
    return _at(plain.get(path[0]), path[1:]) if isinstance(plain, dict) else []
