"""What an issue says, as whole documents of one small thread: to accept a change, LOGBOOK_UPDATE_GOLDEN=1, then read
the diff."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REPOSITORY, FixedClock
from tests.contract.e2e.golden.golden_support import UPDATE, normalised
from tests.contract.issue.pushed_support import Pushed

pytestmark = pytest.mark.slow

ROW = '{"config": {"topk": 2, "quant_mode": "%s"}, "metrics": {"tflops": 24%s}}'
PLAN = "- Measure the **shared** host, cc @carol, fixes #3."
SHA = re.compile(r"\b[0-9a-f]{40}\b|(?<=code: `)[0-9a-f]{9}\b|(?<=, )[0-9a-f]{9}(?=\)$)", re.MULTILINE)


@pytest.fixture
def thread(pushed: Pushed, clock: FixedClock) -> Pushed:
    """A failure, runs of two cases, a decision and a plan, in an issue that is up to date."""
    bench = pushed.bench
    for criterion in ("none against int8.", "a verdict on int8."):
        bench.ok("criteria", "--add", criterion)
    bench.ok("link", "o/r#7", "--as", "Prior issue")
    clock.tick()
    fails = ("sh", "-c", "echo 'ImportError: ask @bob, fixes #1' >&2; exit 1")
    prose = ("--hypothesis", "it runs.", "--field", "Negative result=no launcher here.", "--next", "mend it.")
    bench.cli("run", "--title", "Smoke tests", *prose, "--", *fails)
    (bench.folder / "b.sh").write_text(f"printf 'RESULT_JSON {ROW}' $2 $LOGBOOK_RUN\n")
    for mode, *chosen in (("none", "--title", "First A/B", "--continues", "MOE-000"), ("none",), ("int8",)):
        clock.tick()
        bench.ok("run", *(chosen or ["--id", "MOE-001"]), "--label", mode, "--", "sh", "b.sh", "--quant-mode", mode)
    bench.ok("edit", "MOE-001", "--interpretation", "- int8 is ahead.\n- One run only.", "--next", "repeat int8.")
    bench.ok("baseline", "--entry", "MOE-001/1", "--config", "quant_mode=none", "--reason", "the case that others use")
    bench.ok("criteria", "--met", "1", "--evidence", "MOE-001")
    bench.note("Go on", "--kind", "decision", "--field", f"Decision={PLAN}")
    bench.ok("note", "--plan", "--title", "Top-k sweep", "--command", "bench --topk-list 1,2,4")
    pushed.publish()
    return pushed


def check(pushed: Pushed, name: str, text: str) -> None:
    text = re.sub(r"<!-- logbook:.*\n?|(?<=since )[-0-9]+ [:0-9]+", "", text)
    text = normalised(text, pushed.bench.folder).replace(pushed.bench.github.web, "https://HUB")
    text = re.sub(r"(logbook-agent )[0-9][\w.+]*", r"\g<1>1.0", text)
    text = SHA.sub("SHA", text.replace("\u200b", "·")).replace(pushed.bench.repo, "o/r")
    path = Path(__file__).with_name("golden") / f"{name}.md"
    if UPDATE:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()


def test_body_update_snapshot_and_end(thread: Pushed, clock: FixedClock) -> None:
    bench = thread.bench
    bench.sync("--create")
    check(thread, "body", bench.github.issue(bench.repo, 1)["body"])
    bench.ok("snapshot", "moe/first")
    bench.note("A correction", "--supersedes", "MOE-001", "--interpretation", "the first one shared its host.")
    bench.sync()
    clock.tick()
    bench.ok(
        "close", "--unmet", "--conclusion", "int8 is **ahead**; ping @dan", "--limitation", "one host", "--next", "EP 8"
    )
    told, snapshot, *_, final = bench.github.bodies(bench.repo, 1)
    for name, text in (("update", told), ("snapshot", snapshot), ("final", final)):
        check(thread, name, text)
    check(thread, "closed", bench.github.issue(bench.repo, 1)["body"])


VALUES = {
    **{name: (name,) for name in ("logbook", "entry", "table")},
    "footer": ("decisions", "negative_results"),
    "opening": ("opening",),
    "issue_body": ("logbook", "issue"),
    "issue_results": ("results",),
    **{f"issue_{name}": (name,) for name in ("update", "snapshot", "final")},
}


def keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        # Labels of an entry and keys of a config are data.
        return set(value).union(*(keys(inner) for key, inner in value.items() if key not in ("section", "constants")))
    return set().union(*map(keys, value)) if isinstance(value, list) else set()


def test_every_value_of_a_template_is_in_the_reference(thread: Pushed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Templates that print what they are given."""
    bench = thread.bench
    (bench.folder / "mine").mkdir()
    for name, values in VALUES.items():
        fence = "```json\n{{ {" + ", ".join(f"'{value}': {value}" for value in values) + "}|tojson }}\n```\n"
        (bench.folder / f"mine/{name}.md.j2").write_text(fence)
    toml = bench.folder / "logbook.toml"
    toml.write_text('templates = "mine"\n' + toml.read_text())
    facts = ("--matrix", "topk=1,2", "--template", "a: b", "--baseline", "quant_mode=none", "--link", "a=b")
    bench.ok("start", "two", "--prefix", "TWO", *facts)
    monkeypatch.setenv("LOGBOOK", "moe")
    bench.ok("render")
    thread.publish()
    bench.sync("--create")
    bench.ok("snapshot", "moe/first")
    bench.ok("close", "--unmet", "--conclusion", "int8 is ahead")
    page = (REPOSITORY / "docs/reference/templates.md").read_text()
    words = {word for span in re.findall(r"`([^`\n]+)`", page) for word in re.findall(r"\w+", span)}
    views = (path.read_text() for path in bench.book.root.glob("*.md"))
    texts = [*views, bench.body, *bench.github.bodies(bench.repo, bench.number)]
    found = [json.loads(line) for text in texts for line in text.splitlines() if line.startswith("{")]
    assert {name for one in found for name in one} >= {"entry", "decisions", "issue", "update", "snapshot", "final"}
    assert set().union(*map(keys, found)) - words == set()
