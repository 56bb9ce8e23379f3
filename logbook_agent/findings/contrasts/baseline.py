"""The rows of the logbook's baseline beside others."""

from __future__ import annotations

from dataclasses import replace

from logbook_agent.findings.contrasts.contrast import Contrasted, beside, rows_of
from logbook_agent.findings.measured import baseline_cases, is_case
from logbook_agent.findings.records import Records
from logbook_agent.model.entry import Contrast
from logbook_agent.model.errors import UsageError


def against_baseline(records: Records, asked: Contrast) -> Contrasted:
    """The rows of the baseline's case beside those of a contrast. Raises UsageError where no entry measured them."""
    header = records.header
    if header.baseline is None or header.baseline.entry is None:
        stated = header.baseline is not None and bool(header.baseline.numbers)
        raise UsageError(
            f"no run measured the baseline of {header.topic}" if stated else f"{header.topic} has no baseline",
            cause="its header states numbers, and names no entry" if stated else "its header names none",
            hint="logbook baseline --entry ID --reason '...' names one; or name both sides: logbook compare A B",
        )
    entry = records.resolve(header.baseline.entry)
    asked = replace(asked, references=(entry, *asked.references))
    base, *others = rows_of(asked, {i: records.record(i) for i in asked.entries})
    places = baseline_cases(header)
    own = [t for t in base if not places or any(is_case(t.row.config, place) for place in places)]
    if not own:
        raise UsageError(
            f"no row of {entry} matches the baseline's case",
            cause="the header names the entry, and a config that none of its rows has",
            hint=f"name the rows themselves: logbook compare {entry}/1 {asked.references[1]}",
        )
    return beside(asked, [own, *others], header.metrics)
