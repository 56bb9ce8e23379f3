"""What counts as a measured result: cases apart by their variables, and keys that the baseline names."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import Cli
from tests.seams import Store


def issue(cli: Cli, folder: Path) -> str:
    assert cli("sync", "--offline", "out").code == 0
    return (folder / "out/issue.md").read_text()


def test_runs_with_other_variables_are_no_repeats(started: Cli, folder: Path) -> None:
    for value, flags in ((1, "a"), (3, "b")):
        more = ["--id", "MOE-000"] if flags == "b" else []
        words = ["--config", "quant=none", "--env", f"XLA_FLAGS={flags}", *more]
        assert started("run", *words, "--", "echo", f"RESULT tflops={value}").code == 0
    [best] = started("status", "--json").data["best"]
    assert (best["value"], best["runs"], best["cases"], best["apart"]) == (3, 1, 2, "env:XLA_FLAGS=b")
    text = issue(started, folder)
    assert "median" not in text
    assert "3.000 TF/s (1 run) in MOE-000, env:XLA_FLAGS=b: " in text.partition("## Best so far")[2]
    assert "| 2 rows, tflops 1.000 .. 3.000 TF/s |  |" in text
    assert [r[-1] for r in started("table", "MOE-000", "--json").data["values"]] == [1.0, 3.0]


def test_a_key_that_the_baseline_names_is_config_wherever_it_is_printed(cli: Cli, folder: Path) -> None:
    words = ["--metric", "tflops:max:TF/s", "--baseline", "quant=none", "--baseline", "tflops=2"]
    assert cli("start", "moe", "--prefix", "MOE", *words).code == 0
    (folder / "bench.sh").write_text("echo RESULT quant=none tflops=3\n")
    assert cli("run", "--", "sh", "bench.sh").code == 0
    assert Store(folder).run("MOE-000", 1).rows[0].config == {"quant": "none"}
    [best] = cli("status", "--json").data["best"]
    assert (best["value"], best["runs"], "is_baseline" in best) == (3, 1, False)
    assert "| `quant=none` |" in issue(cli, folder)
