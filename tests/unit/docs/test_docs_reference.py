"""The reference names every key, value and code that the code knows."""

from __future__ import annotations

import re

from msgspec import structs

from logbook_agent.api import Logbook
from logbook_agent.entries.stated import HeaderParts
from logbook_agent.features import FEATURES
from logbook_agent.model import entry as entries
from logbook_agent.model import header as headers
from logbook_agent.model.entry import Entry
from logbook_agent.model.errors import RemoteError
from logbook_agent.model.header import Baseline, Criterion, Header
from logbook_agent.model.run import Row, Run
from logbook_agent.model.units import KNOWN
from logbook_agent.pages.templates import NAMES, environment
from logbook_agent.running.executors import TYPED
from logbook_agent.running.provenance.software import PATTERNS
from logbook_agent.store.config import REQUIRABLE
from tests.contract.docs.docs_runner import REPOSITORY
from tests.contract.docs.test_docs_reference import generator, section

REFERENCE = REPOSITORY / "docs/reference"


def text_of(name: str) -> str:
    return (REFERENCE / name).read_text(encoding="utf-8")


def test_every_setting_has_a_meaning() -> None:
    for heading, owner, keys in generator.SETTINGS:
        said = generator.said_of_keys(owner)
        assert [key for key in keys if not said.get(key)] == [], heading
        assert [key for key in said if key not in keys] == [], heading
    page = generator.settings_page()
    kinds = {*re.findall(r'`\[executors.NAME\]`, `kind = "(\w+)"`', page)}
    assert kinds == {kind for feature in FEATURES for kind in feature.executors} - {TYPED}
    require = section(page, "`logbook.toml`").partition("| `require` |")[2].partition("\n")[0]
    assert [name for name in REQUIRABLE if f"`{name}`" not in require] == []


def test_every_exit_code_is_in_the_reference() -> None:
    codes = section(text_of("cli.md"), "Exit codes")
    kinds = list(generator.kinds_of_errors())
    assert [c.exit_code for c in kinds if not re.search(rf"^\|[^|]*\b{c.exit_code}\b", codes, re.MULTILINE)] == []
    assert {c.code for c in kinds} >= {c.code for c in RemoteError.__subclasses__()}


# -- hand-written pages ------------------------------------------------------------------------------


def test_every_error_of_the_host_has_its_remedy() -> None:
    text = (REPOSITORY / "docs/how-to/github.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \|", section(text, "When it fails"), re.MULTILINE)
    assert sorted(rows) == sorted(c.code for c in RemoteError.__subclasses__())


def test_every_public_member_is_in_the_reference() -> None:
    text = text_of("python.md")
    assert [n for n in vars(Logbook) if not n.startswith("_") and not re.search(rf"`(Logbook\.)?{n}[`(]", text)] == []


# -- files -------------------------------------------------------------------------------------------


PARTS = {
    "header.md": (
        *(HeaderParts, Header, Baseline, Criterion, headers.Metric, headers.ExperimentIssue, headers.Snapshot),
        *(headers.CriterionJudgement, headers.Closing),
    ),
    "entry.md": (Entry, entries.PlannedCommand, entries.Comparison, Run),
    "results.md": (Row,),
}
# What the place of a file says, or the reader keeps.
IMPLIED = {Header: {"extra"}, headers.ExperimentIssue: {"extra"}, Entry: {"extra", "id", "name"}}
IMPLIED |= {Run: {"entry", "run", "name"}}


def test_every_key_is_in_the_reference() -> None:
    names = {
        page: {f.name for of in parts for f in structs.fields(of) if f.name not in IMPLIED.get(of, ())}
        for page, parts in PARTS.items()
    }
    names["results.md"] |= {*KNOWN}
    names |= {"templates.md": {*NAMES}, "../explanation/provenance.md": {*PATTERNS}}
    for page, keys in names.items():
        words = {w for span in re.findall(r"`([^`\n]+)`", text_of(page)) for w in re.split(r"[\s{},:\"]+", span)}
        assert keys - words == set(), page


def test_the_table_of_known_metrics_is_the_code_s() -> None:
    table = section(text_of("results.md"), "Known metrics")
    for name, q in KNOWN.items():
        assert f"| `{name}` | {q.unit or ''} | {q.direction} | {q.decimals} |" in table


def test_every_filter_is_in_the_reference() -> None:
    import jinja2

    own = (
        environment(jinja2.Environment, jinja2.BaseLoader()).filters.keys()
        - jinja2.Environment(autoescape=True).filters.keys()
    )
    # `items` is one of Jinja's own that ours replaces.
    table = section(text_of("templates.md"), "Filters")
    assert [f for f in {*own, "items"} if not re.search(rf"^\| `{f}[(`]", table, re.MULTILINE)] == []
