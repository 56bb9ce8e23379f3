"""What options and a YAML file (`logbook start --from FILE`) state of a header, in the short forms that they share;
and whether it is what it stands for."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from logbook_agent.findings.criteria.predicate import checked_predicate
from logbook_agent.model.codec import CodecError, decode, encode
from logbook_agent.model.entry import CONFIDENCES, PREFIX, TOPIC
from logbook_agent.model.errors import UsageError
from logbook_agent.model.gates import parse_gate
from logbook_agent.model.header import STEP, Budget, CommandTemplate, Criterion, HeaderParts, Link, MatrixAxis, Metric
from logbook_agent.model.units import UNITS, Direction, known
from logbook_agent.model.values import as_written, parse_values
from logbook_agent.store.parse import parse_yaml
from logbook_agent.store.places import manual
from logbook_agent.text.commands.flags import parse_list
from logbook_agent.text.markdown import clean
from logbook_agent.text.phrases import nearest

# A prefix that is derived from a topic gets no further word beyond this length.
_PREFIX_CHARS = 16
# A topic as people write it.
_IN_WORDS = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]*")
_METRIC = re.compile(r"[A-Za-z_][\w./-]*")
_CURVE = re.compile(r"(?P<reduce>last|best|mean=[1-9]\d{0,6})|over=(?P<over>[A-Za-z_][\w./-]*)")
_WATCHED = "watched"
_DIRECTIONS: dict[str, Direction] = {
    **dict.fromkeys(("max", "maximize", "higher"), "max"),
    **dict.fromkeys(("min", "minimize", "lower"), "min"),
}


def parse_metric(text: str) -> Metric:
    """`NAME[:max|min][:UNIT][:best|mean=N][:over=KEY][:watched]`, in any order; what is left out comes from the table
    of known metrics."""
    name, *parts = (part.strip() for part in clean(text).split(":"))
    is_watched = _WATCHED in parts
    reduce, over = _of_curve(parts)
    rest = [part for part in parts if part != _WATCHED and not _CURVE.fullmatch(part)]
    stated = {_DIRECTIONS[part.casefold()] for part in rest if part.casefold() in _DIRECTIONS}
    rest = [part for part in rest if part.casefold() not in _DIRECTIONS]
    if len(stated) > 1:
        raise _bad(f"metric {text!r}: two directions", "only one way is better", f"{name}:min or --metric {name}:max")
    direction = next(iter(stated), None)
    if direction is None and rest and (len(rest) > 1 or not (rest[0] in UNITS or "/" in rest[0] or "%" in rest[0])):
        end = f":{rest[1]}" if len(rest) > 1 else ""
        raise _bad(
            f"metric {text!r}: unknown direction {rest[0]!r}",
            "a direction is max or min; an uncommon unit needs one beside it",
            f"{name}:min{end} or --metric {name}:max{end}",
        )
    if not _METRIC.fullmatch(name):
        raise _bad(
            f"metric {text!r}: a RESULT line cannot hold this name",
            "a name starts with a letter and has no spaces",
            "tflops:max:TF/s",
        )
    unit = ":".join(rest) or None
    direction = direction or known(name).direction
    if reduce == "best" and direction is None:
        raise _bad(
            f"metric {text!r}: best of a curve without a direction",
            "only max or min says which value is the best",
            f"{name}:min:best",
        )
    unit = unit or known(name).unit
    return Metric(name=name, direction=direction, unit=unit, primary=not is_watched, reduce=reduce, over=over)


def _of_curve(parts: Sequence[str]) -> tuple[str, str]:
    """How a curve is reduced, and the key of its steps."""
    reduce, over = "last", STEP
    for found in filter(None, map(_CURVE.fullmatch, parts)):
        reduce, over = found["reduce"] or reduce, found["over"] or over
    return reduce, over


def _bad(message: str, cause: str, example: str) -> UsageError:
    return UsageError(message, cause=cause, hint=f"write: --metric {example}")


def checked_topic(topic: str | None) -> str:
    if not topic:
        raise UsageError(
            "no topic",
            cause="a logbook is named by its topic",
            hint="logbook start moe_ep_int8",
        )
    if _IN_WORDS.fullmatch(topic) and TOPIC.fullmatch(words := re.sub("[ .]+", "_", topic.lower())):
        return words
    better = re.sub(r"[^a-z0-9_-]+", "_", topic.casefold()).strip("_-") or "my_topic"
    raise UsageError(
        f"the topic {topic!r} is not a portable file name",
        cause="a topic has only lower-case letters, digits, _ and -",
        hint=f"logbook start {better} --title {topic!r} ...",
    )


def checked_prefix(prefix: str) -> str:
    if PREFIX.fullmatch(capitals := prefix.upper().replace("_", "-")):
        return capitals
    raise UsageError(
        f"the prefix {prefix!r} is not valid",
        cause="a prefix is capital letters and digits, in words joined by -, and starts with a letter",
        hint=f"write: --prefix {_prefix_like(prefix)}",
    )


def derived_prefix(topic: str, taken: Collection[str]) -> str:
    """`MOE-EP-INT8` of `moe_ep_int8`; of a long topic its first words, and with a number where the prefix is taken."""
    first = _prefix_like(topic)
    return next(p for p in itertools.chain([first], (f"{first}-{n}" for n in itertools.count(2))) if p not in taken)


def _prefix_like(text: str) -> str:
    """The words of a text in capitals, as many as stay short."""
    words = re.findall(r"[A-Z0-9]+", text.upper())
    found = "-".join(words[:1])
    for word in words[1:]:
        if len(found) + 1 + len(word) > _PREFIX_CHARS:
            break
        found += f"-{word}"
    return found if PREFIX.fullmatch(found) else f"EXP-{found}".rstrip("-")


def check_distinct(metrics: Sequence[Metric]) -> None:
    names = [m.name for m in metrics]
    twice = [n for n in names if names.count(n) > 1]
    if twice:
        raise UsageError(f"metric {twice[0]} is given twice", cause="each may be given once", hint="remove one of them")


def checked_gates(texts: Sequence[str]) -> tuple[str, ...]:
    """The gates in their one form. Raises UsageError."""
    try:
        return tuple(str(parse_gate(text)) for text in texts)
    except ValueError as error:
        raise UsageError(
            f"--gate: {error}", cause="a gate is a condition on one name that rows report", hint="--gate 'ok == 1'"
        ) from None


def _labelled(text: str, option: str, separator: str, example: str) -> tuple[str, str]:
    label, found, rest = min(text.partition(separator), text.partition(": "), key=lambda parts: len(parts[0]))
    if not found or not label.strip() or not rest.strip():
        raise UsageError(
            f"{option} {text!r} is not LABEL{separator}TEXT",
            cause=f"the {separator.strip()} or the text on one side of it is missing",
            hint=f"write: {option} {example}",
        )
    return clean(label).strip(), clean(rest).strip()


def parse_budget(texts: Sequence[str], budget: Budget) -> Budget:
    """The budget with what `runs=N` and `hours=H` state in place; `runs=` takes the limit away."""
    parts = [part for text in texts for part in text.replace(",", " ").split()]
    try:
        given = {name: value if value != "" else None for name, value in parse_values(parts, "--budget").items()}
        return decode(Budget, {**encode(budget), **given})
    except (CodecError, UsageError) as error:
        raise UsageError(
            f"--budget {' '.join(texts)}: {error}",
            cause="a budget is a number of runs, or of hours that they take together",
            hint="--budget runs=40 --budget hours=3",
        ) from None


def parse_link(text: str) -> Link:
    label, url = _labelled(text, "--link", "=", "'Experiment issue=https://github.com/OWNER/REPO/issues/1'")
    return Link(label=label, url=url)


def parse_axis(text: str) -> MatrixAxis:
    axis, values = _labelled(text, "--matrix", "=", "topk=2,4,8")
    try:
        return MatrixAxis(axis=axis, values=parse_list(values))
    except ValueError as error:
        raise UsageError(
            f"--matrix {text!r} cannot be read",
            cause=str(error),
            hint=f"""quote each value that has a comma: --matrix '{axis}="16,4","8,4"'""",
        ) from None


def parse_template(text: str) -> CommandTemplate:
    label, command = _labelled(text, "--template", ": ", "'Baseline: python bench.py --quant none'")
    return CommandTemplate(label=label, command=command)


# -- a file ----------------------------------------------------------------------------------------


def read_header_file(path: Path) -> HeaderParts:
    """The parts of a header in a YAML file; short forms (a text for a metric, link, criterion) are read."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"cannot read {path}: {getattr(error, 'strerror', None) or 'it is not UTF-8 text'}",
            cause="--from names a YAML file",
            hint=f"{manual('reference/header.md')} shows one",
        ) from error
    data = parse_yaml(text, str(path))
    if not isinstance(data, dict):
        raise UsageError(f"{path} holds no keys", cause="a header is a mapping", hint="start with: topic: NAME")
    keys = [part.name for part in structs.fields(HeaderParts)]
    if unknown := [key for key in data if key not in keys]:
        near = nearest(str(unknown[0]), keys)
        raise UsageError(
            f"{path}: unknown key {unknown[0]!r}",
            cause=f"a header has: {', '.join(keys)}",
            hint=f"write: {near}" if near else f"remove {unknown[0]!r} from {path}",
        )
    try:
        return parts_of(data)
    except CodecError as error:
        raise UsageError(
            f"{path}: {error}",
            cause="the header does not have that form",
            hint=f"see {manual('reference/header.md')}",
        ) from error


