"""Every reader of a logbook, asked for the answers to its comparisons and held to those of the enumerator.

What `compare --json` says is held against the enumerator; every other reader has to say the same to the last digit, in
a sentence that is written here a second time."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from logbook_agent import Logbook
from tests.conftest import Cli
from tools.oracle.enumerator import Comparison, Finding, comparisons, uncompared
from tools.oracle.sentences import after_first, percent, plain, sentence, worse

Data = dict[str, Any]
# Marks of a verdict that rows without a design must not show: a level, a p-value, a `~`.
VERDICT = re.compile(r"\d+% ?:|\bp ?[=<] ?[0-9.]|~ ?[-+0-9]|\b(better|worse|no difference)\b")
SHOWN = 12
FIRST = 4


def disagreements(cli: Cli, folder: Path) -> Iterator[str]:
    """What readers say that differs from the enumerator or from each other; each text names the reader."""
    book = folder / "logbooks/moe"
    stated = comparisons(book)
    asked = [c for c in stated if c.findings]
    for c in (c for c in stated if c.void):
        answer = cli("compare", c.entry, "--json").data["answer"]
        if (answer["void"], answer["findings"], answer["pairs"]) != (True, [], 0):
            yield f"compare {c.entry}, which is void: {answer}"
    answers: list[Data] = [cli("compare", c.entry, "--json").data["answer"] for c in asked]
    for c, answer in zip(asked, answers, strict=True):
        yield from (f"compare {c.entry}: {text}" for text in _numbers(c, answer))
    if None in answers:
        return
    for reader in (_view, _status, _issue, _report, _tried, _criteria, _listed):
        yield from (f"{reader.__name__[1:]}: {text}" for text in reader(cli, folder, answers))
    yield from (f"undesigned: {text}" for text in _undesigned(cli, book))
    for c, answer in zip(asked, answers, strict=True):
        yield from (f"{c.entry}: {text}" for text in _entry(cli, folder, c, answer))


# -- against the enumerator ----------------------------------------------------------------------------


def _numbers(c: Comparison, answer: Data | None) -> Iterator[str]:
    """Where an answer differs from what the files say."""
    if answer is None:
        yield "no answer"
        return
    keys = ("id", "void", "earlier", "base", "confidence")
    if [answer[k] for k in keys] != [c.entry, c.void, [*c.earlier], str(c.question["base"]), c.confidence]:
        yield f"{[answer[k] for k in keys]}, but the files have {c}"
    left = list(answer["findings"])
    for expected in c.findings:
        own = [f for f in left if _is_of(f, expected)]
        if len(own) != 1:
            yield f"{len(own)} findings of {expected}"
            continue
        left.remove(own[0])
        if not _is_said(own[0], expected):
            yield f"{own[0]} but the files say {expected}"
    yield from (f"nothing was measured of {one}" for one in left)
    # Of many, some are counted.
    if len(answer["first"]) <= FIRST and (lacking := [one for one in worse(answer) if one not in answer["first"]]):
        yield f"{answer['first']} comes first, without {lacking}"


def _is_of(found: Data, expected: Finding) -> bool:
    config = {name: str(value) for name, value in expected.config.items()}
    keys = ("metric", "side", "watched")
    return [found[k] for k in keys] == [expected.metric, expected.side, expected.is_watched] and all(
        config.get(name) == value for name, value in found["case"].items()
    )


def _is_said(found: Data, said: Finding) -> bool:
    keys = ("outcome", "judged", "pairs", "replicated")
    if [found[key] for key in keys] != [said.outcome, said.judged, said.pairs, said.replicated]:
        return False
    # Before the first look, and where one side always ran first, a change is no more than what was seen so far.
    numbers = [None if said.change is None else found["change"], *(found["interval"] or [])]
    expected = [said.change, *(said.interval or [])]
    return len(numbers) == len(expected) and all(
        x == y or (x is not None and y is not None and math.isclose(x, y, rel_tol=1e-9, abs_tol=1e-12))
        for x, y in zip(numbers, expected, strict=True)
    )


def _sentences(answers: list[Data], *outcomes: str) -> list[str]:
    """The sentences of the goals with one of these outcomes."""
    return [sentence(a, f) for a in answers for f in a["findings"] if f["outcome"] in outcomes]


# -- readers of one comparison -------------------------------------------------------------------------


def _entry(cli: Cli, folder: Path, c: Comparison, answer: Data) -> Iterator[str]:
    """What is said otherwise of the entry of a comparison."""
    shown = cli("show", c.entry, "--json", "--full").data
    if {k: shown["answer"][k] for k in answer} != answer:
        yield f"show --json has {shown['answer']}, compare --json {answer}"
    view = (folder / "logbooks/moe.md").read_text()
    block = view.partition(f"<!-- logbook:block {c.entry} ")[2].partition("<!-- logbook:end ")[0]
    texts = {
        "show": cli("show", c.entry).out,
        "compare": cli("compare", c.entry).out,
        "compare --axis": cli("compare", c.entry, "--axis", answer["axis"], "--base", answer["base"]).out,
        "table": cli("table", c.entry, "--pivot", answer["axis"], "--delta").out,
        "view": block,
    }
    for reader, text in texts.items():
        said = plain(text)
        for f in answer["findings"][:SHOWN]:
            if reader == "table" and f["watched"]:
                continue
            if sentence(answer, f) not in said:
                yield f"{reader} lacks {sentence(answer, f)!r}: {said[-900:]}"
    record = Logbook.open(root=folder / "logbooks").record(c.entry)
    if (shown["result"] or "?") not in repr(record):
        yield f"Python lacks {shown['result']!r}: {repr(record)[:300]}"
    yield from _plots(cli, answer)


def _plots(cli: Cli, answer: Data) -> Iterator[str]:
    """Plots of pairs say the outcome in their titles."""
    drawn = cli("plot", answer["id"], "--json")
    if drawn.code and any(f["pairs"] > 1 for f in answer["findings"]):
        yield f"there is no plot: {drawn.err or drawn.out}"
    for plot in drawn.data if not drawn.code else ():
        if plot["kind"] != "pairs":
            continue
        said = re.search(r": ([-+0-9.,]+)%(?:, (.*))?$", plot["title"])
        metric = [f for f in answer["findings"] if f["metric"] in plot["title"].split()]
        titles = {(percent(f["change"], "+"), f["outcome"]) for f in metric if f["change"] is not None}
        if said is not None and (said[1], said[2] or "open") not in titles:
            yield f"the plot {plot['title']!r} is none of {titles}"


def _is_found(f: Data) -> bool:
    """Whether a finding settles something: that a watched metric stayed the same answers no question."""
    return f["outcome"] != "open" and not (f["watched"] and f["outcome"] == "no difference")


# -- readers of the thread -----------------------------------------------------------------------------


def _status(cli: Cli, folder: Path, answers: list[Data]) -> Iterator[str]:
    """Comparisons that settled something, and those that are open; JSON, text and Python."""
    data = cli("status", "--json").data
    text = plain(cli("status").out)
    shown = {a["id"]: cli("show", a["id"], "--json").data for a in answers}
    counting = [a for a in answers if not (shown[a["id"]]["superseded_by"] or shown[a["id"]]["state"] == "abandoned")]
    yield from _first_lines(data, counting)
    for one in data["answers"]:
        due = {any(map(_is_found, a["findings"])) for a in answers if a["id"] == one["id"]}
        if one["settled"] not in due:
            yield f"status says of {one['id']} settled: {one['settled']}"
    for one in data["answers"]:
        if one["answer"] not in text:
            yield f"the text lacks {one['answer']!r}: {text}"
    own = Logbook.open(root=folder / "logbooks").status()
    if own["answers"] != data["answers"]:
        yield "Python and the command line differ"


def _first_lines(data: Data, answers: list[Data]) -> Iterator[str]:
    """A sentence for each comparison, whose numbers are those of its findings; of a single side and case it begins with
    the first goal that is settled, else with the first one. What got worse beside the goals stands before it."""
    said = {one["id"] for one in data["answers"]}
    due = {a["id"] for a in answers if any(not f["watched"] or f["outcome"] != "open" for f in a["findings"])}
    if said - due or ("answers" not in data.get("left_out", ()) and due - said):
        yield f"answers are of {said}, not of {due}"
    for one in data["answers"]:
        if not any(_is_synopsis(one["answer"], a) for a in answers if a["id"] == one["id"]):
            yield f"{one['answer']!r} is no sentence about {one['id']}"


def _is_synopsis(text: str, answer: Data) -> bool:
    found, text = answer["findings"], after_first(answer, text)
    known = {"95", percent(answer["minimum_effect"])}
    for value in (v for f in found for v in (f["change"], *(f["interval"] or ())) if v is not None):
        known |= {percent(value, "+"), percent(abs(value)), percent(value)}
    if {*re.findall(r"([-+]?\d[\d.,]*)%", text)} - known:
        return False
    if len({(f["side"], *sorted(f["case"].items())) for f in found}) > 1:
        return text.partition(": ")[0].endswith(f" in {found[0]['metric']}") and answer["base"] in text
    goals = [f for f in found if not f["watched"]] or found
    first = next((f for f in goals if f["outcome"] != "open"), found[0])
    return text.startswith(sentence(answer, first))


def _view(cli: Cli, folder: Path, answers: list[Data]) -> Iterator[str]:
    """Each command brought the view up to date: to render it again changes nothing."""
    path = folder / "logbooks/moe.md"
    before = path.read_text().splitlines()
    cli("render")
    after = path.read_text().splitlines()
    if before != after:
        changed = [f"{a!r} is now {b!r}" for a, b in zip(before, after, strict=False) if a != b]
        yield f"was not up to date: {len(changed)} lines, {changed[:3]}"


def _issue(cli: Cli, folder: Path, answers: list[Data]) -> Iterator[str]:
    """The first lines of the issue are those of status, and its table has no other outcome."""
    text = plain(re.sub(r"<!--.*?-->", "", cli("sync", "--create", "--repo", "a/b", "--dry-run").out))
    first = text.partition("## Status")[0]
    status = cli("status", "--json").data
    due = [one["answer"] for one in status["answers"]]
    lacking = [one for one in due if one not in first]
    if lacking and "more" not in first:
        yield f"the first lines lack {lacking}: {first}"
    # Status has no superseded comparison, and of each section three lines.
    is_whole = "answers" not in status.get("left_out", ()) and not any(
        cli("show", a["id"], "--json").data["superseded_by"] for a in answers
    )
    told = re.findall(r"^ *\+?- (\S+ (?:has|takes|and|against) .*)$", first, re.MULTILINE) if is_whole else []
    yield from (f"{one!r} is no first line of status" for one in told if not any(one.startswith(s) for s in due))
    changes = {(percent(f["change"], "+"), f["outcome"]) for a in answers for f in a["findings"] if f["change"]}
    for change, outcome in re.findall(r"\(([-+0-9.,]+)%, (better|worse|no difference|open)\)", text):
        if (change, outcome) not in changes:
            yield f"the table has {change}% {outcome}, of no comparison"


def _report(cli: Cli, folder: Path, answers: list[Data]) -> Iterator[str]:
    [page] = cli("report", "--no-logs", "--json").data["pages"]
    text = re.sub(r"\s+", " ", plain(Path(page).read_text()))
    for a in answers:
        for f in a["findings"][:SHOWN]:
            if sentence(a, f) not in text:
                yield f"lacks {sentence(a, f)!r}"


def _listed(cli: Cli, folder: Path, answers: list[Data]) -> Iterator[str]:
    """Each line of an entry says its answer in the sentence of status."""
    lines = {one["id"]: one["result"] for one in cli("list", "--json").data}
    for a in answers:
        if not _is_synopsis(lines[a["id"]] or "", a):
            yield f"{a['id']}: {lines[a['id']]!r} is no sentence about {a['id']}"


def _tried(cli: Cli, folder: Path, answers: list[Data]) -> Iterator[str]:
    """Goals that came out worse or without a difference, and no others."""
    data = cli("list", "--tried", "verdict", "--last", "1000", "--json").data["tried"]
    said = [(one["entry"], one["metric"], one["config"]["mode"], one["outcome"], one["delta"]) for one in data]
    due = [
        (a["id"], f["metric"], f["side"], f["outcome"], f["change"])
        for a in answers
        for f in a["findings"]
        if not f["watched"] and f["outcome"] in ("worse", "no difference")
    ]
    if Counter(said) != Counter(due):
        yield f"{said}, not {due}"


def _criteria(cli: Cli, folder: Path, answers: list[Data]) -> Iterator[str]:
    """A criterion is met by the latest comparison that settled a case of its question with such an outcome."""
    stated = yaml.safe_load((folder / "logbooks/moe/logbook.yaml").read_text())["stop_criteria"]
    for one, criterion in zip(cli("criteria", "--json").data["criteria"], stated, strict=True):
        asked = criterion["predicate"]["compared"]
        base, side = asked["values"]
        latest: dict[str, str] = {}
        for a in answers:
            goals = [f for f in a["findings"] if not f["watched"] and f["side"] == side]
            for f in goals if a["base"] == base else ():
                # "No difference of 2% or more" says of 1% what its interval says.
                is_known = a["minimum_effect"] <= 0.01 or f["outcome"] != "no difference"
                is_known = is_known or max(map(abs, f["interval"])) <= 0.01
                if f["outcome"] != "open" and is_known and f["metric"] == goals[0]["metric"]:
                    latest[json.dumps(f["case"], sort_keys=True)] = f["outcome"]
        due = {*asked.get("outcomes", ["better", "worse", "no difference"])} & {*latest.values()}
        if one["computed"]["state"] != ("met" if due else "unmet"):
            yield f"{one['computed']} of {asked}, where comparisons settled {latest}"


# -- rows without a design -----------------------------------------------------------------------------


def _undesigned(cli: Cli, book: Path) -> Iterator[str]:
    """No interval of a ratio, no p and no `~` where no design drew the runs."""
    entries = uncompared(book)
    for first, second in itertools.pairwise(entries):
        answer = cli("compare", first, second)
        if found := VERDICT.search(answer.out):
            yield f"compare {first} {second} has {found[0]!r}: {answer.out}"
    for entry in entries:
        for words in (("show", entry), ("table", entry, "--delta")):
            answer = cli(*words)
            if found := VERDICT.search(answer.out):
                yield f"{' '.join(words)} has {found[0]!r}: {answer.out}"
