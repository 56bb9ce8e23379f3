"""Each pair holds two runs of the code and the question that its entry states, one after the other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli
from tests.contract.campaign.ab_entry_support import ASK, BENCH, COMMAND, Git, commit, runs, with_benchmark
from tests.stored import at

pytestmark = pytest.mark.slow

OF_SIDES = ("--code", "HEAD~1", "HEAD", "--max-pairs", "1")


@pytest.fixture
def ready(started: Cli, git: Git, folder: Path) -> Cli:
    return with_benchmark(started, git, folder)


def reported(folder: Path, entry_id: str = "MOE-000") -> list[int]:
    """The numbers that the runs of an entry reported, the smallest first."""
    rows = [row for run in runs(folder, entry_id) if run.get("part") for row in run["rows"]]
    return sorted(int(row["metrics"]["tflops"]["samples"][0]) for row in rows)


@pytest.mark.parametrize("program", ["./prog", "{folder}/prog"])
def test_a_program_built_here_is_not_taken_for_that_of_other_code(
    ready: Cli, git: Git, folder: Path, program: str
) -> None:
    word = program.format(folder=folder)
    (folder / ".gitignore").write_text("prog\n")
    (folder / "make.sh").write_text("echo \"echo RESULT tflops=$(sed 's/speed=//' lib.sh)\" > prog; chmod +x prog\n")
    commit(git, "A build")
    (folder / "lib.sh").write_text("speed=200\n")
    commit(git, "Twice as fast")
    (folder / "prog").write_text("#!/bin/sh\necho RESULT tflops=7\n")
    (folder / "prog").chmod(0o755)
    build = ("--setup", "(echo '#!/bin/sh'; sh make.sh; cat prog) > p; mv p prog; chmod +x prog")
    assert ready("ab", *OF_SIDES, *build, "--", word).code == 0
    assert reported(folder) == [100, 200]
    refused = ready("ab", *OF_SIDES, "--new", "--", word, "--json")
    assert refused.code == 127
    assert "--setup" in refused.err


def test_what_is_left_of_a_pair_is_made_again_when_it_is_old(ready: Cli, folder: Path) -> None:
    (folder / "bench.sh").write_text(f"[ $LOGBOOK_RUN -ne 2 ] || exit 3\n{BENCH}")
    assert ready(*ASK, "--seed", "1", *COMMAND).code == 3
    record = at(folder / "logbooks/moe/runs/MOE-000/01/run.json")
    plain: dict[str, Any] = json.loads(record.read_text())
    record.write_text(
        json.dumps(plain | {"started": "2026-02-10T10:00:00+00:00", "ended": "2026-02-10T10:00:01+00:00"})
    )
    again = ready("ab", "--id", "MOE-000", "--json")
    assert (again.code, again.data["pairs"], again.data["ran"]) == (0, 1, 2), again.err


def test_typed_again_after_it_was_discarded(ready: Cli) -> None:
    assert ready(*ASK, *COMMAND).code == 0
    assert ready("discard", "MOE-000", "--why", "slower").code == 0
    again = ready(*ASK, "--json", *COMMAND)
    assert (again.code, again.data["id"], again.data["pairs"]) == (0, "MOE-002", 1)


def test_what_was_found_stands_after_it_was_discarded(ready: Cli) -> None:
    assert ready(*ASK[:-2], "--min-effect", "2%", *COMMAND).code == 0
    said = next(line for line in ready("compare", "MOE-000").out.splitlines() if "more tflops than base" in line)
    assert ready("discard", "MOE-000", "--why", "not worth it").code == 0
    told = ready("compare", "MOE-000").out
    assert "discarded by MOE-001" in told
    assert said.partition(" (")[0] in told
    assert "is open" not in told
    assert "is open" not in ready("show", "MOE-000").out


def test_another_variable_is_another_question(ready: Cli) -> None:
    assert ready(*ASK, *COMMAND).code == 0
    other = ready(*ASK, "--json", "--env", "OMP_NUM_THREADS=2", *COMMAND)
    assert (other.data["id"], other.data["answer"]["earlier"]) == ("MOE-001", [])


def test_keep_warns_of_a_side_that_failed(ready: Cli, folder: Path) -> None:
    (folder / "bench.sh").write_text(f"{BENCH}echo checksum=a$2\n")
    assert ready(*ASK, "--gate", "same checksum", *COMMAND).code == 1
    assert "MOE-000 is kept, though new failed: gate same checksum" in ready("keep", "MOE-000").err
