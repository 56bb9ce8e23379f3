"""`logbook start`: a header from options or a YAML file, checked, then written."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from logbook_agent.errors import UsageError
from logbook_agent.markdown.text import clean
from logbook_agent.model.codec import CodecError, decode
from logbook_agent.model.header import (
    Baseline,
    BaselineNumbers,
    CommandTemplate,
    Criterion,
    Header,
    Link,
    MatrixAxis,
    Metric,
)
from logbook_agent.model.ids import PREFIX, TOPIC
from logbook_agent.model.run import Scalar
from logbook_agent.report.blocks import Blocks
from logbook_agent.report.times import zone_of
from logbook_agent.store.book import Book, create
from logbook_agent.store.records import parse_yaml
from logbook_agent.units import DIRECTIONS, UNITS, Direction, known
from logbook_agent.workflows.prepare import parse_pair
from logbook_agent.workflows.views import refresh
from logbook_agent.workflows.workspace import Workspace

_METRIC = re.compile(r"[A-Za-z_][\w./-]*")
_FILE_KEYS = [
    "topic",
    "title",
    "prefix",
    "zone",
    "goal",
    "metrics",
    "constraints",
    "links",
    "baseline",
    "stop_criteria",
    "matrix",
    "command_templates",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRequest:
    """The options of `start`, as typed; what stands in `file` comes first, options win or add."""

    topic: str | None = None
    prefix: str | None = None
    title: str | None = None
    goal: str | None = None
    metrics: Sequence[str] = ()
    constraints: Sequence[str] = ()
    stops: Sequence[str] = ()
    links: Sequence[str] = ()
    baseline: Sequence[str] = ()
    baseline_refs: Sequence[str] = ()
    baseline_source: str | None = None
    baseline_confidence: str | None = None
    matrix: Sequence[str] = ()
    command_templates: Sequence[str] = ()
    zone: str | None = None
    file: Path | None = None


def start(workspace: Workspace, request: StartRequest) -> Book:
    """Create the logbook and its view. Raises UsageError, Taken or StoreError; then nothing is written."""
    header = workspace.redacted_header(header_of(workspace, request))
    # A template that does not fit is met before anything is written.
    Blocks(workspace.templates, header).header()
    book = create(workspace.root, header)
    refresh(workspace, book, ())
    return book


def header_of(workspace: Workspace, request: StartRequest) -> Header:
    """The header that a request describes. Raises UsageError naming the option that does not fit."""
    data = _from_file(request.file) if request.file is not None else {}
    topic = _topic(request.topic or data.get("topic"))
    prefix = _prefix(request.prefix or data.get("prefix"))
    zone = request.zone or data.get("zone") or workspace.config.zone or "UTC"
    zone_of(zone)
    metrics = (*data.get("metrics", ()), *(parse_metric(m) for m in request.metrics))
    _distinct([m.name for m in metrics], "metric")
    return Header(
        topic=topic,
        title=clean(request.title or data.get("title") or topic.replace("_", " ").replace("-", " ")),
        prefix=prefix,
        opened=workspace.stamp(),
        zone=zone,
        goal=clean(request.goal or data.get("goal") or "") or None,
        metrics=metrics,
        constraints=(*data.get("constraints", ()), *map(clean, request.constraints)),
        links=(*data.get("links", ()), *map(_link, request.links)),
        baseline=_baseline(workspace, request, data.get("baseline"), metrics),
        stop_criteria=(
            *data.get("stop_criteria", ()),
            *(Criterion(text=clean(s)) for s in request.stops),
        ),
        matrix=(*data.get("matrix", ()), *map(_axis, request.matrix)),
        command_templates=(*data.get("command_templates", ()), *map(_template, request.command_templates)),
    )


def parse_metric(text: str) -> Metric:
    """`NAME[:max|min][:UNIT]`; what is left out comes from the table of known metrics."""
    name, *rest = clean(text).split(":")
    direction: Direction | None = None
    if rest and rest[0] in DIRECTIONS:
        direction = cast(Direction, rest.pop(0))
    elif rest and (len(rest) > 1 or not (rest[0] in UNITS or "/" in rest[0] or "%" in rest[0])):
        example = f"{name}:max:{rest[1]}" if len(rest) > 1 else f"{name}:max"
        raise _bad(
            f"metric {text!r} has the unknown direction {rest[0]!r}",
            "a direction is max or min; a unit that is not a common one comes behind it",
            example,
        )
    if not _METRIC.fullmatch(name):
        raise _bad(
            f"metric {text!r} has no name a RESULT line could carry",
            "a name starts with a letter and has no spaces",
            "tflops:max:TF/s",
        )
    unit = ":".join(rest) or None
    return Metric(name=name, direction=direction or known(name).direction, unit=unit or known(name).unit)


def _bad(message: str, cause: str, example: str) -> UsageError:
    return UsageError(message, cause=cause, hint=f"write: --metric {example}")


def _topic(topic: str | None) -> str:
    if not topic:
        raise UsageError(
            "no topic",
            cause="a logbook is named by its topic",
            hint="logbook start moe_ep_int8 --prefix MOE-I8",
        )
    if not TOPIC.fullmatch(topic):
        better = re.sub(r"[^a-z0-9_-]+", "_", topic.casefold()).strip("_-") or "my_topic"
        raise UsageError(
            f"the topic {topic!r} cannot be a file name everywhere",
            cause="a topic is lower-case letters, digits, _ and -",
            hint=f"logbook start {better} --title {topic!r} ...",
        )
    return topic


def _prefix(prefix: str | None) -> str:
    if not prefix:
        raise UsageError(
            "no experiment ID prefix",
            cause="every entry is called PREFIX-NNN",
            hint="add: --prefix MOE-I8",
        )
    if not PREFIX.fullmatch(prefix):
        better = re.sub(r"[^A-Z0-9]+", "-", prefix.upper()).strip("-") or "EXP"
        raise UsageError(
            f"the prefix {prefix!r} does not make an ID",
            cause="a prefix is capital letters and digits, in words joined by -, and starts with a letter",
            hint=f"write: --prefix {better if PREFIX.fullmatch(better) else 'EXP'}",
        )
    return prefix


def _distinct(names: Sequence[str], what: str) -> None:
    twice = [n for n in names if names.count(n) > 1]
    if twice:
        raise UsageError(f"{what} {twice[0]} is given twice", cause="each stands once", hint="remove one of them")


def _labelled(text: str, option: str, separator: str, example: str) -> tuple[str, str]:
    label, found, rest = text.partition(separator)
    if not found or not label.strip() or not rest.strip():
        raise UsageError(
            f"{option} {text!r} does not read LABEL{separator}TEXT",
            cause=f"the {separator.strip()} or what stands on one side of it is missing",
            hint=f"write: {option} {example}",
        )
    return clean(label).strip(), clean(rest).strip()


def _link(text: str) -> Link:
    label, url = _labelled(text, "--link", "=", "'Experiment issue=https://github.com/OWNER/REPO/issues/1'")
    return Link(label=label, url=url)


def _axis(text: str) -> MatrixAxis:
    axis, values = _labelled(text, "--matrix", "=", "topk=2,4,8")
    return MatrixAxis(axis=axis, values=tuple(v.strip() for v in values.split(",")))


def _template(text: str) -> CommandTemplate:
    label, command = _labelled(text, "--command-template", ": ", "'Baseline: python bench.py --quant none'")
    return CommandTemplate(label=label, command=command)


def _baseline(
    workspace: Workspace, request: StartRequest, given: Baseline | None, metrics: Sequence[Metric]
) -> Baseline | None:
    """The file's baseline with the options on top: `K=V` is a number where K is a declared metric."""
    if not (request.baseline or request.baseline_refs or request.baseline_source or given):
        return None
    base = given or Baseline()
    names = {m.name for m in metrics}
    config: dict[str, Scalar] = dict(base.config)
    numbers: dict[str, float] = {}
    for key, value in (parse_pair(clean(t), "--baseline") for t in request.baseline):
        if key in names and isinstance(value, int | float):
            numbers[key] = float(value)
        else:
            config[key] = value
    return Baseline(
        date=base.date or workspace.stamp()[:10],
        code_refs=(*base.code_refs, *map(clean, request.baseline_refs)),
        config=config,
        numbers=(*base.numbers, *((BaselineNumbers(metrics=numbers),) if numbers else ())),
        entry=base.entry,
        source=clean(request.baseline_source or base.source or "") or None,
        confidence=clean(request.baseline_confidence or base.confidence or "") or None,
        text=base.text,
    )


