"""The columns of a table, what each of them is, and the rows as entries and as measured cases."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from logbook_agent.imports.cells import Value, commit_of, moment_of, plain, value_of, verdict_of
from logbook_agent.imports.document import ReportedEntry, ReportedTable
from logbook_agent.model.entry import DECISION, HYPOTHESIS, NEGATIVE_RESULT
from logbook_agent.model.gates import is_far
from logbook_agent.model.header import Metric
from logbook_agent.model.run import Failure, Measurement, Row
from logbook_agent.model.units import UNITS, Direction, known
from logbook_agent.model.values import Scalar, parse_scalar

# What a column is by its name.
_ROLES = {
    "name": "id number no nr number run run_id exp experiment experiment_id trial trial_id iter iteration"
    " round attempt",
    "commit": "commit sha hash git_sha git_hash git_commit commit_hash revision rev",
    "status": "status state outcome decision verdict kept keep result_status action",
    "title": "name description desc title change changes what idea note notes comment comments summary experiment_name"
    " run_name display_name hypothesis tried",
    "time": "time timestamp date datetime created created_at start_time started started_at end_time when utc",
    "device": "device devices gpu gpus accelerator hardware host hostname machine node chip tpu",
    "word": "confidence segment user tags sweep source_type source_name artifact_uri"
    " lifecycle_stage experiment_id end_time",
}
_ROLE = {word: role for role, words in _ROLES.items() for word in words.split()}
_CONFIG = re.compile(
    r"(?i)(?:^|_)(?:seed|lr|learning_rate|batch|bs|layers?|depth|width|hidden|dim|heads|epochs?|steps?|top_?k|experts?"
    r"|shape|dropout|wd|weight_decay|warmup|temperature|optimizer|model|dataset|method|variant|arm|config|size|k|n|rank)(?:_|$)"
)
_METRIC = re.compile(
    r"(?i)loss|acc|bpb|ppl|perplexity|score|f1|auc|ndcg|bleu|rouge|mrr|recall|precision|reward|time|latency|_ms$|_s$|_gb$|_mb$"
    r"|p50|p9\d|through|tok|tps|per_s|flops|mfu|mem|vram|rss|rmse|mae|mse|err|speedup|duration|runtime|val_|test_|eval_"
)
_DERIVED = re.compile(r"(?i)(?:delta|gain|change|diff|improvement|Δ|ratio|vs)(?:_|$)")
_PREFIXED = re.compile(r"(?i)(?P<kind>metrics?|summary|params?|config|tags)[./](?P<name>.+)")
_WITH_UNIT = re.compile(r"(?P<name>.*?)\s*[(\[](?P<unit>[^()\[\]]*)[)\]]\s*")
_BETTER: tuple[tuple[str, Direction], ...] = (
    (r"↑|higher[ -]is[ -]better|\bmax\b", "max"),
    (r"↓|lower[ -]is[ -]better|\bmin\b", "min"),
)
_STATISTIC = re.compile(r"(?i)(?:mean|avg|average|median|std|stdev|total|sum|overall|geomean)\b")
_NO_COMMIT = frozenset({"head", "wip", "main", "master", "dirty", "uncommitted", "working tree", "worktree"})
_TITLE = 160
# What an entry has once.
_ONCE = ("name", "commit", "status", "title", "time")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedColumn:
    """A column by its `name`; `role` is metric, config, word, or one of those that an entry has once."""

    heading: str
    name: str
    role: str = "word"
    unit: str | None = None
    direction: Direction | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RowEntry:
    """A row of a table as an entry, its number, and what is wrong with it."""

    entry: ReportedEntry
    number: int | None = None
    problems: tuple[str, ...] = ()


def metric_name(text: str) -> str:
    """A name that a RESULT line can hold: `peak memory` is `peak_memory`."""
    name = re.sub(r"[^\w./-]+", "_", plain(text).replace("@", "_at_"), flags=re.ASCII).strip("_")
    name = re.sub("__+", "_", name)
    return name if re.match(r"[A-Za-z_]", name) else f"m_{name}" if name else "value"


def columns_of(
    headings: Sequence[str], cells: Sequence[Sequence[str]], declared: Mapping[str, Metric]
) -> list[ReportedColumn]:
    """The columns of these headings and cells. `declared` metrics are metrics; so are numbers that are no whole ones,
    and those whose name says so. The first cells of a role have it."""
    found: list[ReportedColumn] = []
    for at, heading in enumerate(headings):
        column = _column(heading, [row[at] for row in cells if at < len(row)], declared)
        is_taken = column.role in ("name", "commit", "status", "title", "time") and any(
            c.role == column.role for c in found
        )
        found.append(replace(column, role="word") if is_taken else column)
    return found


def _column(heading: str, cells: Sequence[str], declared: Mapping[str, Metric]) -> ReportedColumn:
    direction = next((way for words, way in _BETTER if re.search(rf"(?i){words}", heading)), None)
    text = plain(re.sub(r"(?i)\b(?:higher|lower)[ -]is[ -]better\b", "", heading)).replace("()", "").strip()
    with_unit = _WITH_UNIT.fullmatch(text)
    unit = with_unit["unit"].strip() if with_unit is not None else None
    text = with_unit["name"] if with_unit is not None else text
    prefixed = _PREFIXED.fullmatch(text)
    kind = prefixed["kind"].lower()[0] if prefixed is not None else ""
    name = metric_name(prefixed["name"] if prefixed is not None else text.replace("#", "number") or "number")
    of = declared.get(name)
    if of is not None:
        direction, unit = of.direction or direction, unit or of.unit
    role = {"m": "metric", "s": "metric", "p": "config", "c": "config", "t": "word"}.get(kind) or _role(
        name, cells, unit, of
    )
    column = ReportedColumn(heading=heading, name=name, role=role)
    if role != "metric":
        return column
    return replace(
        column, unit=unit or known(name).unit or _unit_in(name), direction=direction or known(name).direction
    )


def _unit_in(name: str) -> str | None:
    """`GB` of `memory_gb`, `TF/s` of `TF/s_at_0.1`."""
    if (first := name.partition("_")[0]) in UNITS and "/" in first:
        return first
    end = name.rpartition("_")[2].lower()
    return next((unit for unit in UNITS if unit.lower() == end and len(end) > 1 and end != name.lower()), None)


def _role(name: str, cells: Sequence[str], unit: str | None, declared: Metric | None) -> str:
    if declared is not None:
        return "metric"
    values = [value_of(cell) for cell in cells]
    failures = [v for v in values if v.failure is not None]
    numbers = [v.number for v in values if v.number is not None]
    said = [v for v in values if v.number is not None or v.text is not None]
    role = _ROLE.get(name.lower())
    if role == "time" and not any(moment_of(cell) for cell in cells):
        role = None
    if role is not None:
        return role
    if failures and not said:
        return "metric"
    if _DERIVED.match(name):
        return "word"
    if 2 * len(numbers) < len(said) or not numbers:
        return "config" if _CONFIG.search(name) and said else "word"
    if unit or _METRIC.search(name) or any(v.unit for v in values):
        return "metric"
    if _CONFIG.search(name):
        return "config"
    return "config" if all(number.is_integer() for number in numbers) and "," not in "".join(cells) else "metric"


# -- rows ----------------------------------------------------------------------------------------------------


def table_of(
    headings: Sequence[str], cells: Sequence[Sequence[str]], declared: Mapping[str, Metric]
) -> tuple[ReportedTable, list[Metric]]:
    """The rows of a table inside an entry, without those that sum up others; and its metrics."""
    own = [row for row in cells if not any(_STATISTIC.match(plain(cell)) for cell in row[:1])]
    columns = columns_of(headings, own, declared)
    # Its numbers and names tell the rows apart.
    columns = [replace(c, role="config" if c.role in ("name", "title", "device") else c.role) for c in columns]
    rows = without_zeros([_row(columns, row) for row in own], columns)
    found = [row for row in rows if row.metrics or row.failed is not None]
    return ReportedTable(rows=tuple(found)), metrics_in(columns)


def metrics_in(columns: Sequence[ReportedColumn]) -> list[Metric]:
    """The metrics among columns; the first one is primary."""
    found = [c for c in columns if c.role == "metric"]
    return [Metric(name=c.name, unit=c.unit, direction=c.direction, primary=c is found[0]) for c in found]


def devices_named(columns: Sequence[ReportedColumn], cells: Sequence[Sequence[str]]) -> list[str]:
    """Devices or machines that differ within a table."""
    for at, column in enumerate(columns):
        there = dict.fromkeys(plain(row[at]) for row in cells if at < len(row) and plain(row[at]))
        if _ROLE.get(column.name.lower()) == "device" and len(there) > 1:
            return [f"the rows have several values of {column.name}: {', '.join([*there][:4])}"]
    return []


def _row(columns: Sequence[ReportedColumn], cells: Sequence[str]) -> Row:
    config: dict[str, Scalar] = {}
    metrics: dict[str, Measurement] = {}
    labels: dict[str, str] = {}
    failed: Failure | None = None
    verdict = _cell(columns, cells, "status")
    for column, cell in zip(columns, cells, strict=False):
        value = value_of(cell)
        if column.role == "metric":
            if value.number is not None:
                metrics[column.name] = Measurement(
                    samples=(value.number,), unit=value.unit or column.unit, direction=column.direction
                )
            elif value.failure is not None:
                failed = failed or Failure(
                    reason=metric_name(value.failure.lower())[:40], message=f"{column.name}: {value.failure}"
                )
            elif value.text is not None:
                labels[column.name] = value.text
        elif plain(cell) and column.role == "config":
            config[column.name] = parse_scalar(
                plain(cell).replace(",", "") if value.number is not None else plain(cell)
            )
        elif plain(cell) and column.role in ("word", "status", "device"):
            labels[column.name] = plain(cell)
    if (why := verdict_of(verdict)) in ("crash", "checks_failed"):
        failed = Failure(reason=why, message=failed.message if failed is not None else _cell(columns, cells, "title"))
    if not metrics and failed is None and any(c.role == "metric" for c in columns):
        failed = Failure(reason="no value", message="no number is reported")
    return Row(config=config, metrics=metrics, labels=labels, failed=failed)


def without_zeros(rows: Sequence[Row], columns: Sequence[ReportedColumn]) -> list[Row]:
    """The rows without zeros that stand for a failure: those of a row that failed, and those far from every other value
    of their metric. A row whose first metric is such a zero has failed."""
    found = list(rows)
    for at, column in enumerate(c for c in columns if c.role == "metric"):
        others = [
            m.samples[0] for row in rows if row.failed is None and (m := row.metrics.get(column.name)) and m.samples[0]
        ]
        is_failure = is_far(column.name, others, column.direction, column.unit) or (
            at == 0 and len(others) > 1 and min(map(abs, others)) > 0.01
        )
        for n, row in enumerate(found):
            if (
                (m := row.metrics.get(column.name)) is None
                or m.samples[0]
                or not (is_failure or row.failed is not None)
            ):
                continue
            rest = {name: m for name, m in row.metrics.items() if name != column.name}
            zero = Failure(reason="zero", message=f"{column.name} is 0, and every other value is far from it")
            found[n] = replace(row, metrics=rest, failed=row.failed or (zero if at == 0 or not rest else None))
    return found


def _cell(columns: Sequence[ReportedColumn], cells: Sequence[str], role: str) -> str:
    return next((cell for column, cell in zip(columns, cells, strict=False) if column.role == role), "")


def _stated(cell: str) -> str:
    """A cell as plain text; empty where it says nothing."""
    return "" if value_of(cell) == Value() else plain(cell)


def unescaped(text: str) -> str:
    """A text with `&` and quotes where it has their entities; those of `<` and `>` stay."""
    return re.sub(r"&(?:amp|quot|apos|#39);", lambda m: html.unescape(m[0]), text)


def row_entries(columns: Sequence[ReportedColumn], cells: Sequence[Sequence[str]]) -> list[RowEntry]:
    """Each row as an entry."""
    rows = without_zeros([_row(columns, row) for row in cells], columns)
    return [_entry(columns, own, row) for own, row in zip(cells, rows, strict=True)]


def _entry(columns: Sequence[ReportedColumn], cells: Sequence[str], row: Row) -> RowEntry:
    said = {role: unescaped(_stated(_cell(columns, cells, role))) for role in _ONCE}
    commit, dirty = commit_of(said["commit"])
    problems = [f"{said['commit']} is no commit"] if said["commit"].casefold() in _NO_COMMIT else []
    problems += ["its changes were not committed"] if dirty else []
    verdict = verdict_of(said["status"])
    whole = ", ".join(
        f"{c.heading} {cell}" for c, cell in zip(columns, cells, strict=False) if cell and c.role != "title"
    )
    value = value_of(said["name"])
    number = int(value.number) if value.number is not None and value.number.is_integer() and not value.unit else None
    of = next((column.name for column in columns if column.role == "name"), "")
    called = f"{of} {said['name']}" if number is not None else said["name"]
    title = said["title"] or called or whole or "(empty row)"
    fields = [(HYPOTHESIS, row.labels["asi.hypothesis"])] if "asi.hypothesis" in row.labels else []
    fields += [("Reported", whole)] if whole else []
    fields += [("Description", said["title"])] if len(said["title"]) > _TITLE else []
    fields += [(DECISION, f"{said['status']}, as reported")] if verdict in ("keep", "discard") else []
    fields += [(NEGATIVE_RESULT, f"{said['status']}, as reported")] if verdict in ("discard", "checks_failed") else []
    entry = ReportedEntry(
        title=title[:_TITLE],
        name=called,
        opened=moment_of(said["time"]) if said["time"] else None,
        kept=verdict == "keep" if verdict in ("keep", "discard") else None,
        commit=commit,
        fields=tuple(fields),
        tables=(ReportedTable(rows=(row,)),),
    )
    return RowEntry(entry=entry, number=number, problems=tuple(problems))
