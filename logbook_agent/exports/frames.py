"""The table as a data frame, and as Parquet: each column has a type of its own, whole numbers that may be unknown,
times in UTC, samples as lists. And the libraries for this and for trackers, which not everybody has installed, and of
which some would speak to a server of theirs if they were let."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from logbook_agent.exports.columns import SCHEMA, DataColumn, moment
from logbook_agent.model.errors import UsageError

if TYPE_CHECKING:
    import pandas
    import polars

# What these libraries read: addresses of servers, names of accounts, tokens, folders elsewhere.
_THEIRS = ("MLFLOW_", "WANDB_", "TRACKIO_", "HF_", "HUGGING", "DATABRICKS_", "SENTRY_", "OTEL_", "_MLFLOW_")
_QUIET = {"DO_NOT_TRACK": "true", "HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "OTEL_SDK_DISABLED": "true"}


def needed(library: str, *, extra: str, what: str) -> Any:
    """The library; raises UsageError that says what to install when it is not there, or does not load."""
    try:
        return importlib.import_module(library)
    except ImportError as error:
        absent = isinstance(error, ModuleNotFoundError) and (error.name or "").split(".")[0] == library.split(".")[0]
        raise UsageError(
            f"{what} needs {library.split('.')[0]}",
            cause="it is not installed" if absent else f"it cannot be loaded: {error}",
            hint=f"pip install 'logbook-agent[{extra}]'",
        ) from error


@contextmanager
def alone(settings: Mapping[str, str]) -> Iterator[None]:
    """Within the block the environment has no settings, accounts or tokens for such a library but `settings`, telemetry
    is off, and what is printed goes to stderr. A library reads it when it is imported: that belongs into the block."""
    before = dict(os.environ)
    try:
        for name in [name for name in os.environ if name.startswith(_THEIRS)]:
            del os.environ[name]
        os.environ.update({**_QUIET, **settings})
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def to_pandas(columns: Sequence[DataColumn]) -> pandas.DataFrame:
    """Text, whole numbers and switches in pandas' own types with `<NA>`, numbers as float64, times as datetime64 in
    UTC, samples as lists. Raises UsageError without pandas."""
    pd = needed("pandas", extra="pandas", what="to_pandas()")
    types = {"text": "string", "int": "Int64", "float": "float64", "bool": "boolean"}
    types |= {"time": "datetime64[us, UTC]", "samples": "object"}
    frame: pandas.DataFrame = pd.DataFrame({c.name: pd.Series(_values(c), dtype=types[c.type]) for c in columns})
    return frame


def to_polars(columns: Sequence[DataColumn]) -> polars.DataFrame:
    """Raises UsageError without polars."""
    pl = needed("polars", extra="polars", what="to_polars()")
    types = {"text": pl.String, "int": pl.Int64, "float": pl.Float64, "bool": pl.Boolean}
    types |= {"time": pl.Datetime("us", "UTC"), "samples": pl.List(pl.Float64)}
    frame: polars.DataFrame = pl.DataFrame([pl.Series(c.name, _values(c), dtype=types[c.type]) for c in columns])
    return frame


def parquet(columns: Sequence[DataColumn]) -> bytes:
    """A Parquet file. Raises UsageError without pyarrow."""
    pa = needed("pyarrow", extra="parquet", what="logbook export --as parquet")
    pq = needed("pyarrow.parquet", extra="parquet", what="logbook export --as parquet")
    types = {"text": pa.string(), "int": pa.int64(), "float": pa.float64(), "bool": pa.bool_()}
    types |= {"time": pa.timestamp("us", tz="UTC"), "samples": pa.list_(pa.float64())}
    schema = pa.schema([(c.name, types[c.type]) for c in columns], metadata={"logbook": json.dumps({"schema": SCHEMA})})
    table = pa.table([pa.array(_values(c), type=types[c.type]) for c in columns], schema=schema)
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def _values(column: DataColumn) -> list[Any]:
    if column.type == "time":
        return [None if text is None else moment(text) for text in column.values]
    if column.type == "samples":
        return [None if value is None else list(value) for value in column.values]
    if column.type == "text":
        # Half a surrogate pair is no text in any encoding; nothing else is changed.
        return [None if v is None else v.encode("utf-8", "replace").decode() for v in column.values]
    return list(column.values)
