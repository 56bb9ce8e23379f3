"""Citations of numbers in texts that are shown, by the feature that has them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from msgspec import structs

from logbook_agent.features import hook_module
from logbook_agent.findings.opening import Failed, InWords, Opening
from logbook_agent.findings.read import Findings
from logbook_agent.store.workspace import Workspace

T = TypeVar("T", InWords, Failed)
_OPENS = "[["


def with_numbers(found: Findings, text: str, *, plain: bool = False) -> str:
    """The text with the numbers that it cites; `plain`: without the citations beside them."""
    if _OPENS not in text or (cites := hook_module("cites")) is None:
        return text
    shown: str = cites.shown(found, text, plain=plain)
    return shown


def check_citations(workspace: Workspace, texts: Iterable[str]) -> None:
    """Raises UsageError for a citation in texts that are to be written, of which the record has no number."""
    citing = [text for text in texts if _OPENS in text]
    if citing and (cites := hook_module("cites")) is not None:
        cites.check(workspace, citing)


def opening_with_numbers(found: Findings) -> Opening:
    """The first lines of the thread, with the numbers that people's words cite."""

    def texts(of: Sequence[T]) -> tuple[T, ...]:
        return tuple(structs.replace(one, text=with_numbers(found, one.text, plain=True)) for one in of)

    first = found.opening
    return structs.replace(
        first,
        in_words=texts(first.in_words),
        negative=texts(first.negative),
        failed=texts(first.failed),
        next=with_numbers(found, first.next, plain=True),
    )
