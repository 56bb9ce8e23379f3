"""Numbers that a text cites, against records in memory: what is altered is caught, and nothing else."""

from __future__ import annotations

import random
import re
import time
from dataclasses import replace

import pytest

from logbook_agent.agents.citations import checked, filled, form, places
from logbook_agent.model.code import Code
from logbook_agent.model.header import Baseline
from logbook_agent.model.record import RunStatus
from tests.unit.agents.cited_support import InMemory, ab, run


@pytest.fixture
def records() -> InMemory:
    found = InMemory()
    ab(found, "M-000")
    found.add("M-001", [run("M-001", n, {"topk": 2}, {"tflops": 90.0 + n, "time_us": 1234.5}) for n in (1, 2, 3)])
    found.add("M-002", [run("M-002", n, {"topk": 4}, {"tflops": 99.0}) for n in (1, 2)])
    found.add("M-003", [run("M-003", k, {"topk": k}, {"tflops": 10.0 * k}, label=f"k is {k}") for k in (2, 4)])
    return found


@pytest.mark.parametrize(
    ("citation", "text"),
    [
        ("M-001 tflops", "92.000 TF/s"),
        ("M-001/3 tflops", "93.000 TF/s"),
        ("M-003 tflops@topk=2", "20.000 TF/s"),
        ("M-003:k is 4 tflops", "40.000 TF/s"),
        ("M-000 tflops@none", "100.200 TF/s"),
        ("M-002 vs M-001 tflops", "+7.61% (order not drawn)"),
    ],
)
def test_what_the_record_says(records: InMemory, citation: str, text: str) -> None:
    assert records.say()(citation).text == text
    assert not records.say()(citation).problems


@pytest.mark.parametrize("citation", ["M-000 vs base tflops", "M-000 vs base tflops@int8"])
def test_a_change_has_the_interval_of_its_comparison(records: InMemory, citation: str) -> None:
    found = records.say()(citation)
    assert not found.problems
    assert re.fullmatch(r"\+6(\.\d+)?% \(95%: \+5\.\d+ to \+6(\.\d+)?%\)", found.text), found


@pytest.mark.parametrize(
    ("citation", "why"),
    [
        ("M-000 tflops", "M-000 tflops has 2 cases: name one by @NAME=VALUE: quant_mode=none, quant"),
        ("M-003 tflops@8", "no row of M-003 tflops has 8"),
        ("M-001 flops", "M-001 has no flops: its finished rows have tflops, time_us"),
        ("M-001 vs base tflops", "M-001 has no base"),
        ("M-000 vs base time_us", "M-000 compares no time_us: it compares tflops"),
        ("M-000/2 vs M-000/1 tflops", "M-000/1 and M-000/2 are parts of one comparison"),
        ("M-001", "[[M-001]] is not a citation: it names no metric"),
    ],
)
def test_what_names_no_number_says_why(records: InMemory, citation: str, why: str) -> None:
    found = records.say()(citation)
    assert not found.text
    assert found.problems[0].startswith(why), found


def test_sides_that_differ_in_two_things_are_not_comparable(records: InMemory) -> None:
    other = Code(commit="c" * 40, identity="d" * 40, dirty=False)
    records.add("M-004", [run("M-004", 1, {"topk": 8}, {"tflops": 50.0}, code=other)])
    found = records.say()("M-004 vs M-001 tflops")
    assert (found.text, found.problems) == ("not comparable", ("the sides differ in topk, commit",))
    [fault] = checked(filled("x [[M-004 vs M-001 tflops]]", records.say()), records.say())
    assert fault.problem == "the sides differ in topk, commit"


def test_a_change_from_the_baseline_and_what_became_of_it(records: InMemory) -> None:
    records.header = replace(records.header, baseline=Baseline(entry="M-001"))
    assert records.say()("M-002 vs baseline tflops").text == "+7.61% (order not drawn)"
    records.add("M-001", [s.run for s in records.records["M-001"].runs], state="void")
    [why] = records.say()("M-002 vs baseline tflops").problems
    assert why.startswith("the baseline is M-001, which is void")


@pytest.mark.parametrize(
    ("later", "why"),
    [({"state": "void"}, "M-001 is void"), ({"state": "abandoned"}, "M-001 is abandoned")],
)
def test_an_entry_that_was_withdrawn_is_named(records: InMemory, later: dict[str, str], why: str) -> None:
    text = filled("[[M-001 tflops]] and [[M-002 vs M-001 tflops]], [[M-002 tflops]]", records.say())
    before = records.records["M-001"]
    records.add("M-001", [s.run for s in before.runs], **later)
    assert [(f.line, f.problem) for f in checked(text, records.say())] == [(1, why)] * 2
    assert filled(text, records.say()) == text, "the number stays until somebody looks at it"


def test_an_entry_that_was_superseded_is_named(records: InMemory) -> None:
    text = filled("[[M-001 tflops]]", records.say())
    records.add("M-005", supersedes="M-001")
    assert [f.problem for f in checked(text, records.say())] == ["M-001 is superseded by M-005"]


# -- texts -------------------------------------------------------------------------------------------


