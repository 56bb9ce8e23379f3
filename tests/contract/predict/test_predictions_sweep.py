"""`logbook sweep --predict`: --predict chooses the cases before the first run."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.conftest import Cli

pytestmark = pytest.mark.slow


FORMS = """\
name: forms
question: Which form is the fastest?
command:
- bench-core
- hillclimb
- flags: [tokens, topk, ep_impl, devices, iters]
fixed: {tokens: 1024, devices: 4, iters: 3}
axes:
  topk: [2, 8]
  ep_impl: [psum, ring, all_to_all]
compare: {axis: ep_impl, base: psum}
repeats: 2
order: interleaved
metrics: [time_s]
confirm: 0
"""


LEFT_OUT = """\
- topk=2 ep_impl=all_to_all: cannot win; predicted 12 ms (9.6 to 15.6); 1.60 times as long as topk=2 ep_impl=ring, and \
from 1.2 on a direction is claimed (MOE-000)
- topk=8 ep_impl=all_to_all: cannot win; predicted 48 ms (38.4 to 62.4); 1.60 times as long as topk=8 ep_impl=ring, \
and from 1.2 on a direction is claimed (MOE-000)"""


SAID = """\
forms: predicted for v5p-8, 6 different programs; nothing measured
  topk=2 ep_impl=psum: control; predicted 8 ms (6.4 to 10.4); others are held against it
  topk=2 ep_impl=ring: can win; predicted 7.5 ms (6 to 9.75)
  topk=2 ep_impl=all_to_all: cannot win; predicted 12 ms (9.6 to 15.6); 1.60 times as long as topk=2 ep_impl=ring, \
and from 1.2 on a direction is claimed
  topk=8 ep_impl=psum: control; predicted 32 ms (25.6 to 41.6); others are held against it
  topk=8 ep_impl=ring: can win; predicted 30 ms (24 to 39)
  topk=8 ep_impl=all_to_all: cannot win; predicted 48 ms (38.4 to 62.4); 1.60 times as long as topk=8 ep_impl=ring, \
