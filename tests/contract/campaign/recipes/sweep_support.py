"""A recipe whose commands cost nothing, and a look at what a sweep left."""

from __future__ import annotations

from pathlib import Path

from tests.seams import Facts, Store

RECIPE = """\
name: demo
question: How does it change with size?
command: [bash, bench.sh, "{size}", "{mode}"]
fixed: {mode: new}
axes:
  size: [1, 2, 3, 4]
controls:
- {mode: old}
compare: {axis: mode, base: old}
metrics: [tflops]
confirm: 0
"""
# The same, where pairs of the best case and its base follow.
COMPARED = RECIPE.replace("confirm: 0\n", "")
# How to go on with a sweep that was cut off.
REST = "logbook sweep --id MOE-000"
BENCH = 'echo "RESULT size=$1 mode=$2 tflops=$(($1 * 10))"\n'


def write_recipe(folder: Path, text: str = RECIPE, *, bench: str = BENCH, name: str = "demo") -> Path:
    (folder / "recipes").mkdir(exist_ok=True)
    (folder / "bench.sh").write_text(bench)
    path = folder / "recipes" / f"{name}.yaml"
    path.write_text(text)
    return path


def runs_of(folder: Path, entry_id: str = "MOE-000") -> list[Facts]:
    return Store(folder).runs(entry_id)
