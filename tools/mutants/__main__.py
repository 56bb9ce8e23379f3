"""How many small changes of the core the tests from outside notice: `python -m tools.mutants [--seed N] [--sample N]
[--trace] [--tests FOLDER ...]`.

A sample of all changes is drawn by the seed. Each is made in a clone of the last commit, below build/mutants, where the
tests that entered the changed function run until one fails, those of its own room first, the quickest first. A test
that fails once more alone has killed the mutant. `--trace` runs all tests first and notes which functions each enters;
it is needed once. Mutants that change no behaviour are named in tools/mutants/equivalent.txt, with the reason.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PLACE = ROOT / "build/mutants"
CORE = ("model", "text", "store", "running", "findings", "pages", "entries", "campaign", "doctor", "cli")
# Tests of one mutant, in seconds of their own time and in number.
MOST_S, MOST_TESTS = 30.0, 120
SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Eq: ast.NotEq, ast.Lt: ast.LtE, ast.Gt: ast.GtE, ast.LtE: ast.Lt, ast.GtE: ast.Gt, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One expression or statement of a function, and what stands there instead."""

    path: str
    function: str
    place: tuple[int, int, int, int]
    old: str
    new: str

    @property
    def name(self) -> str:
        return f"{self.path}: {self.function}: {' '.join(self.old.split())} -> {' '.join(self.new.split())}"

    def applied(self, text: str) -> str:
        lines = text.encode().splitlines(keepends=True)
        first, start, last, end = self.place
        before, after = lines[first - 1][:start], lines[last - 1][end:]
        return b"".join((*lines[: first - 1], before, self.new.encode(), after, *lines[last:])).decode()


def changed(node: ast.AST) -> ast.AST | None:
    """A copy of the node with another meaning; None where there is none to try."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in SWAPS:
        return ast.Compare(node.left, [SWAPS[type(node.ops[0])]()], node.comparators)  # type: ignore[list-item]
    if isinstance(node, ast.BoolOp):
        return ast.BoolOp(SWAPS[type(node.op)](), node.values)  # type: ignore[arg-type]
    if isinstance(node, ast.BinOp) and type(node.op) in SWAPS:
        return ast.BinOp(node.left, SWAPS[type(node.op)](), node.right)  # type: ignore[arg-type]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return node.operand
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        return ast.Constant(not node.value)
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return ast.Constant(node.value + 1)
    if isinstance(node, ast.Return) and not (node.value is None or isinstance(node.value, ast.Constant)):
        return ast.Return(ast.Constant(None))
    if isinstance(node, ast.Continue):
        return ast.Break()
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return ast.Pass()
    return None


def mutants_of(path: Path, name: str) -> Iterator[Mutant]:
    """Every mutant in the functions of a file, in the order of the text."""
    text = path.read_text()

    def walk(node: ast.AST, within: tuple[str, ...], is_inside: bool) -> Iterator[Mutant]:
        if isinstance(node, ast.JoinedStr):
            return  # places inside of it are not those of the file
        if is_inside and (new := changed(node)) is not None:
            place = (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
            old = ast.get_source_segment(text, node) or ""
            # In parentheses, an expression stays one wherever it stands.
            written = f"({ast.unparse(new)})" if isinstance(node, ast.expr) else ast.unparse(new)
            yield Mutant(path=name, function=".".join(within), place=place, old=old, new=written)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inner = (*within, "<locals>", node.name) if is_inside else (*within, node.name)
            for child in node.body:
                yield from walk(child, inner, True)
        elif isinstance(node, ast.ClassDef):
            for child in node.body:
                yield from walk(child, (*within, node.name), False)
        else:
            for child in ast.iter_child_nodes(node):
                yield from walk(child, within, is_inside)

    yield from walk(ast.parse(text), (), False)


class Trace:
    """Plugin of pytest: which functions of the package each test enters, and how long it takes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.entered: set[CodeType] = set()
        self.found: dict[str, dict[str, object]] = {}
        self.seconds: dict[str, float] = defaultdict(float)

    def seen(self, frame: FrameType, event: str, arg: object) -> None:
        self.entered.add(frame.f_code)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.entered = set()
        threading.settrace(self.seen)
        sys.settrace(self.seen)
        before = os.times()
        try:
            return (yield)
        finally:
            sys.settrace(None)
            after = os.times()
            mark = f"{os.sep}logbook_agent{os.sep}"
            names = {
                f"{c.co_filename.partition(mark)[2]}:{c.co_qualname}" for c in self.entered if mark in c.co_filename
            }
            cpu = sum(after[:4]) - sum(before[:4])
            self.found[item.nodeid] = {"functions": sorted(names), "cpu": cpu}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] += report.duration
        if report.failed and report.nodeid in self.found:
            self.found[report.nodeid]["failed"] = True

    def pytest_sessionfinish(self) -> None:
        for test, values in self.found.items():
            values["seconds"] = self.seconds[test]
        name = os.environ.get("PYTEST_XDIST_WORKER", "all")
        (self.folder / f"{name}.json").write_text(json.dumps(self.found))