# -- the YAML file -----------------------------------------------------------------------------------


def _from_file(path: Path) -> dict[str, Any]:
    """The parts of a header in a YAML file; short forms (a text for a metric, link, criterion) are read."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"cannot read {path}: {getattr(error, 'strerror', None) or 'it is not UTF-8 text'}",
            cause="--from names a YAML file",
            hint="docs/reference/header.md shows one",
        ) from error
    data = parse_yaml(text, str(path))
    if not isinstance(data, dict):
        raise UsageError(f"{path} holds no keys", cause="a header is a mapping", hint="start with: topic: NAME")
    unknown = [k for k in data if k not in _FILE_KEYS]
    if unknown:
        raise UsageError(
            f"{path}: unknown key {unknown[0]!r}",
            cause=f"a header has: {', '.join(_FILE_KEYS)}",
            hint="correct or remove it",
        )
    try:
        return {key: _part(key, value) for key, value in data.items() if value is not None}
    except CodecError as error:
        raise UsageError(
            f"{path}: {error}",
            cause="the header does not have that form",
            hint="see docs/reference/header.md",
        ) from error


def _part(key: str, value: Any) -> Any:
    if key == "baseline":
        return decode(Baseline, _dates_as_text(value), "baseline")
    if key not in _ITEMS:
        if not isinstance(value, str):
            raise CodecError(f"{key}: expected text, got {type(value).__name__}")
        return value
    if isinstance(value, dict) and key == "links":
        value = [f"{label}={url}" for label, url in value.items()]
    if not isinstance(value, list):
        raise CodecError(f"{key}: expected a list, got {type(value).__name__}")
    short, cls = _ITEMS[key]
    return tuple(_item(item, short, cls, key) for item in value)


def _item(item: Any, short: Callable[[str], Any], cls: type | None, key: str) -> Any:
    """One item of a list: a text in its short form, or a mapping in full."""
    if isinstance(item, str):
        return short(item)
    if cls is None:
        raise CodecError(f"{key}: expected text, got {type(item).__name__}")
    return decode(cls, _values_as_written(item), key)


def _values_as_written(value: Any) -> Any:
    """YAML reads `values: [2, 4, 8]` of an axis as numbers; planned values are kept as written."""
    if isinstance(value, dict) and isinstance(value.get("values"), list):
        return {**value, "values": [_as_written(v) for v in value["values"]]}
    return value


def _as_written(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _dates_as_text(value: Any) -> Any:
    """YAML reads 2026-02-09 as a date; a header holds text."""
    if isinstance(value, Mapping) and hasattr(value.get("date"), "isoformat"):
        return {**value, "date": value["date"].isoformat()}
    return value


_ITEMS: dict[str, tuple[Callable[[str], Any], type | None]] = {
    "metrics": (parse_metric, Metric),
    "constraints": (clean, None),
    "links": (_link, Link),
    "stop_criteria": (lambda text: Criterion(text=clean(text)), Criterion),
    "matrix": (_axis, MatrixAxis),
    "command_templates": (_template, CommandTemplate),
}
