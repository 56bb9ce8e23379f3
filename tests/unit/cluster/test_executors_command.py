"""Jobs of a launcher that submits and polls, against a stand-in for Iris: real commands in real processes."""

from __future__ import annotations

import pytest

from logbook_agent.cluster.job_launcher import GAP, hidden_values, lines_of, merged, without_values
from logbook_agent.cluster.job_templates import job_state
from logbook_agent.text.redaction.names import Secret


def test_lines_are_kept_once() -> None:
    a, b, c, d = b"a\n", b"b\n", b"c\n", b"d\n"
    assert merged([a, b], [a, b, c]) == [a, b, c]
    assert merged([a, b, c], [b, c, d]) == [a, b, c, d]
    assert merged([a, b, c], [b]) == [a, b, c]
    assert merged([a, b], [d]) == [a, b, GAP, d]
    assert merged([a, b, GAP, d], [d, a]) == [a, b, GAP, d, a]
    assert merged([], [a]) == merged([a], []) == [a]
    assert lines_of(b"x\ry\nz") == [b"x\ry\n", b"z\n"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"state": "DONE", "exit_code": 0, "duration_s": 2}', ("DONE", "succeeded", 0, 2.0)),
        ("job 7 is\nDONE\n", ("DONE", "succeeded", None, None)),
        ('{"state": "DONE", "exit_code": -9}', ("DONE", "succeeded", 137, None)),
        ('{"state": "DONE", "tasks": [{"state": "DONE"}, {"state": "KILLED"}]}', ("DONE", "killed", None, None)),
        ('{"state": "ODD"}', ("ODD", "running", None, None)),
        ('{"state": "failed", "tasks": [{"exit": 0}, {"exit": 9}], "duration_ms": 1500}', ("failed", "failed", 9, 1.5)),
    ],
)
def test_what_is_told_of_a_job(text: str, expected: tuple[object, ...]) -> None:
    facts = {"exit_code": "tasks.*.exit", "task_states": "tasks.*.state"} if "tasks" in text else {}
    found = job_state(text, facts, {"DONE": "succeeded"})
    assert found is not None
    assert (found.state, found.fate, found.exit_code, found.duration_s) == expected
    assert job_state("", {}, {}) is None


def test_a_value_is_known_by_its_digest() -> None:
    secrets = [
        Secret(name="A", value="a+b/c==" * 3),
        Secret(name="B", value="two words"),
        Secret(name="C", value="a+b/c==a"),
    ]
    found = hidden_values("spool", secrets)
    assert not any(secret.value in repr(found) for secret in secrets)
    text = f'x={"a+b/c==" * 3} "two words" a+b/c==a, a+b/c==A\n'
    assert without_values("spool", found, text) == 'x=$A "$B" $C, a+b/c==A\n'
    assert without_values("other", found, text) == text


def test_a_value_that_begins_as_another_is_hidden_as_a_whole() -> None:
    short, long = Secret(name="A", value="abcdefgh1234"), Secret(name="B", value="abcdefgh1234+5678")
    found = hidden_values("spool", [short, long])
    assert without_values("spool", found, f"x={long.value} y={short.value}") == "x=$B y=$A"