def parts_of(data: Mapping[str, Any]) -> HeaderParts:
    """The parts of a header by their names; a text may be a short form. Raises CodecError, and UsageError for a short
    form that cannot be read."""
    return _checked(decode(HeaderParts, {key: _spelt_out(key, v) for key, v in data.items() if v is not None}))


# The lists of a header that options add to.
_LISTS = ("metrics", "gates", "constraints", "links", "matrix", "command_templates")


class Scope(Struct, frozen=True, kw_only=True):
    """The scope of a logbook as it is typed: `ScopeOptions`."""

    goal: str | None = None
    metrics: Sequence[str] = ()
    gates: Sequence[str] = ()
    constraints: Sequence[str] = ()
    links: Sequence[str] = ()
    matrix: Sequence[str] = ()
    templates: Sequence[str] = ()

    @property
    def lists(self) -> dict[str, tuple[Any, ...]]:
        """What was typed for the lists of a header. Raises UsageError."""
        typed = {name: getattr(self, "templates" if name == "command_templates" else name) for name in _LISTS}
        parts = parts_of(typed)
        check_distinct(parts.metrics)
        return {name: getattr(parts, name) for name in _LISTS}


_SHORT: dict[str, Callable[[str], Any]] = {
    "metrics": parse_metric,
    "gates": lambda text: checked_gates([clean(text)])[0],
    "links": parse_link,
    "stop_criteria": lambda text: Criterion(text=clean(text)),
    "matrix": parse_axis,
    "command_templates": parse_template,
    **dict.fromkeys(("constraints", "free"), clean),
}


