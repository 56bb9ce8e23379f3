"""What an issue says: whole documents of a literal logbook, and nothing live that the logbook did not declare."""

from __future__ import annotations

import dataclasses
import os
import re
import time
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from logbook_agent.findings.reading import STATES
from logbook_agent.findings.summaries import summary_of
from logbook_agent.issue.told.values import IssueValues
from logbook_agent.model.entry import Field, PlannedCommand, settled
from logbook_agent.model.errors import StoreError
from logbook_agent.model.header import Baseline, BaselineNumbers, Closing, Header, Metric
from logbook_agent.model.run import Exit, Output
from logbook_agent.pages.templating.templates import Templates
from logbook_agent.store.book import Book
from logbook_agent.text import fit, neutral
from logbook_agent.text.links import Links
from logbook_agent.text.pieces import fences, tokens
from tests.breadth import wide
from tests.conftest import REPOSITORY, Cli
from tests.report.report_support import (
    HEADER,
    LINKS,
    REPO,
    ROOM,
    SNAPSHOT,
    VIEW,
    documents,
    fields,
    record,
    records,
    row,
    run,
    visible,
)

UPDATE = os.environ.get("LOGBOOK_UPDATE_GOLDEN") == "1"
CLOSING = Closing(
    at="2026-02-12T09:00:00+00:00",
    conclusion="int8 is **beneficial** here; ping @dan",
    limitations=("one host",),
    next_steps=("EP 8",),
)
# Everything that must come out dead, wherever it is written.
PLANTED = "@mallory fixes #1 <!-- logbook:end --> https://github.com/o/r/issues/2"


def correction() -> Any:
    return record(
        5,
        "First A/B, repeated",
        run("MOE-I8-005", 1, row(236.0, quant_mode="none")),
        supersedes="MOE-I8-002",
        fields=fields(interpretation="the first one shared its host."),
    )


# -- whole documents ---------------------------------------------------------------------------------


def golden(name: str, text: str) -> None:
    """The document is the one beside this file. To accept a change: LOGBOOK_UPDATE_GOLDEN=1, then read the diff."""
    path = Path(__file__).with_name(f"{name}.md")
    if UPDATE:
        path.write_text(visible(text) + "\n", encoding="utf-8")
    assert visible(text) + "\n" == path.read_text(encoding="utf-8")


def test_the_block_of_a_whole_logbook() -> None:
    golden("block", documents().block(ROOM))


def test_an_update_of_a_failure_a_result_and_its_correction() -> None:
    found = records()
    told = [found[1], found[2], correction()]
    later = {"MOE-I8-002": {"superseded_by": ["MOE-I8-005"]}}
    golden("update", documents([*found, correction()]).update(told, later, ROOM))


def test_a_snapshot() -> None:
    golden("snapshot", documents().snapshot(SNAPSHOT, records()[:3], ROOM))


def test_the_final_summary() -> None:
    golden("final", documents(closing=CLOSING).final(ROOM))


def test_title_and_link_back() -> None:
    assert documents().title() == "Experiment: MoE EP Int8"
    assert documents().link_back("Prior issue") == (
        f'{REPO}/issues/41 refers to this issue as "Prior issue" (logbook `moe_ep_int8`, entries `MOE-I8-NNN`).'
    )


def test_prose_under_any_label_is_kept() -> None:
    texts = (Field(label="Config", text="one shape."), Field(label="change", text="a"), Field(label="Change", text="b"))
    text = documents().update([record(5, "Many fields", run("MOE-I8-005", 1), fields=texts)], {}, ROOM)
    assert "- Change: a\n" in text
    assert "- Config: one shape.\n- Change: b\n" in text
    assert "- Config (recorded):\n  - env:" in text


# -- the block ---------------------------------------------------------------------------------------


