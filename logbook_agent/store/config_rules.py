"""Redaction rules that a project adds in its settings: checked, bounded, and able to hide more but never less."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from logbook_agent.model.errors import SettingError

if TYPE_CHECKING:
    from logbook_agent.text.redaction.shapes import Rule

KEYS = ("id", "description", "regex", "secretGroup", "keywords", "entropy")
_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,39}", re.ASCII)
_EXAMPLE = """write: [[secret_rules]] id = "acme-token", regex = 'acme_[a-z0-9]{32}', keywords = ["acme_"]"""
MOST_RULES = 100
# Matching takes time in proportion to the length of the text and, at worst, to the size of the compiled pattern.
MOST_CHARACTERS = 2_000
MOST_INSTRUCTIONS = 4_000
_RULE_BYTES = 2**20
# What records consist of. A rule that hides any of it would leave nothing to read.
_EVERYDAY = (
    *(
        "experiment",
        "note",
        "decision",
        "incident",
        "prediction",
        "finished",
        "planned",
        "exploratory",
        "replicated",
        "stable",
    ),
    *("MOE-I8-003", "2026-02-10T10:43:00+00:00", "tflops", "Hypothesis", "0.5", "12345"),
)


def secret_rules(value: object) -> tuple[Rule, ...]:
    """The rules of the setting `secret_rules`, in the form of gitleaks; at most 100, of at most 2,000 characters.

    id: a secret becomes `[redacted:ID]`; a-z, 0-9 and `-`
    description: for people
    regex: what it looks like within one line, in RE2's syntax; the first group, where there is one, is the secret
    secretGroup: number of the group, where it is not the first
    keywords: one of these, in any case, occurs in every match; without any, every line is tried
    entropy: the least Shannon entropy of the secret, in bits per character

    Raises SettingError naming the rule and what is wrong with it.
    """
    if not isinstance(value, list) or not all(isinstance(rule, dict) for rule in value):
        raise SettingError("secret_rules must be a list of tables", _EXAMPLE)
    if len(value) > MOST_RULES:
        raise SettingError(f"secret_rules has {len(value)} rules, over the limit of {MOST_RULES}", "join some with |")
    return tuple(_rule(table, f"secret_rules[{place}]") for place, table in enumerate(value))


def _rule(table: dict[str, Any], where: str) -> Rule:
    from logbook_agent.text.redaction.shapes import Rule

    for key in table:
        if key not in KEYS:
            hint = f"a rule can only add to what is redacted; its keys are: {', '.join(KEYS)}"
            raise SettingError(f"{where}: unknown key {key!r}", hint)
    name, regex, keywords = table.get("id"), table.get("regex"), table.get("keywords", [])
    if not isinstance(name, str) or _ID.fullmatch(name) is None:
        raise SettingError(f"{where}: id must be a short name of a-z, 0-9 and -", _EXAMPLE)
    if not isinstance(regex, str) or not 0 < len(regex) <= MOST_CHARACTERS:
        raise SettingError(f"{where}: regex must be a string of 1 to {MOST_CHARACTERS} characters", _EXAMPLE)
    if not isinstance(keywords, list) or not all(isinstance(word, str) and word for word in keywords):
        raise SettingError(f"{where}: keywords must be a list of strings", _EXAMPLE)
    group, entropy = table.get("secretGroup"), table.get("entropy", 0.0)
    if group is not None and (not isinstance(group, int) or isinstance(group, bool)):
        raise SettingError(f"{where}: secretGroup must be the number of a group", _EXAMPLE)
    if not isinstance(entropy, int | float) or isinstance(entropy, bool) or not 0 <= entropy <= 8:
        raise SettingError(f"{where}: entropy must be a number from 0 to 8", "leave it out, or write: entropy = 3.5")
    _check_pattern(regex, group, where)
    lowered = tuple(word.lower() for word in keywords)
    return Rule(id=name, regex=regex, group=group, keywords=lowered, entropy=float(entropy))


def _check_pattern(regex: str, group: int | None, where: str) -> None:
    from logbook_agent.text.redaction.rules import RuleError, compile_linear

    try:
        pattern = compile_linear(regex, max_bytes=_RULE_BYTES)
    except RuleError as error:
        raise SettingError(f"{where}: regex: {error}", "patterns are in RE2's syntax: no (?=...), no \\1") from None
    if pattern.programsize > MOST_INSTRUCTIONS:
        raise SettingError(f"{where}: regex is too large to be matched quickly", "lower its {m,n} repetitions")
    if pattern.search(b"") is not None:
        raise SettingError(f"{where}: regex matches the empty string", "require at least one character")
    if group is not None and not 0 <= group <= pattern.groups:
        raise SettingError(f"{where}: regex has no group {group}", f"it has {pattern.groups}")
    if any(pattern.search(word.encode()) is not None for word in _EVERYDAY):
        raise SettingError(f"{where}: regex matches ordinary words", "require something that only the secret has")
