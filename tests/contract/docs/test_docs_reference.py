"""The reference names all there is, by hand or from the code; links lead somewhere, and no text names a machine."""

from __future__ import annotations

import re
import subprocess
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import pytest

from tests.contract.docs.docs_runner import REPOSITORY, documents


def section(text: str, heading: str) -> str:
    """The text below a heading of the second level, up to the next one."""
    found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, f"no section {heading!r}"
    return found[1]


def in_code(text: str, word: str) -> bool:
    """Whether the word stands in a code span, alone or before what it takes."""
    spans = re.findall(r"`([^`\n]+)`", text)
    return any(word in re.split(r"[\s=,\[]+", span.replace("\\|", "|")) for span in spans)


# -- what `make docs` writes -------------------------------------------------------------------------


def _generator() -> Any:
    """The program scripts/reference as a module."""
    loader = SourceFileLoader("reference", str(REPOSITORY / "scripts/reference"))
    spec = spec_from_loader("reference", loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


generator = _generator()
COMMANDS: dict[str, dict[str, Any]] = {
    "logbook": generator.commands_of_logbook(),
    "bench-core": generator.commands_of_bench_core(),
}


@pytest.mark.parametrize("program", COMMANDS)
def test_every_option_has_help_and_is_written(program: str) -> None:
    commands = COMMANDS[program]
    page = generator.commands_page(program, commands)
    for name, command in commands.items():
        shown = [p for p in command.params if not getattr(p, "hidden", False)]
        assert [p.name for p in shown if not (getattr(p, "help", None) or "").strip()] == []
        written = section(page, f"`{program} {name}`".replace(" `", "`"))
        options = [o for p in shown if p.param_type_name == "option" for o in p.opts]
        assert [o for o in options if not in_code(written, o)] == []
        assert written.count("\n| ") == 1 + len(shown)
        # What its help leaves out is said once, of all commands.
        hidden = [o for p in command.params if p not in shown for o in p.opts]
        assert [o for o in hidden if not in_code(section(page, f"`{program}`"), o)] == []


def test_every_command_answers_in_json_and_is_shown() -> None:
    shown = [command for command, _ in generator.SESSION if command]
    # The schemas of answers that are no command's own name.
    more = "rows error log tried serve plan release noise run"
    assert sorted([*shown, *generator.ELSEWHERE]) == sorted([*filter(None, COMMANDS["logbook"]), *more.split()])


@pytest.mark.slow
@pytest.mark.wide
def test_the_answers_are_those_of_their_commands() -> None:
    for command, text, answer in generator.answers():
        assert answer["schema"] == ("logbook-rows/1" if command == "rows" else f"logbook/{command}/1"), text
        assert answer.get("data") or answer.get("error") or answer["rows"], text


# -- texts -------------------------------------------------------------------------------------------


def anchors(path: Path) -> set[str]:
    """The anchors of a document's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


@pytest.mark.parametrize("path", [*documents(), REPOSITORY / "CONTRIBUTING.md"], ids=lambda p: p.name)
def test_links_lead_somewhere(path: Path) -> None:
    text = re.sub(r"^( *)(`{3,}).*?^\1\2 *$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        place = (path.parent / file).resolve() if file else path
        if not place.exists() or (anchor and anchor not in anchors(place)):
            broken.append(target)
    assert broken == []


def test_every_page_is_on_the_map() -> None:
    index = (REPOSITORY / "docs/index.md").read_text(encoding="utf-8")
    pages = [p.relative_to(REPOSITORY / "docs").as_posix() for p in (REPOSITORY / "docs").rglob("*.md")]
    assert [p for p in pages if p != "index.md" and f"({p})" not in index] == []


# Taken apart, so that this file does not name them itself. The tests make up a home of `me`.
_MACHINE = re.compile(
    "|".join([r"(?<![\w.~])/" + r"work/", r"(?<![\w.~])/" + r"root\b", r"(?<![\w.~])/" + r"home/(?!me\b)\w+"])
)
_REGISTRY = re.compile(
    r"(?:pypi|npmjs|pythonhosted|conda|anaconda)\." + r"(?:org|com)|artifac" + r"tory|/sim" + r"ple/\b"
)


def tracked() -> list[Path]:
    """Text files that git tracks; where there is no repository, nothing is checked."""
    done = subprocess.run(["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    return [REPOSITORY / name for name in done.stdout.split("\0") if name]


@pytest.mark.slow
def test_no_path_of_a_machine_and_no_package_registry() -> None:
    wrong = []
    for path in tracked():
        name = path.relative_to(REPOSITORY).as_posix()
        if not path.is_file() or b"\0" in path.read_bytes()[:8000]:
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        for hit in (*_MACHINE.finditer(text), *_REGISTRY.finditer(text)):
            wrong.append(f"{name}:{text.count(chr(10), 0, hit.start()) + 1}: {hit[0]}")
    assert wrong == []