def section(text: str, heading: str) -> str:
    found = re.search(rf"^## {heading}\n\n(.*?)(?=\n\n## |\Z)", visible(text), re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


def test_a_logbook_without_anything() -> None:
    bare = Header(topic="t", title="T", prefix="T", opened="2026-02-10T10:40:00+00:00")
    text = documents([], header=bare, links=Links(why="no commit")).block(ROOM)
    assert text == (
        "## TL;DR\n\nNo experiments yet.\n\n"
        "## Status\n\n- **Open** since 2026-02-10 10:40 (times are UTC)\n- Entries: 0\n\n"
        "## Links\n\n- Logbook: no commit"
    )


def test_the_summary_of_the_header_is_the_tldr() -> None:
    assert section(documents(summary="int8 **pays**, says @ada.").block(ROOM), "TL;DR") == "int8 **pays**, says @·ada."


def test_a_closed_thread() -> None:
    text = documents(closing=CLOSING).block(ROOM)
    assert section(text, "Status").startswith("- **Closed** (2026-02-12 09:00)")
    assert section(text, "Conclusion") == (
        "int8 is **beneficial** here; ping @·dan\n\nLimitations:\n\n- one host\n\nNext steps:\n\n- EP 8"
    )
    # What was to come next is said by whoever closed it; what is planned is still there.
    assert section(text, "Open work") == "- MOE-I8-004 Top-k sweep (planned)"


def test_nothing_depends_on_the_moment() -> None:
    first = documents().block(ROOM)
    time.sleep(0.01)
    assert documents().block(ROOM) == first


def test_not_pushed() -> None:
    text = documents(links=Links()).block(ROOM)
    assert "VIEW" not in visible(text)
    assert section(text, "Links").startswith("- Logbook: not pushed\n")


def test_a_superseded_entry_holds_no_best_result() -> None:
    text = documents([*records(), correction()]).block(ROOM)
    assert section(text, "Best so far").startswith(
        "- `tflops` at the baseline's case: **236.000 TF/s**, **-1.32%** against 239.150 TF/s (higher is better) "
        "in MOE-I8-005; exploratory, a single run, no noise estimate\n\n"
    )
    assert "260" not in section(text, "Best so far")
    assert "| finished, superseded by MOE-I8-005 |" in section(text, "Results")


def test_a_failed_run_shows_as_such_and_keeps_its_rows() -> None:
    failed = record(5, "Half a sweep", run("MOE-I8-005", 1, row(300.0, quant_mode="int8"), exit=Exit(code=1)))
    text = documents([failed]).block(ROOM)
    line = "| Half a sweep | failed | exploratory | 300.000 TF/s (failed, not ranked) | — |"
    assert line in section(text, "Results")
    assert "300" not in text.replace(line, "")


def test_entries_that_are_under_way_are_no_results() -> None:
    going = record(5, "Going on", run("MOE-I8-005", 1, row(300.0, quant_mode="none"), exit=None, ended=None))
    going = dataclasses.replace(going, state="running")
    text = documents([going]).block(ROOM)
    assert section(text, "Best so far") == section(text, "Results") == ""
    assert section(text, "Open work") == "- MOE-I8-005 Going on (running)"


def test_what_is_settled() -> None:
    assert {state for state in STATES if not settled(state)} == {"planned", "running", "orphaned", "blocked", "void"}


# -- best against the baseline -----------------------------------------------------------------------


def best(*values: tuple[float, dict[str, Any]], **changed: Any) -> str:
    unit = changed.pop("unit", "TF/s")
    rows = [row(value, unit=unit, **config) for value, config in values]
    entry = record(5, "Measured", run("MOE-I8-005", 1, *rows))
    return section(documents([entry], **changed).block(ROOM), "Best so far").split("\n\n")[0]


def test_numbers_are_one_however_they_are_spelt() -> None:
    # The baseline says 0.1 and 2, the rows say "0.10" and 2.0.
    assert best((240.0, {"quant_mode": "none", "topk": 2.0})).startswith(
        "- `tflops` at the baseline's case: **240.000 TF/s**, **+0.36%** against 239.150 TF/s"
    )


def test_another_case_is_never_compared() -> None:
    assert best((999.0, {"quant_mode": "int8"})) == (
        "- `tflops` overall: **999.000 TF/s** (higher is better) in MOE-I8-005; not the baseline's case "
        "(`quant_mode=int8`), so not compared; exploratory, a single run, no noise estimate: "
        "`quant_mode=int8 tokens=32768 topk=2 lr=0.10`"
    )


def test_a_row_that_lacks_a_key_of_the_baseline_is_of_another_case() -> None:
    assert "(`quant_mode=?`), so not compared" in best((999.0, {}))


def test_a_number_in_another_unit_has_no_change() -> None:
    text = best((240.0, {"quant_mode": "none"}), unit="GF/s")
    assert "**240.000 GF/s** (not compared: the baseline's number is in TF/s)" in text
    assert "%" not in text


def test_a_baseline_without_a_case_compares_with_nothing() -> None:
    baseline = Baseline(numbers=(BaselineNumbers(metrics={"tflops": 100.0}),))
    text = best((240.0, {"quant_mode": "none"}), baseline=baseline)
    assert "the baseline names no case, so this is not compared" in text
    assert "%" not in text


def test_the_entry_that_is_the_baseline_is_not_compared_with_itself() -> None:
    own = dataclasses.replace(HEADER.baseline, entry="MOE-I8-005")
    assert best((240.0, {"quant_mode": "none"}), baseline=own) == ""


def test_each_case_of_the_baseline_has_its_best() -> None:
    baseline = Baseline(
        config={"tokens": 32768},
        numbers=tuple(BaselineNumbers(config={"topk": k}, metrics={"tflops": v}) for k, v in ((1, 100.0), (2, 200.0))),
    )
    text = best((90.0, {"topk": 1}), (210.0, {"topk": 2}), (300.0, {"topk": 4}), baseline=baseline)
    assert re.findall(r"\*\*([\d.]+ TF/s)\*\*(?:, \*\*(\S+)\*\*)?", text) == [
        ("90.000 TF/s", "-10.00%"),
        ("210.000 TF/s", "+5.00%"),
        ("300.000 TF/s", ""),
    ]


def test_lower_is_better_where_the_header_says_so() -> None:
    metrics = (Metric(name="tflops", direction="min", unit="TF/s"),)
    text = best((240.0, {"quant_mode": "none"}), (220.0, {"quant_mode": "none", "impl": "b"}), metrics=metrics)
    assert text.startswith("- `tflops` at the baseline's case: **220.000 TF/s**, **-8.01%** against")
    assert "(lower is better)" in text


def test_many_tries_of_one_case_count_as_their_median() -> None:
    tries = [run("MOE-I8-005", n, row(v, quant_mode="none")) for n, v in enumerate((230.0, 260.0, 240.0), 1)]
    text = section(documents([record(5, "Repeats", *tries)]).block(ROOM), "Best so far")
    assert "**240 TF/s**" in text
    assert "median of 3 runs [230, 260]" in text


def test_a_metric_without_a_direction_has_no_best() -> None:
    metrics = (Metric(name="tflops", unit="TF/s"),)
    text = documents(metrics=metrics).block(ROOM)
    assert section(text, "Best so far") == ""
    assert "| 241.000 TF/s .. 260.000 TF/s |" in section(text, "Results")


# -- nothing live ------------------------------------------------------------------------------------


def live(text: str) -> list[str]:
    """What GitHub would act on, but for commands and what the logbook declares."""
    outside = re.sub(r"^```bash\n.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    dead = re.findall(r"@mallory|#1\b|issues/2\b", outside)
    return dead + re.findall(r"<!--\s*logbook", text)


def everywhere() -> tuple[Any, dict[str, Any]]:
    output = Output(bytes=1, lines=1, sha256="0" * 64, error_tail=(PLANTED, "```", PLANTED))
    bad = run("MOE-I8-001", 1, row(1.0, quant_mode=PLANTED), exit=Exit(code=1), output=output, label=PLANTED)
    noise = dataclasses.replace(bad, run=2, rows=(row(1.0, unit=PLANTED, quant_mode="none"),), problems=(PLANTED,))
    silent = dataclasses.replace(bad, run=3, rows=())
    texts = tuple(
        Field(label=label, text=f"{PLANTED}\n\n```text\n{PLANTED}\n```\n\n    {PLANTED}\n\n<img src=x> {PLANTED}")
        for label in ("Hypothesis", "Interpretation", "Next action", "Negative result", "Decision", PLANTED)
    )
    found = [
        record(1, PLANTED, bad, noise, silent, fields=texts),
        record(2, f"```bash {PLANTED}", kind="decision", fields=texts),
        record(3, PLANTED, commands=(PlannedCommand(label=PLANTED, argv=("a",)),), fields=texts),
    ]
    header = dataclasses.replace(
        HEADER,
        title=PLANTED,
        goal=PLANTED,
        constraints=(PLANTED,),
        links=(dataclasses.replace(HEADER.links[0], label=PLANTED), dataclasses.replace(HEADER.links[1], url=PLANTED)),
        baseline=dataclasses.replace(HEADER.baseline, source=PLANTED, text=PLANTED, code_refs=(PLANTED,)),
        stop_criteria=(dataclasses.replace(HEADER.stop_criteria[0], text=PLANTED),),
        closing=dataclasses.replace(CLOSING, conclusion=PLANTED, limitations=(PLANTED,)),
        metrics=(dataclasses.replace(HEADER.metrics[0], text=PLANTED), HEADER.metrics[1]),
    )
    return found, {"header": header}


@pytest.mark.parametrize("summary", [None, PLANTED])
def test_nothing_planted_is_live(summary: str | None) -> None:
    found, given = everywhere()
    given["header"] = dataclasses.replace(given["header"], summary=summary)
    made = documents(found, **given)
    later = {"MOE-I8-001": {"superseded_by": ["MOE-I8-002"]}}
    texts = {
        "title": made.title(),
        "block": made.block(ROOM),
        "update": made.update(found, later, ROOM),
        "snapshot": made.snapshot(SNAPSHOT, found, ROOM),
        "final": made.final(ROOM),
        "link": made.link_back(PLANTED),
    }
    assert {name: live(text) for name, text in texts.items() if live(text)} == {}
    assert all("mallory" in text for text in texts.values())
    assert all(neutral.document(text, made.declared) == text for name, text in texts.items() if name != "title")
    # No entity that keeps names apart in the view is shown to a reader.
    assert not [name for name, text in texts.items() if "8203" in text]
    assert "\n" not in texts["title"]


def test_declared_links_stay_live() -> None:
    made = documents()
    whole = made.block(ROOM) + made.update(records(), {}, ROOM) + made.snapshot(SNAPSHOT, records(), ROOM)
    urls = [f"{REPO}/issues/7", f"{REPO}/issues/9", SNAPSHOT.url, VIEW, *LINKS.entries.values()]
    assert [url for url in urls if url not in whole] == []
    assert f"{REPO}/commit/{SNAPSHOT.commit}" in whole
    assert {*urls, f"{REPO}/issues/41"} <= made.declared


def test_commands_stay_as_they_were_typed() -> None:
    words = ("python", "-c", "print('@mallory fixes #1')\n# ```\nprint(1)", "user@host:https://github.com/o/r/issues/2")
    text = documents().update([record(5, "Quoted", run("MOE-I8-005", 1, argv=words))], {}, ROOM)
    command = (
        "python -c 'print('\"'\"'@mallory fixes #1'\"'\"')\n# ```\nprint(1)' user@host:https://github.com/o/r/issues/2"
    )
    assert f"````bash\n{command}\n````" in text


# -- length ------------------------------------------------------------------------------------------


PIECES = ["long words of prose. ", "a", "👩‍👩‍👧 ", "🇩🇪", "`code` [link](https://example.org/x) "]


@pytest.mark.slow
@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize("room", [65_000, 3_000])
@pytest.mark.sample(3)
def test_prose_of_any_length_fits(piece: str, room: int) -> None:
    huge = piece * (1_000_000 // len(piece.encode()))
    labels = ("Hypothesis", "Interpretation", "Next action", "Negative result", "Decision")
    texts = tuple(Field(label=label, text=huge) for label in labels)
    output = Output(bytes=1, lines=1, sha256="0" * 64, error_tail=(huge,))
    runs = [run(f"MOE-I8-{n:03d}", 1, exit=Exit(code=1), output=output) for n in (1, 2)]
    found = [record(n, huge[:2000], made, fields=texts) for n, made in enumerate(runs, 1)]
    made = documents(found, goal=huge, closing=dataclasses.replace(CLOSING, conclusion=huge))
    written = [made.block(room), made.update(found, {}, room), made.snapshot(SNAPSHOT, found, room), made.final(room)]
    assert [fit.size(text) for text in written if fit.size(text) > room] == []
    assert all(re.search(r"[\d,]+ (more bytes|bytes are left out)|…", text) for text in written)
    assert "\ufffd" not in "".join(written)
    # Nothing is open where a text was cut, and what was made inert still is.
    assert [text for text in written if not all(f.closed for f in fences(tokens(text), text.split("\n")))] == []
    assert [text for text in written if neutral.document(text, made.declared) != text] == []
    assert [text for text in written if text.count("<details>") != text.count("</details>")] == []


@pytest.mark.slow
def test_a_title_has_at_most_256_characters() -> None:
    for text in ("word " * 100, "a" * 1000, "👩‍👩‍👧" * 200, "@ada " * 200):
        title = documents(title=text).title()
        assert 200 < len(title.encode("utf-16-le")) // 2 <= 256
        assert title.endswith("…")


def test_a_command_that_does_not_fit_is_left_out_whole() -> None:
    entry = record(5, "Long", run("MOE-I8-005", 1, argv=("echo", "x" * 100_000)))
    text = documents().update([entry], {}, ROOM)
    assert "*(a command of 100,005 bytes, in the logbook)*" in text
    assert "xxx" not in text


@pytest.mark.slow
def test_many_entries_are_counted() -> None:
    one = record(0, "Entry", run("MOE-I8-000", 1, row(1.0, quant_mode="none")), fields=fields(next_action="go on."))
    summary = summary_of(one, HEADER)
    summaries = [{**summary, "id": f"MOE-I8-{n:03d}", "title": f"Entry {n}"} for n in range(10_000)]
    made = documents([])
    made.values = IssueValues(header=HEADER, links=LINKS, summaries=summaries)
    text = made.block(ROOM)
    assert fit.size(text) <= ROOM
    rows = re.findall(r"^\| (?:\[?)MOE-I8-(\d+)", text, re.MULTILINE)
    assert rows[-1] == "9999"
    assert rows == sorted(rows)
    assert len(rows) > 50
    assert f"{10_000 - len(rows):,} earlier entries [in the logbook]({VIEW})" in text


METRICS = tuple(Metric(name=f"metric_{n}", direction="max", text="words " * 40) for n in range(300))
SWEEP = tuple(row(float(n), quant_mode=f"mode {n}", impl="`a | b`") for n in range(5_000))
SHAPES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "metrics": ({}, {"metrics": (*HEADER.metrics, *METRICS)}),
    "rows": ({"runs": (run("MOE-I8-005", 1, *SWEEP),)}, {}),
    "title": ({"title": "`code` | " * 1_100}, {"title": "`code` | " * 1_100}),
    "criteria": ({}, {"stop_criteria": HEADER.stop_criteria * 5_000}),
    "commands": ({"runs": tuple(run("MOE-I8-005", n, argv=("bench", "x" * 3_000, str(n))) for n in range(1, 99))}, {}),
}


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["metrics", wide("rows"), "title", wide("criteria"), "commands"])
def test_a_document_of_any_shape_is_whole_and_keeps_its_start(shape: str) -> None:
    given, header = SHAPES[shape]
    one = record(5, given.get("title", "One"), *given.get("runs", ()), fields=fields(next_action="go `on`."))
    made = documents([*records(), one], closing=CLOSING, **header)
    block, update = made.block(ROOM), made.update([*records(), one], {}, ROOM)
    written = [block, update, made.snapshot(SNAPSHOT, [one], ROOM), made.final(ROOM)]
    assert [fit.size(text) for text in written if fit.size(text) > ROOM] == []
    assert section(block, re.escape("TL;DR")).startswith("4 experiments: 1 failed, ")
    assert update.startswith("### [MOE-I8-000]")
    for text in written:
        assert all(len(set(columns)) == 1 for columns in tables(text))
        assert neutral.document(text, made.declared) == text
    if shape not in ("title", "metrics"):
        assert any(re.search(r"[\d,]+ (more|bytes are left out|earlier)|first 200 of 5,000", text) for text in written)


def tables(text: str) -> list[list[int]]:
    """The number of cells of each row, by table."""
    found: list[list[int]] = []
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type == "table_open":
            found.append([])
        elif token.type == "tr_open":
            found[-1].append(0)
        elif token.type in ("td_open", "th_open"):
            found[-1][-1] += 1
    return found


def test_room_is_shared_fairly() -> None:
    """What is short is whole, and what is long has the same room."""
    texts = {"Hypothesis": "short.", "Interpretation": "long " * 40_000, "Next action": "longer " * 40_000}
    entry = record(5, "Fair", fields=tuple(Field(label=label, text=text) for label, text in texts.items()))
    text = documents([entry]).update([entry], {}, ROOM)
    assert "- Hypothesis: short.\n" in text
    one, other = (len(re.findall(rf"\b{word}\b", text)) * len(word + " ") for word in ("long", "longer"))
    assert abs(one - other) < 10
    assert ROOM * 0.8 < fit.size(text) <= ROOM
    assert text.count(" more bytes in the logbook)*") == 2


def test_a_document_with_room_for_everything_shows_everything() -> None:
    long = "words and words. " * 3_000
    entry = record(5, "Long", run("MOE-I8-005", 1), fields=fields(interpretation=long))
    assert long.strip() in documents([entry]).update([entry], {}, ROOM)


def test_a_summary_is_small_whatever_the_entry_holds() -> None:
    huge = "word " * 200_000
    entry = record(
        5,
        "Long",
        run("MOE-I8-005", 1, row(1.0, quant_mode=huge), label="a"),
        kind="decision",
        fields=fields(next_action=huge, interpretation=huge, decision=huge, negative_result=huge),
    )
    assert len(str(summary_of(entry, HEADER))) < 10_000


# -- templates of a project --------------------------------------------------------------------------


def test_a_project_has_templates_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "issue_title.j2").write_text("[{{ logbook.prefix }}] {{ logbook.title }}\n")
    (tmp_path / "issue_body.md.j2").write_text("{{ issue.facts | join(' ') }} @mallory\n")
    made = documents(templates=tmp_path)
    assert made.title() == "[MOE-I8] MoE EP Int8"
    assert visible(made.block(ROOM)).endswith(" 1 of 3 stop criteria met. 1 next action to be taken up. @·mallory")


