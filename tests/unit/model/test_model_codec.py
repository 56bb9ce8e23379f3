"""decode(encode(x)) == x for every kind of record, and errors that name their place."""

from __future__ import annotations

import typing

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct, structs

from logbook_agent.model.codec import CodecError, decode, encode
from logbook_agent.model.comparison import Design, Question
from logbook_agent.model.entry import PLOT_KINDS, Entry
from logbook_agent.model.header import Budget, Header, Metric
from logbook_agent.model.run import Run

# Strategies from the classes themselves, so that a new field is tested without being listed here.
finite = st.floats(allow_nan=False, allow_infinity=False)
st.register_type_strategy(float, finite)
st.register_type_strategy(object, st.text() | st.integers() | st.none())
counts = st.integers(1, 2**40)
st.register_type_strategy(Design, st.builds(Design, seed=counts, budget_pairs=counts))
names = st.lists(st.text(), max_size=3).map(tuple)
st.register_type_strategy(
    Question,
    st.lists(st.text(), min_size=2, max_size=4, unique=True).flatmap(
        lambda sides: st.builds(
            Question,
            base=st.just(sides[0]),
            sides=st.just(tuple(sides[1:])),
            metrics=names,
            minimum_effect=st.floats(0, 1, exclude_max=True),
        )
    ),
)

gates = st.sampled_from([(), ("ok == 1", "same checksum"), ("max_error<=1e-3",)])
plots = st.lists(st.sampled_from(PLOT_KINDS) | st.sampled_from(PLOT_KINDS).map("{} tflops".format)).map(tuple)
of_metric = {name: st.from_type(hint) for name, hint in typing.get_type_hints(Metric).items() if name != "reduce"}
reductions = st.sampled_from(("last", "best", "mean=5"))
st.register_type_strategy(
    Budget, st.builds(Budget, runs=st.none() | st.integers(1), hours=st.none() | st.floats(0.1, 99))
)
st.register_type_strategy(Metric, st.builds(Metric, reduce=reductions, **of_metric))
OWN = {"plots": plots, "gates": gates}


def of_fields(cls: type) -> st.SearchStrategy[object]:
    hints = typing.get_type_hints(cls)
    return st.builds(cls, **{name: OWN.get(name, st.from_type(hint)) for name, hint in hints.items()})


for one in {*Struct.__subclasses__()} - {Design, Question, Budget, Metric}:
    st.register_type_strategy(one, of_fields)


ENTRY = {"id": "X-000", "title": "t", "opened": "o"}


@pytest.mark.parametrize("cls", [Entry, Header, Run])
@pytest.mark.slow
def test_round_trip(cls: type) -> None:
    @given(st.from_type(cls))
    def check(value: object) -> None:
        known = {f.name for f in structs.fields(cls)}
        if "extra" in known:
            value = structs.replace(value, extra={k: v for k, v in value.extra.items() if k not in known})
        assert decode(cls, encode(value)) == value

    check()


def asking(**more: object) -> dict[str, object]:
    question = {"axis": "mode", "base": "a", "sides": ["b"], **more}
    return {**ENTRY, "comparison": {"question": question, "design": {"seed": 1}}}


@pytest.mark.parametrize(
    ("cls", "data", "message"),
    [
        (Entry, {"id": "X-000", "title": "t"}, "opened: missing"),
        (Entry, {"id": [3], "title": "t", "opened": "o"}, "id: expected str, got list"),
        (Entry, {"id": "X", "title": "t", "opened": "o", "kind": "idea"}, "kind: expected one of experiment, note"),
        (Entry, {"id": "X", "title": "t", "opened": "o", "fields": [{"label": "a"}]}, r"fields\[0\].text: missing"),
        (Entry, asking(minimum_effect=2.0), "comparison.question: minimum_effect is 2.0, expected a fraction"),
        (Run, {"entry": "X", "run": 1, "argv": [], "started": "s", "typo": 1}, "typo: unknown key"),
        (Run, {"entry": "X", "run": 1, "argv": [], "started": "s", "exit": {"kode": 1}}, "exit.kode: unknown key"),
    ],
)
def test_a_misfit_is_named_with_its_place(cls: type, data: object, message: str) -> None:
    with pytest.raises(CodecError, match=message):
        decode(cls, data)


def test_unknown_keys_of_a_file_people_edit_are_kept() -> None:
    data = {"format": 1, "id": "X-000", "title": "t", "opened": "o", "reviewed_by": "Ada"}
    assert encode(decode(Entry, data)) == data


def test_defaults_are_left_out_and_null_is_not_zero() -> None:
    run = Run(entry="X-000", run=1, argv=("ls",), started="s", duration_s=0.0)
    plain = encode(run)
    assert plain["duration_s"] == 0.0
    assert "ended" not in plain
    assert typing.cast(Run, decode(Run, plain)).ended is None
