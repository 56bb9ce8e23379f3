"""Stop criteria and the best through whole campaigns: what is measured beside a comparison takes nothing back."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli

pytestmark = pytest.mark.slow

# What each variant measures, with noise of about 0.1% of its own; much more while there is a file `lucky`.
SCRIPT = (
    "case $0 in base) v=1000;; old) v=1030;; new) v=1080;; worse) v=950;; esac; "
    "[ -f luck? ] && v=5000; echo RESULT tflops=$((v + $$ % 3))"
)
BENCH = ("--", "sh", "-c", SCRIPT)


def ab(cli: Cli, values: str, *more: str) -> Any:
    answer = cli("ab", "--axis", f"mode={values}", *more, "--json", *BENCH, "{mode}")
    assert answer.code == 0, answer
    return answer.data


def run(cli: Cli, mode: str, *more: str) -> None:
    assert cli("run", "--config", f"mode={mode}", *more, *BENCH, mode).code == 0


def ask(cli: Cli, predicate: str) -> None:
    assert cli("criteria", "--add", "Asked", "--predicate", predicate).code == 0


def computed(cli: Cli) -> list[tuple[str, str]]:
    found = [c["computed"] for c in cli("criteria", "--json").data["criteria"]]
    return [(c["state"], c["reason"]) for c in found]


def commands(cli: Cli) -> list[str]:
    return [c["computed"].get("command", "") for c in cli("criteria", "--json").data["criteria"]]


def best(cli: Cli) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cli("status", "--json").data["best"]
    return found


def test_a_verdict_is_that_of_its_comparison_whatever_is_measured_beside_it(started: Cli) -> None:
    ask(started, "compared: {axis: mode, values: [base, new], settled: true, outcomes: [better]}")
    unmet = [("unmet", "no comparison of mode=new with base")]
    assert computed(started) == unmet
    assert commands(started) == [""]
    run(started, "base", "--repeat", "3")
    assert computed(started) == unmet
    assert commands(started)[0].startswith("logbook ab --axis mode=base,new --like MOE-000/")
    settled = ab(started, "base,new")["answer"]["findings"][0]["sentence"]
    met = [("met", f"MOE-001: {settled}")]
    assert computed(started) == met
    # Runs of both sides, noise, another comparison with the same base, and a smoke test that goes the other way.
    for mode in ("base", "new"):
        run(started, mode, "--repeat", "2")
    ab(started, "base,worse", "--max-pairs", "2")
    assert started("run", "--config", "mode=new", "--", "echo", "RESULT tflops=1").code == 0
    ab(started, "base,new", "--max-pairs", "2")
    [(state, reason)] = computed(started)
    assert (state, reason[:8]) == ("met", "MOE-001:"), "the same question has one entry"
    # Whoever replaces the entry does not take back what its pairs say; whoever voids them does.
    assert started("note", "--title", "Told better", "--supersedes", "MOE-001").code == 0
    assert computed(started)[0][0] == "met"
    assert started("edit", "MOE-001", "--state", "void").code == 0
    assert computed(started)[0][0] == "unmet"


VERDICTS = {
    "outcomes: [better, worse]": "met",
    "where: {topk: 2}, outcomes: [better]": "met",
    "where: {topk: 2}, outcomes: [better], min_effect: 0.5": "unmet",
    "where: {topk: 2}, outcomes: [no difference], min_effect: 0.5": "met",
    "where: {topk: 4}, outcomes: [better]": "unmet",
    "where: {topk: 8}": "unmet",
    "where: {hidden: 2}": "unmet",
    "device: V5P, outcomes: [better]": "met",
    "device: v6": "unmet",
    "for_each: {topk: [2, 4]}": "met",
    "for_each: {topk: [2, 4, 8]}": "unmet",
    "cases: 2": "met",
    "cases: 2, outcomes: [better]": "unmet",
    "cases: 3": "unmet",
}


def test_the_cases_of_a_verdict_are_chosen_by_config_and_device(started: Cli, folder: Path) -> None:
    """Better at a top-k of 2 on one device, worse at 4 on another."""
    row = '{"config": {"topk": %s}, "metrics": {"tflops": %s}, "devices": [{"platform": "tpu", "kind": "%s"}]}'
    (folder / "b.sh").write_text(
        "k='TPU v5p'; case $1$2 in new2) v=108;; new4) v=92; k='TPU v5e';; *4) v=100; k='TPU v5e';; *) v=100;; esac\n"
        f"printf 'RESULT_JSON {row}\\n' $2 $v.$(($$ % 9)) \"$k\"\n"
    )
    for chosen in VERDICTS:
        ask(started, f"compared: {{axis: mode, values: [base, new], settled: true, {chosen}}}")
    for topk in ("2", "4"):
        words = ("--axis", "mode=base,new", "--config", f"topk={topk}", "--", "sh", "b.sh", "{axis}", topk)
        assert started("ab", *words).code == 0
    found = {chosen: state for chosen, (state, _) in zip(VERDICTS, computed(started), strict=True)}
    assert found == VERDICTS


def test_a_comparison_for_larger_effects_settles_what_it_can(started: Cli) -> None:
    ask(started, "compared: {axis: mode, values: [base, new], settled: true, outcomes: [better]}")
    ask(started, "compared: {axis: mode, values: [base, worse], settled: true}")
    ab(started, "base,new", "--min-effect", "2%")
    assert computed(started)[0][0] == "met", "an effect above 2% is one above 1%"
    ab(started, "base,worse", "--min-effect", "50%")
    state, reason = computed(started)[1]
    assert (state, "no difference of 50% or more" in reason) == ("unmet", True)
    assert commands(started)[1].startswith("logbook ab --axis mode=base,worse --like ")


def test_each_point_of_a_sweep_is_compared_with_its_control(started: Cli) -> None:
    """The stop criterion of the seeds' top-k sweep: `settled`, each top-k asks for its own comparison."""
    sweep = "axis: topk, values: [1, 2], where: {mode: new}, controls: {mode: base}"
    ask(started, f"compared: {{{sweep}}}")
    ask(started, f"compared: {{{sweep}, settled: true}}")
    for topk in (1, 2):
        run(started, "new", "--config", f"topk={topk}")
    assert [reason for _, reason in computed(started)] == [
        "mode=base topk=1 was not measured",
        "no comparison of mode=new with base at topk=1",
    ]
    for topk, states in ((1, ["unmet", "unmet"]), (2, ["met", "met"])):
        ab(started, "base,new", "--config", f"topk={topk}")
        assert [state for state, _ in computed(started)] == states
    evidence = [c["computed"]["evidence"] for c in started("criteria", "--json").data["criteria"]]
    assert evidence == [["MOE-002", "MOE-003"]] * 2


