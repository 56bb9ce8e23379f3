"""A table, whatever file it stands in: what its columns are, and its rows as entries or as the cases of one."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, structs

from logbook_agent.imports.cells import Value, commit_of, moment_of, plain, value_of, verdict_of
from logbook_agent.imports.document import ReportedEntry, ReportedTable, SourceSpan
from logbook_agent.model.entry import DECISION, HYPOTHESIS, NEGATIVE_RESULT
from logbook_agent.model.gates import is_far
from logbook_agent.model.header import Metric
from logbook_agent.model.run import Failure, Measurement, Row
from logbook_agent.model.units import UNITS, Direction, known
from logbook_agent.model.values import Scalar, parse_scalar

# What a column is by its name.
_ROLES = {
    "name": "id number no nr run run_id exp experiment experiment_id trial trial_id iter iteration round attempt",
    "commit": "commit sha hash git_sha git_hash git_commit commit_hash revision rev",
    "status": "status state outcome decision verdict kept keep result_status action",
    "title": "title description desc change changes what idea note notes comment comments summary tried what_was_tried",
    "time": "time timestamp date datetime created created_at start_time started started_at end_time when utc",
    "device": "device devices gpu gpus accelerator hardware host hostname machine node chip tpu",
    "word": "confidence segment user tags sweep source_type source_name artifact_uri lifecycle_stage",
}
_ROLE = {word: role for role, words in _ROLES.items() for word in words.split()}
# Columns that hold words in some logs, and numbers in others.
_OUTCOMES = frozenset({"result", "results", "correctness", "check"})
# What trackers call the name of a run, where no other column is one.
_ROLE |= dict.fromkeys(("name", "experiment_name", "run_name", "display_name", "hypothesis"), "title")
# What an entry has once; of several columns the first one has it.
_ONCE = ("name", "commit", "status", "title", "time")
_PREFIXED = re.compile(r"(?i)(?P<kind>metrics?|summary|params?|config|tags)[./](?P<name>.+)")
_PREFIX_ROLE = {"m": "metric", "s": "metric", "p": "config", "c": "config", "t": "word"}
_CONFIG = re.compile(
    r"(?i)(?:^|_)(?:seed|lr|learning_rate|batch|bs|layers?|depth|width|hidden|dim|heads|epochs?|steps?|top_?k|experts?"
    r"|shape|dropout|wd|weight_decay|warmup|temperature|optimizer|model|dataset|method|variant|arm|config|size|k|n|rank)(?:_|$)"
)
_METRIC = re.compile(
    r"(?i)loss|acc|bpb|ppl|perplexity|score|f1|auc|ndcg|bleu|rouge|mrr|recall|precision|reward|time|latency|_ms$|_s$|_gb$|_mb$"
    r"|p50|p9\d|through|tok|tps|per_s|flops|mfu|mem|vram|rss|rmse|mae|mse|err|speedup|duration|runtime|val_|test_|eval_"
)
_DERIVED = re.compile(r"(?i)(?:delta|gain|change|diff|improvement|Δ|ratio|vs)(?:_|$)")
_WITH_UNIT = re.compile(r"(?P<name>.*?)\s*[(\[](?P<unit>[^()\[\]]*)[)\]]\s*")
_BETTER = re.compile(r"(?i)(?P<max>↑|\bhigher[ -]is[ -]better|\bmax\b)|↓|\blower[ -]is[ -]better|\bmin\b")
_STATISTIC = re.compile(r"(?i)(?:mean|avg|average|median|std|stdev|total|sum|overall|geomean)\b")
_NO_COMMIT = frozenset({"head", "wip", "main", "master", "dirty", "uncommitted", "working tree", "worktree"})
_TITLE = 160


class Cells(Struct, frozen=True, kw_only=True):
    """The cells of one row, on these lines."""

    first: int
    last: int
    cells: tuple[str, ...]


class ReportedColumn(Struct, frozen=True, kw_only=True):
    """A column by its `name`; `role` is metric, config, word, device, or one of those that an entry has once."""

    heading: str
    name: str
    role: str
    unit: str | None = None
    direction: Direction | None = None


class SourceTable(Struct, frozen=True, kw_only=True):
    """Rows with a cell for each column."""

    columns: tuple[ReportedColumn, ...]
    rows: tuple[Cells, ...]

    @property
    def metrics(self) -> list[Metric]:
        """Its metrics; the first one is primary."""
        found = [c for c in self.columns if c.role == "metric"]
        return [Metric(name=c.name, unit=c.unit, direction=c.direction, primary=c is found[0]) for c in found]


def metric_name(text: str) -> str:
    """A name that a RESULT line can hold: `peak memory` is `peak_memory`."""
    name = re.sub(r"[^\w./-]+", "_", plain(text).replace("@", "_at_"), flags=re.ASCII).strip("_")
    name = re.sub("__+", "_", name)
    return name if re.match(r"[A-Za-z_]", name) else f"m_{name}" if name else "value"


def table_of(headings: Sequence[str], rows: Iterable[Cells], declared: Mapping[str, Metric]) -> SourceTable:
    """The table of these headings and rows. `declared` metrics are metrics; so are numbers that are no whole ones, and
    those whose name says so. What a row has too much belongs to its last cell."""
    fitted = tuple(structs.replace(row, cells=_fitted(row.cells, len(headings))) for row in rows)
    columns: list[ReportedColumn] = []
    for at, heading in enumerate(headings):
        column = _column(heading, [row.cells[at] for row in fitted], declared)
        is_taken = column.role in _ONCE and any(c.role == column.role for c in columns)
        columns.append(structs.replace(column, role="word") if is_taken else column)
    return SourceTable(columns=tuple(columns), rows=fitted)


def table_of_objects(objects: Sequence[tuple[int, Mapping[str, str]]], declared: Mapping[str, Metric]) -> SourceTable:
    """The table of objects on lines, whose keys are its headings; columns of `declared` metrics come first."""
    there = dict.fromkeys(key for _, one in objects for key in one)
    headings = sorted(there, key=lambda key: key not in declared)
    rows = (Cells(first=n, last=n, cells=tuple(one.get(key, "") for key in headings)) for n, one in objects)
    return table_of(headings, rows, declared)


def _fitted(cells: tuple[str, ...], width: int) -> tuple[str, ...]:
    if len(cells) > width > 0:
        return (*cells[: width - 1], " ".join(cells[width - 1 :]))
    return (*cells, *[""] * (width - len(cells)))


def _column(heading: str, cells: Sequence[str], declared: Mapping[str, Metric]) -> ReportedColumn:
    better = _BETTER.search(heading)
    direction: Direction | None = None if better is None else "max" if better["max"] else "min"
    text = plain(re.sub(r"(?i)\b(?:higher|lower)[ -]is[ -]better\b", "", heading)).replace("()", "").strip()
    unit = None
    if (with_unit := _WITH_UNIT.fullmatch(text)) is not None:
        text, unit = with_unit["name"], with_unit["unit"].strip() or None
    prefixed = _PREFIXED.fullmatch(text)
    name = metric_name(prefixed["name"] if prefixed is not None else text.replace("#", "number") or "number")
    of = declared.get(name)
    role = _PREFIX_ROLE[prefixed["kind"][0].lower()] if prefixed is not None else ""
    role = "metric" if of is not None else role or _role(name, [value_of(cell) for cell in cells], cells, unit)
    if role != "metric":
        return ReportedColumn(heading=heading, name=name, role=role)
    unit = unit or (of.unit if of is not None else None) or known(name).unit or _unit_in(name)
    direction = (of.direction if of is not None else None) or direction or known(name).direction
    return ReportedColumn(heading=heading, name=name, role=role, unit=unit, direction=direction)


def _unit_in(name: str) -> str | None:
    """`GB` of `memory_gb`, `TF/s` of `TF/s_at_0.1`."""
    if (first := name.partition("_")[0]) in UNITS and "/" in first:
        return first
    end = name.rpartition("_")[2].lower()
    return next((unit for unit in UNITS if unit.lower() == end and len(end) > 1 and end != name.lower()), None)


def _role(name: str, values: Sequence[Value], cells: Sequence[str], unit: str | None) -> str:
    """What a column is, by its name, else by its values."""
    role = _ROLE.get(name.lower())
    if role is not None and (role != "time" or any(map(moment_of, cells))):
        return role
    numbers = [v.number for v in values if v.number is not None]
    count = len(numbers) + sum(v.text is not None for v in values)
    if name.lower() in _OUTCOMES and 2 * sum(verdict_of(cell) is not None for cell in cells) > len(cells):
        return "status"
    if not count and any(v.failure for v in values):
        return "metric"
    if _DERIVED.match(name):
        return "word"
    if not numbers or 2 * len(numbers) < count:
        return "config" if count and _CONFIG.search(name) else "word"
    if unit or _METRIC.search(name) or any(v.unit for v in values):
        return "metric"
    is_whole = all(number.is_integer() for number in numbers) and "," not in "".join(cells)
    return "config" if is_whole or _CONFIG.search(name) else "metric"


# -- rows ----------------------------------------------------------------------------------------------------


def cases_of(table: SourceTable) -> tuple[Row, ...]:
    """The rows of a table inside an entry, without those that sum up others; numbers and names tell the rows apart."""
    own = tuple(row for row in table.rows if not _STATISTIC.match(plain(row.cells[0])))
    columns = (structs.replace(c, role="config") if c.role in ("name", "title", "device") else c for c in table.columns)
    rows = _rows(structs.replace(table, columns=tuple(columns), rows=own))
    return tuple(row for row in rows if row.metrics or row.failed is not None)


def _rows(table: SourceTable) -> list[Row]:
    """The rows. A zero that stands for a failure is no value: that of a row that failed, and one far from every other
    value of its metric. A row whose first metric is such a zero has failed."""
    found = [_row(table.columns, row.cells) for row in table.rows]
    for at, column in enumerate(c for c in table.columns if c.role == "metric"):
        name = column.name
        others = [m.samples[0] for row in found if not row.failed and (m := row.metrics.get(name)) and m.samples[0]]
        is_failure = is_far(name, others, column.direction, column.unit) or (
            at == 0 and len(others) > 1 and min(map(abs, others)) > 0.01
        )
        zero = Failure(reason="zero", message=f"{name} is 0, and every other value is far from it")
        for n, row in enumerate(found):
            if name in row.metrics and not row.metrics[name].samples[0] and (is_failure or row.failed):
                rest = {other: m for other, m in row.metrics.items() if other != name}
                found[n] = structs.replace(
                    row, metrics=rest, failed=row.failed or (zero if at == 0 or not rest else None)
                )
    return found


def _row(columns: Sequence[ReportedColumn], cells: Sequence[str]) -> Row:
    config: dict[str, Scalar] = {}
    metrics: dict[str, Measurement] = {}
    labels: dict[str, str] = {}
    failed: Failure | None = None
    for column, cell in zip(columns, cells, strict=True):
        value, text = value_of(cell), plain(cell)
        if column.role == "metric" and value.number is not None:
            unit = value.unit or column.unit
            metrics[column.name] = Measurement(samples=(value.number,), unit=unit, direction=column.direction)
        elif column.role == "metric" and value.failure is not None:
            reason = metric_name(value.failure.lower())[:40]
            failed = failed or Failure(reason=reason, message=f"{column.name}: {value.failure}")
        elif column.role == "config" and text:
            config[column.name] = parse_scalar(text if value.number is None else text.replace(",", ""))
        elif text if column.role in ("word", "status", "device") else column.role == "metric" and value.text:
            labels[column.name] = text
    said = _once(columns, cells)
    if (why := verdict_of(said["status"])) in ("crash", "checks_failed"):
        failed = Failure(reason=why, message=failed.message if failed is not None else said["title"])
    is_said = any(c.role == "metric" and c.name in labels for c in columns)
    if not metrics and failed is None and not is_said and any(c.role == "metric" for c in columns):
        failed = Failure(reason="no value", message="no number is reported")
    return Row(config=config, metrics=metrics, labels=labels, failed=failed)


def _once(columns: Sequence[ReportedColumn], cells: Sequence[str]) -> dict[str, str]:
    """What a row says of its entry, by role; empty where it says nothing."""
    found = dict.fromkeys(_ONCE, "")
    for column, cell in zip(columns, cells, strict=True):
        if column.role in _ONCE and value_of(cell) != Value():
            found[column.role] = html.unescape(plain(cell))
    return found


def entries_of(table: SourceTable) -> list[SourceSpan]:
    """Each row as an entry. The first one says where the rows have several devices."""
    spans = [
        SourceSpan(first=own.first, last=own.last, entry=_entry(table.columns, own.cells, row))
        for own, row in zip(table.rows, _rows(table), strict=True)
    ]
    for at, column in enumerate(table.columns):
        there = [*dict.fromkeys(plain(row.cells[at]) for row in table.rows if plain(row.cells[at]))]
        if column.role == "device" and len(there) > 1 and (first := spans[0].entry) is not None:
            several = f"the rows have several values of {column.name}: {', '.join(there[:4])}"
            spans[0] = structs.replace(spans[0], entry=structs.replace(first, problems=(*first.problems, several)))
    return spans


def _entry(columns: Sequence[ReportedColumn], cells: Sequence[str], row: Row) -> ReportedEntry:
    said = _once(columns, cells)
    status, value = said["status"], value_of(said["name"])
    number = int(value.number) if value.number is not None and value.number.is_integer() and not value.unit else None
    name = said["name"] if number is None else f"{next(c.name for c in columns if c.role == 'name')} {said['name']}"
    verdict = verdict_of(status)
    pairs = zip(columns, cells, strict=True)
    whole = ", ".join(f"{c.heading} {cell}" for c, cell in pairs if cell and c.role != "title")
    title = said["title"] or name or whole or "(empty row)"
    fields = {
        HYPOTHESIS: row.labels.get("asi.hypothesis"),
        "Reported": whole,
        "Description": title if len(title) > _TITLE else None,
        DECISION: f"{status}, as reported" if verdict in ("keep", "discard") else None,
        NEGATIVE_RESULT: f"{status}, as reported" if verdict in ("discard", "checks_failed") else None,
    }
    return ReportedEntry(
        title=title[:_TITLE],
        name=name,
        number=number,
        opened=moment_of(said["time"]),
        kept=verdict == "keep" if verdict in ("keep", "discard") else None,
        commit=commit_of(said["commit"]),
        fields=tuple((label, text) for label, text in fields.items() if text),
        tables=(ReportedTable(rows=(row,)),),
        problems=(f"{said['commit']} is no commit",) if said["commit"].casefold() in _NO_COMMIT else (),
    )
