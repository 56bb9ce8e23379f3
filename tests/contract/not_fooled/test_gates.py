"""Gates: a side that is faster but wrong is not better, and no row that fails one counts."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.not_fooled.two_sides import AB, AXIS, COMMAND, SCRIPT, answer_of, best, outcomes, printed, readers
from tests.seams import Store


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


def test_a_side_with_another_answer_meets_no_target(sides: Callable[..., Cli]) -> None:
    cli = sides("checksum=a", "checksum=b", "--gate", "same checksum", metrics=("time_s:min:s",))
    cli("criteria", "--add", "fast", "--predicate", "target: {metric: time_s, at_most: 0.8, runs: 1}")
    cli("ab", "--axis", "env:Q=1,2", "--pairs", "8", *COMMAND)
    criterion = cli("criteria", "--json").data["criteria"][-1]
    assert (criterion["met"], "in 0 of " in criterion["computed"]["reason"]) == (False, True), criterion


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


@pytest.mark.parametrize("gate", ["ok ==", "ok", "same", "max_error <= small", "== 1"])
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


def test_the_base_that_disagrees_with_itself_voids_a_gate(sides: Callable[..., Cli], folder: Path) -> None:
    cli = sides("x=1", "x=1", "--gate", "same checksum", metrics=("time_s:min:s",))
    (folder / "b.sh").write_text(SCRIPT.replace("$BASE", "checksum=a$LOGBOOK_RUN").replace("$OTHER", "checksum=a1"))
    # The base is first, and second in the next pair.
    cli(*AXIS, "--seed", "3", *COMMAND)
    [finding] = answer_of(cli)["findings"]
    assert (finding["outcome"], any("same checksum" in note for note in finding["notes"])) == ("better", True)


def test_a_gate_that_no_run_reports_is_named_with_a_way_out(cli: Cli, folder: Path) -> None:
    (folder / "b.sh").write_text("echo RESULT size=$1 x=1 ok=1\n")
    (folder / "r.yaml").write_text("name: r\ncommand: [sh, b.sh, '{size}']\naxes: {size: [1, 2]}\n")
    cli("start", "t", "--prefix", "T", "--metric", "x:min:s", "--gate", "okk == 1")
    said = "no run reports okk: have the command print it and run it again, or drop the gate: "
    for words in (
        ("run", "--", "sh", "b.sh", "1"),
        ("sweep", "r.yaml"),
        ("ab", "--axis", "size=1,2", "--", "sh", "b.sh", "{axis}"),
    ):
        made = cli(*words)
        [command] = {*re.findall(f"{said}`(.*?)`", made.err + made.out)}
    assert cli(*shlex.split(command)[1:]).code == 0
    assert said not in cli("run", "--", "sh", "b.sh", "1").err
    # What other entries report is not dropped for one that does not.
    assert cli("edit", "--gate", "ok == 1", "--reason", "it must hold").code == 0
    err = cli("run", "--", "echo", "RESULT x=1").err
    assert ("no run reports ok: have the command print it" in err, "--drop" in err) == (True, False)


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


@pytest.mark.parametrize("like", ["T-000", "T-000/1"])
def test_what_may_differ_in_one_comparison_may_not_in_another(
    sides: Callable[..., Cli], folder: Path, monkeypatch: pytest.MonkeyPatch, like: str
) -> None:
    cli = sides("checksum=a", "checksum=b", "--gate", "same checksum", metrics=("time_s:min:s",))
    (folder / "b.sh").write_text('[ -z "$W" ] || Q=$W\n' + SCRIPT)
    asked = ("--free", "checksum", "--min-effect", "3%", "--seed", "3")
    assert cli(*AXIS, *asked, *COMMAND).code == 0
    assert outcomes(cli) == {"time_s": "better"}
    made = cli("ab", "--axis", "env:W=1,2", "--like", like, "--seed", "3")
    assert (made.code, "gate same checksum: it is b, not a" in made.out) == (1, True)
    assert outcomes(cli, "T-001") == {"time_s": "open"}
    assert f"only the command of {like} is taken here, without --min-effect 3% --free checksum of T-000\n" in made.err
    assert f"{like} was run with env:Q=1, and so are both sides here\n" in made.err
    assert Store(folder, "t").entry("T-001").comparison.question.minimum_effect is None
    # What asks the same is judged the same, and says by what.
    monkeypatch.setenv("OTHER", "checksum=c")
    again = cli(*AXIS, "--new", "--like", "T-000", "--seed", "3")
    assert (again.code, "as in T-000: --min-effect 3% --free checksum\n" in again.err) == (0, True)
    assert outcomes(cli, "T-002") == {"time_s": "better"}


def test_the_place_of_one_axis_takes_no_values_of_another(cli: Cli, folder: Path) -> None:
    (folder / "b.sh").write_text('echo "RESULT time_s=1.0$LOGBOOK_RUN got=$2,$4"\n')
    cli("start", "t", "--prefix", "T", "--metric", "time_s:min:s")
    assert cli("ab", "--axis", "m=5,6", "--pairs", "1", "--", "sh", "b.sh", "--m", "{axis}", "--n", "1").code == 0
    assert cli("ab", "--axis", "n=1,2", "--pairs", "1", "--like", "T-000").code == 0
    ran = {tuple(run.argv[2:]) for run in Store(folder, "t").runs("T-001")}
    assert ran == {("--m", "5", "--n", "1"), ("--m", "5", "--n", "2")}


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
    [answer] = cli("status", "--json").data["answers"]
    [best] = cli("status", "--json").data["best"]
    assert answer["answer"].endswith("with another checksum)")
    assert "better than Q=1 (T-000; with another checksum)" in best["text"]
    # It goes on being said, as a note.
    differs = "checksum, which may differ, is b with Q=2, a with Q=1"
    assert (answer_of(cli)["first"], answer_of(cli)["notes"]) == ([], [differs])
    assert all(f"Noted: {differs}" in cli(word, "T-000").out for word in ("show", "compare"))
    # Freed for the whole logbook, the gate goes, and is named.
    said = cli("edit", "--free", "checksum", "--reason", "int8 rounds otherwise")
    assert "checksum may differ, without same checksum" in said.out
    data = cli("status", "--json").data
    assert (data.get("gates", []), data["free"]) == ([], ["checksum"])
    assert "\nmay differ between the sides: checksum\n" in cli("status").out


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


def test_a_checksum_of_digits_is_shown_by_its_digits(sides: Callable[..., Cli]) -> None:
    cli = sides("checksum=-6636718213405567123", "checksum=-6636718213405567124", metrics=("time_s:min:s",))
    cli(*AXIS, *COMMAND)
    [first] = answer_of(cli)["first"]
    assert ("e+" in first, "23 with" in first, "24 with" in first) == (False, True, True), first


def test_a_table_marks_the_rows_of_a_side_with_another_output(sides: Callable[..., Cli]) -> None:
    cli = sides("checksum=a", "checksum=b", "--gate", "same checksum", metrics=("time_s:min:s",))
    cli(*AXIS, "--max-pairs", "2", *COMMAND)
    table = cli("table", "--pivot", "env:Q", "--delta").out
    assert "failed: gate same checksum" in table
    assert " 0.10" not in table.splitlines()[2], "no number of it"
    assert "gate same checksum" in cli("table", "--csv").out
    assert cli("ab", "--id", "T-000", "--max-pairs", "1", "--free", "checksum").code == 0
    assert "failed" not in cli("table", "--pivot", "env:Q", "--delta").out
