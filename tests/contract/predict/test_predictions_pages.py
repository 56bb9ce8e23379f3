"""What pages, lists and the issue say of predictions."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli, FixedClock
from tests.seams import Store

pytestmark = pytest.mark.slow

A = ("--devices", "4", "--topk", "2", "--ep-impl", "psum")
B = ("--devices", "4", "--topk", "2", "--ep-impl", "all_to_all")
PREDICT = ("predict", "--title", "psum against all_to_all", "--", "--aot", "v5p-8", *A, "--", "--ep-impl", "all_to_all")
PREDICTED = """\
- Predicted:
  - all of these: fits into HBM, VMEM not checked; libtpu 0.0.42.1, calibration seeds; model 1, 4 x TPU v5 of v5p-8
    - note: nothing was run
  - A: predicted 8 ms (6.4 to 10.4), at least 3.2 ms
    - of this: grouped_matmul 5.6 ms, send 2.4 ms
  - B: predicted 12 ms (9.6 to 15.6), at least 4.8 ms
    - of this: grouped_matmul 8.4 ms, send 3.6 ms
    - note: it sends to all
  - B against A: loses, 0.67 times as fast by the model (from 1.2 on a direction is claimed)
"""


def measure(cli: Cli, *flags: str) -> None:
    assert cli("bench", "--", "hillclimb", *flags, "--iters", "3", "--warmup", "1").code == 0


def block(folder: Path, entry_id: str) -> str:
    text = (folder / "logbooks/moe.md").read_text()
    return text.partition(f"<!-- logbook:block {entry_id} ")[2].partition("<!-- logbook:end")[0].partition("\n")[2]


def test_a_prediction_and_its_measurement(moe: Cli, folder: Path, clock: FixedClock) -> None:
    done = moe(*PREDICT)
    assert (done.code, done.err) == (
        0,
        "MOE-000: A: predicted 8 ms (6.4 to 10.4), at least 3.2 ms; fits into HBM, VMEM not checked; libtpu 0.0.42.1,"
        " calibration seeds; model 1, 4 x TPU v5 of v5p-8\n"
        "MOE-000: B: predicted 12 ms (9.6 to 15.6), at least 4.8 ms; fits into HBM, VMEM not checked; libtpu 0.0.42.1,"
        " calibration seeds; model 1, 4 x TPU v5 of v5p-8\n"
        "MOE-000: B against A: loses, 0.67 times as fast by the model (from 1.2 on a direction is claimed)\n"
        f"recorded in {folder}/logbooks/moe.md\n",
    )
    page = block(folder, "MOE-000")
    assert page.startswith("### 2026-02-10 10:43 - MOE-000 psum against all_to_all (prediction)\n\n- Command: ")
    assert page.endswith(PREDICTED)
    assert "Result" not in page
    assert (
        "MOE-000  2026-02-10 10:43  finished  psum against all_to_all  predicted, not measured: B against A loses"
        in (moe("list").out)
    )
    clock.tick()
    measure(moe, *A)
    measure(moe, *B)
    assert block(folder, "MOE-000") == page, "what is measured later changes nothing of it"
    assert "redicted" not in block(folder, "MOE-002")
    before = (folder / "logbooks/moe.md").read_text()
    assert moe("render").code == 0
    assert (folder / "logbooks/moe.md").read_text() == before


def test_show_as_json(moe: Cli, clock: FixedClock) -> None:
    assert moe(*PREDICT).code == 0
    clock.tick()
    measure(moe, *A)
    shown = moe("show", "MOE-000", "--json").data
    assert shown["kind"] == "prediction"
    assert "confidence" not in shown
    assert [run["rows"] for run in shown["runs"]] == [[]]
    assert [p["labels"] for p in shown["runs"][0]["predictions"]] == [{"side": "A"}, {"side": "B"}]


def test_the_view_is_the_same_however_it_came_to_be(moe: Cli, folder: Path, clock: FixedClock) -> None:
    """After each step the blocks that were spliced are those of a view that is rendered as a whole."""
    view = folder / "logbooks/moe.md"
    steps = (
        ("bench", "--", "hillclimb", *A),
        PREDICT,
        ("bench", "--", "hillclimb", *B),
        ("bench", "--repeat", "2", "--", "hillclimb", *B),
        ("predict", "--", "--aot", "v5p-8", *B),
        ("edit", "MOE-002", "--state", "void"),
        ("note", "--title", "wrong", "--supersedes", "MOE-003"),
        ("edit", "MOE-002", "--state", "computed"),
        ("edit", "MOE-001", "--state", "abandoned"),
        ("edit", "MOE-001", "--state", "computed"),
        ("edit", "MOE-005", "--state", "void"),
    )
    for step in steps:
        clock.tick()
        assert moe(*step).code == 0, step
        spliced = view.read_text()
        for path in (Store(folder).index_path, view):
            path.unlink(missing_ok=True)
        assert moe("render").code == 0
        assert view.read_text() == spliced, step


def test_the_issue_tells_of_predictions(moe: Cli, folder: Path, clock: FixedClock) -> None:
    assert moe(*PREDICT).code == 0
    clock.tick()
    measure(moe, *A)
    assert moe("sync", "--offline", "out").code == 0
    issue, update = (folder / "out/issue.md").read_text(), (folder / "out/update-01.md").read_text()
    assert "1 experiment: 1 finished. 2 predictions, which measure nothing." in issue
    assert "| MOE-000 |" not in issue
    assert "| MOE-001 |" in issue
    assert "### MOE-000 psum against all_to_all (prediction)" in update
    assert PREDICTED.replace("- Predicted:", "- Predicted, not measured:") in update
