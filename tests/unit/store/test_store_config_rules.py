"""Redaction rules of a project: they add, and they are bounded."""

from __future__ import annotations

import time

from logbook_agent.store.config_rules import secret_rules
from logbook_agent.text.redaction.redactor import Redactor

ACME = {"id": "acme-token", "regex": r"\bacme_([a-z0-9]{12,})", "keywords": ["ACME_"]}


def test_a_rule_hides_its_group() -> None:
    safe = Redactor(extra_rules=secret_rules([ACME]))
    assert safe.text("x acme_0123456789ab y") == "x acme_[redacted:acme-token] y"
    assert safe.text("acme_short") == "acme_short"
    assert safe.text("acme_0123456789ab " * 4000).count("[redacted:acme-token]") == 4000


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
