from __future__ import annotations

import json
import shlex
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logbook_agent.model.codec import encode
from logbook_agent.model.header import Metric
from logbook_agent.model.run import Measurement, Row
from logbook_agent.model.values import parse_scalar
from logbook_agent.model.worker_report import Device
from logbook_agent.running.results import reader as reader_module
from logbook_agent.running.results.classifier import KnownKeys
from logbook_agent.running.results.reader import ResultReader, ResultReading

TFLOPS = Metric(name="tflops", direction="max", unit="TF/s")
TOKENS = Metric(name="tokens_per_s", direction="max", unit="tokens/s")


def as_it_is(plain: Any) -> Any:
    return plain


def told(problems: tuple[Any, ...]) -> tuple[str, ...]:
    """What problems say."""
    return tuple(map(str, problems))


def read(*lines: str, file_text: str | None = None, **known: Any) -> ResultReading:
    reader = ResultReader(as_it_is, KnownKeys(**known))
    for line in lines:
        reader.feed(line)
    return reader.finish(file_text=file_text)


def samples(reading: ResultReading, name: str = "tflops") -> list[tuple[float, ...]]:
    return [row.metrics[name].samples for row in reading.rows]


def test_two_rows_of_a_shell_loop() -> None:
    reading = read(
        "starting\n",
        "RESULT topk=2 parallel_mode=ep tflops=143.985 tokens_per_s=462339 null_realized=0.101 note='a b'\n",
        "RESULT topk=8 parallel_mode=ep tflops=116.472 tokens_per_s=186997 null_realized=0.102 note='a b'\n",
        declared=[TFLOPS, TOKENS],
        argv=["bench", "--topk", "--parallel-mode=ep"],
        config={"seed": 1},
    )
    assert reading == ResultReading(
        rows=(
            Row(
                config={"seed": 1, "topk": 2, "parallel_mode": "ep"},
                metrics={
                    "tflops": Measurement(samples=(143.985,), unit="TF/s", direction="max"),
                    "tokens_per_s": Measurement(samples=(462339.0,), unit="tokens/s", direction="max"),
                },
                observations={"null_realized": 0.101},
                labels={"note": "a b"},
            ),
            Row(
                config={"seed": 1, "topk": 8, "parallel_mode": "ep"},
                metrics={
                    "tflops": Measurement(samples=(116.472,), unit="TF/s", direction="max"),
                    "tokens_per_s": Measurement(samples=(186997.0,), unit="tokens/s", direction="max"),
                },
                observations={"null_realized": 0.102},
                labels={"note": "a b"},
            ),
        )
    )


@pytest.mark.parametrize(
    "line",
    [
        "RESULT a=1 tflops=2",
        "  RESULT a=1 tflops=2\r\n",
        "RESULT: a=1 tflops=2",
        "(pid=123, ip=10.1.2.3) RESULT a=1 tflops=2",
        "(Worker pid=123) RESULT a=1 tflops=2",
        "RESULT a=1 tflops=2 [repeated 3x across cluster]",
        'RESULT_JSON {"config": {"a": 1}, "metrics": {"tflops": 2}}',
        'RESULT_JSON: {"config": {"a": 1}, "metrics": {"tflops": {"samples": [2.0]}}}',
    ],
)
def test_every_form_of_a_result_line(line: str) -> None:
    reading = read(line, axes=["a"])
    assert told(reading.problems) == ()
    assert [row.config for row in reading.rows] == [{"a": 1}]
    assert samples(reading) == [(2.0,)]


@pytest.mark.parametrize(
    "line", ["a RESULT x=1", "RESULTS x=1", "RESULT_X x=1", "my METRIC a=1", "RESULTx=1", "METRICS a=1", ""]
)
def test_other_lines_count_for_nothing(line: str) -> None:
    assert read(line) == ResultReading()


