"""The table of formats that `--read` knows, and what is checked before a run."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from logbook_agent.model.errors import UsageError
from logbook_agent.running.worker.written import PLACE as PLACE
from logbook_agent.text.phrases import nearest


class Format(Struct, frozen=True, kw_only=True):
    """A format: the module with `rows(data, occasion)`; the option by which its program writes the file; an example of
    FILE; the keys by which a file of it is recognised; a file that explains it, seen from its folder; and one
    whose keys are the tool's names of the machine.
    `option` is empty where the program chooses the place of the file itself."""

    module: str
    option: str
    example: str
    marks: tuple[str, ...]
    beside: str = ""
    names: str = ""


FORMATS = {
    "pytest-benchmark": Format(
        module="pytest_benchmark",
        option=f"--benchmark-json={PLACE}",
        example="bench.json",
        marks=("machine_info", "benchmarks"),
    ),
    "hyperfine": Format(module="hyperfine", option=f"--export-json {PLACE}", example="times.json", marks=("results",)),
    "google-benchmark": Format(
        module="google_benchmark",
        option=f"--benchmark_out={PLACE} --benchmark_out_format=json",
        example="bench.json",
        marks=("context", "benchmarks"),
    ),
    "asv": Format(
        module="asv",
        option="",
        example=".asv/results/*/*-*.json",
        marks=("result_columns", "results"),
        beside="../benchmarks.json",
        names="~/.asv-machine.json",
    ),
}


def split(spec: str) -> tuple[str, str]:
    """Format and file of `FORMAT[:FILE]`; the file is empty where logbook provides it."""
    name, _, file = spec.partition(":")
    return name, file


def check(spec: str, words: Sequence[str], *, elsewhere: str | None = None) -> None:
    """Raises UsageError for a format that is not known, and where the file cannot be found later: the command does not
    contain `{file}`, or `elsewhere` takes it to another machine."""
    name, file = split(spec)
    known = FORMATS.get(name)
    if known is None:
        near = nearest(name, FORMATS) or next(iter(FORMATS))
        raise UsageError(
            f"--read {spec}: unknown format {name!r}",
            cause=f"the formats are {', '.join(FORMATS)}",
            hint=f"--read {near}{f':{file}' if file else ''}",
        )
    if file:
        return
    named = f"--read '{name}:{known.example}'"
    if not known.option:
        raise UsageError(
            f"--read {name} needs the file that {name} writes",
            cause=f"{name} chooses itself where it writes its results",
            hint=named,
        )
    if elsewhere is not None:
        raise UsageError(
            f"--read {name} needs a file that both machines can read",
            cause=f"{elsewhere} runs the command on another machine, where {PLACE} would stay",
            hint=f"name one: {named}",
        )
    if not any(PLACE in word for word in words):
        raise UsageError(
            f"--read {name}: the command does not say where it writes its results",
            cause=f"it contains no {PLACE}, which stands for a file that logbook provides",
            hint=f"add {known.option} to the command, or name the file: {named}",
        )


def written_by(data: object) -> str | None:
    """The format that plain data seems to be in."""
    keys = data.keys() if isinstance(data, dict) else ()
    fitting = [name for name, known in FORMATS.items() if all(mark in keys for mark in known.marks)]
    # The longest description fits best: `results` alone is hyperfine's.
    return max(fitting, key=lambda name: len(FORMATS[name].marks), default=None)
