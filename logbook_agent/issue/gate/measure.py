"""Measures base and head: setup on both sides, each case once to see that it runs, then pairs."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from logbook_agent.campaign.ab_axis import AbAxis
from logbook_agent.campaign.ab_question import comparison_of
from logbook_agent.campaign.ab_request import AbRequest
from logbook_agent.campaign.checkouts import Tree
from logbook_agent.campaign.code_guard import CodeChanged, CodeGuard
from logbook_agent.campaign.pair_judge import Stop
from logbook_agent.campaign.pairs import AbCase, AbResult, Pairs
from logbook_agent.campaign.run_request import RunRequest
from logbook_agent.campaign.series import RunSeries, begun
from logbook_agent.entries.drafts import Prose, create_entry, draft_entry
from logbook_agent.findings.attempts import how_it_failed
from logbook_agent.findings.comparison.answer import Answer
from logbook_agent.issue.gate.job import BASE, HEAD, CiRequest, GateJob, Unmeasured
from logbook_agent.model.comparison import CODE_AXIS
from logbook_agent.model.entry import Entry, Field, PlannedCommand
from logbook_agent.model.errors import ToolError
from logbook_agent.model.gates import judged, parse_gate
from logbook_agent.model.record import SETUP, TEARDOWN, ended_badly
from logbook_agent.model.run import Run
from logbook_agent.running.order import Display, RunPlan
from logbook_agent.running.prepare import Command, prepare
from logbook_agent.running.provenance.git import CodeLook
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace

_AXIS = AbAxis(name=CODE_AXIS, values=(BASE, HEAD))
_TAIL_LINES = 20
# Why the pairs ended, without the options of `logbook ab`.
_ENDED = {
    Stop.SETTLED: "every answer is settled",
    Stop.PAIRS: "--max-pairs is reached",
    Stop.TIME: "--max-time is reached",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GateMeasured:
    """`answer`: what the pairs answer; None without a pair. `stop`: why no further pair was run, `why` in words.
    `changed`: which tree no longer held the
    files of its commit; that pair is left out, and no pair was run after it."""

    book: Book
    entry: str | None
    answer: Answer | None = None
    unmeasured: tuple[Unmeasured, ...] = ()
    stop: Stop | None = None
    why: str = ""
    pairs: int = 0
    interrupted: bool = False
    changed: str | None = None


class Measuring:
    """The commands of one pull request, on both sides."""

    def __init__(
        self,
        workspace: Workspace,
        book: Book,
        job: GateJob,
        trees: Sequence[Tree],
        request: CiRequest,
        display: Display,
    ) -> None:
        self._space, self._book, self._job = workspace, book, job
        self._trees, self._asked, self._display = tuple(trees), request, display
        self._changed = ""
        self._unmeasured: list[Unmeasured] = []

    def carry_out(self) -> GateMeasured:
        found = None
        with begun(self._space, self._book, self._entry, self._display) as made:
            made.guard = self._guard()
            try:
                cases = self._able(made) if self._set_up(made) else {}
                found = self._pairs(made, cases) if cases and not made.is_stopped() else None
            except CodeChanged as error:
                self._changed = error.message
            finally:
                # Whatever it changes is met before the next run.
                with contextlib.suppress(CodeChanged):
                    self._own(made, TEARDOWN, self._job.teardown)
        return GateMeasured(
            book=self._book,
            entry=made.entry.id,
            answer=found.answer if found is not None else None,
            unmeasured=tuple(self._unmeasured),
            stop=found.stop if found is not None else None,
            why=_ENDED.get(found.stop, found.why) if found is not None else "",
            pairs=found.pairs if found is not None else 0,
            interrupted=made.is_interrupted,
            changed=self._changed or None,
        )

    def _guard(self) -> CodeGuard:
        space = self._space
        looks = [CodeLook(t.folder, space.root, (), space.environ, space.config.code) for t in self._trees]
        return CodeGuard(looks, {tree.folder: tree.name for tree in self._trees})

    # -- before the pairs -------------------------------------------------------------------------------

    def _set_up(self, made: RunSeries) -> bool:
        """Whether both sides could be set up."""
        failed = self._own(made, SETUP, self._job.setup)
        if failed and not made.is_interrupted:
            found = {side: _unmeasured("", side, "setup failed", run) for side, run in failed.items()}
            self._unmeasured.append(_of_sides(found))
        return not failed

    def _own(self, made: RunSeries, label: str, commands: Sequence[PlannedCommand]) -> dict[str, Run]:
        """Setup or teardown on each side; the first run that failed of each side where one did."""

        def plans(tree: Tree) -> Iterator[tuple[str, RunPlan]]:
            for one in commands:
                case = RunRequest(argv=one.argv, shell=one.shell, label=f"{label}: {tree.name}")
                plan = case.plan(self._command(case, tree), made.entry.id)
                yield f"{label} on {tree.name}", replace(plan, until=one.until, always=label == TEARDOWN)

        found = {tree.name: made.own(plans(tree)) for tree in self._trees}
        return {name: run for name, run in found.items() if run is not None}

    def _able(self, made: RunSeries) -> dict[str, RunRequest]:
        """The cases that both sides can run, each tried once; these runs warm up, and do not count."""
        able = {}
        for name, case in self._job.cases.items():
            bad: dict[str, Unmeasured] = {}
            for tree in self._trees:
                if made.is_stopped():
                    return {}
                found = self._try(made, name, case, tree)
                bad |= {tree.name: found} if found is not None else {}
            if bad:
                self._unmeasured.append(_of_sides(bad))
            else:
                able[name] = case
        # A head that cannot run what base can is not worth its pairs.
        return {} if any(u.side == HEAD for u in self._unmeasured) else able

    def _try(self, made: RunSeries, name: str, case: RunRequest, tree: Tree) -> Unmeasured | None:
        self._display.progress(f"warm-up on {tree.name}: {name or self._job.name}")
        try:
            plan = case.plan(self._command(case, tree), made.entry.id)
        except ToolError as error:
            return Unmeasured(case=name, side=tree.name, why=error.message)
        plan = replace(plan, config={**case.config, CODE_AXIS: tree.name}, discarded=True)
        run = next((run for _, run in made.each([[plan]])), None)
        if run is None:
            return Unmeasured(case=name, side=tree.name, why="could not be started")
        [seen] = judged([run], tuple(map(parse_gate, self._job.gates)))
        failure = next((row.failed for row in seen.rows if row.failed is not None), None)
        what = ""
        if failure is not None and not ended_badly(run):
            what = f"reported a failure ({failure})"
        elif not any(row.metrics or row.observations for row in run.rows) and not ended_badly(run):
            what = str(run.problems[-1]) if case.read and run.problems else "printed no RESULT or METRIC line"
        return _unmeasured(name, tree.name, what, run) if what or ended_badly(run) else None

    def _command(self, case: RunRequest, tree: Tree) -> Command:
        """The command in the tree of a side. A virtual environment that its setup has made comes first on its path."""
        programs, env = tree.environment / "bin", dict(case.env)
        if programs.is_dir():
            env["PATH"] = f"{programs}{os.pathsep}{self._space.environ.get('PATH', os.defpath)}"
        folder = str(tree.folder)
        return prepare(self._space, case.argv, env=env, cwd=folder, shell=case.shell, label=case.label, read=case.read)

    # -- pairs ------------------------------------------------------------------------------------------

    def _pairs(self, made: RunSeries, cases: Mapping[str, RunRequest]) -> AbResult:
        ready = [
            AbCase(commands=tuple(self._command(case, tree) for tree in self._trees), config=case.config)
            for case in cases.values()
        ]
        found = Pairs(made, self._request(), _AXIS, ready).carry_out()
        if found.stop is Stop.CODE_CHANGED:
            self._changed = found.why
        if found.stop is Stop.FAILED:
            run = made.runs[-1]
            side = str(run.config.get(CODE_AXIS, BASE))
            self._unmeasured.append(_unmeasured(self._job.case_of(run), side, "", run))
        return found

    def _request(self) -> AbRequest:
        first = next(iter(self._job.cases.values()))
        return AbRequest(
            axis=_AXIS,
            run=RunRequest(timeout_s=first.timeout_s),
            max_pairs=self._asked.max_pairs,
            max_time_s=self._asked.max_time_s,
            minimum_effect=self._asked.minimum_effect,
            metrics=tuple(metric.name for metric in self._job.metrics),
        )

    def _entry(self) -> Entry:
        """A new entry that states the comparison."""
        space = self._space
        stated = comparison_of(space, self._book.header, self._request(), _AXIS)
        commits = "\n".join(f"- {tree.name}: `{tree.commit}`" for tree in self._trees)
        draft = draft_entry(space, Prose(), title=f"{self._job.name}: base against head")
        fields = (Field(label="Question", text=self._job.question), Field(label="Commits", text=commits))
        return create_entry(space, self._book, replace(draft, comparison=stated, fields=(*fields, *draft.fields)))


def _of_sides(found: Mapping[str, Unmeasured]) -> Unmeasured:
    """What is said of a case that failed on these sides: of both the head is what can be mended."""
    return replace(found.get(HEAD) or found[BASE], side="both" if len(found) > 1 else next(iter(found)))


def _unmeasured(case: str, side: str, what: str, run: Run) -> Unmeasured:
    how = how_it_failed(run) if ended_badly(run) else ""
    said = (run.output.error_tail or run.output.tail)[-_TAIL_LINES:] if run.output is not None else ()
    return Unmeasured(case=case, side=side, why=": ".join(filter(None, (what, how))) or "failed", said=said)
