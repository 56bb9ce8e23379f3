"""Which entry an A/B belongs to when it is typed: values, variables, folders, secrets, and one question in several
spellings."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tests.conftest import Cli, FixedClock
from tests.contract.campaign.ab_entry_support import (
    ASK,
    BENCH,
    COMMAND,
    MORE,
    Git,
    added,
    commit,
    refused,
    runs,
    speeds,
    with_benchmark,
)
from tests.stored import at


@pytest.fixture
def ready(started: Cli, git: Git, folder: Path) -> Cli:
    return with_benchmark(started, git, folder)


# -- typed again ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_second_sitting_after_a_commit_of_documents_replicates_it(
    ready: Cli, git: Git, folder: Path, clock: FixedClock
) -> None:
    ask = ("ab", "--axis", "mode=base,new", "--json", *COMMAND)
    assert added(ready(*ask), 10)["answer"]["confidence"] == "exploratory"
    (folder / "README.md").write_text("# What it is\n")
    (folder / "docs").mkdir()
    (folder / "docs/more.py").write_text("# an example\n")
    commit(git, "Documents and the entry")
    clock.tick(60)
    again = added(ready(*ask), 20)
    assert (again["id"], again["answer"]["sittings"], again["answer"]["confidence"]) == ("MOE-000", 2, "replicated")


@pytest.mark.slow
def test_a_settled_question_that_is_typed_again_makes_no_pair_until_a_second_sitting(
    ready: Cli, folder: Path, clock: FixedClock
) -> None:
    ask = ("ab", "--axis", "mode=base,new", "--json", *COMMAND)
    assert ready(*ask).code == 0
    entry = at(folder / "logbooks/moe/entries/MOE-000.yaml").read_text()
    for again in (ask, ask, ("ab", "--id", "MOE-000", "--json")):
        data = added(ready(*again), 10)
        assert (data["ran"], data["stopped"]["by"], data["answer"]["confidence"]) == (0, "settled", "exploratory")
        assert data["stopped"]["why"].endswith("can replicate the answer: logbook ab --id MOE-000 --max-pairs 10")
    assert at(folder / "logbooks/moe/entries/MOE-000.yaml").read_text() == entry
    # Who asks for pairs of this entry gets them, also where they change nothing.
    assert added(ready(*MORE), 11)["ran"] == 2
    why = added(ready(*ask), 11)["stopped"]["why"]
    clock.tick(60)
    # The block that the first sitting began is no evidence of the second.
    assert why.endswith(": logbook ab --id MOE-000 --max-pairs 19")
    assert added(ready(*ask), 30)["answer"]["confidence"] == "replicated"
    assert added(ready(*ask), 30)["ran"] == 0


def test_another_entry_about_the_same_code_is_asked_for(ready: Cli) -> None:
    for new, entry_id, earlier in ((), "MOE-000", []), (("--new",), "MOE-001", ["MOE-000"]):
        made = added(ready(*ASK, *new, "--json", *COMMAND), 1)
        assert (made["id"], made["answer"]["earlier"]) == (entry_id, earlier)
    # Typed again, the later one gets the pairs.
    assert added(ready(*ASK, "--json", *COMMAND), 2)["id"] == "MOE-001"
    assert added(ready(*MORE), 2)["id"] == "MOE-000"


def test_text_that_is_typed_again_is_not_taken_and_said_so(ready: Cli) -> None:
    assert ready(*ASK, "--title", "First", *COMMAND).code == 0
    again = ready(*ASK, "--title", "Second", "--json", *COMMAND)
    assert added(again, 2)["title"] == "First"
    [warning] = json.loads(again.out)["warnings"]
    assert ("MOE-000" in warning, "logbook edit" in warning) == (True, True)


# -- as it was typed -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("axis", "words"),
    [
        ("lr=1e-3,1e-4", ("1e-3", "1e-4")),
        ("lr=0.10,.2", ("0.10", ".2")),
        ("""lr='"a,b",c'""", ("a,b", "c")),
        ("lr=true,007", ("true", "007")),
    ],
)
def test_values_are_run_as_they_were_typed(ready: Cli, folder: Path, axis: str, words: tuple[str, ...]) -> None:
    [axis] = shlex.split(axis)
    ask = ("ab", "--axis", axis, "--max-pairs", "1", "--json", "--", "sh", "bench.sh", "--lr", "{axis}")
    added(ready(*ask), 1)
    added(ready(*MORE), 2)
    assert added(ready(*ask), 3)["id"] == "MOE-000"
    assert sorted(run["argv"][3] for run in runs(folder)) == sorted(words * 3)


def test_a_flag_that_is_nearly_named_is_proposed(ready: Cli) -> None:
    hint = refused(ready("ab", "--axis", "mdoe=base,new", "--json", "--", "sh", "bench.sh", "--mode", "base"), "mode")
    assert hint == "logbook ab --axis mode=base,new -- sh bench.sh --mode base"


def test_null_leaves_the_flag_out_again(ready: Cli, folder: Path) -> None:
    added(ready("ab", "--axis", "lr=null,2", "--max-pairs", "1", "--json", "--", "sh", "bench.sh", "--lr", "1"), 1)
    added(ready(*MORE), 2)
    said = sorted(tuple(run["argv"][2:]) for run in runs(folder))
    assert said == [(), (), ("--lr", "2"), ("--lr", "2")]


def test_a_variable_and_a_shell_command(ready: Cli, folder: Path) -> None:
    script = 'echo "RESULT tflops=1.$LOGBOOK_RUN" | cat; echo "lr=$LR x=$X" >&2'
    ask = ("ab", "--shell", "--env", "X=two words", "--axis", "env:LR=,1e-3", "--max-pairs", "1", "--json")
    added(ready(*ask, "--", script), 1)
    added(ready(*MORE), 2)
    logs = [path.read_text() for path in at(folder / "logbooks/moe/runs/MOE-000").glob("*/output.log")]
    lines = sorted(line for log in logs for line in log.splitlines() if "lr=" in line)
    assert [line[line.index("lr=") :] for line in lines] == ["lr= x=two words"] * 2 + ["lr=1e-3 x=two words"] * 2


def test_from_another_folder_and_with_several_logbooks(
    ready: Cli, git: Git, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "sub").mkdir()
    assert ready("start", "other", "--prefix", "OTHER", "--metric", "tflops:max").code == 0
    made = added(ready(*ASK, "-L", "moe", "--json", *COMMAND), 1)
    monkeypatch.chdir(folder / "sub")
    again = shlex.split(made["stopped"]["why"].partition("to continue: ")[2])
    assert again == ["logbook", "ab", "--id", "MOE-000", "--max-pairs", "9"]
    added(ready(*again[1:-1], "1", "--json"), 2)
    (folder / "lib.sh").write_text("speed=500\n")
    added(ready(*MORE), 3)
    assert (speeds(folder), len({run["cwd"] for run in runs(folder)[:4]})) == ({100}, 1)


def test_the_folder_in_which_it_was_typed_is_a_part_of_it(
    ready: Cli, git: Git, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "sub").mkdir()
    for name in ("bench.sh", "lib.sh"):
        (folder / "sub" / name).write_text((folder / name).read_text().replace("100", "300"))
    commit(git, "A folder")
    monkeypatch.chdir(folder / "sub")
    added(ready(*ASK, "--json", *COMMAND), 1)
    monkeypatch.chdir(folder)
    added(ready(*MORE), 2)
    (folder / "sub/lib.sh").write_text("speed=500\n")
    added(ready(*MORE), 3)
    assert speeds(folder) == {300}
    (folder / "sub/lib.sh").write_text("speed=300\n")
    assert added(ready(*ASK, "--json", *COMMAND), 1)["id"] == "MOE-001"


def test_a_secret_in_the_command_is_not_recorded_and_typing_it_again_works(
    ready: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_TOKEN", "hush-hush-hush-4711")
    (folder / "seen").mkdir()
    (folder / "bench.sh").write_text(f'echo "$4" >"{folder}/seen/$LOGBOOK_RUN"\n{BENCH}')
    command = (*COMMAND, "--token", "hush-hush-hush-4711")
    added(ready(*ASK, "--json", *command), 1)
    assert not [p for p in (folder / "logbooks").rglob("*") if p.is_file() and b"hush-hush" in p.read_bytes()]
    # What is a variable here is known here.
    assert added(ready(*MORE), 2)["id"] == "MOE-000"
    monkeypatch.delenv("API_TOKEN")
    assert "without --id" in refused(ready(*MORE), "MOE-000", "secret")
    monkeypatch.setenv("API_TOKEN", "hush-hush-hush-4711")
    assert added(ready(*ASK, "--json", *command), 3)["id"] == "MOE-000"
    seen = {word for path in sorted((folder / "seen").iterdir()) for word in path.read_text().split()}
    assert seen == {"hush-hush-hush-4711"}


def test_a_secret_that_no_variable_holds(ready: Cli) -> None:
    command = (*COMMAND, "--password", "Xk29!vbQz-0")
    added(ready(*ASK, "--json", *command), 1)
    assert "without --id" in refused(ready(*MORE), "MOE-000", "secret")
    assert added(ready(*ASK, "--json", *command), 2)["id"] == "MOE-000"


@pytest.mark.slow
def test_one_question_in_several_spellings(ready: Cli, folder: Path) -> None:
    (folder / "sub").mkdir()
    made = ready(*ASK, "--input", "lib.sh", "--input", "bench.sh", *COMMAND)
    assert made.code == 0, made.err
    named = ("--", "sh", "bench.sh", "--mode", "{mode}")
    assert added(ready(*ASK, "--input", "bench.sh", "--input", "lib.sh", "--cwd", "sub/..", "--json", *named), 2)


@pytest.mark.slow
def test_another_build_is_another_question(ready: Cli, git: Git, folder: Path) -> None:
    (folder / "lib.sh").write_text(". ./built\n")
    (folder / ".gitignore").write_text("built\n")
    commit(git, "A build")
    ask = (*ASK, "--json", "--setup")
    for place, speed in enumerate((100, 300, 300)):
        made = ready(*ask, f"sh -c 'echo speed={speed} > built'", *COMMAND)
        assert made.data["id"] == f"MOE-{min(place, 1):03d}", made.err
    assert (speeds(folder), speeds(folder, "MOE-001")) == ({100}, {300})


@pytest.mark.slow
def test_another_program_that_was_written_into_the_entry_is_another_command(ready: Cli, git: Git, folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub/bench.sh").write_text(BENCH)
    commit(git, "Two benchmarks")
    assert ready(*ASK, *COMMAND).code == 0
    path = at(folder / "logbooks/moe/entries/MOE-000.yaml")
    path.write_text(path.read_text().replace("- bench.sh", "- sub/bench.sh"))
    found = ready(*MORE).data["answer"]
    assert (found["pairs"], found["left_out"]) == (1, ["1 pair: the command is another than that of the first pair"])