def test_a_filled_text_keeps_its_citations_and_can_be_filled_again(records: InMemory) -> None:
    source = "# x\nint8: [[M-000 tflops@int8]],\n[[M-000 vs\nbase tflops]]; `[[M-001 tflops]]` <!-- [[M-001 x]] -->\n"
    source += "```\n[[M-001 tflops]]\n```\n| [[M-001 tflops]] | [[wiki page]] \\[[M-001 tflops]] |\n"
    text = filled(source, records.say())
    assert '<abbr title="[[M-000 tflops@int8]]">106.' in text
    assert '| <abbr title="[[M-001 tflops]]">92.000 TF/s</abbr> | [[wiki page]] \\[[M-001 tflops]] |' in text
    assert "`[[M-001 tflops]]` <!-- [[M-001 x]] -->\n```\n[[M-001 tflops]]\n```" in text
    assert [p.line for p in places(text)] == [2, 3, 7]
    assert filled(text, records.say()) == text
    assert checked(text, records.say()) == []
    assert [f.problem[:14] for f in checked(source, records.say())] == ["not filled in;"] * 3
    assert len(list(places("```\n[[M-001 tflops]]\nnever closed"))) == 0


def test_words_that_a_citation_holds_stay_text() -> None:
    records = InMemory()
    records.add("M-000", [run("M-000", 1, {"topk": 2}, {"tflops": 1.0}, label='a "b" & c')])
    text = filled('[[M-000:a "b" & c tflops]]', records.say())
    assert text == '<abbr title="[[M-000:a &quot;b&quot; &amp; c tflops]]">1.000 TF/s</abbr>'
    assert checked(text, records.say()) == []


# -- a thousand alterations --------------------------------------------------------------------------


def _many() -> tuple[InMemory, str]:
    """A text with figures of twenty entries: numbers of sides and of runs, and changes."""
    draw, records = random.Random(1), InMemory()
    lines = []
    for at in range(0, 20, 2):
        if at % 8 == 0:
            ab(records, f"M-{at:03d}", effect=draw.uniform(0.8, 1.3))
            lines.append(f"- [[M-{at:03d} vs base tflops]]: [[M-{at:03d} tflops@none]] to [[M-{at:03d} tflops@int8]]")
        values = {"tflops": draw.uniform(1, 900), "time_us": 10 ** draw.uniform(-1, 5)}
        name = f"M-{at + 1:03d}"
        records.add(name, [run(name, n, {"topk": at}, values) for n in (1, 2)])
        lines.append(f"- and [[{name} tflops]] in [[{name}/1 time_us]].")
    text = filled("\n".join(lines), records.say())
    return records, text


def test_each_of_a_thousand_altered_figures_is_caught_and_no_other() -> None:
    records, text = _many()
    say, draw = records.say(), random.Random(2)
    assert checked(text, say) == []
    figures = list(re.finditer(r"(?<=>)[^<>]+(?=</abbr>)", text))
    assert len(figures) == 29
    for _ in range(700):
        figure = draw.choice(figures)
        at = draw.choice([m.start() for m in re.finditer(r"\d", figure[0])]) + figure.start()
        new = draw.choice([d for d in "0123456789" if d != text[at]])
        altered = text[:at] + new + text[at + 1 :]
        [fault] = checked(altered, say)
        assert fault.line == text.count("\n", 0, at) + 1, altered[at - 40 : at + 20]
    # The record is altered instead, by one percent.
    singles = [i for i in records.records if records.entry(i).comparison is None]
    lines = {i: next(line for line in text.split("\n") if f"[[{i} tflops]]" in line) for i in singles}
    for _ in range(300):
        name, metric = draw.choice(singles), draw.choice(["tflops", "time_us"])
        kept = records.records[name]
        records.records[name] = replace(kept, runs=tuple(_altered(s, metric) for s in kept.runs))
        found = [f.citation for f in checked(lines[name], records.say())]
        assert found == [f"{name} tflops" if metric == "tflops" else f"{name}/1 time_us"]
        records.records[name] = kept
    assert checked(text, records.say()) == []


def _altered(status: RunStatus, metric: str) -> RunStatus:
    [row] = status.run.rows
    measured = row.metrics[metric]
    metrics = {**row.metrics, metric: replace(measured, samples=(measured.samples[0] * 1.01,))}
    return replace(status, run=replace(status.run, rows=(replace(row, metrics=metrics),)))


@pytest.mark.parametrize("around", ["- {}", "({}).", "~{}, {}; 5/{}", "| {}|", "A 1: {}."])
def test_what_stands_around_a_number_is_no_part_of_it(records: InMemory, around: str) -> None:
    text = filled(around.replace("{}", "[[M-001 tflops]]"), records.say())
    assert not checked(text, records.say())


def test_a_unit_that_a_command_printed_is_no_markdown() -> None:
    made = form("M-001 tflops", "5 ![x](http://e.vil/)<b>`*_")
    assert not re.search(r"[!\[`*_(]*[!\[`*_]|<b>|http:", made.partition(">")[2].removesuffix("</abbr>"))
    assert [place.shown for place in places(made)] == ["5 ![x](http://e.vil/)<b>`*_"]


@pytest.mark.parametrize(
    "text", ["<!--", "[[", "[[A-001 ", "`", "``` ", '<abbr title="[[A-001 x]]">', "[[A" + "A-" * 9, "`" * 3 + "\n`x "]
)
def test_no_text_takes_long(text: str) -> None:
    started = time.process_time()
    list(places(text * (400_000 // len(text))))
    list(places("".join("`" * n + "x" for n in range(1, 800))))
    assert time.process_time() - started < 3.0
