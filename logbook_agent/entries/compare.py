"""`logbook compare`: the answer of the comparison that holds both sides, or their numbers."""

from __future__ import annotations

from msgspec import Struct

from logbook_agent.findings.comparison import answer_lines
from logbook_agent.findings.comparison.answer import Answer
from logbook_agent.findings.comparisons import designed
from logbook_agent.findings.contrast import Contrasted, against_baseline, asked_of, contrast
from logbook_agent.findings.protocol import NOWHERE, TypingPlace
from logbook_agent.findings.read import Findings, read
from logbook_agent.findings.references import Contrast, checked
from logbook_agent.findings.synopses import does
from logbook_agent.model.entry import entry_of
from logbook_agent.model.values import canonical
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace, naming


class CompareResult(Struct, frozen=True, kw_only=True):
    """Either `answer` or `numbers`. Where a goal of the answer is open, `why` says why, and `command` is what to type
    for it, which `does` what it says."""

    book: Book
    answer: Answer | None = None
    numbers: Contrasted | None = None
    why: str = ""
    does: str = ""
    command: str = ""

    def data(self) -> dict[str, object]:
        is_open = {"why": self.why, "command": self.command}
        return {
            "answer": answer_lines.data(self.answer) if self.answer is not None else None,
            "numbers": self.numbers.data() if self.numbers is not None else None,
            **{name: text for name, text in is_open.items() if text},
        }


def compare(
    workspace: Workspace, asked: Contrast, *, baseline: bool = False, here: TypingPlace = NOWHERE
) -> CompareResult:
    """What is known of these sides, with commands as they are typed `here`. What else a reader has to know becomes a
    warning."""
    book = workspace.book(entry_of(asked.references[0])).outgoing()
    base = asked.base_value
    asked = checked(book, asked, baseline=baseline)
    findings = read(workspace, book, naming(workspace, book), here)
    answer = None if baseline else designed(findings.comparisons, book, asked)
    if answer is not None:
        if base is not None and canonical(base) != answer.question.base:
            used = f"{answer.entry} states its base, {answer.question.base}"
            workspace.warnings.append(f"--base {base} is not used: {used}")
        return _answered(book, findings, answer)
    one = against_baseline(book, asked, here) if baseline else contrast(book, asked, here)
    asked_in = [a.entry for a in reversed(findings.comparisons.answers)] if one.command else []
    one = asked_of(one, [findings.entry(e) for e in asked_in if findings.thread.standing[e].withdrawn is None])
    workspace.warnings += findings.baseline_doubts if baseline else []
    standing = {entry: findings.standing(findings.entry(entry)).why for entry in one.asked.entries}
    workspace.warnings += [f"{entry} does not count: it is {why}" for entry, why in standing.items() if why]
    return CompareResult(book=book, numbers=one)


def _answered(book: Book, findings: Findings, answer: Answer) -> CompareResult:
    """An answer; an open one with what `status` says of it. What another process executes wants no command."""
    found = () if answer.is_settled else findings.synopses
    one = next((one for one in found if one.entry == answer.entry and one.why), None)
    if one is None:
        return CompareResult(book=book, answer=answer)
    is_held = one.entry in {claim.entry for claim in book.claims.held()}
    command = "" if is_held else findings.typed(one.command)
    return CompareResult(book=book, answer=answer, why=one.why, does=does(one.lacks, one.pairs), command=command)
