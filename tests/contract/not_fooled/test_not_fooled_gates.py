"""A side that is faster but wrong is not better: gates, watched metrics, labels, and what is constant on each side."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Answer, Cli
from tests.seams import Store

# The second side takes a tenth of the time; the noise is the number of the run.
SCRIPT = """\
n=$((LOGBOOK_RUN * 7 % 10))
if [ "$Q" = 1 ]; then echo "RESULT time_s=1.0$n $BASE"; else echo "RESULT time_s=0.10$n $OTHER"; fi
"""
AXIS = ("ab", "--axis", "env:Q=1,2")
COMMAND = ("--", "sh", "b.sh")
AB = (*AXIS, *COMMAND)
# Every reader of a logbook, as it is typed.
READERS = (("status",), ("status", "--json"), ("list",), ("compare", "T-000"), ("compare", "T-000", "--json"),
           ("show", "T-000"), ("show", "T-000", "--json"))  # fmt: skip


@pytest.fixture
def sides(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Cli]:
    """A logbook, and a command of two sides that report these words beside their time."""

    def make(base: str, other: str, *more: str, metrics: tuple[str, ...] = ("time_s:min:s", "ok:max")) -> Cli:
        (folder / "b.sh").write_text(SCRIPT)
        monkeypatch.setenv("BASE", base)
        monkeypatch.setenv("OTHER", other)
        named = [word for metric in metrics for word in ("--metric", metric)]
        assert cli("start", "t", "--prefix", "T", *named, "--goal", "g", "--stop", "s", *more).code == 0
        return cli

    return make


def answer_of(cli: Cli, entry: str = "T-000") -> Any:
    return cli("compare", entry, "--json").data["answer"]


def outcomes(cli: Cli, entry: str = "T-000") -> dict[str, str]:
    return {f["metric"]: f["outcome"] for f in answer_of(cli, entry)["findings"]}


def readers(cli: Cli, folder: Path) -> dict[str, str]:
    """What each reader says."""
    said = {" ".join(words): cli(*words).out for words in READERS}
    cli("report")
    page = folder / "logbooks/.report/t.html"
    return {**said, "view": (folder / "logbooks/t.md").read_text(), "page": page.read_text()}


def best(cli: Cli, metric: str = "time_s") -> list[float]:
    return [one["value"] for one in cli("status", "--json").data.get("best", []) if one["metric"] == metric]


@pytest.mark.parametrize("more", [(), ("--metric", "time_s")])
def test_the_answer_begins_with_what_got_worse(sides: Callable[..., Cli], folder: Path, more: tuple[str, ...]) -> None:
    cli = sides("ok=1", "ok=0")
    made = cli(*AXIS, *more, *COMMAND)
    assert made.out.splitlines()[1].startswith("ok is 0 with Q=2, 1 with Q=1")
    for name, text in readers(cli, folder).items():
        assert "ok is 0 with Q=2, 1 with Q=1" in text, name
    assert cli("status", "--json").data["answers"][0]["outcome"] != "better"
    assert all(value > 0.5 for value in best(cli)), "a side whose ok got worse is no best"


def test_a_side_that_breaks_a_gate_has_failed(sides: Callable[..., Cli], folder: Path) -> None:
    cli = sides("ok=1", "ok=0", "--gate", "ok == 1")
    # The base is first.
    made = cli(*AXIS, "--seed", "3", "--json", *COMMAND)
    assert (made.code, made.data["stopped"]["by"]) == (1, "failed")
    assert "ok is 0" in made.data["stopped"]["why"]
    assert made.data["ran"] <= 2, "no run is spent on a side that cannot count"
    for name, text in readers(cli, folder).items():
        assert "ok is 0" in text, name
    assert "better" not in outcomes(cli).values()
    assert all(value > 0.5 for value in best(cli))


def test_a_failing_side_leaves_the_others(cli: Cli, folder: Path) -> None:
    (folder / "b.sh").write_text(
        'n=$((LOGBOOK_RUN * 7 % 10)); case $Q in 1) t=1.0$n ok=1;; 2) t=0.1$n ok=0;; 3) t=0.5$n ok=1;; esac\n'
        'echo "RESULT time_s=$t ok=$ok"\n'
    )  # fmt: skip
    cli("start", "t", "--prefix", "T", "--metric", "time_s:min:s", "--gate", "ok == 1")
    assert cli("ab", "--axis", "env:Q=1,2,3", *COMMAND).code == 0
    found = answer_of(cli)
    assert {f["side"]: f["outcome"] for f in found["findings"]} == {"2": "open", "3": "better"}
    assert found["failed"].keys() == {"2"}


def test_a_failing_base_ends_without_an_answer(sides: Callable[..., Cli]) -> None:
    cli = sides("ok=0", "ok=1", "--gate", "ok == 1")
    made = cli(*AXIS, "--json", *COMMAND)
    assert (made.code, made.data["stopped"]["by"], made.data["pairs"]) == (1, "failed", 0)


@pytest.mark.parametrize(
    ("gate", "row", "counts"),
    [
        ("ok == 1", "ok=1", True),
        ("ok == 1", "ok=1.0", True),
        ("ok == true", "ok=true", True),
        ("status == pass", "status=fail", False),
        ("status != fail", "status=pass", True),
        ("max_error <= 1e-3", "max_error=0.001", True),
        ("max_error <= 1e-3", "max_error=0.0011", False),
        ("max_error<=1e-3", "max_error=nan", False),
        ("max_error < 1e-3", "max_error=0", True),
        ("acc >= 0.9", "acc=0.91", True),
        ("acc > 0.9", "acc=0.9", False),
        ("acc >= 0.9", "other=1", False),
    ],
)
def test_a_row_counts_that_fulfils_its_gates(cli: Cli, gate: str, row: str, counts: bool) -> None:
    cli("start", "t", "--prefix", "T", "--metric", "time_s:min:s", "--gate", gate)
    made = cli("run", "--json", "--", "echo", f"RESULT time_s=1 {row}")
    [shown] = made.data["runs"]
    assert (shown["state"], "failed" in shown["rows"][0]) == (("finished", False) if counts else ("failed", True))
    assert bool(best(cli)) is counts


@pytest.mark.parametrize("gate", ["ok", "same", "max_error <= small", "== 1"])
def test_what_is_no_gate_is_refused(cli: Cli, folder: Path, gate: str) -> None:
    refused = cli("start", "t", "--prefix", "T", "--gate", gate)
    assert (refused.code, "gate" in refused.err) == (2, True)
    assert not (folder / "logbooks/t.md").exists()


def test_every_sample_must_fulfil_a_gate(cli: Cli) -> None:
    cli("start", "t", "--prefix", "T", "--metric", "time_s:min:s", "--metric", "ok:max", "--gate", "ok == 1")
    made = cli("run", "--json", "--", "printf", "METRIC time_s=1\\nMETRIC ok=1\\nMETRIC ok=0\\nMETRIC ok=1\\n")
    assert made.data["runs"][0]["state"] == "failed"


def test_a_gate_may_come_later_and_needs_a_reason(sides: Callable[..., Cli]) -> None:
    cli = sides("ok=1", "ok=0", metrics=("time_s:min:s",))
    cli(*AB)
    assert outcomes(cli) == {"time_s": "better"}
    assert cli("edit", "--gate", "ok == 1").code == 2
    changed = cli("edit", "--gate", "ok == 1", "--reason", "wrong outputs were fast", "--json")
    assert (changed.code, changed.data["gates"]) == (0, ["ok == 1"])
    lost = {"entry": "T-000", "before": "better", "after": "open", "why": "gate ok == 1: ok is 0"}
    assert changed.data["answers"] == [lost], "which answers it takes back"
    assert outcomes(cli) == {"time_s": "open"}, "old rows are judged again"
    decision = cli("show", changed.data["id"]).out
    assert "gate ok == 1" in decision
    assert "wrong outputs were fast" in decision
    changed = cli("edit", "--drop", "ok == 1", "--reason", "ok was misread")
    assert "T-000 was open, and is better now: " in changed.out
    assert outcomes(cli) == {"time_s": "better"}
    again = cli("edit", "--gate", "ok == 1", "--reason", "it was not").out
    assert "T-000 has no answer now: gate ok == 1: ok is 0" in again
    back = again.partition("to take the gate back: logbook ")[2]
    assert cli(*shlex.split(back)).code == 0
    assert cli("edit", "T-000", "--gate", "ok == 1", "--json").data["answers"] == [lost]


def test_a_decision_on_an_answer_that_was_lost_is_in_doubt(sides: Callable[..., Cli], folder: Path) -> None:
    cli = sides("ok=1", "ok=0", metrics=("time_s:min:s",))
    cli(*AB)
    assert cli("keep", "T-000", "--why", "a tenth").code == 0
    assert not any("in doubt" in text for text in readers(cli, folder).values())
    cli("edit", "--gate", "ok == 1", "--reason", "wrong outputs were fast")
    doubt = "in doubt: T-000 has no answer now, as Q=2 failed in 10 pairs: gate ok == 1: ok is 0"
    said = readers(cli, folder)
    decision = next(one for one in cli("status", "--json").data["decisions"] if one.get("decides") == "T-000")
    assert doubt in decision["text"]
    assert doubt in said["status"]
    assert doubt.replace("==", "&#61;=") in said["view"] or doubt in said["view"]


def test_a_metric_may_be_declared_later(sides: Callable[..., Cli]) -> None:
    cli = sides("mem_mb=100", "mem_mb=150", metrics=("time_s:min:s",))
    cli(*AB)
    made = cli("edit", "--metric", "mem_mb:min:MB", "--reason", "memory matters, too", "--json")
    assert [m["name"] for m in made.data["metrics"]] == ["time_s", "mem_mb"]
    assert answer_of(cli)["first"][0].startswith("mem_mb is 150")
    assert answer_of(cli)["first"][0].endswith("(worse)")


# -- labels -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["checksum", "output_sha256", "digest", "md5", "crc32", "hash"])
@pytest.mark.parametrize("values", [("3f2a", "9b1c"), ("12345", "99887")])
def test_another_checksum_leaves_the_answer_open(
    sides: Callable[..., Cli], folder: Path, name: str, values: tuple[str, str]
) -> None:
    cli = sides(f"{name}={values[0]}", f"{name}={values[1]}", metrics=("time_s:min:s",))
    made = cli(*AXIS, "--json", *COMMAND)
    assert outcomes(cli) == {"time_s": "open"}
    assert (made.data["stopped"]["by"], name in made.data["stopped"]["why"]) == ("open", True)
    assert not any(one["settled"] for one in cli("status", "--json").data["answers"])
    for which, text in readers(cli, folder).items():
        assert f"{name} is {values[1]} with Q=2, {values[0]} with Q=1" in text, which
    # Either of the two commands that it prints.
    [finding] = answer_of(cli)["findings"]
    assert f"logbook edit T-000 --gate 'same {name}'" in finding["to_settle"]
    assert f"--free {name}" in finding["to_settle"]
    assert [step["command"] for step in cli("next", "--json").data["steps"][1:2]] == [
        f"logbook edit T-000 --gate 'same {name}'"
    ]
    cli("edit", "T-000", "--free", name)
    assert outcomes(cli) == {"time_s": "better"}
    cli("edit", "T-000", "--drop", name, "--gate", f"same {name}")
    assert (outcomes(cli), answer_of(cli)["failed"].keys()) == ({"time_s": "open"}, {"2"})


def test_pairs_are_not_advised_before_the_decision_on_a_checksum(sides: Callable[..., Cli]) -> None:
    cli = sides("checksum=a", "checksum=b", metrics=("time_s:min:s",))
    made = cli(*AXIS, "--max-pairs", "4", "--json", *COMMAND)
    assert "your decision on checksum" in made.data["stopped"]["why"]
    assert "to continue" not in made.data["stopped"]["why"]
    [answer] = cli("status", "--json").data["answers"]
    assert (answer["command"], answer["lacks"]) == ("logbook edit T-000 --gate 'same checksum'", "decision")
    cli("edit", "T-000", "--free", "checksum")
    [answer] = cli("status", "--json").data["answers"]
    assert answer["command"].endswith("--max-pairs 6")
    # The latest word on a label counts.
    changed = cli("edit", "T-000", "--gate", "same checksum")
    assert "T-000 has no pair that counts now: gate same checksum: it is b, not a" in changed.out
    [answer] = cli("status", "--json").data["answers"]
    assert "command" not in answer
    assert "a change of Q=2" in answer["why"]


def test_a_checksum_of_the_code_or_that_varies_by_itself_says_nothing(sides: Callable[..., Cli]) -> None:
    cli = sides("git_hash=3f2a checksum=$LOGBOOK_RUN", "git_hash=9b1c checksum=$LOGBOOK_RUN", metrics=("time_s:min:s",))
    (Path("b.sh")).write_text(
        SCRIPT.replace("$BASE", "checksum=a$LOGBOOK_RUN").replace("$OTHER", "checksum=b$LOGBOOK_RUN")
    )
    cli(*AB)
    assert outcomes(cli) == {"time_s": "better"}


def test_the_base_that_disagrees_with_itself_voids_a_gate(sides: Callable[..., Cli], folder: Path) -> None:
    cli = sides("x=1", "x=1", "--gate", "same checksum", metrics=("time_s:min:s",))
    (folder / "b.sh").write_text(SCRIPT.replace("$BASE", "checksum=a$LOGBOOK_RUN").replace("$OTHER", "checksum=a1"))
    # The base is first, and second in the next pair.
    cli(*AXIS, "--seed", "3", *COMMAND)
    [finding] = answer_of(cli)["findings"]
    assert (finding["outcome"], any("same checksum" in note for note in finding["notes"])) == ("better", True)


def test_a_gate_of_one_comparison(sides: Callable[..., Cli]) -> None:
    cli = sides("checksum=a", "checksum=b", metrics=("time_s:min:s",))
    cli(*AXIS, "--gate", "same checksum", *COMMAND)
    assert (outcomes(cli), answer_of(cli)["failed"].keys()) == ({"time_s": "open"}, {"2"})
    cli(*AXIS, "--new", "--free", "checksum", *COMMAND)
    assert outcomes(cli, "T-001") == {"time_s": "better"}
    assert "gates" not in Store(Path.cwd(), "t").header
    # What is made like an entry is judged like it.
    for number, (like, expected) in enumerate((("T-000", "open"), ("T-001", "better")), 2):
        assert cli(*AXIS, "--new", "--like", like).code in (0, 1)
        assert outcomes(cli, f"T-00{number}") == {"time_s": expected}


def test_the_way_out_of_a_gate_that_each_pair_fails_works_as_printed(sides: Callable[..., Cli]) -> None:
    cli = sides("checksum=a", "checksum=b", "--gate", "same checksum", metrics=("time_s:min:s",))
    free = "logbook ab --id T-000 --free checksum"
    said = cli(*AXIS, *COMMAND).out
    assert "gate same checksum: it is b, not a" in said
    assert f"a change of Q=2; if checksum may differ: {free}" in said
    [answer] = cli("status", "--json").data["answers"]
    assert (answer["lacks"], free in answer["why"]) == ("gate", True)
    assert cli(*shlex.split(free)[1:]).code == 0
    assert outcomes(cli) == {"time_s": "better"}


def test_a_label_that_may_differ_in_an_entry_is_judged_by_no_gate_of_the_logbook(sides: Callable[..., Cli]) -> None:
    cli = sides("checksum=a", "checksum=b", "--gate", "same checksum", metrics=("time_s:min:s",))
    cli(*AXIS, "--free", "checksum", *COMMAND)
    assert outcomes(cli) == {"time_s": "better"}
    assert "gates: checksum may differ" in cli("show", "T-000").out
    # Freed for the whole logbook, the gate goes, and is named.
    said = cli("edit", "--free", "checksum", "--reason", "int8 rounds otherwise")
    assert "checksum may differ, without same checksum" in said.out
    data = cli("status", "--json").data
    assert (data.get("gates", []), data["free"]) == ([], ["checksum"])
    assert "\nmay differ between the sides: checksum\n" in cli("status").out


# -- numbers that nobody declared ---------------------------------------------------------------------------


def test_a_count_that_changed_stands_beside_the_answer(sides: Callable[..., Cli], folder: Path) -> None:
    cli = sides("tokens=278358", "tokens=251004", metrics=("time_s:min:s",))
    cli(*AB)
    assert outcomes(cli) == {"time_s": "better"}
    for name, text in readers(cli, folder).items():
        assert "tokens is 251004 with Q=2, 278358 with Q=1" in text, name


def test_labels_are_shown(cli: Cli) -> None:
    cli("start", "t", "--prefix", "T", "--metric", "time_s:min:s")
    cli("run", "--", "echo", "RESULT time_s=1 checksum=3f2a status=pass")
    assert "checksum=3f2a" in cli("show", "T-000").out
    assert "status=pass" in cli("show", "T-000").out


def test_what_is_worse_among_watched_metrics_is_said_first(sides: Callable[..., Cli]) -> None:
    cli = sides("mem_mb=100", "mem_mb=150", metrics=("time_s:min:s", "mem_mb:min:MB"))
    made = cli(*AXIS, "--metric", "time_s", *COMMAND)
    assert "mem_mb" in made.out.splitlines()[1]
    assert cli("status", "--json").data["answers"][0]["outcome"] == "mixed"


def test_a_zero_has_no_ratio_and_the_answer_says_so(sides: Callable[..., Cli]) -> None:
    cli = sides("errors=3", "errors=0", metrics=("errors:min",))
    cli(*AB)
    [finding] = answer_of(cli)["findings"]
    assert finding["outcome"] == "open"
    assert "no ratio: 2 has 0" in finding["left_out"][0]


# -- zeros that are none, and what a person accepts ---------------------------------------------------------


def printed(cli: Cli, *lines: str) -> Answer:
    return cli("run", "--json", "--", "printf", "".join(f"{line}\\n" for line in lines))


@pytest.mark.parametrize(("metric", "value"), [("x:min", "3818"), ("time_s:min:s", "0.5"), ("val_bpb:min", "0.9979"),
                                               ("rate:max:tokens/s", "120")])  # fmt: skip
def test_a_zero_for_a_crash_is_withheld_until_it_is_accepted(cli: Cli, metric: str, value: str) -> None:
    name = metric.partition(":")[0]
    cli("start", "t", "--prefix", "T", "--metric", metric)
    printed(cli, f"METRIC {name}=0")
    printed(cli, f"METRIC {name}={value}")
    assert best(cli, name) == [float(value)], "no best, and no repeat of it"
    assert cli("edit", "T-000", "--accept", "it really is 0").code == 0
    assert best(cli, name) != [float(value)]
    assert "it really is 0" in cli("show", "T-000").out


@pytest.mark.parametrize(
    ("metric", "values"),
    [
        ("ok:max", ("0", "1")),
        ("errors:min", ("0", "3")),
        ("accuracy:max", ("0", "0.7")),
        ("max_error:min", ("0", "1e-7")),
    ],
)
def test_a_plain_zero_counts(cli: Cli, metric: str, values: tuple[str, str]) -> None:
    name = metric.partition(":")[0]
    cli("start", "t", "--prefix", "T", "--metric", metric)
    for value in values:
        printed(cli, f"METRIC {name}={value}")
    shown = [one["low"] if "low" in one else one["value"] for one in cli("status", "--json").data["best"]]
    assert shown == [0.0]


def test_nothing_withheld_is_nothing_to_accept(cli: Cli) -> None:
    cli("start", "t", "--prefix", "T", "--metric", "x:min")
    printed(cli, "METRIC x=2")
    assert cli("edit", "T-000", "--accept", "why").code == 2


# -- discarded ----------------------------------------------------------------------------------------------


def test_discarded_is_discarded_everywhere(sides: Callable[..., Cli], folder: Path) -> None:
    cli = sides("ok=1", "ok=1")
    cli(*AXIS, "--metric", "time_s", *COMMAND)
    assert outcomes(cli)["time_s"] == "better"
    assert cli("discard", "T-000", "--why", "its output is wrong").code == 0
    assert "better" not in outcomes(cli).values()
    data = cli("status", "--json").data
    assert not data.get("answers")
    assert all(one["value"] > 0.5 for one in data.get("best", []) if one["metric"] == "time_s")
    for name, text in readers(cli, folder).items():
        assert "T-001" in text or "discarded" in text.lower(), name


def test_what_was_discarded_was_measured(cli: Cli) -> None:
    cli("start", "t", "--prefix", "T", "--metric", "x:min")
    assert "Nothing was measured yet." in cli("status").out
    printed(cli, "METRIC x=2")
    cli("discard", "T-000", "--why", "wrong")
    assert "No result counts: all were discarded" in cli("status").out


@pytest.mark.parametrize("pairs", ["10", "3"])
def test_a_discarded_question_is_asked_and_answered_nowhere(
    sides: Callable[..., Cli], folder: Path, pairs: str
) -> None:
    cli = sides("ok=1", "ok=1")
    cli("criteria", "--predicate", "1=compared: {axis: 'env:Q', values: ['1', '2'], settled: true, metric: time_s}")
    cli(*AXIS, "--metric", "time_s", "--max-pairs", pairs, *COMMAND)
    assert cli("criteria").code == (0 if pairs == "10" else 1)
    assert len(cli("status", "--json").data["answers"]) == 1
    cli("discard", "T-000", "--why", "its output is wrong")
    assert not cli("status", "--json").data.get("answers")
    assert not any("T-000" in step.get("command", "") for step in cli("next", "--json").data["steps"])
    [computed] = [one["computed"] for one in cli("criteria", "--json").data["criteria"]]
    assert (computed["state"], computed.get("evidence")) == ("unmet", None)
    assert cli("sync", "--offline", "out").code == 0
    [row] = [line for line in (folder / "out/issue.md").read_text().splitlines() if line.startswith("| T-000")]
    assert "discarded by T-001" in row
    assert cli("compare", "T-000").out.splitlines()[1] == "discarded by T-001"


def test_the_entry_says_that_it_was_kept_without_an_answer(sides: Callable[..., Cli], folder: Path) -> None:
    cli = sides("", "")
    cli(*AXIS, "--max-pairs", "1", *COMMAND)
    assert cli("keep", "T-000", "--why", "simpler").code == 0
    said = "- Decided by: T-001 (kept, though the answer is open)"
    assert said in cli("show", "T-000").out
    assert cli("show", "T-000", "--json").data["kept_by"] == ["T-001"]
    cli("ab", "--id", "T-000", "--max-pairs", "9")
    assert "- Decided by: T-001 (kept)\n" in cli("show", "T-000").out
    assert "- Decided by: T-001 (kept)\n" in (folder / "logbooks/t.md").read_text()


def test_every_page_of_a_discarded_run_says_so(cli: Cli, folder: Path) -> None:
    cli("start", "t", "--prefix", "T", "--metric", "x:max")
    cli("run", "--config", "a=1", "--", "echo", "METRIC x=3")
    cli("run", "--config", "a=2", "--next", "try a=3", "--", "echo", "METRIC x=9")
    cli("discard", "T-001", "--why", "wrong")
    assert "discarded by T-002; " in cli("list").out
    assert "- Decided by: T-002 (discarded)" in cli("show", "T-001").out
    assert "- Decided by: T-002 (discarded)" in (folder / "logbooks/t.md").read_text()
    assert cli("show", "T-001", "--json").data["discarded_by"] == ["T-002"]
    assert "T-001 does not count: it is discarded by T-002" in cli("compare", "T-000", "T-001").err
    assert "T-001" not in cli("table").out
    assert [one["entry"] for one in cli("status", "--json").data["best"]] == ["T-000"]
    assert "T-001" not in cli("next").out


@pytest.mark.parametrize("form", ["RESULT time_s=1 checksum={}", "METRIC time_s=1\\nMETRIC checksum={}"])
def test_a_checksum_is_a_label_whatever_it_looks_like(cli: Cli, form: str) -> None:
    cli("start", "t", "--prefix", "T", "--metric", "time_s:min:s")
    large = "12345678901234567891"
    [row] = cli("run", "--json", "--", "printf", form.format(large) + "\\n").data["runs"][0]["rows"]
    assert row["labels"]["checksum"] == large
    assert [*row["metrics"]] == ["time_s"]


# -- what an adversary found ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base", "other", "said"),
    [
        ("status=pass", "status=FAILED", "status is FAILED with Q=2, pass with Q=1"),
        ("verified=true", "verified=false", "verified is false with Q=2, true with Q=1"),
        ("backend=gpu checksum=abc", "backend=cpu", "checksum is not reported with Q=2, abc with Q=1"),
        ("size=100", "size=10", "size is 10 with Q=2, 100 with Q=1"),
        ("tput=900", "tput=1", "tput is 1 with Q=2, 900 with Q=1"),
        ("ok=1", "", "ok is not reported with Q=2"),
    ],
)
def test_what_is_the_same_in_every_run_of_a_side_and_differs_is_said_first(
    sides: Callable[..., Cli], folder: Path, base: str, other: str, said: str
) -> None:
    cli = sides(base, other)
    cli(*AXIS, "--metric", "time_s", "--config", "size=100", *COMMAND) if "size" in base else cli(
        *AXIS, "--metric", "time_s", *COMMAND
    )
    assert said in " ".join(answer_of(cli)["first"])
    for name, text in readers(cli, folder).items():
        assert said in text, name


def test_another_config_is_said_first(cli: Cli, folder: Path) -> None:
    (folder / "b.sh").write_text(
        'n=$((LOGBOOK_RUN * 7 % 10)); [ $Q = 1 ] && k=8 t=2.0$n || k=1 t=1.0$n\n'
        'echo "RESULT_JSON {\\"config\\": {\\"k\\": $k}, \\"metrics\\": {\\"time_s\\": $t}}"\n'
    )  # fmt: skip
    cli("start", "t", "--prefix", "T", "--metric", "time_s:min:s")
    cli(*AB)
    assert answer_of(cli)["first"] == ["k is 1 with Q=2, 8 with Q=1"]
    assert "k is 1 with Q=2" in cli("status").out


def test_a_checksum_that_only_the_side_varies_leaves_the_answer_open(sides: Callable[..., Cli], folder: Path) -> None:
    cli = sides("x=1", "x=1", metrics=("time_s:min:s",))
    (folder / "b.sh").write_text(SCRIPT.replace("$BASE", "checksum=a").replace("$OTHER", "checksum=b$LOGBOOK_RUN"))
    cli(*AB)
    assert outcomes(cli) == {"time_s": "open"}


def test_a_side_that_crashes_now_and_then_is_named(cli: Cli, folder: Path) -> None:
    (folder / "b.sh").write_text(
        'n=$((LOGBOOK_RUN * 7 % 10)); if [ $Q = 2 ]; then [ $((LOGBOOK_RUN % 5)) = 0 ] && exit 3; t=0.9$n; '
        'else t=1.0$n; fi; echo "RESULT time_s=$t"\n'
    )  # fmt: skip
    cli("start", "t", "--prefix", "T", "--metric", "time_s:min:s")
    made = cli(*AXIS, "--json", *COMMAND)
    for _ in range(12):
        if made.data["stopped"]["by"] == "settled":
            break
        made = cli("ab", "--id", "T-000", "--json")
    assert answer_of(cli)["first"][0].startswith("Q=2 failed in ")


def test_a_row_that_breaks_a_gate_takes_its_case_along(cli: Cli, folder: Path) -> None:
    (folder / "b.sh").write_text(
        'n=$((LOGBOOK_RUN * 7 % 10)); if [ $Q = 2 ]; then echo RESULT time_s=0.5$n err=0.0001; '
        'echo RESULT time_s=0.5$n err=0.5; else echo RESULT time_s=1.0$n err=0.0001; fi\n'
    )  # fmt: skip
    cli("start", "t", "--prefix", "T", "--metric", "time_s:min:s", "--gate", "err <= 1e-3")
    cli(*AB)
    assert "better" not in outcomes(cli).values()
    assert answer_of(cli)["failed"].keys() == {"2"}


def test_a_sweep_goes_by_its_gates(cli: Cli, folder: Path) -> None:
    (folder / "b.sh").write_text(
        'n=$((LOGBOOK_RUN * 7 % 10)); case $2$4 in b2) echo RESULT x=0.1$n ok=0;; b1) echo RESULT x=0.9$n ok=1;; '
        '*) echo RESULT x=1.1$n ok=1;; esac\n'
    )  # fmt: skip
    (folder / "r.yaml").write_text(
        "name: r\ncommand: [sh, b.sh, --m, '{m}', --k, '{k}']\naxes: {m: [a, b], k: [1, 2]}\nmetrics: [x]\n"
        "gates: ['ok == 1']\nconfirm: 0\n"
    )
    cli("start", "t", "--prefix", "T", "--metric", "x:min")
    made = cli("sweep", "r.yaml", "--json")
    assert made.data["failed"] == 1
    assert made.data["best"] is None or made.data["best"]["value"] > 0.5
    assert best(cli, "x")[0] > 0.5


@pytest.mark.parametrize("lost", ["zero", "discarded"])
def test_what_does_not_count_meets_no_criterion_and_is_no_baseline(cli: Cli, lost: str) -> None:
    cli("start", "t", "--prefix", "T", "--metric", "x:min", "--stop", "fast")
    cli("criteria", "--predicate", "1=target: {metric: x, at_most: 5}")
    cli("run", "--config", "a=1", "--", "echo", "METRIC x=3818")
    cli("run", "--config", "a=2", "--repeat", "7", "--", "echo", f"METRIC x={0 if lost == 'zero' else 3}")
    if lost == "discarded":
        assert cli("criteria").code == 0
        cli("discard", "T-001", "--why", "wrong")
    assert cli("criteria").code == 1
    assert cli("baseline", "--entry", "T-001", "--reason", "r").code == 2


def test_a_baseline_that_fails_a_later_gate_is_in_doubt(cli: Cli) -> None:
    cli("start", "t", "--prefix", "T", "--metric", "x:min")
    cli("run", "--", "echo", "RESULT x=3 ok=0")
    cli("baseline", "--entry", "T-000", "--reason", "first")
    cli("edit", "--gate", "ok == 1", "--reason", "outputs were wrong")
    assert "ok == 1" in cli("baseline").err


def test_gates_read_words_and_switches_as_people_write_them(cli: Cli) -> None:
    cli("start", "t", "--prefix", "T", "--metric", "x:min", "--gate", "ok == 1", "--gate", "status != fail")
    row = '{"metrics": {"x": 1}, "observations": {"ok": true}, "labels": {"status": "FAIL"}}'
    made = cli("run", "--json", "--", "echo", f"RESULT_JSON {row}")
    assert made.data["runs"][0]["rows"][0]["failed"]["reason"] == "gate status != fail"


def test_a_reason_may_go_with_a_gate_of_an_entry(cli: Cli) -> None:
    cli("start", "t", "--prefix", "T", "--metric", "x:min")
    printed(cli, "METRIC x=2")
    assert cli("edit", "T-000", "--gate", "x <= 1", "--reason", "too slow").code == 0


def test_a_judgement_that_rests_on_what_was_discarded_is_in_doubt(cli: Cli) -> None:
    cli("start", "t", "--prefix", "T", "--metric", "x:min", "--stop", "fast")
    printed(cli, "METRIC x=2")
    cli("criteria", "--met", "1", "--evidence", "T-000")
    cli("discard", "T-000", "--why", "wrong")
    assert "T-001" in cli("criteria", "--json").data["criteria"][0]["doubt"]
