"""Logbooks of any rows, written by the store's own writers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from logbook_agent.exports.columns import DataColumn, columns_of
from logbook_agent.exports.measured_rows import Exported, exported
from logbook_agent.findings.read import Findings
from logbook_agent.model.code import Code
from logbook_agent.model.entry import Entry
from logbook_agent.model.header import Header, Metric
from logbook_agent.model.run import Device, Exit, Host, Row, Run
from logbook_agent.store.book import Book
from logbook_agent.store.root import create
from logbook_agent.store.workspace import utc_now

AT = "2026-02-10T10:43:00+00:00"


def new_book(root: Path, *metrics: str) -> Book:
    declared = tuple(Metric(name=name, direction="max", unit="TF/s") for name in metrics)
    header = Header(topic="moe", title="MoE", prefix="MOE", opened=AT, metrics=declared)
    return create(root, header, durable=False)


def add(book: Book, rows: Sequence[Row]) -> None:
    """An entry whose run has these rows."""
    name = "MOE-000"
    book.write_entry(Entry(id=name, title="x", opened=AT))
    book.new_run(name)
    book.write_run(
        Run(
            entry=name,
            run=1,
            name=book.run_name(name, 1),
            argv=("bench", "--n", "0"),
            cwd=".",
            started=AT,
            ended=AT,
            duration_s=1.5,
            exit=Exit(code=0),
            code=Code(commit="a" * 40, branch="main", identity="b" * 40, dirty=False),
            host=Host(name="box", os="Linux", cpu="EPYC", cores=2, memory_bytes=2**34),
            devices=(Device(platform="gpu", kind="H200", count=1, used=1),),
            software={"jax": "0.10.2"},
            rows=tuple(rows),
        )
    )


def all_rows(book: Book) -> Exported:
    return exported(Findings(book, utc_now))


def table(book: Book) -> dict[str, DataColumn]:
    return {column.name: column for column in columns_of(all_rows(book).rows)}
