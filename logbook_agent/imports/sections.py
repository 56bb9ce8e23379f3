"""The text of an entry in labelled fields, with the commands and the tables in it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, field

from logbook_agent.imports.cells import NUMBER, plain
from logbook_agent.imports.document import Quoted, ReportedTable
from logbook_agent.imports.pieces import CODE_SPAN, SourcePiece, pipe_tables
from logbook_agent.imports.tables import cases_of, table_of, table_of_objects
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
from logbook_agent.model.units import KNOWN

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
    r"(?P<sign>[-*+][ \t]+)?(?P<bold>\*\*|__)?(?P<label>[^\W\d_][^:*|<>\[\]{}]{0,80}?)(?:\*\*|__)?[ \t]*:(?:\*\*|__)?"
    r"(?=\s|$)[ \t]*(?P<text>.*)"
)
_SHELLS = frozenset({"bash", "sh", "shell", "console", "zsh", "shell-session", "terminal"})
_ASSIGNED = re.compile(
    r"(?:\A|(?<=\s)(?:-e|--env)[=\s]\s*|\bexport\s+)(?P<all>(?:[A-Za-z_]\w*=(?:'[^']*'|\"[^\"]*\"|[^\s'\";&|]*)(?:\s+|\Z))+)"
)
_PROGRAM = re.compile(
    r"(?:\w+=\S+\s+)*(?:\$ )?(?:\.{0,2}/\S+|[\w./-]*\b(?:python[\d.]*|uv|bash|sh|torchrun|make|sbatch|srun|accelerate"
    r"|deepspeed|cargo|go|node|npx|docker|pytest|ray|just)\b)\s"
)


class LabelledPart(Struct):
    """A labelled part of an entry."""

    label: str
    pieces: list[SourcePiece] = field(default_factory=list)

    @property
    def text(self) -> str:
        first, *rest = "\n".join(piece.text for piece in self.pieces).split("\n")
        return "\n".join([first.strip(), *textwrap.dedent("\n".join(rest)).split("\n")]).strip("\n").rstrip()


def label_of(text: str) -> str | None:
    """The label of an entry that a text is another word for; None where there is none."""
    return _LABELS.get(re.sub(r"[_\s]+", " ", plain(text).rstrip(":").casefold()))


def parts_of(pieces: Sequence[SourcePiece]) -> list[LabelledPart]:
    """The pieces of an entry by their labels: those before the first label are a note. Parts of one label are one."""
    parts = {NOTE.casefold(): LabelledPart(NOTE)}
    part = parts[NOTE.casefold()]
    for piece in pieces:
        found = _FIELD.fullmatch(piece.text.rstrip()) if piece.language is None else None
        label, own = "", piece
        if piece.level > 1:
            label, own = piece.title.strip("# ")[:100], SourcePiece(line=piece.line, text="")
        elif found is not None and _is_label(found):
            label, own = found["label"].strip(), SourcePiece(line=piece.line, text=found["text"])
        if label:
            label = label_of(label) or label
            part = parts.setdefault(label.casefold(), LabelledPart(label))
        part.pieces.append(own)
    return [part for part in parts.values() if part.text or part.label != NOTE]


def _is_label(found: re.Match[str]) -> bool:
    label = found["label"].strip()
    if label_of(label) or label.casefold() in _PLAIN:
        return True
    is_whole = label.count("`") % 2 == 0 and label.count("(") == label.count(")")
    return bool(found["sign"] or found["bold"]) and is_whole and len(label.split()) <= 8 and label[:1].isupper()


# -- commands ------------------------------------------------------------------------------------------------


def commands_in(parts: Sequence[LabelledPart]) -> Iterator[Quoted]:
    """The commands in an entry: blocks of shell code; below the label Command also other blocks, code spans and lines.
    As far as the source says, those of a plan or without a result have not been run."""
    result = next((part.text for part in parts if part.label.startswith(RESULT)), "").rstrip(".").casefold()
    for part in parts:
        is_command = part.label.casefold().startswith(("command", "cmd"))
        is_planned = bool(re.search(r"(?i)\b(?:planned|proposed|todo|template)", part.label))
        is_planned = is_planned or result in ("pending", "tbd", "todo", "none yet")
        label = None
        for piece in part.pieces:
            texts: list[str] = []
            if piece.language is not None:
                texts = [_inside(piece.text)] if is_command or piece.language in _SHELLS else []
            elif piece.text.rstrip().endswith(":") and "`" not in piece.text:
                label = plain(piece.text).lstrip("-*+ ").rstrip(":")
            elif is_command:
                spans = [m["code"] for m in CODE_SPAN.finditer(piece.text)]
                is_line = not spans and _PROGRAM.match(piece.text.strip())
                texts = [piece.text] if is_line else [span for span in spans if " " in span]
            for text in filter(None, (re.sub(r"(?m)^\$ ", "", textwrap.dedent(text)).strip() for text in texts)):
                yield Quoted(text=text, label=label, env=_variables(text), is_planned=is_planned)


def _inside(block: str) -> str:
    """The code in a fenced block, whose last line may be missing."""
    lines = block.split("\n")[1:]
    return "\n".join(lines[:-1] if lines and not lines[-1].strip().strip("`~") else lines)


def _variables(text: str) -> dict[str, str]:
    """The variables in front of a command, and those behind `-e`, `--env` and `export`."""
    words = (
        word
        for found in _ASSIGNED.finditer(text)
        for word in re.finditer(r"(\w+)=('[^']*'|\"[^\"]*\"|\S*)", found["all"])
    )
    return {word[1]: word[2].strip("'\"") for word in words}


# -- tables --------------------------------------------------------------------------------------------------

_MEASURED = re.compile(r"(?i)results?|before|after|measured|numbers|baseline numbers|observed")
_ITEM = re.compile(r"(?P<indent>[ \t]*)[-*+][ \t]+(?P<text>.*\S)")
_READING = re.compile(
    rf"(?:(?P<name>[A-Za-z][\w /+-]*?)(?: |(?P<sign>=))\s*)?(?P<value>{NUMBER})x?\s*(?:(?:±|\+/-)\s*{NUMBER}\s*)?"
    r"(?P<unit>%|[A-Za-z]+(?:/[A-Za-z]+)?)?"
)
_METRIC = re.compile(rf"[ \t]*[-*+][ \t]+`?(?P<metric>[A-Za-z]\w*)`?: {_READING.pattern}")
# The metrics of units that state a rate, as columns.
_OF_UNIT = {q.unit: f"metrics.{name}" for name, q in reversed(KNOWN.items()) if q.unit and "/" in q.unit}
_OF_UNIT |= dict.fromkeys(("tok/s", "tokens/sec"), "metrics.tokens_per_s")


def tables_of(
    parts: Sequence[LabelledPart], declared: Mapping[str, Metric]
) -> tuple[list[ReportedTable], list[Metric]]:
    """The tables of an entry, and lists whose items are numbers; with their metrics."""
    found: list[ReportedTable] = []
    metrics: list[Metric] = []
    for part in parts:
        tables = [table_of(headings, rows, declared) for headings, rows in pipe_tables(part.pieces)]
        items = (_metrics_listed(part.pieces) or [*_listed(part.pieces)]) if _MEASURED.match(part.label) else []
        is_listed = len(items) > 1 or any("config.case" not in row and len(row) > 1 for _, row in items)
        tables += [table_of_objects(items, declared)] if is_listed else []
        for table in tables:
            if rows := cases_of(table):
                label = part.label if part.label not in (RESULT, NOTE) else None
                found.append(ReportedTable(rows=rows, label=label))
                metrics += table.metrics
    return found, metrics


def _listed(pieces: Sequence[SourcePiece]) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a list such as `none, topk=2: 192.868 TF/s, 619304 tokens/s`; an item above names their case."""
    above: list[tuple[int, str]] = []
    for piece in pieces:
        item = _ITEM.fullmatch(piece.text) if piece.language is None else None
        if item is None:
            continue
        indent, text = len(item["indent"]), item["text"].replace("`", "")
        above = [(n, case) for n, case in above if n < indent]
        case, colon, values = text.partition(": ")
        cases = [*(text for _, text in above), *([case] if colon else [])]
        rows = _readings(", ".join(cases), values if colon else text)
        yield from ((piece.line, row) for row in rows)
        if not colon and not rows:
            above.append((indent, case.rstrip(":")))


