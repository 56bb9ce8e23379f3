"""Logbooks of any rows, written by the store's own writers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from logbook_agent.exports.columns import DataColumn, columns_of
from logbook_agent.exports.measured_rows import Exported, exported
from logbook_agent.findings.read import Findings
from logbook_agent.model.entry import Entry
from logbook_agent.model.header import Header, Metric
from logbook_agent.model.run import Code, Device, Exit, Failure, Host, Measurement, Row, Run
from logbook_agent.store.book import Book
from logbook_agent.store.root import create
from logbook_agent.store.workspace import utc_now

AT = "2026-02-10T10:43:00+00:00"
NASTY = (
    "=cmd()|'/c calc'!A1 <script>alert(1)</script> \u202egnp.exe [x](javascript:alert(1)) ```\n<!-- logbook -->\t\"',;"
)


def new_book(root: Path, *metrics: str) -> Book:
    declared = tuple(Metric(name=name, direction="max", unit="TF/s") for name in metrics)
    header = Header(topic="moe", title="MoE", prefix="MOE", opened=AT, metrics=declared)
    return create(root, header, durable=False)


def add(book: Book, number: int, *runs: Sequence[Row], title: str = "x", discarded: bool = False, **entry: str) -> None:
    """An entry whose runs have these rows."""
    name = f"MOE-{number:03d}"
    book.write_entry(Entry(id=name, title=title, opened=AT, **entry))  # type: ignore[arg-type]
    for at, rows in enumerate(runs, 1):
        book.new_run(name)
        book.write_run(
            Run(
                entry=name,
                run=at,
                argv=("bench", "--n", str(number)),
                cwd=".",
                started=AT,
                ended=AT,
                duration_s=1.5,
                exit=Exit(code=0),
                discarded=discarded,
                code=Code(commit="a" * 40, branch="main", identity="b" * 40, dirty=False),
                host=Host(name="box", os="Linux", cpu="EPYC", cores=2, memory_bytes=2**34),
                devices=(Device(platform="gpu", kind="H200", count=1, used=1),),
                software={"jax": "0.10.2"},
                rows=tuple(rows),
            )
        )


def full(root: Path) -> Book:
    """Every kind of row: of several samples, superseded, void, a warm-up, a failure; a text that is hostile."""
    book = new_book(root, "tflops")
    mixed = Row(
        config={"tile": 512, "mode": NASTY, "fused": True, "rate": 0.1},
        metrics={"tflops": Measurement(samples=(0.1 + 0.2, 1e-300, 5e-324)), "time": Measurement(samples=(3.0,))},
        observations={"share": 1 / 3, "nothing": None},
        labels={"label": NASTY},
    )
    add(book, 0, [mixed, Row(config={"tile": "auto", "rate": 2}, metrics={"tflops": Measurement(samples=(2.5,))})])
    add(book, 1, [Row(metrics={"tflops": Measurement(samples=(1.0,))})], title=NASTY)
    add(book, 2, [Row(metrics={"tflops": Measurement(samples=(2.0,))})], supersedes="MOE-001")
    add(book, 3, [Row(metrics={"tflops": Measurement(samples=(3.0,))})], state="void")
    add(book, 4, [Row(metrics={"tflops": Measurement(samples=(4.0,))})], discarded=True)
    add(book, 5, [Row(config={"tile": 8}, failed=Failure(reason="oom", message=NASTY))], [])
    return book


def all_rows(book: Book) -> Exported:
    return exported(Findings(book, utc_now))


def table(book: Book) -> dict[str, DataColumn]:
    return {column.name: column for column in columns_of(all_rows(book).rows)}


def original_cell(text: str) -> str:
    """The text of a cell of CSV, as the documentation says how to read it."""
    return text[1:] if text.startswith("'") and text.lstrip("'").startswith(tuple("=+-@\t\r\n＝＋－＠")) else text
