"""`logbook_agent.log`: the lines of a run from Python, at the cost of a print."""

from __future__ import annotations

import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

import logbook_agent
from logbook_agent import INSIDE, log, result_line
from logbook_agent.running.results.reporting_lines import split_line
from logbook_agent.running.results.result_lines import split_pairs


class Scalar:
    """As arrays of one element are."""

    size = 1

    def item(self) -> float:
        return 2.5


class Tensor(Scalar):
    """As PyTorch has it: its `size` is a method."""

    def size(self) -> tuple[int, ...]:  # type: ignore[override]
        return ()


class Several:
    """As an array of several elements is."""

    def item(self) -> float:
        raise RuntimeError("a Tensor with 2 elements cannot be converted to Scalar")

    def __str__(self) -> str:
        return "[1 2]"


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"loss": 3.87, "step": 600}, "RESULT loss=3.87 step=600"),
        ({"train/loss": 1e-07, "ok": True, "gone": None}, "RESULT train/loss=1e-07 ok=true gone=null"),
        ({"loss": Scalar(), "nan": float("nan")}, "RESULT loss=2.5 nan=nan"),
        ({"loss": Tensor(), "gates": Several()}, "RESULT loss=2.5 gates='[1 2]'"),
        ({"note": "a b'c\nd", "empty": ""}, """RESULT note='a b'"'"'c d' empty=''"""),
    ],
)
def test_lines(values: dict[str, object], line: str) -> None:
    assert result_line(values) == line


@given(st.dictionaries(st.from_regex(r"[a-z][\w/.-]{0,9}", fullmatch=True), st.floats() | st.text(max_size=20)))
def test_what_was_logged_is_what_is_read(values: dict[str, object]) -> None:
    found = split_line(result_line(values))
    assert found is not None
    texts = {name: " ".join(str(value).splitlines()) for name, value in values.items()}
    if all(text.isprintable() for text in texts.values()):
        assert split_pairs(found[1])[0] == texts


def test_outside_of_a_run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(logbook_agent, "_warned", [])
    monkeypatch.setenv(INSIDE[0], "MOE-000")
    with pytest.warns(UserWarning, match="does nothing outside of a run"):
        log(loss=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        log(loss=1)
    assert capsys.readouterr().out == ""
