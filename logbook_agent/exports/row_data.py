"""A row as plain data: everything that is known of it, samples and provenance included. What the JSON export holds, and
what is kept beside each run of a tracker, whose own fields cannot hold all of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from logbook_agent.exports.columns import packages_of
from logbook_agent.exports.measured_rows import Exported, MeasuredRow
from logbook_agent.findings.facts import executed
from logbook_agent.model.codec import encode
from logbook_agent.model.header import Header

SCHEMA = "logbook-rows/1"


def row_data(row: MeasuredRow) -> dict[str, object]:
    """The row as `logbook export --as json` writes it. Numbers are those of the record."""
    run, entry, measured = row.run, row.entry, row.row
    return {
        "entry": entry.id,
        "run": encode(run.run),
        "row": row.place,
        "counts": row.counts,
        "why_not": row.why_not or None,
        "title": entry.title,
        "kind": entry.kind,
        "entry_state": row.entry_state,
        "label": run.label,
        "state": row.status.state,
        "repeat": run.repeat,
        "discarded": run.discarded,
        "failed": encode(measured.failed) if measured.failed is not None else None,
        "config": encode(measured.config),
        "metrics": {
            name: {"samples": list(m.samples), "unit": m.unit, "direction": m.direction}
            for name, m in measured.metrics.items()
        },
        "observations": encode(measured.observations),
        "labels": encode(measured.labels),
        "provenance": _provenance(row),
    }


def _provenance(row: MeasuredRow) -> dict[str, object]:
    run, measured = row.run, row.row
    return {
        "command": executed(run),
        "argv": list(run.argv),
        "cwd": run.cwd,
        "launcher": run.through or None,
        "executor": run.executor,
        "job": run.job,
        "started": run.started,
        "ended": run.ended,
        "duration_s": run.duration_s,
        "exit": encode(run.exit) if run.exit is not None else None,
        "peak_memory_bytes": run.peak_memory_bytes,
        "code": encode(run.code) if run.code is not None else None,
        "host": {**encode(run.own_host), **({"name": measured.host} if measured.host is not None else {})},
        "busy": row.case.busy,
        "devices": [encode(device) for device in measured.devices],
        "packages": packages_of(row),
        "env": encode(run.env.variables),
        "output_sha256": run.output.sha256 if run.output is not None else None,
        "problems": encode(run.problems),
    }


def json_pieces(found: Exported, header: Header) -> Iterator[bytes]:
    """The rows as one JSON document, a row on each line."""
    yield f'{{"schema": "{SCHEMA}",\n'.encode()
    logbook = {"topic": header.topic, "prefix": header.prefix, "title": header.title, "goal": header.goal}
    yield f'"logbook": {_text({**logbook, "metrics": [encode(m) for m in header.metrics]})},\n'.encode()
    yield f'"left_out": {_text(left_out(found))},\n"rows": [\n'.encode()
    for place, row in enumerate(found.rows):
        yield (",\n" * bool(place) + _text(row_data(row))).encode()
    yield b"\n]}\n"


def left_out(found: Exported) -> dict[str, object]:
    """What is no row of the export."""
    return {
        "runs_without_rows": found.runs_without_rows,
        "not_asked_for": found.not_asked_for,
        "damaged_entries": list(found.damaged),
    }


def _text(data: Any) -> str:
    return json.dumps(encode(data), ensure_ascii=False, allow_nan=False)