def test_duplicates_fold_and_new_values_are_samples() -> None:
    reading = read(
        "RESULT rate=0.1 tflops=1",
        "(pid=2) RESULT rate=0.10 tflops=1.0",
        "RESULT rate=1e-1 tflops=2 time_s=2",
        "RESULT rate=0.2 tflops=4",
        axes=["rate"],
    )
    assert samples(reading) == [(1.0, 2.0), (4.0,)]
    assert told(reading.problems) == ()


def test_lines_that_an_undeclared_key_tells_apart_stay_apart_and_it_is_said() -> None:
    reading = read("RESULT null_target=0.1 tflops=5", "RESULT null_target=0.9 tflops=6", declared=[TFLOPS])
    assert samples(reading) == [(5.0,), (6.0,)]
    assert [r.observations for r in reading.rows] == [{"null_target": 0.1}, {"null_target": 0.9}]
    assert told(reading.problems) == (
        "RESULT lines of one config differ in null_target, so they are separate rows; "
        "declare what identifies a case as an axis, and what is measured as a metric",
    )


def test_a_measured_observation_tells_no_cases_apart() -> None:
    reading = read(
        "RESULT topk=2 tflops=5 elapsed_s=1.5 mfu=0.1",
        "RESULT topk=2 tflops=7 elapsed_s=9.0 mfu=nan",
        "RESULT topk=2 tflops=6 elapsed_s=1.6 mfu=0.2",
        declared=[TFLOPS],
        axes=["topk"],
    )
    assert samples(reading) == [(5.0, 7.0, 6.0)]
    assert reading.rows[0].observations == {"elapsed_s": 1.6, "mfu": pytest.approx(0.15)}


def test_metric_lines_alone_are_one_row_with_the_runs_config() -> None:
    reading = read("METRIC loss=3.5 nats", "METRIC loss=3.25 nats", "METRIC acc=0.5", config={"seed": 1})
    assert reading.rows == (
        Row(
            config={"seed": 1},
            metrics={
                "loss": Measurement(samples=(3.5, 3.25), unit="nats", direction="min"),
                "acc": Measurement(samples=(0.5,)),
            },
        ),
    )


def test_metric_lines_join_the_only_row_and_else_stand_alone() -> None:
    one = read("RESULT topk=2 tflops=1", "METRIC tflops=1", "METRIC speed=2", axes=["topk"])
    assert len(one.rows) == 1
    assert samples(one) == [(1.0,)]
    assert samples(one, "speed") == [(2.0,)]
    several = read("RESULT topk=2 tflops=1", "RESULT topk=8 tflops=2", "METRIC speed=2", axes=["topk"])
    assert [sorted(r.metrics) for r in several.rows] == [["tflops"], ["tflops"], ["speed"]]


FULL = {
    "config": {"topk": 2, "mesh": [2, 2]},
    "metrics": {
        "tflops": {"samples": [1.0, 2.0], "unit": "TF", "direction": "max"},
        "plain": 3,
        "many": [4, 5],
    },
    "observations": {"null_realized": 0.5, "unknown": None},
    "labels": {"backend": "gmm"},
    "devices": [{"platform": "tpu", "kind": "TPU v5", "count": 4, "used": 4}],
    "software": {"jax": "0.7.0"},
    "host": "far",
}
FULL_ROW = Row(
    config={"topk": 2, "mesh": "[2,2]"},
    metrics={
        "tflops": Measurement(samples=(1.0, 2.0), unit="TF", direction="max"),
        "plain": Measurement(samples=(3.0,)),
        "many": Measurement(samples=(4.0, 5.0)),
    },
    observations={"null_realized": 0.5, "unknown": None},
    labels={"backend": "gmm"},
    devices=(Device(platform="tpu", kind="TPU v5", count=4, used=4),),
    software={"jax": "0.7.0"},
    host="far",
)


@pytest.mark.parametrize("shape", [lambda r: r, lambda r: {"rows": [r]}, lambda r: [r]])
def test_a_whole_json_row_from_a_line_a_file_or_both(shape: Any) -> None:
    text = json.dumps(shape(FULL))
    assert read(f"RESULT_JSON {text}").rows == (FULL_ROW,)
    assert read(file_text=json.dumps(shape(FULL), indent=2)).rows == (FULL_ROW,)
    both = read(f"RESULT_JSON {text}", file_text=text)
    assert both == ResultReading(rows=(FULL_ROW,))


