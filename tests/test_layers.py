"""Imports go downwards only. A new package must be given its place here."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# Layers from the top; the packages of one set are siblings.
LOGBOOK = (
    {"__main__"},
    {"cli"},
    {"api"},
    {"workflows"},
    {"store", "runner", "provenance", "report", "sync"},
    {"findings"},
    {"criteria"},
    {"evidence"},
    {"tables"},
    {"redaction", "commands", "results", "stats", "markdown", "issues", "recipes"},
    {"model"},
    {"reading"},
    {"paths"},
    {"repository", "processes", "programs", "errors", "units"},
)
# Siblings that may import each other, because one is made of the other.
LOGBOOK_SIBLINGS = {("errors", "units")}
BENCH = (
    {"__main__"},
    {"cli"},
    {"aot"},
    {"harness"},
    {"parallel"},
    {"blocks"},
    {"routing", "gmm", "quant", "timing"},
    {"accounting", "shapes", "device", "errors"},
)
# Pure packages: no files, processes, network or clock.
PURE = {
    "findings",
    "evidence",
    "tables",
    "redaction",
    "commands",
    "results",
    "stats",
    "markdown",
    "issues",
    "criteria",
    "recipes",
    "model",
    "units",
}
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
    "typer": {"cli"},
    "rich": {"cli"},
    "jinja2": {"report"},
    "yaml": {"store"},
    "psutil": {"processes"},
    "github": {"sync"},
    "requests": {"sync"},
    "urllib3": {"sync"},
    "markdown_it": {"issues"},
    "re2": {"redaction"},
}
NEVER = {"jax", "jaxlib", "numpy", "scipy"}


def modules(package: str) -> Iterator[tuple[Path, str]]:
    """Every module with the name of the part of the package it belongs to."""
    for path in sorted((ROOT / package).rglob("*.py")):
        relative = path.relative_to(ROOT / package)
        part = relative.parts[0].removesuffix(".py")
        if part != "__init__":
            yield path, part


def imports(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            yield node.lineno, node.module or ""
            # `from package import part` names the part as well.
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def level(layers: tuple[set[str], ...], part: str) -> int:
    found = [i for i, layer in enumerate(layers) if part in layer]
    assert found, f"the package {part} has no place in tests/test_layers.py"
    return found[0]


@pytest.mark.parametrize(("package", "layers"), [("logbook_agent", LOGBOOK), ("bench_core", BENCH)])
def test_imports_go_downwards(package: str, layers: tuple[set[str], ...]) -> None:
    wrong = []
    known = set().union(*layers)
    for path, part in modules(package):
        for line, name in imports(path):
            words = name.split(".")
            if words[0] != package or len(words) < 2 or words[1] not in known or words[1] == part:
                continue
            if level(layers, words[1]) < level(layers, part) or (
                level(layers, words[1]) == level(layers, part)
                and words[1] not in PURE
                and (part, words[1]) not in LOGBOOK_SIBLINGS
                and package == "logbook_agent"
            ):
                wrong.append(f"{path.relative_to(ROOT)}:{line}: {part} imports {name}")
    assert wrong == []


def test_every_package_has_its_place() -> None:
    for package, layers in (("logbook_agent", LOGBOOK), ("bench_core", BENCH)):
        for _, part in modules(package):
            level(layers, part)


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
        for path, part in modules("logbook_agent")
        if part in PURE
        for line, name in imports(path)
        if name.split(".")[0] in EFFECTS
    ]
    assert wrong == []
