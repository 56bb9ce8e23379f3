"""The answer of `logbook next` on this machine."""

from __future__ import annotations

from collections.abc import Sequence

from logbook_agent.agents.next_steps import Proposal, proposals
from logbook_agent.agents.refuted import CodeNow, Now
from logbook_agent.findings.read import read
from logbook_agent.model.run import Run
from logbook_agent.running.provenance.git import CodeLook
from logbook_agent.running.provenance.software import software_versions
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace


def next_proposals(workspace: Workspace, book: Book) -> list[Proposal]:
    """What to do next in a logbook, with what this machine knows: who executes which plan, and which code and packages
    a command would find here."""
    found = read(workspace, book)
    claims = {claim.entry: claim.text for claim in book.claims.held()}
    return proposals(found, _now(workspace), claims, workspace.now())


def next_data(shown: Sequence[Proposal], left_out: int) -> dict[str, object]:
    """The steps as plain data, and how many more there are."""
    trouble = [{"what": one.step.text, "why": one.trouble} for one in shown if one.trouble]
    return {"cannot": trouble, "steps": [one.data() for one in shown], **({"left_out": left_out} if left_out else {})}


def _now(workspace: Workspace) -> Now:
    known: dict[tuple[str, ...], CodeNow] = {}

    def now(run: Run) -> CodeNow:
        if run.argv not in known:
            look = CodeLook(workspace.cwd, workspace.root, run.argv, workspace.environ, workspace.config.code)
            software = software_versions(run.argv, workspace.cwd, workspace.environ, tuple(run.software))
            known[run.argv] = CodeNow(identity=look.facts().code.key, software=software)
        return known[run.argv]

    return now
