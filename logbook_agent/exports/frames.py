"""The table as a data frame, and as Parquet. Each column has a type of its own: whole numbers that may be unknown,
times in UTC, samples as lists."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from logbook_agent.exports.columns import SCHEMA, DataColumn, moment
from logbook_agent.exports.libraries import needed

if TYPE_CHECKING:
    import pandas
    import polars


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