def pytest_configure(config: pytest.Config) -> None:
    if folder := os.environ.get("MUTANTS_TRACE"):
        config.pluginmanager.register(Trace(Path(folder)))


def run_pytest(clone: Path, words: list[str], timeout_s: float, **more: str) -> tuple[int, str]:
    """Exit code and output of pytest in a clone; 124 where it took longer."""
    environment = {**os.environ, "PYTHONPATH": str(clone), **more}
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tools.mutants.__main__", *words]
    try:
        done = subprocess.run(
            argv, cwd=clone, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            check=False, timeout=timeout_s,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return 124, ""
    return done.returncode, done.stdout


def verdict(mutant: Mutant, clone: Path, tests: dict[str, dict]) -> str:  # type: ignore[type-arg]
    """`killed by TEST`, `survived N tests` or `no test`."""
    room = f"/{mutant.path.partition('/')[0]}/"
    entered = [t for t, v in tests.items() if f"{mutant.path}:{mutant.function}" in v["functions"]]
    chosen: list[str] = []
    spent = 0.0
    for test in sorted(entered, key=lambda t: (room not in t, tests[t]["seconds"])):
        spent += tests[test]["seconds"]
        if len(chosen) == MOST_TESTS or (chosen and spent > MOST_S):
            break
        chosen.append(test)
    if not chosen:
        return "no test"
    source = clone / "logbook_agent" / mutant.path
    text = source.read_text()
    source.write_text(mutant.applied(text))
    try:
        code, out = run_pytest(clone, ["-x", *chosen], 60 + 10 * MOST_S)
        if code == 124:
            return "killed by time"
        failed = [line.split()[1] for line in out.splitlines() if line.startswith(("FAILED ", "ERROR "))]
        if code == 0 or not failed:
            return f"survived {len(chosen)} tests" if code in (0, 5) else f"killed at the start ({code})"
        again, _ = run_pytest(clone, [t for t in chosen if t.startswith(failed[0])][:1] or chosen[:1], 60 + 10 * MOST_S)
        return f"killed by {failed[0]}" if again else f"survived {len(chosen)} tests, one flaky"
    finally:
        source.write_text(text)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=26)
    parser.add_argument("--sample", type=int, default=300)
    parser.add_argument("--trace", action="store_true")
    parser.add_argument("--tests", nargs="+", default=["tests/contract"], metavar="FOLDER")
    asked = parser.parse_args()
    clone, traces = PLACE / "tree", PLACE / "trace"
    shutil.rmtree(clone, ignore_errors=True)
    subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
    (clone / "tests/emulator/node_modules").symlink_to(ROOT / "tests/emulator/node_modules")
    if asked.trace or not traces.exists():
        shutil.rmtree(traces, ignore_errors=True)
        traces.mkdir(parents=True)
        words = ["-n", "auto", "--dist", "worksteal", *asked.tests]
        code, out = run_pytest(clone, words, 7200, MUTANTS_TRACE=str(traces))
        print(out[-2000:], file=sys.stderr)
        if code not in (0, 1):
            return code
    _, listed = run_pytest(clone, ["--collect-only", *asked.tests], 1200)
    there = set(listed.splitlines())
    tests = {t: v for p in traces.glob("*.json") for t, v in json.loads(p.read_text()).items() if "failed" not in v}
    tests = {t: {**v, "functions": set(v["functions"])} for t, v in tests.items() if t in there}
    package = clone / "logbook_agent"
    every = [m for room in CORE for p in sorted((package / room).rglob("*.py"))
             for m in mutants_of(p, p.relative_to(package).as_posix())]  # fmt: skip
    equal = {line.partition("  # ")[0] for line in (HERE / "equivalent.txt").read_text().splitlines()}
    sample = random.Random(asked.seed).sample(every, min(asked.sample, len(every)))
    counts: dict[str, int] = defaultdict(int)
    for number, mutant in enumerate(sample, 1):
        said = "equivalent" if mutant.name in equal else verdict(mutant, clone, tests)
        counts[said.split()[0]] += 1
        print(f"{number:3} {said}: {mutant.name} (line {mutant.place[0]})", flush=True)
    counted = sum(counts.values()) - counts["equivalent"]
    print(f"{counts['killed']} of {counted} killed ({100 * counts['killed'] / max(counted, 1):.0f}%),",
          f"{counts['survived']} survived, {counts['no']} entered by no test, {counts['equivalent']} equivalent;",
          f"seed {asked.seed}, of {len(every)}")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
