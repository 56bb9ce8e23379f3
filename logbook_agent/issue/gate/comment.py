"""The comment on a pull request, as Markdown. What stands in it from recipes, commands and output is shown as text."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from logbook_agent.campaign.pair_judge import Stop
from logbook_agent.findings.comparison import words
from logbook_agent.findings.comparison.answer import Finding, Outcome
from logbook_agent.findings.comparison.rule import LEVEL
from logbook_agent.issue import marking, neutral
from logbook_agent.issue.gate.job import BASE, HEAD
from logbook_agent.issue.gate.pull_request import Actions, run_of, run_text
from logbook_agent.issue.gate.verdict import GateFinding, GateOutcome, Unmeasured
from logbook_agent.issue.pace import Stale
from logbook_agent.issue.values import Comment
from logbook_agent.model.errors import Unreachable
from logbook_agent.text import markdown as md
from logbook_agent.text.as_html import visible
from logbook_agent.text.fit import cut
from logbook_agent.text.shell_words import assignments

if TYPE_CHECKING:
    from logbook_agent.issue.github import GitHub

# GitHub's limit is 65,536; the marker takes some.
LIMIT_BYTES = 60_000
_SHOWN_ROWS = 60
_SHOWN_UNMEASURED = 10
_SAID_CHARS = 2_000
_SIGNS = {
    Outcome.WORSE: "🔴",
    Outcome.BETTER: "🟢",
    Outcome.OPEN: "⚪",
    Outcome.NO_DIFFERENCE: "✅",
}
_ORDER = (*_SIGNS,)
# Half of the claims that chance makes say that the head is worse.
_CHANCE = f"{(1 - LEVEL) / 2:.1%} of such measurements, over all cases, metrics and looks"
_TITLES = {
    GateOutcome.WORSE: "worse",
    GateOutcome.HEAD_FAILED: "the head fails",
    GateOutcome.NOT_MEASURED: "could not be measured",
    GateOutcome.BETTER: "better",
    GateOutcome.OPEN: "open",
    GateOutcome.NO_DIFFERENCE: "no difference",
    GateOutcome.NO_BASE: "no base to compare with",
    GateOutcome.SAME_CODE: "base and head are the same code",
}
# Why the pairs ended, without the options of `logbook ab`.
_ENDED = {
    Stop.SETTLED: "every answer is settled",
    Stop.PAIRS: "--max-pairs is reached",
    Stop.TIME: "--max-time is reached",
}
_SIDES = {BASE: "the base fails", HEAD: "the head fails and the base does not", "both": "both sides fail"}


def comment_of(finding: GateFinding, actions: Actions | None) -> str:
    """The comment without its marker. Deterministic."""
    name = f" of {md.escape(finding.name)}" if finding.name else ""
    early = f": stopped early because {md.escape(finding.changed)}" if finding.changed else ""
    parts = [f"### Benchmark{name}: {_TITLES[finding.outcome]}{early}", _summary(finding)]
    parts += ["\n".join(f"- {md.escape(text)}" for text in finding.differences)]
    parts += _table(finding.findings)
    parts += _unmeasured(finding.unmeasured)
    parts += _sentences(finding)
    parts.append(_details(finding, actions))
    page = actions.page if actions is not None else None
    # The address of the job stays live, and nothing else.
    whole = visible("\n\n".join(part for part in parts if part))
    text = neutral.document(whole, [page] if page is not None else [])
    return cut(text, LIMIT_BYTES)


def _summary(finding: GateFinding) -> str:
    counts = finding.counts
    told = [f"**{counts[outcome]} {outcome.value}**" for outcome in _ORDER if counts[outcome]]
    told += [f"**{len(finding.unmeasured)} not measured**"] if finding.unmeasured else []
    sides = f"base {_commit(finding.commits.base)} → head {_commit(finding.commits.shown)}"
    return f"{', '.join(told)}; {sides}" if told else sides


def _commit(sha: str) -> str:
    return md.inline_code(sha[:12])


def _table(findings: Sequence[Finding]) -> list[str]:
    """What is worse comes first; beyond what is shown, a count."""
    if not findings:
        return []
    has_cases = any(f.case for f in findings)
    ordered = sorted(findings, key=lambda f: _ORDER.index(f.outcome))
    names = (*(["case"] if has_cases else []), "metric", "base", "head", "change", "answer", "pairs")
    numeric = {"base", "head", "pairs"}
    lines = [
        f"| {' | '.join(names)} |",
        f"| {' | '.join('---:' if name in numeric else '---' for name in names)} |",
        *(_row(f, has_cases=has_cases) for f in ordered[:_SHOWN_ROWS]),
    ]
    more = len(findings) - _SHOWN_ROWS
    return ["\n".join(lines) + (f"\n\nand {more} more rows in the record" if more > 0 else "")]


def _row(f: Finding, *, has_cases: bool) -> str:
    better = {"max": " ↑", "min": " ↓"}.get(f.direction or "", "")
    unit = f" ({f.unit})" if f.unit else ""
    interval = words.interval(f)
    cells = [
        *([assignments(f.case)] if has_cases else []),
        f"{f.metric}{unit}{better}",
        words.number(f, f.base),
        words.number(f, f.other),
        words.signed(f.change) + (f" ({interval})" if interval else ""),
        f"{_SIGNS[f.outcome]} {f.outcome.value}",
        str(f.pairs),
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


def _sentences(finding: GateFinding) -> list[str]:
    """A line for each difference and each open question, with what that needs; then why pairs do not count."""
    answer = finding.answer
    if answer is None:
        return []
    lines = []
    for f in sorted(answer.findings, key=lambda f: _ORDER.index(f.outcome))[:_SHOWN_ROWS]:
        beside = [*f.left_out, *f.notes]
        if f.outcome is Outcome.OPEN and (needs := words.to_settle(answer, f)):
            beside.append(f"it needs {needs}")
        if beside or f.outcome is not Outcome.NO_DIFFERENCE:
            lines.append(f"- {md.escape('; '.join([words.sentence(answer, f), *beside]))}")
    lines += [f"- {md.escape(text)}" for text in (*words.failures(answer), *answer.left_out)]
    return ["\n".join(lines)] if lines else []


def _details(finding: GateFinding, actions: Actions | None) -> str:
    """How it was measured, and the command that repeats it; folded."""
    made, commits = finding.result, finding.commits
    lines = [f"- base {md.inline_code(commits.base)}: {md.escape(commits.how)}", f"- head {_head(finding)}"]
    if made is not None and any(f.pairs for f in finding.findings):
        ended = f"; ended: {_ENDED[made.stop]}" if made.stop in _ENDED else ""
        least = f"{100 * finding.minimum_effect:.3g}%"
        lines += [
            f"- {made.pairs} pairs of runs in random order{ended}; effects below {least} do not matter",
            f"- if nothing changed, noise says *worse* in at most {_CHANCE}",
        ]
    if made is not None:
        where = f" in {md.inline_code(finding.artifact)}" if finding.artifact else ""
        lines.append(f"- record: {made.series.entry.id}{where}")
    if actions is not None and actions.page is not None:
        lines.append(f"- [the job]({actions.page})")
    lines.append(md.bullet("again", md.command(finding.again)))
    return "<details><summary>How it was measured</summary>\n\n" + "\n".join(lines) + "\n\n</details>"


def _head(finding: GateFinding) -> str:
    commits = finding.commits
    if commits.tip is None:
        return md.inline_code(commits.head)
    return f"{md.inline_code(commits.tip)}, merged into the target branch as {md.inline_code(commits.head)}"


KIND = "ci"


class Written(StrEnum):
    """What became of the comment. `overtaken`: a later run of the workflow has written it."""

    POSTED = "posted"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    OVERTAKEN = "overtaken"


def place(remote: GitHub, number: int, name: str, text: str, run: tuple[int, int] | None) -> tuple[Written, str]:
    """Write the one comment of a job, whose `name` tells it from those of other jobs; what became of it, and where it
    is. Raises RemoteError. An answer that was lost is followed by reading, not by writing again."""
    login, key, sent = remote.login(), key_of(name), False
    body = marking.stamped(KIND, key, {} if run is None else {"run": run_text(run)}, text)

    def ours() -> list[tuple[Comment, marking.Marked]]:
        """Ours with their markers, the oldest first."""
        by_us = [c for c in remote.comments(number) if c.author.casefold() == login.casefold()]
        marked = [(comment, marking.read_comment(comment.body, key)) for comment in by_us]
        return [(comment, mark) for comment, mark in marked if mark is not None and mark.kind == KIND]

    def placed() -> tuple[Written, str]:
        nonlocal sent
        if not (there := ours()):
            sent = True
            remote.post_comment(number, body)
            # Somebody may have posted at the same moment.
            there = ours()
        if not there:
            cause = "somebody removed it at once"
            raise Stale(Unreachable("the comment that was just posted is not there", cause=cause))
        (first, marked), *others = there
        before, written = run_of(marked.fields.get("run", "")), Written.UPDATED
        if before is not None and run is not None and before > run:
            written = Written.OVERTAKEN
        elif marking.normalised(first.body) == marking.normalised(body):
            written = Written.POSTED if sent else Written.UNCHANGED
        else:
            remote.edit_comment(first.id, old=first.body, new=body)
        for comment, _ in others:
            remote.delete_comment(comment.id)
        return written, first.url

    return remote.pace.safely(placed)


def key_of(name: str) -> str:
    """What names a job in its marker: letters, digits, dots, dashes."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "-" for c in name)[:60]
    return f"ci.{plain}.{marking.text_digest(name)[:8]}"
