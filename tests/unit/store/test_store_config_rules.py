"""Redaction rules of a project: they add, and they are bounded."""

from __future__ import annotations

from pathlib import Path

import pytest

from logbook_agent.model.errors import UsageError
from logbook_agent.store.config import config_of
from logbook_agent.text.redaction.redactor import Redactor
from logbook_agent.text.redaction.shapes import Rule

ACME = {"id": "acme-token", "regex": r"\bacme_([a-z0-9]{12,})", "keywords": ["ACME_"]}


def secret_rules(rules: list[dict[str, object]]) -> tuple[Rule, ...]:
    return config_of({"secret_rules": rules}, Path("logbook.toml")).secret_rules


def test_a_rule_hides_its_group() -> None:
    safe = Redactor(extra_rules=secret_rules([ACME]))
    assert safe.text("x acme_0123456789ab y") == "x acme_[redacted:acme-token] y"
    assert safe.text("acme_short") == "acme_short"
    assert safe.text("acme_0123456789ab " * 4000).count("[redacted:acme-token]") == 4000


@pytest.mark.parametrize("regex", [r"(?:z+)+q", r"(z|zz)*q", "(a{2}){3,}b", "a{3000}b"])
def test_a_rule_that_may_take_for_ever_is_refused(regex: str) -> None:
    with pytest.raises(UsageError, match="repeats"):
        secret_rules([{"id": "slow", "regex": regex}])


def test_a_rule_keeps_nothing_from_being_hidden() -> None:
    # It would replace what other rules look for, were it tried before them.
    rules = [{"id": "frame", "regex": "BEGIN|PRIVATE|hf_|token"}]
    safe = Redactor(extra_rules=secret_rules(rules))
    body = "MIIEpAIBAAKCAQEA0abcdefgh"
    key = f"-----BEGIN PRI{'VATE KEY'}-----\n{body}\n-----END PRI{'VATE KEY'}-----"
    assert body not in safe.text(key)
    assert "aB3dE6gH9jK2mN5p" not in safe.text("h" + "f_aB3dE6gH9jK2mN5p --token aB3dE6gH9jK2mN5p")
