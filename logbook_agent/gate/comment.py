"""The comment on a pull request, as Markdown. What stands in it from recipes, commands and output is shown as text."""

from __future__ import annotations

from collections.abc import Sequence

from logbook_agent.findings.evidence.verdict import percent
from logbook_agent.gate.actions import Actions
from logbook_agent.gate.job import BASE, HEAD
from logbook_agent.gate.judged import CaseChange, JudgedRow, OneSided
from logbook_agent.gate.measure import Unmeasured
from logbook_agent.gate.outcome import GateFinding, GateOutcome
from logbook_agent.model.stats.sequential import ALPHA
from logbook_agent.sweeps.trees import OUTSIDE
from logbook_agent.text import markdown as md
from logbook_agent.text import neutral
from logbook_agent.text.as_html import visible
from logbook_agent.text.fit import cut

# GitHub's limit is 65,536; the marker takes some.
LIMIT_BYTES = 60_000
_SHOWN_ROWS = 60
_SHOWN_UNMEASURED = 10
_SAID_CHARS = 2_000
_SIGNS = {
    CaseChange.REGRESSED: "🔴",
    CaseChange.UNCONFIRMED: "🟡",
    CaseChange.IMPROVED: "🟢",
    CaseChange.UNSETTLED: "⚪",
    CaseChange.UNCHANGED: "✅",
}
_ORDER = (*_SIGNS,)
# Half of the claims that chance makes are regressions, and a second measurement knows nothing of the first.
_ONCE = ALPHA / 2
_CHANCE = (
    f"if nothing changed, noise shows a regression in at most {percent(_ONCE)} of such measurements, over all cases"
)
_CHANCE_TWICE = (
    "a regression counts only if a second measurement shows it, too: if nothing changed, noise does so in at most"
    f" {percent(_ONCE**2)} of such measurements, over all cases"
)
_TITLES = {
    GateOutcome.REGRESSED: "performance regressed",
    GateOutcome.HEAD_FAILED: "the head fails",
    GateOutcome.NOT_MEASURED: "could not be measured",
    GateOutcome.IMPROVED: "performance improved",
    GateOutcome.UNSETTLED: "no settled change",
    GateOutcome.UNCHANGED: "no change",
    GateOutcome.NO_BASE: "no base to compare with",
    GateOutcome.SAME_CODE: "base and head are the same code",
}
_SIDES = {BASE: "the base fails", HEAD: "the head fails and the base does not", "both": "both sides fail"}


def comment_of(finding: GateFinding, actions: Actions | None) -> str:
    """The comment without its marker. Deterministic."""
    name = f" of {md.escape(finding.name)}" if finding.name else ""
    changed = finding.measured.changed if finding.measured is not None else None
    early = f": stopped early because {md.escape(changed)}" if changed else ""
    parts = [f"### Benchmark{name}: {_TITLES[finding.outcome]}{early}", _summary(finding)]
    parts += [f"To mend this, {OUTSIDE}."] if changed else []
    parts += ["\n".join(f"- {md.escape(text)}" for text in finding.differences)]
    if finding.rows:
        parts.append(_table(finding.rows))
    parts += _unmeasured(finding.unmeasured)
    parts += _one_sided(finding.one_sided)
    parts += _notes(finding)
    parts.append(_details(finding, actions))
    page = actions.page if actions is not None else None
    # The address of the job stays live, and nothing else.
    whole = visible("\n\n".join(part for part in parts if part))
    text = neutral.document(whole, [page] if page is not None else [])
    return cut(text, LIMIT_BYTES)


def _summary(finding: GateFinding) -> str:
    counts = finding.counts
    told = [f"**{counts[change]} {change.value}**" for change in _ORDER if counts[change]]
    told += [f"**{len(finding.unmeasured)} not measured**"] if finding.unmeasured else []
    told += [f"**{len(finding.one_sided)} measured on one side only**"] if finding.one_sided else []
    sides = f"base {_commit(finding.commits.base)} → head {_commit(finding.commits.shown)}"
    return f"{', '.join(told)}; {sides}" if told else sides


def _commit(sha: str) -> str:
    return md.inline_code(sha[:12])


