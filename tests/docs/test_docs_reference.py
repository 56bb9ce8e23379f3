"""The reference names all there is, links lead somewhere, and no text names a machine."""

from __future__ import annotations

import dataclasses
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from docs_runner import REPOSITORY, Command, documents, steps
from typer.main import get_command

from bench_core.cli import app as bench_app
from logbook_agent.api import Logbook
from logbook_agent.cli import SUBCOMMANDS, build
from logbook_agent.entries.stated import _FILE_KEYS
from logbook_agent.findings.tables.spec import Column, Table
from logbook_agent.findings.thread import Thread, said_by
from logbook_agent.model import entry as entries
from logbook_agent.model import header as headers
from logbook_agent.model.entry import Entry, Field
from logbook_agent.model.errors import LogbookError, RemoteError
from logbook_agent.model.header import Baseline, Criterion, Header
from logbook_agent.model.record import Record
from logbook_agent.model.run import Row, Run
from logbook_agent.model.units import KNOWN
from logbook_agent.pages.blocks import Blocks
from logbook_agent.pages.templating.environment import environment
from logbook_agent.pages.templating.templates import NAMES, Templates
from logbook_agent.running.provenance.snapshot import PATTERNS
from logbook_agent.store.config import REQUIRABLE, Config, GitHubConfig
from logbook_agent.store.user_config import UserConfig

REFERENCE = REPOSITORY / "docs/reference"
COMMANDS = [c.name for c in SUBCOMMANDS]


def text_of(name: str) -> str:
    return (REFERENCE / name).read_text(encoding="utf-8")


def section(text: str, heading: str) -> str:
    """The text below a heading of the second level, up to the next one."""
    found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, f"no section {heading!r}"
    return found[1]


def parameters(command: str) -> list[Any]:
    return list(get_command(build(command)).commands[command].params)  # type: ignore[attr-defined]


def in_code(text: str, word: str) -> bool:
    """Whether the word stands in a code span, alone or before what it takes."""
    spans = re.findall(r"`([^`\n]+)`", text)
    return any(word in re.split(r"[\s=,\[]+", span.replace("\\|", "|")) for span in spans)


# -- commands ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_in_the_reference(command: str) -> None:
    text = text_of("cli.md")
    places = section(text, f"`logbook {command}`") + section(text, "Options that commands share")
    options = [o for p in parameters(command) if p.param_type_name == "option" for o in p.opts]
    assert [o for o in options if not in_code(places, o)] == []
    arguments = [p.metavar for p in parameters(command) if p.param_type_name == "argument"]
    assert [m for m in arguments if re.findall(r"[A-Z]{2,}", m)[-1] not in places] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_the_reference_names_no_option_that_is_not(command: str) -> None:
    known = {o for p in parameters(command) for o in p.opts} | {"--help"}
    table = [line for line in section(text_of("cli.md"), f"`logbook {command}`").splitlines() if line[:3] == "| `"]
    named = [o for line in table for o in re.findall(r"(?<=`)--?[a-z][a-z-]*", line.split(" | ")[0])]
    assert [o for o in named if o not in known] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_json_and_an_example(command: str) -> None:
    params = parameters(command)
    assert [p.name for p in params if not (p.help or "").strip()] == []
    assert any("--json" in p.opts for p in params)
    assert f"logbook/{command}/1" in text_of("json.md")
    found = [s.text for s in steps(text_of("cli.md")) if isinstance(s, Command)]
    assert any(re.search(rf"\blogbook (-L \S+ )?{command}\b", t) for t in found), "no executed example"


def test_the_reference_has_no_command_that_is_not() -> None:
    assert sorted(re.findall(r"^## `logbook (\S+)`", text_of("cli.md"), re.MULTILINE)) == sorted(COMMANDS)
    assert set(re.findall(r"logbook/([a-z]\w*)/1", text_of("json.md"))) == {*COMMANDS, "error"}


def test_every_error_code_is_in_the_reference() -> None:
    def below(cls: type[LogbookError]) -> Iterator[type[LogbookError]]:
        for child in cls.__subclasses__():
            yield child
            yield from below(child)

    kinds = [c for c in below(LogbookError) if c.__module__ == "logbook_agent.model.errors"]
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \|", section(text_of("json.md"), "Errors"), re.MULTILINE)
    assert {(c.code, str(c.exit_code)) for c in kinds} == set(rows)
    codes = section(text_of("cli.md"), "Exit codes")
    assert [c.exit_code for c in kinds if f"| {c.exit_code} |" not in codes] == []


def test_every_error_of_the_host_has_its_remedy() -> None:
    text = (REPOSITORY / "docs/how-to/github.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \|", section(text, "When it fails"), re.MULTILINE)
    assert sorted(rows) == sorted(c.code for c in RemoteError.__subclasses__())


def test_every_flag_of_the_benchmark_is_in_the_reference() -> None:
    text = text_of("bench-core.md")
    commands = get_command(bench_app).commands  # type: ignore[attr-defined]
    places = {"hillclimb": text, "overlap": text, "compare": section(text, "`bench-core compare`"), "roofline": text}
    for name, place in places.items():
        assert [o for p in commands[name].params for o in p.opts if not in_code(place, o)] == []
        assert [p.name for p in commands[name].params if not p.help] == []


def test_every_public_member_is_in_the_reference() -> None:
    text = text_of("python.md")
    assert [n for n in vars(Logbook) if not n.startswith("_") and not re.search(rf"`(Logbook\.)?{n}[`(]", text)] == []


