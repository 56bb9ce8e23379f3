"""Cases and tables made in one line."""

from __future__ import annotations

from logbook_agent.findings.cases import Case
from logbook_agent.findings.tables.build import tabulate
from logbook_agent.findings.tables.spec import Table, TableSpec
from logbook_agent.model.header import Metric
from logbook_agent.model.run import Device, Failure, Measurement, Row, Scalar


def case(
    config: dict[str, Scalar] | None = None,
    *,
    entry: str = "X-001",
    run: int = 1,
    label: str | None = None,
    unit: str | None = None,
    words: dict[str, str] | None = None,
    observed: dict[str, float | None] | None = None,
    devices: tuple[Device, ...] = (),
    failed: str | None = None,
    **metrics: float | list[float],
) -> Case:
    measured = {
        name: Measurement(samples=tuple(value) if isinstance(value, list) else (value,), unit=unit)
        for name, value in metrics.items()
    }
    row = Row(
        config=config or {},
        metrics=measured,
        observations=observed or {},
        labels=words or {},
        devices=devices,
        failed=None if failed is None else Failure(reason=failed),
    )
    return Case(entry=entry, run=run, label=label, row=row)


def table(*cases: Case, spec: TableSpec | None = None, declared: tuple[Metric, ...] = ()) -> Table:
    return tabulate(cases, spec or TableSpec(), declared=declared)


def names(found: Table) -> list[str]:
    return [column.name for column in found.columns]
