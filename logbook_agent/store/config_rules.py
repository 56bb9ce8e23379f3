"""Redaction rules that a project adds in its settings: checked, bounded, and able to hide more but never less."""

from __future__ import annotations

import re
from collections.abc import Sequence

from logbook_agent.model.errors import SettingError
from logbook_agent.text.redaction.shapes import Rule

_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,39}", re.ASCII)
_EXAMPLE = """write: [[secret_rules]] id = "acme-token", regex = 'acme_[a-z0-9]{32}', keywords = ["acme_"]"""
MOST_RULES = 100
MOST_CHARACTERS = 2_000
# Compiling and matching take time with the repetitions. A group that is repeated without a limit may take for ever.
MOST_REPETITIONS = 2_000
_COUNT = re.compile(r"\{[0-9,]{0,9}?([0-9]{1,9})\}")
_REPEATED_GROUP = re.compile(r"(?<!\\)\)(?:[*+]|\{[0-9]*,\})")
# What records consist of. A rule that hides any of it would leave nothing to read.
_EVERYDAY = (
    *("experiment", "note", "decision", "incident", "finished", "planned", "exploratory", "replicated"),
    *("stable", "MOE-I8-003", "2026-02-10T10:43:00+00:00", "tflops", "Hypothesis", "0.5", "12345"),
)


def check_rules(rules: Sequence[Rule]) -> None:
    """Raises SettingError naming the rule of the setting `secret_rules` and what is wrong with it."""
    if len(rules) > MOST_RULES:
        raise SettingError(f"secret_rules has {len(rules)} rules, over the limit of {MOST_RULES}", "join some with |")
    for place, rule in enumerate(rules):
        _check(rule, f"secret_rules[{place}]")


def _check(rule: Rule, where: str) -> None:
    if _ID.fullmatch(rule.id) is None:
        raise SettingError(f"{where}: id must be a short name of a-z, 0-9 and -", _EXAMPLE)
    if not 0 < len(rule.regex) <= MOST_CHARACTERS:
        raise SettingError(f"{where}: regex must be a string of 1 to {MOST_CHARACTERS} characters", _EXAMPLE)
    if not all(rule.keywords):
        raise SettingError(f"{where}: a keyword is empty", _EXAMPLE)
    try:
        pattern = re.compile(rule.regex)
    except re.error as error:
        raise SettingError(f"{where}: regex: {error}", "patterns are in the syntax of Python's re") from None
    if _REPEATED_GROUP.search(rule.regex) or sum(map(int, _COUNT.findall(rule.regex))) > MOST_REPETITIONS:
        hint = "repeat characters, as in [a-z0-9-]{32}; lower the numbers in {m,n}"
        raise SettingError(f"{where}: regex repeats a group without a limit, or too often", hint)
    if pattern.search("") is not None:
        raise SettingError(f"{where}: regex matches the empty string", "require at least one character")
    if any(pattern.search(word) is not None for word in _EVERYDAY):
        raise SettingError(f"{where}: regex matches ordinary words", "require something that only the secret has")
