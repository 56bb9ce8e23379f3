"""The text of an entry in labelled fields, with the commands and the tables in it."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from logbook_agent.imports.cells import NUMBER, number_of, plain
from logbook_agent.imports.columns import metric_name, table_of
from logbook_agent.imports.document import Quoted, ReportedTable
from logbook_agent.model.entry import (
    COMMAND,
    CONFIG,
    DECISION,
    HYPOTHESIS,
    INTERPRETATION,
    NEGATIVE_RESULT,
    NEXT_ACTION,
    RESULT,
)
from logbook_agent.model.header import Metric
from logbook_agent.model.run import Measurement, Row
from logbook_agent.model.units import KNOWN, known
from logbook_agent.model.values import Scalar, parse_scalar

NOTE = "Note"
# Labels as people write them, by those of an entry.
_SYNONYMS = {
    HYPOTHESIS: "hypothesis idea expectation expected prediction rationale hypotheses",
    COMMAND: "command commands cmd run_command command_line how_to_run repro reproduce",
    CONFIG: "config configuration setup settings params parameters hyperparameters hyperparams setting",
    RESULT: "result results outcome outcomes observed measured findings finding metrics numbers",
    INTERPRETATION: "interpretation conclusion conclusions analysis learnings lessons",
    NEXT_ACTION: "next_action next_actions next next_steps todo follow-up follow-ups followup",
    DECISION: "decision verdict",
    NEGATIVE_RESULT: "negative_result negative_results negative_results_index",
    NOTE: "note",
}
_LABELS = {word.replace("_", " "): label for label, words in _SYNONYMS.items() for word in words.split()}
# Further labels that a line may have without a bullet or bold type.
_WORDS = (
    "goal date time status commit author method motivation observation change changes artifacts tags notes takeaways"
)
_PLAIN = frozenset(_WORDS.split())
_FIELD = re.compile(
    r"(?P<bullet>[-*+][ \t]+)?(?P<bold>\*\*|__)?(?P<label>[^\W\d_][^:*|<>\[\]{}]{0,80}?)(?:\*\*|__)?[ \t]*:(?:\*\*|__)?"
    r"(?=\s|$)[ \t]*(?P<text>.*)"
)
_HEADING = re.compile(r"#{2,6}[ \t]+(?P<text>.*\S)")
FENCE = re.compile(r"[ \t]*(?P<fence>`{3,}|~{3,})[ \t]*(?P<language>[\w+-]*)[^`]*")
_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_SHELLS = frozenset({"bash", "sh", "shell", "console", "zsh", "shell-session", "terminal"})
_SPAN = re.compile(r"(?P<ticks>`+)(?P<code>.+?)(?P=ticks)(?!`)")
_LEADING = re.compile(r"(?:(?P<name>[A-Za-z_]\w*)=(?P<value>'[^']*'|\"[^\"]*\"|[^\s'\";&|]*)\s+)")
_PASSED = re.compile(
    r"(?:(?<=\s)(?:-e|--env)[=\s]\s*|\bexport\s+)(?P<name>[A-Za-z_]\w*)=(?P<value>'[^']*'|\"[^\"]*\"|[^\s'\";&|]*)"
)
_PROGRAM = re.compile(
    r"(?:\w+=\S+\s+)*(?:\$ )?(?:\.{0,2}/\S+|[\w./-]*\b(?:python[\d.]*|uv|bash|sh|torchrun|make|sbatch|srun|accelerate"
    r"|deepspeed|cargo|go|node|npx|docker|pytest|ray|just)\b)\s"
)


@dataclass(slots=True)
class LabelledLines:
    """One labelled piece of an entry, its lines as the source has them."""

    label: str
    lines: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        first, *rest = self.lines or [""]
        return (
            "\n".join([first.strip(), *textwrap.dedent("\n".join(rest)).split("\n")] if rest else [first])
            .strip("\n")
            .rstrip()
        )


def in_code(lines: Sequence[str]) -> list[bool]:
    """For each line, whether it stands in a fenced block or is a fence of one."""
    found, fence = [], ""
    for line in lines:
        match = FENCE.fullmatch(line)
        is_end = bool(fence) and line.strip().startswith(fence) and not line.strip().strip(fence[0])
        if not fence and match is not None:
            fence = match["fence"]
            found.append(True)
        else:
            found.append(bool(fence))
            fence = "" if is_end else fence
    return found


def label_of(text: str) -> str | None:
    """The label of an entry that a text is another word for; None where there is none."""
    return _LABELS.get(re.sub(r"[_\s]+", " ", plain(text).rstrip(":").casefold()))


def parts_of(lines: Sequence[str]) -> list[LabelledLines]:
    """The lines in parts: those before the first label are a note. Parts of one label are one."""
    parts = [LabelledLines(NOTE)]
    for line, is_code in zip(lines, in_code(lines), strict=True):
        found = None if is_code else _FIELD.fullmatch(line.rstrip())
        heading = None if is_code else _HEADING.fullmatch(line.rstrip())
        if heading is not None:
            parts.append(LabelledLines(label_of(heading["text"]) or heading["text"].strip("# ")[:100]))
        elif found is not None and _is_label(found):
            label = found["label"].strip()
            parts.append(LabelledLines(label_of(label) or label, [found["text"]]))
        else:
            parts[-1].lines.append(line)
    joined: dict[str, LabelledLines] = {}
    for part in parts:
        if (first := joined.setdefault(part.label.casefold(), part)) is not part:
            first.lines = [*first.text.split("\n"), *part.text.split("\n")]
    return [part for part in joined.values() if part.text.strip() or part.label != NOTE]


def _is_label(found: re.Match[str]) -> bool:
    label = found["label"].strip()
    if label_of(label) or label.casefold() in _PLAIN:
        return True
    is_whole = label.count("`") % 2 == 0 and label.count("(") == label.count(")")
    return bool(found["bullet"] or found["bold"]) and is_whole and len(label.split()) <= 8 and label[:1].isupper()


# -- commands ------------------------------------------------------------------------------------------------


def is_planned(part: LabelledLines, parts: Sequence[LabelledLines]) -> bool:
    """Whether the commands of a part have not been run, as far as the source says."""
    result = next((one.text for one in parts if one.label.startswith(RESULT)), "").strip().rstrip(".").casefold()
    return bool(re.search(r"(?i)\b(?:planned|proposed|todo|template)", part.label)) or result in (
        "pending",
        "tbd",
        "todo",
        "none yet",
    )


def commands_in(parts: Sequence[LabelledLines]) -> Iterator[Quoted]:
    """The commands in the parts of an entry."""
    for part in parts:
        yield from (replace(one, is_planned=is_planned(part, parts)) for one in commands_of(part))


def commands_of(part: LabelledLines) -> Iterator[Quoted]:
    """The commands in a part: blocks of shell code; below the label Command also other blocks and whole code spans."""
    is_command = part.label.casefold().startswith(("command", "cmd"))
    label, block, language = None, list[str](), ""
    for line, is_code in zip(part.lines, in_code(part.lines), strict=True):
        fence = FENCE.fullmatch(line) if is_code else None
        if is_code and fence is not None and (not block or line.strip().strip("`~") == ""):
            if len(block) > 1 and (is_command or language.lower() in _SHELLS):
                yield from _quoted("\n".join(block[1:]), label)
            is_end = bool(block)
            block, language = ([], "") if is_end else ([line], fence["language"])
        elif is_code:
            block.append(line)
        elif line.strip().endswith(":") and "`" not in line:
            label = plain(line).lstrip("-*+ ").rstrip(":")
        elif is_command and (spans := [m["code"] for m in _SPAN.finditer(line)]):
            yield from (one for code in spans if " " in code for one in _quoted(code, label))
        elif is_command and _PROGRAM.match(line.strip()):
            yield from _quoted(line.strip(), label)


def _quoted(text: str, label: str | None) -> Iterator[Quoted]:
    text = re.sub(r"(?m)^\$ ", "", textwrap.dedent(text)).strip()
    leading: dict[str, str] = {}
    at = 0
    while (found := _LEADING.match(text, at)) is not None:
        leading[found["name"]] = found["value"].strip("'\"")
        at = found.end()
    if text:
        env = {m["name"]: m["value"].strip("'\"") for m in _PASSED.finditer(text, at)}
        yield Quoted(text=text, label=label, leading=leading, env=env)


def words_of(text: str) -> tuple[str, ...] | None:
    """The words of a command line; None where quotes are open."""
    try:
        return tuple(shlex.split(text)) or None
    except ValueError:
        return None


# -- tables --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class PipeTable:
    """A Markdown table: the place of its first line, its headings, and its rows, each a line further on."""

    at: int
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def pipe_tables(lines: Sequence[str]) -> Iterator[PipeTable]:
    """The Markdown tables of a text."""
    code, at = in_code(lines), 0
    while at + 1 < len(lines):
        head = lines[at]
        if code[at] or "|" not in head or not _RULE.fullmatch(lines[at + 1]) or "-" not in lines[at + 1]:
            at += 1
            continue
        headings = _split(head)
        end = next((n for n in range(at + 2, len(lines)) if "|" not in lines[n] or code[n]), len(lines))
        rows = tuple(_split(line) for line in lines[at + 2 : end])
        if len(headings) > 1 or head.strip().startswith("|"):
            width = len(headings)
            yield PipeTable(at=at, headings=headings, rows=tuple((*row, *[""] * width)[:width] for row in rows))
        at = max(end, at + 2)


def _split(line: str) -> tuple[str, ...]:
    """The cells of a line; a pipe in code or behind a backslash is text."""
    text = _SPAN.sub(lambda m: m[0].replace("|", "\x1f"), line.strip().replace("\\|", "\x1f"))
    text = text.removeprefix("|")
    return tuple(cell.strip().replace("\x1f", "|") for cell in (text[:-1] if text.endswith("|") else text).split("|"))


def tables_of(
    parts: Sequence[LabelledLines], declared: Mapping[str, Metric]
) -> tuple[list[ReportedTable], list[Metric]]:
    """The tables of an entry, and lists whose items are numbers."""
    found: list[ReportedTable] = []
    metrics: list[Metric] = []
    for part in parts:
        label = part.label if part.label not in (RESULT, NOTE) else None
        for table in pipe_tables(part.lines):
            reported, more = table_of(table.headings, table.rows, declared)
            if reported.rows:
                found.append(replace(reported, label=label))
                metrics += more
        listed = tuple(listed_rows(part.lines)) if _MEASURED.match(part.label) else ()
        if len(listed) > 1:
            found.append(ReportedTable(rows=listed, label=label))
            metrics += [
                Metric(name=n, unit=m.unit, direction=m.direction, primary=False)
                for row in listed
                for n, m in row.metrics.items()
            ]
    return found, metrics


_MEASURED = re.compile(r"(?i)results?|before|after|measured|numbers|baseline numbers|observed")
_ITEM = re.compile(r"(?P<indent>[ \t]*)[-*+][ \t]+(?P<text>.*\S)")
_READING = re.compile(
    rf"(?:(?P<name>[A-Za-z][\w /+-]*?)(?: |(?P<sign>=))\s*)?(?P<value>{NUMBER})x?\s*"
    r"(?P<unit>%|[A-Za-z]+(?:/[A-Za-z]+)?)?"
)
_OF_UNIT = {
    **{q.unit: name for name, q in reversed(KNOWN.items()) if q.unit and "/" in q.unit},
    "tok/s": "tokens_per_s",
    "tokens/sec": "tokens_per_s",
}
_OF_UNIT["tokens/s"], _OF_UNIT["TF/s"] = "tokens_per_s", "tflops"


def listed_rows(lines: Sequence[str]) -> Iterator[Row]:
    """The rows of a list such as `none, topk=2: 192.868 TF/s, 619304 tokens/s`; an item above names their case."""
    above: list[tuple[int, str]] = []
    for line, is_code in zip(lines, in_code(lines), strict=True):
        item = None if is_code else _ITEM.fullmatch(line)
        if item is None:
            continue
        indent = len(item["indent"])
        above = [(n, text) for n, text in above if n < indent]
        case, colon, rest = re.sub(r"`", "", item["text"]).partition(": ")
        if not colon and (own := [*_readings([text for _, text in above], _without_brackets(case))]):
            yield from own
        elif not colon:
            above.append((indent, case.rstrip(":")))
        else:
            yield from _readings([*(text for _, text in above), case], _without_brackets(rest))


def _without_brackets(text: str) -> str:
    return re.sub(r"\([^()]*\)", "", text)


def _readings(cases: Sequence[str], text: str) -> Iterator[Row]:
    """The rows of an item whose every piece is a number: with a name in front it is a case of its own, behind `name=`
    a metric. A unit behind the last number is that of all."""
    pieces = [piece.strip(" .") for piece in re.split(r", |; | vs\.? | - ", re.sub(r"\s[←—].*", "", text))]
    found = [m for piece in pieces if piece and (m := _READING.fullmatch(piece)) is not None]
    if not found or len(found) != len([*filter(None, pieces)]) or not any(m["unit"] or m["name"] for m in found):
        return
    config, last = _case(cases), found[-1]["unit"]
    own: dict[str, Measurement] = {}
    for m in found:
        unit = m["unit"] or last
        name = metric_name(m["name"]) if m["sign"] else _metric(unit)
        measured = Measurement(
            samples=(number_of(m["value"]),), unit=known(name).unit or unit, direction=known(name).direction
        )
        if m["name"] and not m["sign"]:
            yield Row(config={**config, "of": m["name"].strip()}, metrics={name: measured})
        else:
            own[name] = measured
    if own:
        yield Row(config=config, metrics=own)


def _metric(unit: str | None) -> str:
    if unit is None:
        return "value"
    return _OF_UNIT.get(unit) or re.sub(r"\W+", "_per_", unit.replace("%", "percent"))


def _case(texts: Sequence[str]) -> dict[str, Scalar]:
    """`none, topk=2` as `case: none` and `topk: 2`."""
    found: dict[str, Scalar] = {}
    words = []
    for piece in (piece.strip() for text in texts for piece in text.split(", ")):
        name, equals, value = piece.partition("=")
        if equals and re.fullmatch(r"[A-Za-z_][\w.-]*", name.strip()):
            found[name.strip()] = parse_scalar(value.strip())
        elif piece:
            words.append(piece)
    return {**({"case": ", ".join(words)} if words else {}), **found}