LAT = Metric(name="lat", direction="min", unit="ms")
IN_US = "lat: stated in us, declared in ms; kept in us, and not compared with values in ms"


@pytest.mark.parametrize(
    "line", ["METRIC lat=900 us", 'RESULT_JSON {"metrics": {"lat": {"samples": [900], "unit": "us"}}}']
)
def test_a_stated_unit_is_kept_and_said_to_be_another(line: str) -> None:
    reading = read(line, declared=[LAT])
    assert [row.metrics["lat"] for row in reading.rows] == [
        Measurement(samples=(900.0,), unit="us", direction="min"),
    ]
    assert told(reading.problems) == (IN_US,)


@pytest.mark.parametrize(
    "line", ["METRIC lat=9", "METRIC lat=9 ms", "RESULT lat=9", 'RESULT_JSON {"metrics": {"lat": 9}}']
)
def test_without_a_unit_the_declared_one_holds(line: str) -> None:
    reading = read(line, declared=[LAT])
    assert [row.metrics["lat"].unit for row in reading.rows] == ["ms"]
    assert told(reading.problems) == ()


def test_two_units_are_never_samples_of_one_row() -> None:
    for lines in (
        ["METRIC lat=1", "METRIC lat=900 us", "METRIC lat=2 ms", "METRIC lat=800 us"],
        ["RESULT lat=1 topk=2", "METRIC lat=900 us", "METRIC lat=2 ms", "METRIC lat=800 us"],
        [
            f'RESULT_JSON {{"metrics": {{"lat": {{"samples": [{v}], "unit": "{u}"}}}}}}'
            for v, u in ((1, "ms"), (900, "us"), (2, "ms"), (800, "us"))
        ],
    ):
        reading = read(*lines, declared=[LAT], axes=["topk"])
        found = [(row.metrics["lat"].unit, row.metrics["lat"].samples) for row in reading.rows]
        assert found == [("ms", (1.0, 2.0)), ("us", (900.0, 800.0))], lines
        assert told(reading.problems) == (IN_US,)
        assert len({tuple(row.config.items()) for row in reading.rows}) == 1


def test_json_wins_over_the_line_of_the_same_case_which_may_add_to_it() -> None:
    reading = read(
        "RESULT topk=2 tflops=1.5 iters=3 extra=7 note=x",
        "RESULT topk=4 tflops=9",
        f"RESULT_JSON {json.dumps(FULL)}",
        argv=["bench", "--topk", "--iters=3"],
    )
    assert samples(reading) == [(1.0, 2.0), (9.0,)]
    assert reading.rows[0].observations == {"null_realized": 0.5, "unknown": None, "extra": 7.0}
    assert reading.rows[0].labels == {"backend": "gmm", "note": "x"}


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_line_belongs_to_the_row_with_just_its_config(order: tuple[int, int]) -> None:
    """Of two tiles, the default has no key for it: its config is a part of the other's."""
    lines = ("RESULT topk=2 tflops=10.5 devices_used=1", "RESULT topk=2 row_tiles=16,4 tflops=11.5 devices_used=1")
    rows = (
        'RESULT_JSON {"config": {"topk": 2}, "metrics": {"tflops": [10, 11]}}',
        'RESULT_JSON {"config": {"topk": 2, "row_tiles": "16,4"}, "metrics": {"tflops": [11, 12]}}',
    )
    reading = read(*(text for i in order for text in (lines[i], rows[i])), config={"seed": 0})
    assert samples(reading) == [((10.0, 11.0), (11.0, 12.0))[i] for i in order]
    assert [row.observations for row in reading.rows] == [{"devices_used": 1.0}] * 2


