"""What was tried and did not work out: failed runs and marked entries, as plain data that is indexed; and how it is
listed. `comparisons` adds the comparisons without a gain."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence

from logbook_agent.findings.comparison import words
from logbook_agent.findings.comparison.answer import Answer, Outcome
from logbook_agent.model.codec import encode
from logbook_agent.model.comparison import CODE_AXIS
from logbook_agent.model.entry import ABANDONED, NEGATIVE_RESULT, VOID, is_withdrawn
from logbook_agent.model.gates import REPORTED, WITHHELD
from logbook_agent.model.record import Record, RunStatus, has_failed, is_made
from logbook_agent.model.run import Row, Run
from logbook_agent.model.summary import Summary, TriedItem
from logbook_agent.model.values import Scalar, canonical, parse_scalar
from logbook_agent.text.commands.flags import flags, normal_name, parts
from logbook_agent.text.markdown import cut_line, lead
from logbook_agent.text.shell_words import planned_words

VERDICT, FAILURE, MARKED = "verdict", "failure", "marked"
_FAILED = ("failed", "timeout", "stalled")
_REASON_CHARACTERS = 200


def command_key(argv: Sequence[str]) -> str:
    """One text for every way to write a command that differs in the order and the form of its flags alone."""
    found = parts(tuple(argv), frozenset())
    return hashlib.sha256(repr((found.settings, found.words)).encode("utf-8", "backslashreplace")).hexdigest()[:16]


def planned_commands(record: Record) -> list[tuple[str, ...]]:
    """Planned commands that were not executed, without the variables in front."""
    return [planned_words(c)[1] for c in record.pending_commands]


def _counting(record: Record) -> list[Run]:
    """The runs of an entry without warm-ups: that the first one was slow or failed is no outcome."""
    return [status.run for status in record.runs if status.counts]


def keys_of(record: Record) -> list[str]:
    """The keys of the commands under which an entry is found: those that ran, and of a marked one those it planned."""
    planned = planned_commands(record) if mark_of(record) is not None else []
    return [*dict.fromkeys(map(command_key, [*planned, *(run.command for run in _counting(record))]))]


def finished(record: Record) -> dict[str, tuple[int | str, str]]:
    """Number and start of the last run of each command, by its key, where that run finished and no case failed."""
    last = {command_key(run.command): run for run in _counting(record) if run.exit is not None}
    return {key: (encode(run.run), run.started) for key, run in last.items() if is_made(run) and not has_failed(run)}


def mark_of(record: Record) -> tuple[str, str] | None:
    """`negative result` or `abandoned`, and why; None for an entry that nobody marked."""
    entry = record.entry
    text = entry.text(NEGATIVE_RESULT)
    if record.state == VOID:
        return None
    if text:
        return NEGATIVE_RESULT.lower(), cut_line(lead(text) or text, _REASON_CHARACTERS)
    if record.state == ABANDONED:
        why = entry.text("Interpretation") or entry.text("Result") or ""
        return ABANDONED, cut_line(lead(why) or why, _REASON_CHARACTERS)
    return None


def items_of(record: Record) -> list[TriedItem]:
    """The failures of an entry, each once however often it was repeated, and its mark."""
    if record.state == VOID:
        return []
    found: dict[str, TriedItem] = {}
    for status in (s for s in record.runs if s.counts):
        for item in _failures(status):
            same = repr([item[k] for k in ("outcome", "command", "config", "env")])
            item["runs"] = [*found.pop(same, {"runs": []})["runs"], encode(status.run.run)]
            found[same] = item
    return [*found.values(), *_marked(record)]


def _marked(record: Record) -> list[TriedItem]:
    mark = mark_of(record)
    if mark is None:
        return []
    runs = _counting(record)
    commands = planned_commands(record)
    about = runs[-1] if runs else Run(entry=record.id, run=0, argv=commands[-1] if commands else (), started="")
    item = item_of(about, None, MARKED, *mark)
    return [{**item, "run": None, "runs": [encode(run.run) for run in runs], "at": record.entry.opened}]


def _failures(status: RunStatus) -> Iterator[TriedItem]:
    """An item for each failed case of a run; one for the run if it failed and no case says why."""
    run = status.run
    if status.state not in (*_FAILED, "finished"):
        return
    failed = [(row, row.failed) for row in run.rows if row.failed is not None and row.failed.reason != REPORTED]
    for row, why in failed:
        yield item_of(run, row, FAILURE, why.reason, cut_line(_brief(why.message), _REASON_CHARACTERS))
    if status.state in _FAILED and not failed:
        yield item_of(run, None, FAILURE, status.state, how_it_failed(run))


def _brief(message: str) -> str:
    """A message without the frames of a traceback: its last line that is not indented, where some are."""
    lines = [line for line in message.splitlines() if line.strip()]
    plain = [line for line in lines if not line[0].isspace()]
    return plain[-1] if plain and len(plain) < len(lines) else " ".join(message.split())


def item_of(run: Run, row: Row | None, kind: str, outcome: str, reason: str) -> TriedItem:
    """The outcome of a run or of one of its rows, with its configuration: as reported, else as declared or typed as a
    flag. `case` is the config that tells the row from the others of its run."""
    if row is None:
        typed = {name: parse_scalar(value) for name, value in flags(run.command).items() if value is not None}
        case, config = {}, {**typed, **run.config}
    else:
        others = [other.config for other in run.rows if other is not row]
        case = {k: v for k, v in row.config.items() if any(other.get(k) != v for other in others)}
        config = {**run.config, **row.config}
    return {
        **_plain_item(run.entry, kind, outcome, reason),
        "run": encode(run.run),
        "at": run.started,
        "command": list(run.command),
        "case": case,
        "config": config,
        "env": run.env.variables,
        "commit": run.code.commit if run.code is not None else None,
    }


def how_it_failed(run: Run) -> str:
    """Exit code, signal or time limit of a run, with the last line that it printed as an error."""
    ended = run.exit
    if ended is None:
        return ""
    if ended.stalled:
        how = f"ended after {run.stall_s:g} s without output"
    elif ended.timeout:
        how = "ended by its time limit" + (f" of {run.timeout_s:g} s" if run.timeout_s is not None else "")
    else:
        how = ended.signal or f"exit code {ended.code}"
    said = run.last_words
    return cut_line(f"{how}: {said}" if said.strip() else how, _REASON_CHARACTERS)


def contradicts(mine: Mapping[str, Scalar], theirs: Mapping[str, Scalar]) -> bool:
    """Whether two declared configs have different values of one key."""
    return any(canonical(mine[k]) != canonical(theirs[k]) for k in mine.keys() & theirs.keys())


# -- the list ----------------------------------------------------------------------------------------


def chosen(items: Sequence[TriedItem], entries: Sequence[Summary], words: Sequence[str] = ()) -> list[TriedItem]:
    """The items that match every word, oldest first: KEY=VALUE of the config or a flag, or a text of its entry, kind,
    outcome, reason or command.

    `since`: the later run of the same command that finished, when there is one in an entry that nobody took back.
    """
    finished: dict[str, tuple[str, str]] = {}
    # Of sides of code or of a variable, the command is one, and the failure is that of the side.
    asked = {e["id"]: (e["comparison"] or {}).get("question", {}).get("axis") or "" for e in entries}
    of_sides = {entry for entry, axis in asked.items() if axis == CODE_AXIS or axis.startswith("env:")}
    for entry in (e for e in entries if not is_withdrawn(e["state"])):
        for key, (run, started) in entry["finished"].items():
            finished[key] = max(finished.get(key, ("", "")), (started, f"{entry['id']}/{run}"))
    kept: list[TriedItem] = [
        {**item, "since": None if item["entry"] in of_sides else _since(item, finished)}
        for item in items
        if all(_is_of(item, word) for word in words)
    ]
    return sorted(kept, key=lambda item: (item["at"], item["entry"]))


def _is_of(item: TriedItem, word: str) -> bool:
    key, equals, value = word.partition("=")
    if equals:
        return (normal_name(key), canonical(value)) in {
            (normal_name(k), canonical(v)) for k, v in item["config"].items()
        }
    texts = (item["entry"], item["kind"], item["outcome"], item["reason"], *item["command"])
    return word.casefold() in "\n".join(texts).casefold()


def _since(item: TriedItem, finished: Mapping[str, tuple[str, str]]) -> str | None:
    if item["kind"] != FAILURE or not item["command"]:
        return None
    started, run = finished.get(command_key(item["command"]), ("", ""))
    return run if started >= item["at"] and run != f"{item['entry']}/{item['run']}" else None


def outcome_text(item: TriedItem) -> str:
    """`out_of_memory`, `failed: exit code 1: ...`, `worse: int8 has 4.98% less tflops than none (...)`."""
    why = f": {item['reason']}" if item["reason"] else ""
    return f"{item['outcome']}{why}"


def withheld(summary: Summary) -> str:
    """Why no number of an entry counts, as all are withheld; empty where one does, or pairs decide on them."""
    last = next((item for item in reversed(summary["tried"]) if item["kind"] == FAILURE), None)
    is_all = not summary["measured"] and summary["comparison"] is None
    return outcome_text(last) if last is not None and is_all and last["outcome"] == WITHHELD else ""


def outcomes_text(items: Sequence[TriedItem]) -> str:
    """The first failure and the first verdict, with the number of others; the mark, where there is neither."""
    found = []
    for kind, noun in ((FAILURE, "failure"), (VERDICT, "verdict")):
        # A loss says more than a difference that is too small to matter.
        own = sorted((i for i in items if i["kind"] == kind), key=lambda i: bool(i["outcome"] == Outcome.NO_DIFFERENCE))
        more = f" and {len(own) - 1} more {noun}{'s' * (len(own) > 2)}" if len(own) > 1 else ""
        found += [outcome_text(item) + more for item in own[:1]]
    return "; ".join(found or map(outcome_text, items))


def where_text(item: TriedItem) -> str:
    """`MOE-I8-003 run 2`, or `runs 1, 2` where the same came out of several; of many `runs 1, 2, …, 10, 11`."""
    runs = item["runs"]
    if not runs:
        return str(item["entry"])
    shown = ", ".join(map(str, runs if len(runs) <= 5 else [*runs[:2], "…", *runs[-2:]]))
    return f"{item['entry']} run{'s' * (len(runs) > 1)} {shown}"


def without_gain(answers: Sequence[Answer]) -> list[TriedItem]:
    """What comparisons found without a gain, as items of what was tried."""
    return [
        {
            **_side_item(answer, VERDICT, f.outcome.value, words.sentence(answer, f), f.side, f.case),
            "metric": f.metric,
            "delta": f.change,
            "change": words.signed(f.change),
        }
        for answer in answers
        for f in answer.without_gain
    ]


def failed_sides(answers: Sequence[Answer], entries: Sequence[Summary]) -> list[TriedItem]:
    """The sides that failed beside their base, each with its most frequent reason."""
    opened = {s["id"]: s["opened"] for s in entries}
    return [
        {**_side_item(answer, FAILURE, _FAILED[0], answer.how_failed(side), side, {}), "at": opened[answer.entry]}
        for answer in answers
        for side in answer.failed
        if side != answer.question.base and answer.entry in opened
    ]


def discards(entries: Sequence[Summary], discarded: Mapping[str, str]) -> list[TriedItem]:
    """The entries that somebody `discarded`, with the reason that the decision gives."""
    by_id = {s["id"]: s for s in entries}
    decisions = {entry: by_id[by] for entry, by in discarded.items() if entry in by_id and by in by_id}
    return [
        {
            **_plain_item(entry, MARKED, "discarded", cut_line(lead(by["decision"] or ""), _REASON_CHARACTERS)),
            "at": by["opened"],
        }
        for entry, by in decisions.items()
    ]


def _side_item(answer: Answer, kind: str, outcome: str, reason: str, side: str, case: Mapping[str, str]) -> TriedItem:
    """An item about a side of a comparison."""
    return {
        **_plain_item(answer.entry, kind, outcome, reason),
        "at": answer.last,
        "case": dict(case),
        "config": {**case, answer.question.axis: side},
        "against": answer.question.base,
        "axis": answer.question.axis,
    }


def _plain_item(entry: str, kind: str, outcome: str, reason: str) -> TriedItem:
    """An item about an entry, of no run alone."""
    return {
        "entry": entry,
        "run": None,
        "runs": [],
        "at": "",
        "kind": kind,
        "outcome": outcome,
        "reason": reason,
        "command": [],
        "case": {},
        "config": {},
        "env": {},
        "commit": None,
    }