and from 1.2 on a direction is claimed
to run: 4 of 6 cases (8 runs instead of 12)
VMEM is not checked: where a case fails for it, those that were left out because of it may be the best: logbook sweep \
forms --new runs all
"""


@pytest.fixture
def forms(moe: Cli, folder: Path) -> Cli:
    (folder / "recipes").mkdir()
    (folder / "recipes/forms.yaml").write_text(FORMS)
    return moe


def entry(folder: Path, entry_id: str) -> dict[str, object]:
    found: dict[str, object] = yaml.safe_load((folder / f"logbooks/moe/entries/{entry_id}.yaml").read_text())
    return found


def test_a_dry_run_only_says(forms: Cli, folder: Path) -> None:
    done = forms("sweep", "forms", "--predict", "v5p-8", "--dry-run")
    assert (done.code, done.out) == (0, SAID)
    assert forms("list", "--json").data == []
    data = forms("sweep", "forms", "--predict", "v5p-8", "--dry-run", "--json").data
    assert (data["id"], data["sweep"], data["runs"], data["runs_saved"]) == (None, None, 8, 4)
    assert [c["word"] for c in data["cases"]] == ["control", "can win", "cannot win"] * 2


def test_what_can_win_is_run(forms: Cli, folder: Path) -> None:
    done = forms("sweep", "forms", "--predict", "v5p-8")
    assert done.code == 0
    assert done.out.startswith("MOE-001: 8 of 8 rows, none failed\n")
    assert SAID in done.err
    prediction, sweep = entry(folder, "MOE-000"), entry(folder, "MOE-001")
    assert prediction["kind"] == "prediction"
    assert {"label": "Left out", "text": LEFT_OUT} in prediction["fields"]  # type: ignore[operator]
    assert {"label": "Left out", "text": LEFT_OUT} in sweep["fields"]  # type: ignore[operator]
    assert sweep["continues"] == "MOE-000"
    recipe = sweep["recipe"]
    assert isinstance(recipe, dict)
    assert recipe["without"] == ["topk=2 ep_impl=all_to_all", "topk=8 ep_impl=all_to_all"]
    assert recipe["runs"] == 8
    # Within each round the order stays random: it is the plan's own.
    rows = forms("show", "MOE-001", "--json").data["runs"]
    rounds = [tuple(r["rows"][0]["config"]["ep_impl"] for r in rows[at : at + 2]) for at in range(0, 8, 2)]
    assert all(sorted(one) == ["psum", "ring"] for one in rounds)
    assert len({*rounds}) == 2


def test_a_sweep_with_cases_left_out_is_resumed_as_it_is(forms: Cli, folder: Path) -> None:
    assert forms("sweep", "forms", "--predict", "v5p-8").code == 0
    last = folder / "logbooks/moe/runs/MOE-001/08"
    for path in sorted(last.iterdir()):
        path.unlink()
    last.rmdir()
    again = forms("sweep", "forms", "--predict", "v5p-8", "--json").error
    assert again == {
        "code": "usage",
        "message": "MOE-001 is an unfinished sweep of forms",
        "cause": "its cases were chosen before its first run",
        "hint": "resume it: logbook sweep --resume MOE-001, or start another one: add --new",
    }
    assert forms("sweep", "--resume", "MOE-001").out.startswith("MOE-001: 8 of 8 rows, none failed\n")
    # The whole recipe is another plan, which nobody has carried out.
    assert forms("sweep", "forms").out.startswith("MOE-002: 12 of 12 rows, none failed\n")


def test_a_recipe_of_which_a_part_was_run_was_not_run(forms: Cli, folder: Path) -> None:
    after = FORMS.replace("name: forms", "name: later\nafter: [forms]")
    (folder / "recipes/later.yaml").write_text(after)
    assert forms("sweep", "forms", "--predict", "v5p-8").code == 0
    assert "no finished sweep of that" in forms("sweep", "later", "--dry-run").err
    assert forms("sweep", "forms").code == 0
    assert "no finished sweep of that" not in forms("sweep", "later", "--dry-run").err


def test_where_nothing_can_win_nothing_is_run(forms: Cli, folder: Path) -> None:
    done = forms("sweep", "forms", "--predict", "v5p-8", "--set", "ep_impl=psum,all_to_all")
    assert done.code == 0
    assert done.out == "nothing to run; see MOE-000: logbook show MOE-000\n"
    assert (
        "topk=2 ep_impl=psum: not needed; predicted 8 ms (6.4 to 10.4); no case is left that would be held" in done.err
    )
    assert [line["id"] for line in forms("list", "--json").data] == ["MOE-000"]


def test_what_is_refused(forms: Cli, folder: Path) -> None:
    (folder / "recipes/other.yaml").write_text("name: other\nquestion: q?\ncommand: [python, x.py]\nconfirm: 0\n")
    assert forms("sweep", "other", "--predict", "v5p-8", "--json").error == {
        "code": "usage",
        "message": "the recipe other cannot be predicted: its command is 'python x.py'",
        "cause": "the model knows the programs of bench-core hillclimb alone",
        "hint": "leave --predict out",
    }
    assert forms("sweep", "dp-ep", "--predict", "v5p-8", "--json").error["message"] == (
        "the recipe dp-ep cannot be predicted: its command is 'bench-core compare'"
    )
    error = forms("sweep", "--resume", "MOE-000", "--predict", "v5p-8", "--json").error
    assert error["message"] == "--predict and --resume cannot be used together"
    assert forms("list", "--json").data == []


def test_the_best_of_the_cases_that_may_win_is_compared(forms: Cli, folder: Path) -> None:
    chosen = FORMS.replace("compare: {axis: ep_impl, base: psum}\n", "").replace("confirm: 0", "confirm: 1")
    (folder / "recipes/best.yaml").write_text(chosen.replace("name: forms", "name: best").replace("[2, 8]", "[2]"))
    done = forms("sweep", "best", "--predict", "v5p-8")
    assert "best while exploring: topk=2 ep_impl=ring: time_s " in done.out
    assert "ring against psum at topk=2 is open in time_s" in done.out
    assert "  topk=2 ep_impl=all_to_all: cannot win; " in done.err


def test_a_wrong_request_runs_no_case(forms: Cli, folder: Path) -> None:
    """What was to choose the cases has chosen none, so an hour of device time is not spent on all of them."""
    done = forms("sweep", "forms", "--predict", "nope")
    assert (done.code, done.out) == (2, "nothing to run; see MOE-000: logbook show MOE-000\n")
    assert "  topk=2 ep_impl=ring: no prediction; nothing was predicted: --aot nope is not known\n" in done.err
    assert "no case has a prediction, so none chooses what runs: leave --predict out to run all cases\n" in done.err
    assert not (folder / "logbooks/moe/entries/MOE-001.yaml").exists()
    data = forms("sweep", "forms", "--predict", "nope", "--dry-run", "--json").data
    assert (data["exit_status"], data["runs"]) == (2, 0)