def test_a_template_that_does_not_fit_is_named(tmp_path: Path) -> None:
    (tmp_path / "issue_body.md.j2").write_text("fine\n{{ issue.besst }}\n")
    with pytest.raises(StoreError) as caught:
        documents(templates=tmp_path).block(ROOM)
    assert caught.value.message == "template issue_body.md.j2, line 2: 'dict object' has no attribute 'besst'"
    assert caught.value.cause == f"the project's own template in {tmp_path} is not valid"
    assert caught.value.hint == "docs/reference/templates.md lists the names a template may use"


class Recorded(Templates):
    """Keeps the values that templates are given."""

    def __init__(self) -> None:
        super().__init__()
        self.values: dict[str, Any] = {}

    def render(self, name: str, values: Any) -> str:
        self.values.update(values)
        return super().render(name, values)


def test_every_value_is_in_the_reference() -> None:
    recorded = Recorded()
    found = [*records(), correction()]
    header = dataclasses.replace(HEADER, closing=CLOSING)
    made = documents(found, header=header)
    made.templates = recorded
    made.block(ROOM), made.update(found, {}, ROOM), made.final(ROOM), made.link_back("Prior issue")
    made.snapshot(SNAPSHOT, found, ROOM)
    page = (REPOSITORY / "docs/reference/templates.md").read_text(encoding="utf-8")
    words = {
        w
        for span in re.findall(r"`([^`\n]+)`", page.partition("## Documents of an issue")[2])
        for w in re.findall(r"\w+", span)
    }

    def keys(value: Any) -> set[str]:
        if isinstance(value, dict):
            return set(value).union(*map(keys, value.values()))
        return set().union(*map(keys, value)) if isinstance(value, list) else set()

    values = {k: v for k, v in recorded.values.items() if k != "table"}
    assert keys(values) - words == set()
    assert {"issue", "update", "snapshot", "final", "link", "evidence", "superseded_by", "commit_url"} <= keys(values)


# -- the index ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_summaries_of_another_form_are_not_used(started: Cli, folder: Path) -> None:
    assert started("note", "--title", "One").code == 0
    book = Book(folder / "logbooks", "moe")
    time.sleep(1.1)  # what changed a moment ago is not kept
    assert book.summaries(lambda _: {"said": "old"}, form=1).entries == ({"said": "old"},)
    assert book.summaries(lambda _: {"said": "new"}, form=1).entries == ({"said": "old"},)
    assert book.summaries(lambda _: {"said": "new"}, form=2).entries == ({"said": "new"},)
