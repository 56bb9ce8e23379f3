"""What counts as a measured result: by the cases of a table, of runs that finished, in one unit."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from logbook_agent.model.header import Baseline
from tests.conftest import Cli
from tests.seams import Store
from tests.unit.issue.report_support import ROOM, documents, visible


def best(text: str) -> str:
    found = re.search(r"## Best so far\n\n(.*?)\n\n", visible(text), re.DOTALL)
    return found[1] if found else ""


def test_runs_with_other_variables_are_no_repeats(started: Cli, folder: Path) -> None:
    for value, flags in ((1, "a"), (3, "b")):
        more = ["--id", "MOE-000"] if flags == "b" else []
        words = ["--config", "quant=none", "--env", f"XLA_FLAGS={flags}", *more]
        assert started("run", *words, "--", "echo", f"RESULT tflops={value}").code == 0
    book = Store(folder)
    header = dataclasses.replace(book.header, baseline=Baseline(config={"quant": "none"}))
    found = book.record("MOE-000")
    text = documents([found], header=header).block(ROOM)
    assert "median" not in text
    assert (
        "- `tflops`: 3.000 TF/s in MOE-000 (higher "
        "is better; same config, but not compared with the baseline; a single run; of 2 cases)" in best(text)
    )
    assert best(text).endswith(": `quant=none env:XLA_FLAGS=b`")
    assert "1.000 .. 3.000 TF/s (2 cases)" in text
    assert [r[-1] for r in started("table", "MOE-000", "--json").data["values"]] == [1.0, 3.0]


def test_a_key_that_the_baseline_names_is_config_wherever_it_is_printed(cli: Cli, folder: Path) -> None:
    words = ["--metric", "tflops:max:TF/s", "--baseline", "quant=none", "--baseline", "tflops=2"]
    assert cli("start", "moe", "--prefix", "MOE", *words).code == 0
    (folder / "bench.sh").write_text("echo RESULT quant=none tflops=3\n")
    assert cli("run", "--", "sh", "bench.sh").code == 0
    book = Store(folder)
    assert book.record("MOE-000").runs[0].run.rows[0].config == {"quant": "none"}
    text = documents([book.record("MOE-000")], header=book.header).block(ROOM)
    assert (
        "- `tflops`: 3.000 TF/s in MOE-000 (higher "
        "is better; same config, but not compared with the baseline; a single run)"
    ) in best(text)
    assert "| `quant=none` |" in text
