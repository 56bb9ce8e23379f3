"""Calibrations of predictions, kept with a logbook: made of a few rows that it measured, and named by predictions."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from logbook_agent.entries.drafts import Prose
from logbook_agent.entries.run import RunRequest, RunResult, run
from logbook_agent.findings.predictions.rows import TIME, measured_key
from logbook_agent.findings.read import read
from logbook_agent.model.codec import encode
from logbook_agent.model.entry import Predicting, entry_of
from logbook_agent.model.errors import NotFound, UsageError
from logbook_agent.model.run import Row, Run
from logbook_agent.model.values import spelt
from logbook_agent.running.execution import Display
from logbook_agent.running.prepare import bench_folder, predict_argv
from logbook_agent.store.book import Book
from logbook_agent.store.files import make_folder, write_atomic
from logbook_agent.store.reading import names_in
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.words import assignments

OPTION = "--calibration"
# With more rows the factors would take over what the model leaves out (bench_core refuses them, too).
LEAST_CASES, MOST_CASES = 2, 3
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}")
_ROWS = ".rows.json"


def calibrations(book: Book) -> list[str]:
    """The names of the calibrations of a logbook."""
    names = names_in(_folder(book), within=book.root)
    return sorted(n.removesuffix(".json") for n in names if n.endswith(".json") and not n.endswith(_ROWS))


def calibration_words(workspace: Workspace, book: Book, name: str | None, words: Sequence[str] = ()) -> list[str]:
    """The option of `bench-core predict` for a calibration of the logbook; nothing for None. Raises UsageError where
    the `words` name another one, NotFound where there is none of this name."""
    if name is None:
        return []
    if any(word == OPTION or word.startswith(f"{OPTION}=") for word in words):
        raise UsageError(
            f"{OPTION} is given twice",
            cause=f"{OPTION} {name} names a calibration of the logbook, the one after -- a file",
            hint="leave one of them out",
        )
    known = calibrations(book)
    if name not in known:
        raise NotFound(
            f"no calibration {name}",
            cause=f"{book.topic} has {', '.join(known) or 'none'}",
            hint="make one of rows that were measured on one device: logbook predict --calibrate ENTRY",
        )
    return [OPTION, workspace.shown(_folder(book) / f"{name}.json")]


def calibrate(
    workspace: Workspace, references: Sequence[str], display: Display, *, name: str | None, prose: Prose
) -> tuple[RunResult, str]:
    """Fit a calibration on the rows of the references, `ID` or `ID/RUN`, in an entry of its own; and its name. Nothing
    is written when they do not fit."""
    book = workspace.book(entry_of(references[0]))
    _free_name(book, name)
    rows = _rows(workspace, book, references)
    predict_argv(["--calibrate"])
    folder = _folder(book)
    make_folder(folder, within=book.root)
    data = workspace.redacted({"rows": rows})
    with book.lock():
        # Two that are made at once get two names.
        name = _free_name(book, name)
        write_atomic(folder / f"{name}{_ROWS}", f"{json.dumps(data, indent=1)}\n".encode(), within=book.root)
    words = ["--calibrate", workspace.shown(folder / f"{name}{_ROWS}")]
    words += ["--out", workspace.shown(folder / f"{name}.json")]
    title = prose.title or f"Calibration {name} on {', '.join(references)}"
    request = RunRequest(
        argv=predict_argv(words),
        prose=dataclasses.replace(prose, title=title),
        predicting=Predicting(),
        search_first=bench_folder(),
    )
    return run(workspace, request, display), name


def _folder(book: Book) -> Path:
    return book.folder / "calibrations"


def _free_name(book: Book, name: str | None) -> str:
    known = calibrations(book)
    if name is None:
        # The rows of one that failed stay with the entry that says why.
        taken = {n.removesuffix(".json").removesuffix(".rows") for n in names_in(_folder(book), within=book.root)}
        return next(n for n in (f"calibration-{i}" for i in range(1, len(taken) + 2)) if n not in taken)
    if _NAME.fullmatch(name) is None:
        raise UsageError(
            f"--name {name!r} is not a valid name",
            cause="a name is lowercase letters, digits, - and _",
            hint="--name one-chip",
        )
    if name in known:
        raise UsageError(
            f"the calibration {name} exists",
            cause="predictions that were made with it name it, so it is not replaced",
            hint="give the new one another --name",
        )
    return name


# -- the rows ------------------------------------------------------------------------------------------


def _rows(workspace: Workspace, book: Book, references: Sequence[str]) -> list[dict[str, Any]]:
    """Each measured case of the references once, with the samples of all its runs."""
    found: dict[str, tuple[Row, list[float], list[str]]] = {}
    whole = read(workspace, book)
    for reference in references:
        entry_id = book.resolve(entry_of(reference))
        if why := whole.thread.standing[entry_id].why:
            raise UsageError(
                f"{entry_id} does not count: it is {why}",
                cause="a calibration is made of measurements that stand",
                hint="name another entry: logbook list",
            )
        own = _measured(book, entry_id, reference)
        if not own:
            raise UsageError(
                f"no row of {reference} can calibrate a prediction",
                cause="it takes finished runs of bench-core hillclimb on one accelerator, with time_s",
                hint=f"see what it has: logbook show {entry_id}",
            )
        for key, run_, row in own:
            place = found.setdefault(key, (row, [], []))
            place[1].extend(row.metrics[TIME].samples)
            place[2].append(f"{entry_id}/{run_.run}")
    if len(found) > MOST_CASES:
        raise _too_many(found)
    if len(found) < LEAST_CASES:
        raise UsageError(
            "one case is too few for a calibration, which has two factors",
            cause=f"{' and '.join(references)} measured one case alone on one accelerator",
            hint="name two or three: logbook predict --calibrate ID ID",
        )
    return [_plain(row, samples, places) for row, samples, places in found.values()]


def _measured(book: Book, entry_id: str, reference: str) -> list[tuple[str, Run, Row]]:
    """The rows of one accelerator of an entry, or of its run, with their cases."""
    number = reference.partition("/")[2]
    found = []
    for status in book.record(entry_id).runs:
        if not status.counts or status.state != "finished" or (number and number != str(status.run.run)):
            continue
        for row in status.run.rows:
            key, time = measured_key(status.run, row), row.metrics.get(TIME)
            used = [d.used for d in row.devices if d.used]
            if key is not None and row.failed is None and time is not None and used in ([], [1]):
                found.append((key, status.run, row))
    return found


def _plain(row: Row, samples: Sequence[float], places: Sequence[str]) -> dict[str, Any]:
    """A row as `RESULT_JSON` has it, with the samples of all runs of its case, and where they stand."""
    labels = {**row.labels, "measured_in": ", ".join(places)}
    return {
        # As the program itself reports it: what a sweep declares beside that may be null.
        "config": {key: value for key, value in row.config.items() if value is not None},
        "metrics": {TIME: {"samples": list(samples), "unit": "s", "direction": "min"}},
        "labels": labels,
        "devices": [encode(d) for d in row.devices],
        "software": dict(row.software),
    }


def _too_many(found: dict[str, tuple[Row, list[float], list[str]]]) -> UsageError:
    configs = [{k: spelt(v) for k, v in row.config.items()} for row, _, _ in found.values()]
    varied = [key for key in configs[0] if len({c.get(key) for c in configs}) > 1]
    cases = [
        f"{places[0]} ({assignments({k: c[k] for k in varied if k in c})})"
        for c, (_, _, places) in zip(configs, found.values(), strict=True)
    ]
    return UsageError(
        f"{len(found)} cases are too many for a calibration, which takes at most {MOST_CASES}",
        cause=f"they are {'; '.join(cases[:8])}{' ...' if len(cases) > 8 else ''}",
        hint="choose by their config, not by their times, and name the runs: logbook predict --calibrate "
        + " ".join(places[0] for _, _, places in list(found.values())[:MOST_CASES]),
    )