def _metrics_listed(pieces: Sequence[SourcePiece]) -> list[tuple[int, dict[str, str]]]:
    """The row of a list whose items name metrics, such as `val_loss: 3.2` and `peak_gb: 10 GB`, in several units
    or none."""
    items = [(piece.line, _METRIC.match(piece.text)) for piece in pieces if piece.language is None]
    named = [(line, m) for line, m in items if m is not None]
    units = {m["unit"] for _, m in named}
    if len(named) < 2 or (len(units) == 1 and None not in units) or not any("_" in m["metric"] for _, m in named):
        return []
    return [(named[0][0], {f"metrics.{m['metric']} ({m['unit'] or ''})": m["value"] for _, m in named})]


def _readings(case: str, text: str) -> list[dict[str, str]]:
    """The rows of an item whose every piece is a number: with a name in front it is a case of its own, behind `name=`
    a metric. A unit behind the last number is that of all."""
    words = re.split(r", |; | vs\.? | - ", re.sub(r"\([^()]*\)|\s[←—].*", "", text))
    found = [_READING.fullmatch(word.strip(" .")) for word in words if word.strip(" .")]
    readings = [m for m in found if m is not None]
    if not readings or len(readings) < len(found) or not any(m["unit"] or m["name"] for m in readings):
        return []
    config = _case(case)
    rows, own = list[dict[str, str]](), dict[str, str]()
    for m in readings:
        unit = m["unit"] or readings[-1]["unit"] or ""
        column = f"metrics.{m['name']}" if m["sign"] else _OF_UNIT.get(unit) or f"metrics.{unit or 'value'} ({unit})"
        if m["name"] and not m["sign"]:
            rows.append({**config, "config.of": m["name"].strip(), column: m["value"]})
        else:
            own[column] = m["value"]
    return [*rows, *([{**config, **own}] if own else [])]


def _case(text: str) -> dict[str, str]:
    """The columns `config.case` and `config.topk` of `none, topk=2`."""
    words = [word.strip() for word in text.split(", ") if word.strip()]
    pairs = [m for word in words if (m := re.fullmatch(r"([A-Za-z_][\w.-]*)\s*=\s*(.*)", word))]
    rest = ", ".join(word for word in words if word not in [m[0] for m in pairs])
    return {"config.case": rest, **{f"config.{m[1]}": m[2] for m in pairs}}