def test_the_rows_own_config_wins_and_the_disagreement_is_said() -> None:
    reading = read("RESULT topk=2 tflops=1", config={"topk": 8})
    assert reading.rows[0].config == {"topk": 2}
    assert told(reading.problems) == ("topk: the row says 2, --config says 8",)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("RESULT tflops=nan a=1", "tflops: 'nan' is not a measurement"),
        ("RESULT tflops=", "tflops: '' is not a measurement"),
        ("RESULT", "RESULT line: no key=value:"),
        ("RESULT a=it's b=2", "RESULT line: no closing quotation; split at blanks: a=it's b=2"),
        ("RESULT a=1 a=2", "RESULT line: 'a' is given twice: a=1 a=2"),
        ("METRIC loss", "METRIC line: expected name=value [unit]: loss"),
        ("RESULT_JSON {", "RESULT_JSON: not JSON"),
        ("RESULT_JSON 3", "RESULT_JSON: a row is not an object: 3: 3"),
        ('RESULT_JSON {"tflops": 3}', "RESULT_JSON: unknown key 'tflops'"),
        ('RESULT_JSON {"metrics": {"a": [NaN, 1]}}', "RESULT_JSON: a: nan is not a measurement"),
        ('RESULT_JSON {"metrics": {"a": {"samples": []}}}', "RESULT_JSON: a has no samples"),
        ('RESULT_JSON {"metrics": {"a": {"samples": [1], "direction": "up"}}}', "unknown direction 'up'"),
        ('RESULT_JSON {"devices": [3]}', "RESULT_JSON: devices: expected a mapping, got int"),
        ("RESULT_JSON " + "[" * 100_000, "RESULT_JSON: not JSON"),
    ],
)
def test_what_cannot_be_read_is_a_problem(line: str, problem: str) -> None:
    problems = told(read(line).problems)
    assert problem in problems[0]
    assert len(problems[0]) <= 300


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader_module, "MAX_ROWS", 10)
    reading = read(*(f"RESULT topk={i} tflops=1" for i in range(25)), axes=["topk"])
    assert len(reading.rows) == 10
    assert told(reading.problems) == ("15 result lines were not kept: over the limit of rows or size",)
    many = read(*(f"RESULT bad{i}" for i in range(80)))
    assert len(many.problems) == 51
    assert told(many.problems)[-1] == "30 more problems like these"


@given(st.lists(st.sampled_from(["RESULT ", "METRIC ", "RESULT_JSON ", ""])), st.lists(st.text(max_size=40)))
def test_any_text_is_read(words: list[str], texts: list[str]) -> None:
    lines = [w + t for w, t in zip(words, texts, strict=False)]
    reading = read(*lines, *texts, axes=["a"], config={"seed": 1}, file_text="".join(texts))
    json.dumps([encode(row) for row in reading.rows], allow_nan=False, ensure_ascii=False).encode()


JSON_KEYS = [*FULL, "failed", "rows", "samples", "a"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(JSON_KEYS),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.lists(JSON, max_size=3))
def test_any_json_is_read(values: list[Any]) -> None:
    reading = read(*(f"RESULT_JSON {json.dumps(v)}" for v in values), file_text=json.dumps(values))
    json.dumps([encode(row) for row in reading.rows], allow_nan=False, ensure_ascii=False).encode()


KEYS = st.from_regex(r"[a-z][a-z_]{0,6}", fullmatch=True)
FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(st.dictionaries(KEYS, st.text(max_size=8), max_size=4), FINITE)
def test_a_quoted_line_gives_its_values_back(config: dict[str, str], value: float) -> None:
    config = {f"c_{k}": v.replace("\x1b", "") for k, v in config.items()}
    body = " ".join(f"{k}={shlex.quote(v)}" for k, v in config.items())
    reading = read(f"RESULT {body} tflops={value!r}", axes=list(config), declared=[TFLOPS])
    (row,) = reading.rows
    assert row.config == {k: parse_scalar(v) for k, v in config.items()}
    assert row.metrics["tflops"].samples == (value,)