def test_the_commands_of_a_criterion_meet_it(started: Cli, folder: Path) -> None:
    """One run, and then what is printed, as it is printed: also for cases that nobody measured."""
    script = 'case $2 in none) v=100;; *) v=110;; esac; echo "RESULT mode=$2 topk=${3#*=} tflops=$((v + $$ % 3))"'
    (folder / "bench.sh").write_text(script)
    sweep = "axis: topk, values: [1, 2], where: {mode: new}, controls: {mode: none}, settled: true"
    ask(started, f"compared: {{{sweep}}}")
    assert started("run", "--", "sh", "bench.sh", "--mode", "none", "--topk=1").code == 0
    typed = []
    for _ in range(2):
        [command] = commands(started)
        typed.append(command)
        assert started(*shlex.split(command)[1:]).code == 0
    assert typed[1] == "logbook ab --axis mode=none,new -- sh bench.sh --mode none --topk=2"
    assert computed(started)[0][0] == "met"


@pytest.mark.parametrize("place", [".", "sub"])
def test_the_command_for_a_case_that_was_never_run_has_the_folder_of_its_sibling(
    started: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    script = 'case $2 in none) v=100;; *) v=110;; esac; echo "RESULT mode=$2 topk=${3#*=} tflops=$((v + $$ % 3))"'
    (folder / "sub").mkdir()
    (folder / "sub/bench.sh").write_text(script)
    ask(started, "compared: {axis: topk, values: [2], where: {mode: new}, controls: {mode: none}, settled: true}")
    assert started("run", "--cwd", "sub", "--", "sh", "bench.sh", "--mode", "none", "--topk=1").code == 0
    monkeypatch.chdir(folder / place)
    [command] = commands(started)
    assert ("--cwd sub" in command) == (place == ".")
    assert started(*shlex.split(command)[1:]).code == 0
    assert computed(started)[0][0] == "met"


def test_a_discarded_entry_is_no_evidence(started: Cli) -> None:
    for more in ("", ", settled: true"):
        ask(started, f"compared: {{axis: mode, values: [base, worse]{more}}}")
    ab(started, "base,worse")
    assert [state for state, _ in computed(started)] == ["met", "met"]
    assert started("discard", "MOE-000", "--why", "slower").code == 0
    assert computed(started) == [("unmet", "MOE-000 was discarded by MOE-001")] * 2
    judge = "logbook criteria --met 2 --evidence MOE-001"
    assert commands(started) == ["", judge]
    assert f"type: {judge}" in started("next").out
    # Not where another value was not compared yet.
    ask(started, "compared: {axis: mode, values: [base, worse, new], settled: true}")
    assert "--met" not in commands(started)[2]
    assert started(*shlex.split(judge)[1:]).code == 0
    assert "--met 2" not in started("next").out + started("status").out
    refused = started("criteria", "--met", "1", "--evidence", "MOE-000", "--json").error
    assert refused["message"] == "MOE-000 is discarded by MOE-001, so it is not evidence"
    assert started("criteria", "--met", "1", "--evidence", "MOE-001").code == 0


@pytest.mark.wide
def test_in_a_hill_climb_each_comparison_answers_its_own_question(started: Cli, folder: Path) -> None:
    for values in ("base, old", "old, new", "base, new"):
        ask(started, f"compared: {{axis: mode, values: [{values}], settled: true, outcomes: [better]}}")
    for number, values in enumerate(("base,old", "old,new", "base,new")):
        ab(started, values)
        states = [state for state, _ in computed(started)]
        assert states == ["met"] * (number + 1) + ["unmet"] * (2 - number)
    assert "- [x] Asked (computed: met, MOE-002: new has " in (folder / "logbooks/moe.md").read_text()
    [found] = best(started)
    assert (found["flags"], found["cases"], found["entries"]) == ("mode=new", 3, ["MOE-001", "MOE-002"])
    assert found["runs"] >= 20
    assert 1080 <= found["value"] <= 1082


def test_a_target_pools_all_runs_of_a_case_and_stays_reached(started: Cli, folder: Path) -> None:
    ask(started, "target: {metric: tflops, at_least: 1000}")
    for entry in range(9):
        run(started, "base", "--title", f"entry {entry}")
        # More cases make no case harder to settle.
        run(started, "worse", "--env", f"SEED={entry}")
        runs = f"{entry + 1} run{'s' * (entry > 0)}"
        [(state, reason)] = computed(started)
        assert state == ("met" if entry >= 6 else "unmet")
        assert f" in {entry + 1} of {runs} " in reason
        assert ", median 100" in reason


def test_a_candidate_that_was_found_equal_or_discarded_is_not_the_best(started: Cli) -> None:
    same = "echo RESULT tflops=$((10000 + $$ % 7))"
    words = ("--axis", "mode=base,copy", "--pairs", "10", "--json")
    data = started("ab", *words, "--", "sh", "-c", same, "{mode}").data
    assert data["answer"]["findings"][0]["outcome"] == "no difference"
    [found] = best(started)
    assert found["flags"] == "mode=base"
    # An idea that somebody marked as a negative result, though its number is the highest.
    idea = ("--config", "mode=idea", "--field", "Negative result=It breaks the gradients.")
    assert started("run", *idea, "--", "echo", "RESULT tflops=20000").code == 0
    assert [one["flags"] for one in best(started)] == ["mode=base"]


def test_the_value_of_a_best_case_is_the_median_of_its_runs(started: Cli) -> None:
    for value in (30, 60, 31, 61):
        assert started("run", "--config", "mode=a", "--", "echo", f"RESULT tflops={value}").code == 0
    [found] = best(started)
    assert (found["value"], found["low"], found["high"], found["runs"]) == (45.5, 30, 61, 4)


def test_better_than_the_baseline_needs_a_comparison(cli: Cli, folder: Path) -> None:
    assert cli("start", "moe", "--prefix", "MOE", "--metric", "tflops:max:TF/s").code == 0
    run(cli, "base")
    assert cli("baseline", "--entry", "MOE-000", "--config", "mode=base", "--reason", "the start").code == 0
    assert [(one["is_baseline"], one.get("against")) for one in best(cli)] == [(True, None)]
    ab(cli, "old,new")
    [found] = best(cli)
    assert found["flags"] == "mode=new"
    assert found["against"].startswith("better than old (MOE-002); "), "and the baseline is another mode"
    assert found["against"].endswith("not compared with the baseline")
    ab(cli, "base,new", "--max-pairs", "2")
    against = best(cli)[0]["against"]
    assert (against.split()[0], against[-9:]) == ("open", "(MOE-003)")
    assert cli("ab", "--id", "MOE-003", "--max-pairs", "20").code == 0
    against = best(cli)[0]["against"]
    assert (against.split()[0], against[-9:]) == ("better", "(MOE-003)")
    assert cli("sync", "--offline", "out").code == 0
    assert f": {against}\n" in (folder / "out/issue.md").read_text()


def test_a_target_that_no_run_reaches_names_the_best_case(started: Cli) -> None:
    ask(started, "target: {metric: tflops, at_least: 2000}")
    run(started, "new", "--repeat", "3")
    run(started, "worse")
    [(state, reason)] = computed(started)
    value = max(one["value"] for one in best(started))
    assert (state, reason) == ("unmet", f"tflops is at least 2000 in 0 of 3 runs of a case, median {value:.6g}")
