"""Redaction rules of a project: they add, they are bounded, and a bad one is an error that names it."""

from __future__ import annotations

import time
from typing import Any

import pytest

from logbook_agent.model.codec import CodecError
from logbook_agent.model.errors import SettingError
from logbook_agent.store.config_rules import secret_rules
from logbook_agent.text.redaction.redactor import Redactor

ACME = {"id": "acme-token", "regex": r"\bacme_([a-z0-9]{12,})", "keywords": ["ACME_"]}


def test_a_rule_hides_its_group() -> None:
    safe = Redactor(extra_rules=secret_rules([ACME]))
    assert safe.text("x acme_0123456789ab y") == "x acme_[redacted:acme-token] y"
    assert safe.text("acme_short") == "acme_short"
    assert safe.text("acme_0123456789ab " * 4000).count("[redacted:acme-token]") == 4000


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"regex": "a"}, "secret_rules[0].id: missing"),
        ({"id": "a]", "regex": "a"}, "secret_rules[0]: id must be a short name of a-z, 0-9 and -"),
        ({"id": "a"}, "secret_rules[0].regex: missing"),
        ({"id": "a", "regex": "x" * 2001}, "secret_rules[0]: regex must be a string of 1 to 2000 characters"),
        ({"id": "a", "regex": "("}, "secret_rules[0]: regex: missing ): ("),
        ({"id": "a", "regex": "(?=a)b"}, "secret_rules[0]: regex: invalid perl operator: (?="),
        ({"id": "a", "regex": "a*"}, "secret_rules[0]: regex matches the empty string"),
        (
            {"id": "a", "regex": "a{1000}b{1000}c{1000}d{1000}e{1000}"},
            "secret_rules[0]: regex is too large to be matched quickly",
        ),
        ({"id": "a", "regex": "a", "keywords": [""]}, "secret_rules[0]: a keyword is empty"),
        ({"id": "a", "regex": "a", "keywords": "b"}, "secret_rules[0].keywords: expected a list, got str"),
        ({"id": "a", "regex": "a", "allowlists": []}, "secret_rules[0].allowlists: unknown key"),
    ],
)
def test_what_does_not_fit(rule: dict[str, Any], message: str) -> None:
    with pytest.raises((SettingError, CodecError)) as found:
        secret_rules([rule])
    assert str(found.value) == message


def test_a_hostile_rule_takes_no_more_than_linear_time() -> None:
    safe = Redactor(extra_rules=secret_rules([{"id": "slow", "regex": r"(?:z+)+(?:z|zz)*q"}] * 3))
    began = time.perf_counter()
    assert safe.text("a" * 200_000) == "a" * 200_000
    # Milliseconds; a backtracking engine would not end.
    assert time.perf_counter() - began < 5


def test_a_rule_keeps_nothing_from_being_hidden() -> None:
    # It would replace what other rules look for, were it tried before them.
    rules = [{"id": "frame", "regex": "BEGIN|PRIVATE|hf_|token"}]
    safe = Redactor(extra_rules=secret_rules(rules))
    body = "MIIEpAIBAAKCAQEA0abcdefgh"
    key = f"-----BEGIN PRI{'VATE KEY'}-----\n{body}\n-----END PRI{'VATE KEY'}-----"
    assert body not in safe.text(key)
    assert "aB3dE6gH9jK2mN5p" not in safe.text("h" + "f_aB3dE6gH9jK2mN5p --token aB3dE6gH9jK2mN5p")