def _table(rows: Sequence[JudgedRow]) -> str:
    """Regressions first; beyond what is shown, a count."""
    has_cases = any(row.case for row in rows)
    ordered = sorted(rows, key=lambda row: _ORDER.index(row.change))
    names = (*(["case"] if has_cases else []), "metric", "base", "head", "change (95% interval)", "verdict", "n")
    numeric = {"base", "head", "n"}
    lines = [
        f"| {' | '.join(names)} |",
        f"| {' | '.join('---:' if name in numeric else '---' for name in names)} |",
        *(_row(row, has_cases=has_cases) for row in ordered[:_SHOWN_ROWS]),
    ]
    more = len(rows) - _SHOWN_ROWS
    return "\n".join(lines) + (f"\n\nand {more} more rows in the record" if more > 0 else "")


def _row(row: JudgedRow, *, has_cases: bool) -> str:
    better = {"max": " ↑", "min": " ↓"}.get(row.direction or "", "")
    unit = f" ({row.unit})" if row.unit else ""
    interval = f" ({row.interval})" if row.interval else ""
    cells = [
        *([row.case] if has_cases else []),
        f"{row.metric}{unit}{better}",
        row.base,
        row.head,
        f"{row.delta}{interval}",
        f"{_SIGNS[row.change]} {row.change.value}",
        str(row.n),
    ]
    return f"| {' | '.join(md.cell(cell) for cell in cells)} |"


def _unmeasured(unmeasured: Sequence[Unmeasured]) -> list[str]:
    parts = []
    for one in unmeasured[:_SHOWN_UNMEASURED]:
        about = f"{md.inline_code(one.case)}: " if one.case else ""
        text = f"- {about}{_SIDES[one.side]}: {md.escape(one.why)}"
        said = neutral.log("\n".join(one.said))[-_SAID_CHARS:]
        parts.append(text + (f"\n\n{md.indent(md.fence(said, 'text'))}" if said.strip() else ""))
    more = len(unmeasured) - _SHOWN_UNMEASURED
    return ["\n".join(parts) + (f"\n- and {more} more" if more > 0 else "")] if parts else []


def _one_sided(found: Sequence[OneSided]) -> list[str]:
    lines = [
        f"- {md.inline_code(one.case or 'a case')}: only {one.side} measured it: {md.escape(one.why)}" for one in found
    ]
    more = len(found) - _SHOWN_UNMEASURED
    lines = lines[:_SHOWN_UNMEASURED] + ([f"- and {more} more"] if more > 0 else [])
    return ["\n".join(lines)] if lines else []


def _notes(finding: GateFinding) -> list[str]:
    """Why rows are not settled, and what a second measurement showed."""
    found: dict[str, None] = {}
    for row in finding.rows:
        about = f"{row.case} {row.metric}".strip()
        if row.second:
            found[f"{about}, measured a second time: {row.second}"] = None
        if row.why and row.change in (CaseChange.UNSETTLED, CaseChange.UNCONFIRMED):
            found[f"{about}: {row.why}"] = None
    lines = [f"- {md.escape(text)}" for text in list(found)[:_SHOWN_ROWS]]
    return ["\n".join(lines)] if lines else []


def _details(finding: GateFinding, actions: Actions | None) -> str:
    """What it rests on, and how to do it again; folded."""
    made, commits = finding.measured, finding.commits
    lines = [f"- base {md.inline_code(commits.base)}: {md.escape(commits.how)}", f"- head {_head(finding)}"]
    if made is not None and made.rows:
        ended = f"; stopped: {md.escape(made.why)}" if made.why else ""
        least = percent(finding.minimum_effect)
        lines.append(f"- {made.pairs} pairs of runs in random order{ended}; effects below {least} do not matter")
        lines.append(f"- {_CHANCE_TWICE if finding.confirms else _CHANCE}")
    if made is not None:
        lines.append(
            f"- record: {', '.join(made.entries)}"
            + (f" in {md.inline_code(finding.artifact)}" if finding.artifact else "")
        )
    if actions is not None and actions.page is not None:
        lines.append(f"- [the job]({actions.page})")
    lines.append(f"- again: {md.indent(md.command(finding.again)).strip()}")
    return "<details><summary>How it was measured</summary>\n\n" + "\n".join(lines) + "\n\n</details>"


def _head(finding: GateFinding) -> str:
    commits = finding.commits
    if commits.tip is None:
        return md.inline_code(commits.head)
    return f"{md.inline_code(commits.tip)}, merged into the target branch as {md.inline_code(commits.head)}"
