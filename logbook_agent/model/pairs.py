"""KEY=VALUE as options and texts have it."""

from __future__ import annotations

from logbook_agent.model.errors import UsageError
from logbook_agent.model.scalar import Scalar
from logbook_agent.model.values import parse_scalar


def parse_pair(text: str, option: str = "", *, example: str = "") -> tuple[str, str]:
    """Key and value of `KEY=VALUE`. Raises UsageError, which says how `option` is written."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise UsageError(
            f"{option} {text!r} is not KEY=VALUE".lstrip(),
            cause="the = or the key is missing",
            hint=example or f"{option} topk=2",
        )
    return key.strip(), value


def parse_value(text: str, option: str) -> tuple[str, Scalar]:
    """As `parse_pair`, with the value as number, true, false or text."""
    key, value = parse_pair(text, option)
    return key, parse_scalar(value)
