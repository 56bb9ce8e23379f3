"""The comment on a pull request, as Markdown. What stands in it from recipes, commands and output is shown as text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from logbook_agent.campaign.pair_judge import Stop
from logbook_agent.findings.comparison import answer_lines, words
from logbook_agent.findings.comparison.answer import Finding, Outcome
from logbook_agent.findings.comparison.rule import LEVEL
from logbook_agent.issue import inert, marking
from logbook_agent.issue.gate.job import BASE, HEAD
from logbook_agent.issue.gate.pull_request import RUN, Actions
from logbook_agent.issue.gate.verdict import SIGNS, CiResult, GateOutcome, Unmeasured
from logbook_agent.issue.pace import Stale
from logbook_agent.issue.values import Comment
from logbook_agent.model.errors import Unreachable
from logbook_agent.text import markdown as md
from logbook_agent.text.as_html import visible
from logbook_agent.text.fit import cut
from logbook_agent.text.phrases import assignments

if TYPE_CHECKING:
    from logbook_agent.issue.github import GitHub

# GitHub's limit is 65,536; the marker takes some.
LIMIT_BYTES = 60_000
_SAID_CHARS = 2_000
# Half of the claims that chance makes say that the head is worse.
_CHANCE = f"{(1 - LEVEL) / 2:.1%} of such measurements, over all cases, metrics and looks"
# The title of a comment, where it is not the outcome's own words.
_TITLES = {
    GateOutcome.HEAD_FAILED: "the head fails",
    GateOutcome.NOT_MEASURED: "could not be measured",
    GateOutcome.NO_DIFFERENCE: "no difference",
    GateOutcome.NO_BASE: "no base to compare with",
    GateOutcome.SAME_CODE: "base and head are the same code",
}
_SIDES = {BASE: "the base fails", HEAD: "the head fails and the base does not", "both": "both sides fail"}


def comment_of(result: CiResult, actions: Actions | None) -> str:
    """The comment without its marker. Deterministic."""
    name = f" of {md.escape(result.name)}" if result.name else ""
    early = f": stopped early because {md.escape(result.changed)}" if result.changed else ""
    parts = [
        f"### Benchmark{name}: {_TITLES.get(result.outcome, result.outcome)}{early}",
        _summary(result),
        "\n".join(f"- {md.escape(text)}" for text in result.differences),
        _table(result.findings),
        "\n".join(map(_unmeasured, result.unmeasured)),
        "\n".join(f"- {md.escape(text)}" for text in _sentences(result)),
        _details(result, actions),
    ]
    return cut(inert.document(visible("\n\n".join(part for part in parts if part))), LIMIT_BYTES)


def _summary(result: CiResult) -> str:
    counts, commits = result.counts, result.commits
    told = [f"**{counts[outcome]} {outcome.value}**" for outcome in SIGNS if counts[outcome]]
    told += [f"**{len(result.unmeasured)} not measured**"] if result.unmeasured else []
    base, head = (md.inline_code(sha[:12]) for sha in (commits.base, commits.tip or commits.head))
    return "; ".join(filter(None, (", ".join(told), f"base {base} → head {head}")))


def _table(findings: Sequence[Finding]) -> str:
    """What is worse comes first."""
    has_cases = any(f.case for f in findings)
    names = (*(["case"] if has_cases else []), "metric", "base", "head", "change", "answer", "pairs")
    rules = ("---:" if name in ("base", "head", "pairs") else "---" for name in names)
    rows = [names, tuple(rules), *(_cells(f, has_cases=has_cases) for f in findings)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) if findings else ""


def _cells(f: Finding, *, has_cases: bool) -> tuple[str, ...]:
    better = {"max": " ↑", "min": " ↓"}.get(f.direction or "", "")
    interval = words.interval(f)
    cells = (
        *([assignments(f.case)] if has_cases else []),
        f"{f.metric}{f' ({f.unit})' if f.unit else ''}{better}",
        words.number(f, f.base),
        words.number(f, f.other),
        words.signed(f.change) + (f" ({interval})" if interval else ""),
        f"{SIGNS[f.outcome]} {f.outcome.value}",
        str(f.pairs),
    )
    return tuple(map(md.cell, cells))


def _unmeasured(one: Unmeasured) -> str:
    """How a case failed, with its last lines below."""
    about = f"{md.inline_code(one.case)}: " if one.case else ""
    said = inert.log("\n".join(one.said))[-_SAID_CHARS:]
    tail = f"\n\n{md.indent(md.fence(said, 'text'))}" if said.strip() else ""
    return f"- {about}{_SIDES[one.side]}: {md.escape(one.why)}{tail}"


def _sentences(result: CiResult) -> Iterator[str]:
    """A line for each difference and each open question, with what that needs; then why pairs do not count."""
    answer = result.answer
    if answer is None:
        return
    for f in result.findings:
        beside = [*f.left_out, *f.notes]
        # Of pairs, its sentence says how many it needs.
        if f.outcome is Outcome.OPEN and not f.lacks_pairs and (needs := words.to_settle(answer, f)):
            beside.append(f"it needs {needs}")
        if beside or f.outcome is not Outcome.NO_DIFFERENCE:
            yield "; ".join([words.sentence(answer, f), *beside])
    reasons = [*answer_lines.failures(answer), *answer.left_out]
    if not reasons and result.ab is not None and result.ab.stop is Stop.NOT_COMPARABLE:
        reasons = [result.ab.why]
    yield from reasons


def _details(result: CiResult, actions: Actions | None) -> str:
    """How it was measured, and the command that repeats it; folded."""
    made, commits = result.ab, result.commits
    head = md.inline_code(commits.tip or commits.head)
    head += f", merged into the target branch as {md.inline_code(commits.head)}" if commits.tip else ""
    lines = [f"- base {md.inline_code(commits.base)}: {md.escape(commits.how)}", f"- head {head}"]
    if made is not None and any(f.pairs for f in result.findings):
        least = f"{100 * result.minimum_effect:.3g}%"
        lines += [
            f"- {made.pairs} pairs of runs in random order; effects below {least} do not matter",
            f"- if nothing changed, noise says *worse* in at most {_CHANCE}",
        ]
    if made is not None:
        where = f" in {md.inline_code(result.artifact)}" if result.artifact else ""
        lines.append(f"- record: {made.series.entry.id}{where}")
    if actions is not None and actions.page is not None:
        lines.append(f"- [the job]({actions.page})")
    lines.append(md.bullet("again", md.command(result.again)))
    return "<details><summary>How it was measured</summary>\n\n" + "\n".join(lines) + "\n\n</details>"


KIND = "ci"


def place(remote: GitHub, number: int, name: str, text: str, run: str) -> tuple[str, str]:
    """Write the one comment of a job, whose `name` tells it from those of other jobs; what became of it (posted,
    updated, unchanged, or overtaken by a later run of the workflow), and where it is. Raises RemoteError. An answer
    that was lost is followed by reading, not by writing again."""
    login, sent = remote.login(), False
    # What names a job in its marker: letters, digits, dots, dashes.
    key = f"ci.{re.sub(r'[^A-Za-z0-9._-]', '-', name)[:60]}.{marking.text_digest(name)[:8]}"
    body = marking.stamped(KIND, key, {"run": run} if run else {}, text)

    def ours() -> list[tuple[Comment, marking.Marked]]:
        """Ours with their markers, the oldest first."""
        by_us = [c for c in remote.comments(number) if c.author.casefold() == login.casefold()]
        marked = [(comment, marking.read_comment(comment.body, key)) for comment in by_us]
        return [(comment, mark) for comment, mark in marked if mark is not None and mark.kind == KIND]

    def placed() -> tuple[str, str]:
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
        before, written = marked.fields.get("run", ""), "updated"
        if run and RUN.fullmatch(before) and [*map(int, before.split("."))] > [*map(int, run.split("."))]:
            written = "overtaken"
        elif marking.normalised(first.body) == marking.normalised(body):
            written = "posted" if sent else "unchanged"
        else:
            remote.edit_comment(first.id, old=first.body, new=body)
        for comment, _ in others:
            remote.delete_comment(comment.id, old=comment.body)
        return written, first.url

    return remote.pace.safely(placed)