# -- files -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("settings.md", [f.name for f in dataclasses.fields(Config) if f.name not in ("file", "bounds")]),
        ("settings.md", list(REQUIRABLE)),
        ("settings.md", [f.name for f in dataclasses.fields(GitHubConfig)]),
        ("settings.md", [f.name for f in dataclasses.fields(UserConfig)]),
        ("header.md", _FILE_KEYS),
        ("header.md", [f.name for f in dataclasses.fields(Header) if f.name != "extra"]),
        ("header.md", [f.name for f in dataclasses.fields(Baseline)]),
        ("header.md", [f.name for f in dataclasses.fields(Criterion)]),
        ("header.md", [f.name for f in dataclasses.fields(headers.Metric)]),
        ("header.md", [f.name for f in dataclasses.fields(headers.ExperimentIssue)]),
        ("header.md", [f.name for f in dataclasses.fields(headers.Snapshot)]),
        ("header.md", [f.name for f in dataclasses.fields(headers.CriterionJudgement)]),
        ("header.md", [f.name for f in dataclasses.fields(headers.Closing)]),
        ("entry.md", [f.name for f in dataclasses.fields(Entry) if f.name != "extra"]),
        ("entry.md", [f.name for f in dataclasses.fields(entries.PlannedCommand)]),
        ("entry.md", [f.name for f in dataclasses.fields(entries.Comparison)]),
        ("entry.md", [f.name for f in dataclasses.fields(Run)]),
        ("results.md", [f.name for f in dataclasses.fields(Row)]),
        ("results.md", list(KNOWN)),
        ("templates.md", list(NAMES)),
        ("../explanation/provenance.md", list(PATTERNS)),
    ],
)
def test_every_key_is_in_the_reference(page: str, names: list[str]) -> None:
    words = {w for span in re.findall(r"`([^`\n]+)`", text_of(page)) for w in re.split(r"[\s{},:\"]+", span)}
    assert [n for n in names if n not in words] == []


def test_the_table_of_known_metrics_is_the_code_s() -> None:
    table = section(text_of("results.md"), "Known metrics")
    for name, q in KNOWN.items():
        assert f"| `{name}` | {q.unit or ''} | {q.direction} | {q.decimals} |" in table


class _Recorded(Templates):
    """Keeps the values that a template is given."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}

    def render(self, name: str, values: Any) -> str:
        self.values.update(values)
        return ""


def test_every_template_value_is_in_the_reference() -> None:
    header = Header(
        topic="t",
        title="T",
        prefix="T",
        opened="2026-02-10T10:43:00+00:00",
        links=(headers.Link(label="a", url="b"),),
        baseline=Baseline(numbers=(headers.BaselineNumbers(metrics={"x": 1.0}),)),
        matrix=(headers.MatrixAxis(axis="topk"),),
        command_templates=(headers.CommandTemplate(label="a", command="b"),),
    )
    decision = Entry(
        id="T-000", title="D", opened=header.opened, kind="decision", fields=(Field(label="Negative result", text="n"),)
    )
    record = Record(entry=decision, state="noted")
    recorded = _Recorded()
    blocks = Blocks(recorded, header)
    blocks.header()
    blocks.table(Table(columns=(Column(name="a"),), rows=(("1",),)))
    blocks.footer(Thread(header, [said_by(decision)]))
    blocks.entry(record)
    text = text_of("templates.md")

    def missing(place: str, values: Any) -> Iterator[str]:
        known = re.findall(r"`([^`\n]+)`", section(text, place))
        for key, value in values.items():
            if not any(re.search(rf"(?<![\w]){key}(?![\w])", span) for span in known):
                yield f"{place}: {key}"
            for inner in value if isinstance(value, list) else [value]:
                if isinstance(inner, dict) and key not in ("section", "constants"):
                    yield from missing(place, inner)

    for name in ("entry", "logbook", "table"):
        assert list(missing(f"`{name}`", recorded.values[name])) == []
    for name in ("decisions", "negative_results"):
        assert list(missing("`decisions` and `negative_results`", recorded.values[name][0])) == []
    assert all(f"`{name}`" in text for name in recorded.values)


def test_every_filter_is_in_the_reference() -> None:
    import jinja2

    own = (
        environment(jinja2.Environment, jinja2.BaseLoader()).filters.keys()
        - jinja2.Environment(autoescape=True).filters.keys()
    )
    # `items` is one of Jinja's own that ours replaces.
    table = section(text_of("templates.md"), "Filters")
    assert [f for f in {*own, "items"} if not re.search(rf"^\| `{f}[(`]", table, re.MULTILINE)] == []


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


def test_every_test_that_a_promise_names_is_there() -> None:
    text = (REPOSITORY / "docs/explanation/promises.md").read_text(encoding="utf-8")
    defined = {
        name
        for path in (REPOSITORY / "tests").glob("*/test_*.py")
        for name in [path.stem, *re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)]
    }
    spans = re.findall(r"`([^`\n]+)`", text)
    named = [s.rsplit("/", 1)[-1].removesuffix(".py") for s in spans if re.search(r"(^|/)test_\w+(\.py)?$", s)]
    assert [name for name in named if name not in defined] == []
    assert [s for s in spans if s.startswith("tests/") and not (REPOSITORY / s).exists()] == []


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
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            if _MACHINE.search(line) or _REGISTRY.search(line):
                wrong.append(f"{name}:{number}: {line.strip()[:120]}")
    assert wrong == []
