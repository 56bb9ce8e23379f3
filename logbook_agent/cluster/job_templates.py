"""What a launcher that submits and polls is called with: templates of words, from the settings or ready-made.

A template is a list of words, never shell text. `{id}`, `{name}` and `{since}` may stand inside a word; `{command}`
and `{env}` are words of their own and become as many words as it takes.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass, field
from typing import Any, Literal

from logbook_agent.cluster.jobs import FACTS, Fate
from logbook_agent.model.errors import UsageError
from logbook_agent.store.layout import manual

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


@dataclass(frozen=True, slots=True, kw_only=True)
class JobTemplates:
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


def completed(name: str, given: JobTemplates) -> JobTemplates:
    """The templates of these settings, those of the preset included. Raises UsageError where they cannot work."""
    where = f"executor {name!r}"
    if given.preset is not None:
        if not given.program:
            raise UsageError(
                f"{where} has no program",
                cause=f"the preset {given.preset} needs the words that start it",
                hint='write them as a list: program = ["uv", "run", "iris", "--cluster=NAME"]',
            )
        ready = dataclasses.replace(given, **_said(iris(given.program, given.options)))
        given = dataclasses.replace(ready, **_said(given))
    _check(where, given)
    return given


def _said(templates: JobTemplates) -> dict[str, Any]:
    """The settings that are not left at their defaults."""
    plain = JobTemplates()
    names = [one.name for one in dataclasses.fields(JobTemplates)]
    return {name: getattr(templates, name) for name in names if getattr(templates, name) != getattr(plain, name)}


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