def _spelt_out(key: str, value: Any) -> Any:
    """The value of a key with the texts that stand in it for an item, its short form, read."""
    if key not in _SHORT:
        return value
    if isinstance(value, dict) and key == "links" and not {"label", "url"} & value.keys():
        value = [f"{label}={url}" for label, url in value.items()]
    items = value if isinstance(value, list | tuple) else [value]
    return [_SHORT[key](as_written(one)) if isinstance(one, str | int | float) else one for one in items]


def _checked(parts: HeaderParts) -> HeaderParts:
    """The parts, when they are what they stand for; predicates in their one form. Raises CodecError."""
    baseline = parts.baseline
    if baseline is not None and baseline.date is not None:
        try:
            date.fromisoformat(baseline.date)
        except ValueError:
            raise CodecError(f"baseline.date: expected a date such as 2026-02-09, got {baseline.date!r}") from None
    if baseline is not None and baseline.confidence is not None and not baseline.confidence.startswith(CONFIDENCES):
        words = ", ".join(CONFIDENCES)
        raise CodecError(f"baseline.confidence: expected {words} (and why), got {baseline.confidence!r}")
    criteria = tuple(
        structs.replace(c, predicate=checked_predicate(c.predicate) if c.predicate is not None else None)
        for c in parts.stop_criteria
    )
    return structs.replace(parts, stop_criteria=criteria)
