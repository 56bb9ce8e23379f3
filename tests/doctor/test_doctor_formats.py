"""The stores that are kept for good can be read; older formats are migrated, whatever interrupts that."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from logbook_agent.model.errors import RecordError, StoreError
from logbook_agent.model.record import Record
from logbook_agent.store.book import Book
from logbook_agent.store.files import write_atomic
from logbook_agent.store.migrations import Kind, migrate
from tests.conftest import REPOSITORY, Cli
from tests.doctor.conftest import edit_json
from tests.e2e.e2e_support import picture

STORES = REPOSITORY / "tests/stores"


@pytest.fixture
def store(folder: Path) -> Path:
    """A copy of the store of format 1: its topic folder."""
    shutil.copytree(STORES / "format-1", folder / "logbooks")
    return folder / "logbooks/moe"


def line(record: Record) -> tuple[Any, ...]:
    values = [m.samples for s in record.runs for row in s.run.rows for m in row.metrics.values()]
    return (record.id, record.entry.kind, record.state, record.entry.title, values)


def test_format_1_can_be_read(store: Path, cli: Cli) -> None:
    book = Book(store.parent, "moe")
    contents = book.contents()
    assert contents.damaged == ()
    assert [line(r) for r in contents.records] == [
        ("MOE-000", "note", "noted", "Kickoff", []),
        ("MOE-001", "experiment", "planned", "topk=8", []),
        ("MOE-002", "experiment", "finished", "none against int8", [(120.5,), (126.5,), (126.5,)]),
        ("MOE-003", "experiment", "failed", "too large", []),
        ("MOE-004", "decision", "noted", "Go on with int8", []),
    ]
    entries = {r.id: r.entry for r in contents.records}
    assert entries["MOE-000"].text("scope") == 'one shape, "two" modes: none & int8\nand a second line'
    assert [c.label for c in entries["MOE-001"].commands] == ["Baseline", "Int8"]
    assert (entries["MOE-001"].continues, entries["MOE-004"].supersedes) == ("MOE-000", "MOE-000")
    run = contents.records[2].runs[0].run
    assert (run.label, run.config, run.rows[0].config) == (
        "Baseline",
        {"hidden": 2048},
        {"quant_mode": "none", "hidden": 2048},
    )
    assert contents.records[3].runs[0].run.exit is not None
    assert (contents.header.goal, contents.header.axes) == ("Is int8 faster?", ("quant_mode",))
    found = cli("doctor", "--json").data["findings"]
    assert [f["check"] for f in found if f["check"] != "view-block"] == ["missing-logs"]


def test_nothing_to_migrate(store: Path, cli: Cli) -> None:
    before = picture(store.parent)
    answer = cli("migrate")
    assert (answer.code, answer.out) == (0, "moe has format 1: nothing to migrate\n")
    after = picture(store.parent)
    after.pop("moe/.lock", None)
    assert after == before


# -- an older format, made up: titles were called names ------------------------------------------------


def upwards(data: dict[str, Any], kind: Kind) -> dict[str, Any]:
    if kind == "entry":
        data = {("title" if k == "name" else k): v for k, v in data.items()}
    return data


@pytest.fixture
def old(store: Path) -> Path:
    """The store as it would have been in format 0."""
    for path in (store / "entries").glob("*.yaml"):
        path.write_text(path.read_text().replace("format: 1", "format: 0").replace("\ntitle:", "\nname:"))
    for path in store.glob("runs/*/*/run.json"):
        edit_json(path, format=0)
    header = store / "logbook.yaml"
    header.write_text(header.read_text().replace("format: 1", "format: 0"))
    return store


def up(folder: Path, **options: Any) -> Any:
    return migrate(folder, migrations={0: upwards}, durable=False, **options)


def test_migration(old: Path, cli: Cli) -> None:
    before = picture(old)
    plan = up(old, dry_run=True)
    assert (plan.old, plan.new, len(plan.files)) == (0, 1, 10)
    assert {k: v for k, v in picture(old).items() if k != ".lock"} == before
    assert cli("list").code == 3
    done = up(old)
    assert done.files == plan.files
    assert [line(r)[3] for r in Book(old.parent, "moe").contents().records] == [
        "Kickoff",
        "topk=8",
        "none against int8",
        "too large",
        "Go on with int8",
    ]
    assert cli("list").code == 0
    assert {k: v for k, v in picture(old / "backups/format-0").items() if v is not None} == {
        k: v for k, v in before.items() if v is not None
    }
    assert up(old).files == ()


@pytest.mark.parametrize("count", range(0, 21, 3))
@pytest.mark.sample(3)
def test_a_migration_that_is_cut_off_is_gone_on_with(
    old: Path, cli: Cli, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    before = picture(old)
    left = [count]

    def dying(path: Path, data: bytes, *, within: Path, durable: bool = True) -> None:
        if left[0] == 0:
            raise Killed
        left[0] -= 1
        write_atomic(path, data, within=within, durable=durable)

    with monkeypatch.context() as context, contextlib.suppress(Killed):
        context.setattr("logbook_agent.store.migrations.write_atomic", dying)
        up(old)
    if count < 20:
        assert cli("list").err.splitlines()[2] == "  next:  logbook doctor --migrate"
    up(old)
    assert Book(old.parent, "moe").contents().damaged == ()
    kept = picture(old / "backups/format-0")
    assert {k: v for k, v in kept.items() if v is not None} == {k: v for k, v in before.items() if v is not None}


def test_what_is_refused(old: Path) -> None:
    entry = old / "entries/MOE-002.yaml"
    good = entry.read_text()
    for text, says in (
        (good.replace("format: 0", "format: 2"), "has format 2; this version reads up to 1"),
        (good.replace("name:", "names:"), "entries/MOE-002.yaml does not match format 1: title: missing"),
        ("[", "entries/MOE-002.yaml, line 2, column 1"),
        ("- 1", "entries/MOE-002.yaml: expected a mapping, got list"),
        (good.replace("format: 0", "format: -1"), "MOE-002.yaml has format -1, which no migration starts from"),
    ):
        entry.write_text(text)
        before = picture(old)
        with pytest.raises(RecordError, match=r"MOE-002\.yaml") as caught:
            up(old)
        assert says in caught.value.message
        after = picture(old)
        assert {k: v for k, v in after.items() if k != ".lock"} == {k: v for k, v in before.items() if k != ".lock"}


def test_not_while_a_run_goes_on(old: Path) -> None:
    edit_json(old / "runs/MOE-003/01/run.json", exit=None, tool={"pid": os.getpid()})
    (old / "open").mkdir()
    (old / "open/MOE-003.01").write_text("")
    with pytest.raises(StoreError) as caught:
        up(old)
    assert caught.value.message == f"MOE-003 has a run in progress (pid {os.getpid()})"
    assert json.loads((old / "runs/MOE-002/01/run.json").read_text())["format"] == 0
