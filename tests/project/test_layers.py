"""Imports go downwards only. A new package must be given its place here."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# The rooms of the logbook in the order of `logbook_agent/README.md`, with those above it that each of them uses.
ROOMS: dict[str, str] = {
    "model": "",
    "text": "model",
    "store": "model text",
    "running": "model text store",
    "findings": "model text",
    "pages": "model text store findings",
    "entries": "model text store findings pages",
    "campaign": "model text store running findings pages entries",
    "doctor": "model text store running pages",
    "cli": "model text store running findings pages entries campaign doctor",
    "api": "model store findings entries campaign",
    "issue": "model text store running findings pages entries campaign cli api",
    "report": "model text store running findings pages cli",
    "artifacts": "model text store",
    "exports": "model text store running findings pages entries campaign cli api",
    "imports": "model text store entries pages cli",
    "formats": "model text store running",
    "curves": "model store running",
    "cluster": "model text store running",
    "agents": "model text store running findings pages entries campaign cli",
}
# Folders that hang on the core: none is imported by it, and none imports another.
FEATURES = ("issue", "report", "artifacts", "exports", "imports", "formats", "curves", "cluster", "agents")
MOST_PAIRS = 99
BENCH = (
    {"__main__"},
    {"cli"},
    {"aot"},
    {"harness"},
    {"parallel"},
    {"blocks"},
    {"routing", "gmm", "timing"},
    {"accounting", "arrays", "quant", "shapes", "flag", "device", "errors"},
    {"hlo"},
)
# Pure parts: no files, processes, network or clock.
PURE = (
    "model",
    "text",
    "findings",
    "report/figures",
    "running/results",
    "campaign/recipes",
    *(f"formats/{name}.py" for name in ("known_formats", "case_rows", "pytest_benchmark", "hyperfine", "asv")),
    "formats/google_benchmark.py",
    *(f"imports/{name}.py" for name in ("document", "cells", "tables", "delimited", "jsonl")),
    *(f"imports/{name}.py" for name in ("pieces", "sections", "markdown", "formats")),
    *(f"agents/{name}.py" for name in ("next_steps", "citations", "cited_numbers", "reproduced_numbers")),
    *(f"artifacts/{name}.py" for name in ("matching", "media")),
    *(f"agents/mcp/{name}.py" for name in ("tool_arguments", "tool_table", "answers")),
    *(f"issue/{name}.py" for name in ("marking", "plan", "values", "inert", "issue_body", "update_text")),
)
EFFECTS = {
    "subprocess",
    "socket",
    "time",
    "os",
    "pathlib",
    "tempfile",
    "shutil",
    "random",
    "threading",
    "urllib.request",
}
# Third-party packages and the only places that may import them.
HOMES = {
    "typer": {"cli", *FEATURES},
    "rich": {"cli", *FEATURES},
    "jinja2": {"pages", "report"},
    "yaml": {"store"},
    "psutil": {"store", "running"},
    "github": {"issue"},
    "requests": {"issue", "cluster"},
    "urllib3": {"issue", "cluster"},
    # On a cluster alone.
    "ray": {"cluster"},
    "markdown_it": {"text", "issue"},
    "markupsafe": {"report"},
    # Extras, which are loaded when they are asked for.
    **{name: {"exports"} for name in ("pyarrow", "mlflow", "wandb", "trackio")},
    **{name: {"exports"} for name in ("pandas", "polars")},
    "numpy": {"findings"},
    "huggingface_hub": {"report"},
    **{name: {"agents"} for name in ("mcp", "mcp_types", "anyio", "jsonschema")},
}
NEVER = {"jax", "jaxlib", "scipy"}


def modules(package: str) -> Iterator[tuple[Path, str]]:
    """Every module with the name of the part of the package it belongs to."""
    for path in sorted((ROOT / package).rglob("*.py")):
        relative = path.relative_to(ROOT / package)
        part = relative.parts[0].removesuffix(".py")
        if part != "__init__":
            yield path, part


@functools.cache
def parsed(path: Path) -> list[ast.Import | ast.ImportFrom | ast.ClassDef]:
    """The imports and classes of a file, wherever they stand in it."""
    nodes = ast.walk(ast.parse(path.read_text()))
    return [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom | ast.ClassDef)]


def imports(path: Path) -> Iterator[tuple[int, str]]:
    for node in parsed(path):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            yield node.lineno, node.module or ""
            # `from package import part` names the part as well.
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def level(layers: tuple[set[str], ...], part: str) -> int:
    found = [i for i, layer in enumerate(layers) if part in layer]
    assert found, f"the package {part} has no place in tests/project/test_layers.py"
    return found[0]


def test_rooms_use_those_below_them() -> None:
    """Exactly those that are listed, so that the list is the plan of the house."""
    used: dict[str, set[str]] = {room: set() for room in ROOMS}
    for path, part in modules("logbook_agent"):
        if part in ("__main__", "worker", "features"):  # what a process starts in, and the table of features
            continue
        assert part in ROOMS, f"{path.relative_to(ROOT)}: the room {part} has no place in tests/project/test_layers.py"
        for _, name in imports(path):
            words = name.split(".")
            if words[0] == "logbook_agent" and len(words) > 1 and words[1] in ROOMS and words[1] != part:
                used[part].add(words[1])
    assert used == {room: set(below.split()) for room, below in ROOMS.items()}


def test_rooms_lie_above_one_another() -> None:
    order = list(ROOMS)
    used = {(room, other) for room, below in ROOMS.items() for other in below.split()}
    assert {(room, other) for room, other in used if other in FEATURES and room != "api"} == set()
    assert [
        f"{room} above {other}"
        for room, below in ROOMS.items()
        for other in below.split()
        if order.index(other) > order.index(room)
    ] == []
    assert sum(len(below.split()) for below in ROOMS.values()) <= MOST_PAIRS


def test_the_map_of_the_package_says_what_each_room_uses() -> None:
    rows = re.findall(r"^\| `(\w+)` \| .* \| (.*) \|$", (ROOT / "logbook_agent/README.md").read_text(), re.MULTILINE)
    core = [room for room in ROOMS if room not in (*FEATURES, "api")]
    assert {room: set(re.findall(r"\w+", uses)) for room, uses in rows} == {
        room: set(ROOMS[room].split()) for room in core
    }


def test_no_circle_of_files() -> None:
    files = {name_of(path): path for path, _ in modules("logbook_agent")}
    # A file may name the packages that it lies in.
    graph = {
        name: {n for _, n in imports(path) if n in files and not f"{name}.".startswith(f"{n}.")}
        for name, path in files.items()
    }
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the files


def name_of(path: Path) -> str:
    words = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(words[:-1] if words[-1] == "__init__" else words)


def test_the_map_of_the_benchmark_has_its_rooms_in_their_order() -> None:
    page = (ROOT / "bench_core/README.md").read_text(encoding="utf-8")
    rows = [set(re.findall(r"`(\w+)`", room)) for room in re.findall(r"^\| (`\w+`.*?) \|", page, re.MULTILINE)]
    known = set().union(*BENCH)
    folders = {path.parent.name for path in (ROOT / "bench_core").glob("*/__init__.py")}
    assert set().union(*rows) == folders
    for number, row in enumerate(rows):
        below = set[str]().union(*rows[number + 1 :])
        for path, part in modules("bench_core"):
            if part in row:
                names = {name.split(".")[1] for _, name in imports(path) if name.startswith("bench_core.")}
                assert not names & below & known, path


def test_imports_of_the_benchmark_go_downwards() -> None:
    wrong = []
    known = set().union(*BENCH)
    for path, part in modules("bench_core"):
        for line, name in imports(path):
            words = name.split(".")
            if words[0] != "bench_core" or len(words) < 2 or words[1] not in known or words[1] == part:
                continue
            if level(BENCH, words[1]) < level(BENCH, part):
                wrong.append(f"{path.relative_to(ROOT)}:{line}: {part} imports {name}")
    assert wrong == []


def test_the_two_packages_meet_only_where_jax_is_not() -> None:
    allowed = ("bench_core.accounting", "bench_core.device")
    wrong = [
        f"{path}:{line}: {name}"
        for package, other in (("logbook_agent", "bench_core"), ("bench_core", "logbook_agent"))
        for path, _ in modules(package)
        for line, name in imports(path)
        if name.split(".")[0] == other and not (other == "bench_core" and name.startswith(allowed))
    ]
    assert wrong == []


def test_third_party_packages_stay_at_home() -> None:
    wrong = []
    for path, part in modules("logbook_agent"):
        for line, name in imports(path):
            top = name.split(".")[0]
            if top in NEVER or part not in HOMES.get(top, {part}):
                wrong.append(f"{path.relative_to(ROOT)}:{line}: {part} imports {name}")
    assert wrong == []


def test_pure_packages_have_no_effects() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path, _ in modules("logbook_agent")
        if path.relative_to(ROOT / "logbook_agent")
        .as_posix()
        .startswith(tuple(p if p.endswith(".py") else f"{p}/" for p in PURE))
        for line, name in imports(path)
        if name.split(".")[0] in EFFECTS
    ]
    assert wrong == []


def test_one_name_for_one_class() -> None:
    found: dict[str, list[str]] = {}
    for path, _ in modules("logbook_agent"):
        for node in parsed(path):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert {name: places for name, places in found.items() if len(places) > 1} == {}


# Who may ask how a run was started, outside the rooms of executors and workers: everybody else reads what follows from
# it (`Run.own_host`, `Command.words`, `Book.stage`).
ASKS = {
    "cli/detach.py",
    "campaign/repeats.py",
    "cli/run_command.py",
    "model/run.py",
    "running/execution.py",
    "running/prepare.py",
    "store/book_runs.py",
    "text/commands/launchers.py",
    "text/commands/script.py",
}
STARTED_BY = {"launch", "launcher", "launchers", "launched", "executor", "detach", "is_carried", "remote"}


def conditions(path: Path) -> Iterator[ast.AST]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.If | ast.IfExp | ast.While):
            yield node.test
        elif isinstance(node, ast.comprehension):
            yield from node.ifs
        elif isinstance(node, ast.BoolOp | ast.Compare):
            yield node


def test_few_files_ask_how_a_run_was_started() -> None:
    found = set()
    for path, _ in modules("logbook_agent"):
        name = path.relative_to(ROOT / "logbook_agent").as_posix()
        # (A remote of the issue is one of git.)
        if name.startswith(("running/executors/", "running/worker/", "cluster/", "issue/")):
            continue
        for condition in conditions(path):
            named = {getattr(n, "attr", None) or getattr(n, "id", None) for n in ast.walk(condition)}
            found |= {name} if named & STARTED_BY else set()
    assert found == ASKS


def test_the_maps_name_files_that_exist() -> None:
    """Each path in code, in the README of the package and of its features."""
    package = ROOT / "logbook_agent"
    for page in (package / "README.md", *sorted(package.glob("*/README.md"))):
        names = re.findall(r"`([\w/]+(?:\.py|/))`", page.read_text())
        places = (page.parent, package, ROOT)
        missing = [n for n in names if not any((place / n).exists() for place in places)]
        below = {path.name for path in page.parent.rglob("*.py")}
        assert [n for n in missing if n not in below] == [], page


def test_the_tests_of_rooms_mirror_them() -> None:
    """A folder of `tests/unit` is named as a room or a part of one, as the benchmark, or as a tool."""
    unit = ROOT / "tests/unit"
    assert {path.parent.name for path in unit.glob("*/*.py")} <= {*ROOMS, "bench_core", "docs", "fuzz", "oracle"} - {
        "api"
    }
    below = {path.parent.relative_to(unit) for room in ROOMS for path in (unit / room).glob("*/**/test_*.py")}
    assert [str(path) for path in below if not (ROOT / "logbook_agent" / path).is_dir()] == []
