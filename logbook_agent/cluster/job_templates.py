"""What a launcher that submits and polls is called with: templates of words, from the settings or ready-made.

A template is a list of words, never shell text. `{id}`, `{name}` and `{since}` may stand inside a word; `{command}`
and `{env}` are words of their own and become as many words as it takes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, get_args

from msgspec import Struct, field, structs

from logbook_agent.model.errors import UsageError
from logbook_agent.store.places import manual

Words = tuple[str, ...]
_KNOWN = {
    "submit": ("name", "env", "command"),
    "find": ("name",),
    "state": ("id",),
    "logs": ("id", "since"),
    "stop": ("id",),
    "env": ("key", "value"),
}
LAST_WORD = r"(\S+)\s*\Z"
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


class JobTemplates(Struct, frozen=True, kw_only=True):
    """A launcher that submits a job and reports its state later. Commands are lists of words.

    preset: `iris`, which knows the other keys
    program: of a preset: the words that start its program
    options: of a preset: further options when it submits
    submit: command that starts a job; the word with `{name}` names it
    env: words that pass on one variable
    id: regular expression for the job's ID in what `submit` prints; default: the last word on stdout
    find: command that lists jobs, for one whose ID was not read
    found: regular expression for the ID in what `find` prints
    state: command that prints JSON, or a line whose last word is the state
    facts: where what stands in that JSON
    states: what each state means: `waiting`, `running`, `succeeded`, `failed`, `killed`, `lost` or `never-started`
    gone: regular expression for what is printed of a job that does not exist
    logs: command that prints a job's output
    line: regular expression for what `logs` puts before each line
    log_lines: the most lines that `logs` prints
    log_lag_s: seconds for which the log of a job that has ended must not grow before it is taken for whole
    stop: command that ends a job
    secrets: names of variables that it may be given with their values
    syncs: whether it sends the files of this folder along
    poll_s: seconds between two questions about a job
    timeout_s: seconds to wait for an answer
    """

    preset: Literal["iris"] | None = None
    program: Words = ()
    options: Words = ()
    submit: Words = ()
    env: Words = ("-e", "{key}={value}")
    id: str = LAST_WORD
    find: Words = ()
    found: str = r"(\S*{name}\S*)"
    state: Words = ()
    facts: dict[str, str] = field(default_factory=dict)
    states: dict[str, Fate] = field(default_factory=dict)
    gone: str = ""
    logs: Words = ()
    line: str = ""
    log_lines: int | None = None
    log_lag_s: float = 3.0
    stop: Words = ()
    secrets: Words = ()
    syncs: bool = False
    poll_s: float = 10.0
    timeout_s: float = 120.0


def completed(name: str, given: JobTemplates, stated: Collection[str]) -> JobTemplates:
    """The templates of these settings, with those of the preset for keys that are not `stated`. Raises UsageError where
    they cannot work."""
    where = f"executor {name!r}"
    if given.preset is not None:
        if not given.program:
            raise UsageError(
                f"{where} has no program",
                cause=f"the preset {given.preset} needs the words that start it",
                hint='write them as a list: program = ["uv", "run", "iris", "--cluster=NAME"]',
            )
        names = {field.name for field in structs.fields(JobTemplates)} & {*stated}
        own = {key: getattr(given, key) for key in names}
        given = structs.replace(iris(given.program, given.options), **own)
    _check(where, given)
    return given


def iris(program: Words, options: Words = ()) -> JobTemplates:
    """Jobs of an Iris cluster; `program` are the words up to `job`."""
    fates: dict[str, Fate] = {
        "SUCCEEDED": "succeeded",
        "FAILED": "failed",
        "KILLED": "killed",
        "WORKER_FAILED": "lost",
        "UNSCHEDULABLE": "never-started",
        "PENDING": "waiting",
        "BUILDING": "waiting",
        "RUNNING": "running",
    }
    spelled = {text: fate for state, fate in fates.items() for text in (f"JOB_STATE_{state}", state.lower())}
    log_lines = 100_000
    return JobTemplates(
        program=program,
        submit=(*program, "job", "run", "--no-wait", "--job-name={name}", *options, "{env}", "--", "{command}"),
        env=("-e", "{key}", "{value}"),
        id=r"(?m)(?:Job submitted: |^)(/[^/\s]+/\S+)",
        find=(*program, "job", "list", "--json"),
        found=r'"job_id": *"(/[^"/]+/{name})"',
        state=(*program, "job", "summary", "--json", "{id}"),
        facts={
            "state": "state",
            "task_states": "tasks.*.state",
            "exit_code": "tasks.*.exit_code",
            "duration_ms": "tasks.*.duration_ms",
            "peak_memory_mb": "tasks.*.memory_peak_mb",
            "reason": "error",
        },
        states=spelled,
        gone="not found",
        logs=(*program, "job", "logs", "--since-seconds", "{since}", "--max-lines", str(log_lines), "--tail", "{id}"),
        line=r"\[[\d:. -]+\] task=\S+ \| ",
        log_lines=log_lines,
        stop=(*program, "job", "stop", "{id}"),
        syncs=True,
    )


def _check(where: str, given: JobTemplates) -> None:
    for key in ("submit", "state", "logs", "id"):
        if not getattr(given, key):
            raise UsageError(f"{where} has no {key}", hint=f"{manual('how-to/clusters.md')} describes {key}")
    for key, allowed in _KNOWN.items():
        names = (name for word in getattr(given, key) for name in _PLACEHOLDER.findall(word))
        if unknown := next((name for name in names if name not in allowed), None):
            known = ", ".join(f"{{{name}}}" for name in allowed)
            raise UsageError(
                f"{where}: unknown placeholder in {key}: {{{unknown}}}", hint=f"placeholders of {key}: {known}"
            )
    for key in ("id", "found", "line", "gone"):
        try:
            re.compile(getattr(given, key).replace("{name}", "x"))
        except re.error as error:
            raise UsageError(f"{where}: {key} is not a valid regular expression", cause=str(error)) from None
    if wrong := next((fact for fact in given.facts if fact not in FACTS), None):
        raise UsageError(f"{where}: unknown name in facts: {wrong!r}", hint=f"facts: {', '.join(FACTS)}")
    if given.submit.count("{command}") != 1:
        raise UsageError(f"{where}: submit needs {{command}} once, as a word of its own")
    place = next((place for place, word in enumerate(given.submit) if "{name}" in word), None)
    if place is not None and any("{env}" in word or "{command}" in word for word in given.submit[:place]):
        raise UsageError(f"{where}: the word with {{name}} must stand before {{env}} and {{command}}")
    if given.find and place is None:
        raise UsageError(f"{where}: find needs {{name}} in submit")


def filled(words: Words, **values: str) -> list[str]:
    """The words with what stands for their placeholders."""
    return [_PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), word) for word in words]


# -- what a launcher tells of a job ----------------------------------------------------------------


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


class JobState(Struct, frozen=True, kw_only=True):
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
