"""Records without secrets. A store writes nothing that did not come from here."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, TypeVar

from logbook_agent.model.codec import CodecError, decode, encode
from logbook_agent.model.errors import RecordError
from logbook_agent.text.redaction.names import is_secret_value, secret_kind
from logbook_agent.text.redaction.plain import redacted, texts
from logbook_agent.text.redaction.redactor import Redactor

_R = TypeVar("_R")
# What files are called and found by.
_NEEDED = ("id", "entry", "topic", "prefix", "opened")

if TYPE_CHECKING:
    from logbook_agent.model.run import Row, Run


def clean_run(run: Run, redactor: Redactor) -> Run:
    """A run without secrets. What a row measured under a secret's name is left out, and a problem says so."""
    hidden = sorted({name for row in run.rows for name in _secret_numbers(row)})
    if hidden:
        rows = tuple(_without(row, frozenset(hidden)) for row in run.rows)
        shown = ", ".join(redactor.text(name) for name in hidden)
        said = f"left out: {shown}: a number under a secret's name is not a measurement"
        run = dataclasses.replace(run, rows=rows, problems=(*run.problems, said))
    return clean_record(run, redactor)


def clean_record(record: _R, redactor: Redactor) -> _R:
    """An entry or header without secrets."""
    plain = encode(record)
    safe = redacted(plain, redactor)
    # Most records hold none; reading one again takes longer than looking at it. But what is returned is what a file
    # holds, and there a byte that is no UTF-8 is escaped.
    if safe is plain and not any("\\" in text for text in texts(plain)):
        return record
    try:
        done = decode(type(record), safe)
    except CodecError as error:
        raise _too_much(str(error)) from error
    for name in _NEEDED:
        if getattr(done, name, None) != getattr(record, name, None):
            raise _too_much(f"{name} is {getattr(done, name)}")
    return done


def _too_much(what: str) -> RecordError:
    return RecordError(
        f"a secret rule hides a value that a record needs: {what}",
        cause="a rule of [[secret_rules]] in logbook.toml matches more than a secret",
        hint="make it narrower, or remove it from logbook.toml",
    )


def _secret_numbers(row: Row) -> list[str]:
    samples = {name: measured.samples for name, measured in row.metrics.items()}
    samples.update({name: (value,) for name, value in row.observations.items() if value is not None})
    return [name for name, values in samples.items() if _is_secret(name, values)]


def _is_secret(name: str, values: tuple[float, ...]) -> bool:
    kind = secret_kind(name)
    return kind is not None and any(is_secret_value(name, kind, str(value)) for value in values)


def _without(row: Row, names: frozenset[str]) -> Row:
    return dataclasses.replace(
        row,
        metrics={name: m for name, m in row.metrics.items() if name not in names},
        observations={name: None if name in names else value for name, value in row.observations.items()},
    )
