"""Parts of a header in the short forms that options and YAML files share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import cast

from logbook_agent.model.errors import UsageError
from logbook_agent.model.header import CommandTemplate, Link, MatrixAxis, Metric
from logbook_agent.model.ids import PREFIX, TOPIC
from logbook_agent.model.units import DIRECTIONS, UNITS, Direction, known
from logbook_agent.text.markdown import clean

_METRIC = re.compile(r"[A-Za-z_][\w./-]*")


def parse_metric(text: str) -> Metric:
    """`NAME[:max|min][:UNIT]`; what is left out comes from the table of known metrics."""
    name, *rest = clean(text).split(":")
    direction: Direction | None = None
    if rest and rest[0] in DIRECTIONS:
        direction = cast(Direction, rest.pop(0))
    elif rest and (len(rest) > 1 or not (rest[0] in UNITS or "/" in rest[0] or "%" in rest[0])):
        example = f"{name}:max:{rest[1]}" if len(rest) > 1 else f"{name}:max"
        raise _bad(
            f"metric {text!r}: unknown direction {rest[0]!r}",
            "a direction is max or min; an uncommon unit goes after it",
            example,
        )
    if not _METRIC.fullmatch(name):
        raise _bad(
            f"metric {text!r}: a RESULT line cannot hold this name",
            "a name starts with a letter and has no spaces",
            "tflops:max:TF/s",
        )
    unit = ":".join(rest) or None
    return Metric(name=name, direction=direction or known(name).direction, unit=unit or known(name).unit)


def _bad(message: str, cause: str, example: str) -> UsageError:
    return UsageError(message, cause=cause, hint=f"write: --metric {example}")


def checked_topic(topic: str | None) -> str:
    if not topic:
        raise UsageError(
            "no topic",
            cause="a logbook is named by its topic",
            hint="logbook start moe_ep_int8 --prefix MOE-I8",
        )
    if not TOPIC.fullmatch(topic):
        better = re.sub(r"[^a-z0-9_-]+", "_", topic.casefold()).strip("_-") or "my_topic"
        raise UsageError(
            f"the topic {topic!r} is not a portable file name",
            cause="a topic has only lower-case letters, digits, _ and -",
            hint=f"logbook start {better} --title {topic!r} ...",
        )
    return topic


def checked_prefix(prefix: str | None) -> str:
    if not prefix:
        raise UsageError(
            "no experiment ID prefix",
            cause="entry IDs have the form PREFIX-NNN",
            hint="add: --prefix MOE-I8",
        )
    if not PREFIX.fullmatch(prefix):
        better = re.sub(r"[^A-Z0-9]+", "-", prefix.upper()).strip("-") or "EXP"
        raise UsageError(
            f"the prefix {prefix!r} is not valid",
            cause="a prefix is capital letters and digits, in words joined by -, and starts with a letter",
            hint=f"write: --prefix {better if PREFIX.fullmatch(better) else 'EXP'}",
        )
    return prefix


def check_distinct(names: Sequence[str], what: str) -> None:
    twice = [n for n in names if names.count(n) > 1]
    if twice:
        raise UsageError(f"{what} {twice[0]} is given twice", cause="each may be given once", hint="remove one of them")


def _labelled(text: str, option: str, separator: str, example: str) -> tuple[str, str]:
    label, found, rest = text.partition(separator)
    if not found or not label.strip() or not rest.strip():
        raise UsageError(
            f"{option} {text!r} is not LABEL{separator}TEXT",
            cause=f"the {separator.strip()} or the text on one side of it is missing",
            hint=f"write: {option} {example}",
        )
    return clean(label).strip(), clean(rest).strip()


def parse_link(text: str) -> Link:
    label, url = _labelled(text, "--link", "=", "'Experiment issue=https://github.com/OWNER/REPO/issues/1'")
    return Link(label=label, url=url)


def parse_axis(text: str) -> MatrixAxis:
    axis, values = _labelled(text, "--matrix", "=", "topk=2,4,8")
    return MatrixAxis(axis=axis, values=tuple(v.strip() for v in values.split(",")))


def parse_template(text: str) -> CommandTemplate:
    label, command = _labelled(text, "--command-template", ": ", "'Baseline: python bench.py --quant none'")
    return CommandTemplate(label=label, command=command)
