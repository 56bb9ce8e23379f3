"""Redaction rules that a project adds in its settings: checked, bounded, and able to hide more but never less."""

from __future__ import annotations

import re
from dataclasses import dataclass

from logbook_agent.model.codec import decode
from logbook_agent.model.errors import SettingError
from logbook_agent.text.redaction.rules import RuleError, compile_linear
from logbook_agent.text.redaction.shapes import Rule

_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,39}", re.ASCII)
_EXAMPLE = """write: [[secret_rules]] id = "acme-token", regex = 'acme_[a-z0-9]{32}', keywords = ["acme_"]"""
MOST_RULES = 100
# Matching takes time in proportion to the length of the text and, at worst, to the size of the compiled pattern.
MOST_CHARACTERS = 2_000
MOST_INSTRUCTIONS = 4_000
_RULE_BYTES = 2**20
# What records consist of. A rule that hides any of it would leave nothing to read.
_EVERYDAY = (
    *("experiment", "note", "decision", "incident", "finished", "planned", "exploratory", "replicated"),
    *("stable", "MOE-I8-003", "2026-02-10T10:43:00+00:00", "tflops", "Hypothesis", "0.5", "12345"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretRule:
    """The shape of a secret that a project adds; at most 100, of at most 2,000 characters.

    id: a secret becomes `[redacted:ID]`; a-z, 0-9 and `-`
    regex: what it looks like within one line, in RE2's syntax; the first group, where there is one, is the secret
    keywords: one of these, in any case, occurs in every match; without any, every line is tried
    """

    id: str
    regex: str
    keywords: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rules:
    secret_rules: tuple[SecretRule, ...]


def secret_rules(value: object) -> tuple[Rule, ...]:
    """The rules of the setting `secret_rules`. Raises CodecError or SettingError naming the rule and what is wrong."""
    found = decode(_Rules, {"secret_rules": value}).secret_rules
    if len(found) > MOST_RULES:
        raise SettingError(f"secret_rules has {len(found)} rules, over the limit of {MOST_RULES}", "join some with |")
    for place, rule in enumerate(found):
        _check(rule, f"secret_rules[{place}]")
    return tuple(Rule(id=r.id, regex=r.regex, keywords=tuple(word.lower() for word in r.keywords)) for r in found)


def _check(rule: SecretRule, where: str) -> None:
    if _ID.fullmatch(rule.id) is None:
        raise SettingError(f"{where}: id must be a short name of a-z, 0-9 and -", _EXAMPLE)
    if not 0 < len(rule.regex) <= MOST_CHARACTERS:
        raise SettingError(f"{where}: regex must be a string of 1 to {MOST_CHARACTERS} characters", _EXAMPLE)
    if not all(rule.keywords):
        raise SettingError(f"{where}: a keyword is empty", _EXAMPLE)
    try:
        pattern = compile_linear(rule.regex, max_bytes=_RULE_BYTES)
    except RuleError as error:
        raise SettingError(f"{where}: regex: {error}", "patterns are in RE2's syntax: no (?=...), no \\1") from None
    if pattern.programsize > MOST_INSTRUCTIONS:
        raise SettingError(f"{where}: regex is too large to be matched quickly", "lower its {m,n} repetitions")
    if pattern.search(b"") is not None:
        raise SettingError(f"{where}: regex matches the empty string", "require at least one character")
    if any(pattern.search(word.encode()) is not None for word in _EVERYDAY):
        raise SettingError(f"{where}: regex matches ordinary words", "require something that only the secret has")
