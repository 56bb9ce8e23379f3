"""Measuring: setup on both sides, each case once to see that it runs, pairs in turns, and regressions a second time."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from logbook_agent.entries.drafts import Prose, create_entry, draft_entry
from logbook_agent.entries.run import RunRequest
from logbook_agent.entries.series import NotCounted, Series, series
from logbook_agent.findings.tried.keys import how_it_failed
from logbook_agent.gate.job import BASE, HEAD, SIDE, GateJob, JobCase
from logbook_agent.gate.judged import JudgedRow, OneSided, one_sided, regressed_runs, rows_of
from logbook_agent.model.entry import Comparison, Entry, Field, PlannedCommand
from logbook_agent.model.errors import ToolError
from logbook_agent.model.record import SETUP, TEARDOWN, ended_badly
from logbook_agent.model.run import Run
from logbook_agent.running.execution import Display
from logbook_agent.running.prepare import Command, prepare
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace
from logbook_agent.sweeps.ab import LOAD_ADVICE, AbCase, AbResult, Rounds, Stop
from logbook_agent.sweeps.ab_axis import AbAxis
from logbook_agent.sweeps.ab_prepare import MINIMUM_EFFECT, AbRequest, any_seed, keep, planned
from logbook_agent.sweeps.trees import Tree, WatchedTrees

_AXIS = AbAxis(name=SIDE, values=(BASE, HEAD))
# What another commit brings along. The search path differs where a side has an environment of its own.
_IMPLIED = ("commit", "cwd", "file", "package")
_PATH = "env:PATH"
_TAIL_LINES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PairTerms:
    """How long, and from which effect on. `max_time_s` bounds the pairs of both rounds of measuring together."""

    max_pairs: int
    max_time_s: float | None = None
    minimum_effect: float | None = None
    confirms: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmeasured:
    """A case that a side cannot run; `case` empty: none of them. `side`: base, head or both. `said`: the last lines."""

    case: str
    side: str
    why: str
    said: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GateMeasured:
    """`rows`: the findings by case and metric; `one_sided`: those of one side only. `stop`: why no further pair was
    run, `why` in words. `changed`: which tree no longer held the files of its commit; that pair is left out, and no
    pair was run after it."""

    book: Book
    entries: tuple[str, ...]
    rows: tuple[JudgedRow, ...] = ()
    unmeasured: tuple[Unmeasured, ...] = ()
    one_sided: tuple[OneSided, ...] = ()
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
        watched: WatchedTrees,
        terms: PairTerms,
        display: Display,
    ) -> None:
        self._space, self._book, self._job = workspace, book, job
        self._trees, self._terms, self._display = tuple(trees), terms, display
        self._watched, self._changed = watched, ""
        self._unmeasured: list[Unmeasured] = []
        self._entries: list[str] = []
        self._began = time.monotonic()

    def carry_out(self) -> GateMeasured:
        with self._series(f"{self._job.name}: base against head", None) as made:
            self._entries.append(made.entry.id)
            first = None
            try:
                is_ready = self._set_up(made)
                made.entry = self._allowing_environments(made.entry)
                cases = self._able(made) if is_ready else []
                self._began = time.monotonic()
                first = self._pairs(made, cases) if cases and not made.is_stopped() else None
            except NotCounted as error:
                self._changed = error.message
            finally:
                # Whatever it changes is met before the next run.
                with contextlib.suppress(NotCounted):
                    self._each(made, TEARDOWN, self._job.teardown)
        if first is None or made.is_interrupted:
            return self._told(first, (), interrupted=made.is_interrupted)
        rows = rows_of(first.answers)
        again = regressed_runs(first.answers)
        if first.stop in (Stop.FAILED, Stop.NOT_COUNTED):
            why = "a run failed" if first.stop is Stop.FAILED else "a tree was changed"
            return self._told(first, tuple(row.unconfirmed(f"{why} before the second measurement") for row in rows))
        if not again or not self._terms.confirms:
            return self._told(first, rows)
        ids = {case.name for run in made.runs if run.run in again and (case := self._job.case_of(run)) is not None}
        return self._confirmed(first, rows, [case for case in cases if case.name in ids], made.entry)

    # -- before the pairs -------------------------------------------------------------------------------

    def _set_up(self, made: Series) -> bool:
        """Whether both sides could be set up."""
        failed = self._each(made, SETUP, self._job.setup)
        if not failed:
            return True
        side = "both" if len(failed) > 1 else next(iter(failed))
        run = next(iter(failed.values()))
        self._unmeasured.append(_unmeasured("", side, "setup failed", run))
        return False

    def _each(self, made: Series, label: str, commands: Sequence[PlannedCommand]) -> dict[str, Run]:
        """Setup or teardown on each side; the run that failed of each side where one did."""
        failed: dict[str, Run] = {}
        made.around = self._watched.setting_up
        for tree in self._trees if commands else ():
            for command in commands:
                if label == SETUP and made.is_stopped():
                    return failed
                self._display.progress(f"{label} on {tree.name}")
                ready = prepare(
                    self._space,
                    command.argv,
                    env=self._path_of(tree),
                    cwd=str(tree.folder),
                    shell=command.shell,
                    label=f"{label}: {tree.name}",
                )
                run = made.make(ready, {}, always=label == TEARDOWN)
                if run is None or ended_badly(run):
                    failed |= {tree.name: run or made.runs[-1]}
                    break
        return {} if made.is_interrupted and label == SETUP else failed

    def _able(self, made: Series) -> list[JobCase]:
        """The cases that both sides can run, each tried once; these runs warm up, and do not count."""
        able = []
        made.around = self._watched.measuring
        for case in self._job.cases:
            bad: dict[str, Unmeasured] = {}
            for tree in self._trees:
                if made.is_stopped():
                    return []
                found = self._try(made, case, tree)
                if found is not None:
                    bad[tree.name] = found
            if not bad:
                able.append(case)
                continue
            side = "both" if len(bad) > 1 else next(iter(bad))
            # Of both the head is what can be mended.
            self._unmeasured.append(dataclasses.replace(bad.get(HEAD) or bad[BASE], side=side))
        # A head that cannot run what base can is not worth its pairs.
        return [] if any(u.side == HEAD for u in self._unmeasured) else able

    def _try(self, made: Series, case: JobCase, tree: Tree) -> Unmeasured | None:
        self._display.progress(f"warm-up on {tree.name}: {case.name or self._job.name}")
        try:
            command = self._command(case, tree)
        except ToolError as error:
            return Unmeasured(case=case.name, side=tree.name, why=error.message)
        run = made.make(command, {**case.config, SIDE: tree.name}, timeout_s=case.timeout_s, discarded=True)
        if run is None:
            return Unmeasured(case=case.name, side=tree.name, why="could not be started")
        if ended_badly(run):
            return _unmeasured(case.name, tree.name, "", run)
        failure = next((row.failed for row in run.rows if row.failed is not None), None)
        if failure is not None:
            return _unmeasured(case.name, tree.name, f"reported a failure ({failure.reason})", run)
        if not any(row.metrics or row.observations for row in run.rows):
            return _unmeasured(case.name, tree.name, "printed no RESULT or METRIC line", run)
        return None

    def _command(self, case: JobCase, tree: Tree) -> Command:
        env = {**case.env, **self._path_of(tree)}
        folder = str(tree.folder)
        return prepare(self._space, case.argv, env=env, cwd=folder, shell=case.shell, label=case.label)

    def _path_of(self, tree: Tree) -> dict[str, str]:
        """A virtual environment that the setup of a side has made comes first on its search path."""
        programs = tree.environment / "bin"
        if not programs.is_dir():
            return {}
        return {"PATH": f"{programs}{os.pathsep}{self._space.environ.get('PATH', os.defpath)}"}

    # -- pairs ------------------------------------------------------------------------------------------

    def _pairs(self, made: Series, cases: Sequence[JobCase]) -> AbResult:
        ready = [
            AbCase(
                commands=tuple(self._command(case, tree) for tree in self._trees),
                config=case.config,
                timeout_s=case.timeout_s,
            )
            for case in cases
        ]
        made.around = self._watched.measuring
        found = Rounds(made, self._request(), _AXIS, ready).carry_out()
        if found.stop is Stop.NOT_COUNTED:
            self._changed = found.why
        return found

    def _request(self) -> AbRequest:
        left_s = None if self._terms.max_time_s is None else self._terms.max_time_s - (time.monotonic() - self._began)
        return AbRequest(
            axis=_AXIS.option,
            run=RunRequest(),
            max_pairs=self._terms.max_pairs,
            max_time_s=left_s,
            minimum_effect=self._terms.minimum_effect,
        )

    def _confirmed(
        self, first: AbResult, rows: tuple[JudgedRow, ...], cases: Sequence[JobCase], before: Entry
    ) -> GateMeasured:
        """Cases that came out regressive once more, in an entry of their own: what noise made will not come back."""
        request = self._request()
        if request.max_time_s is not None and request.max_time_s <= 0:
            return self._told(
                first, tuple(row.unconfirmed("no time was left for a second measurement") for row in rows)
            )
        self._display.progress("measuring the regressions a second time")
        with self._series(f"{self._job.name}: regressions measured a second time", before.id) as made:
            self._entries.append(made.entry.id)
            second = self._pairs(made, cases)
        found = rows_of(second.answers)
        told = tuple(row.with_second(row.among(found), second.why) for row in rows)
        return self._told(first, told, interrupted=made.is_interrupted)

    def _told(self, first: AbResult | None, rows: tuple[JudgedRow, ...], *, interrupted: bool = False) -> GateMeasured:
        if first is not None and first.stop is Stop.FAILED:
            run = first.series.runs[-1]
            case = self._job.case_of(run)
            side = str(run.config.get(SIDE, BASE))
            self._unmeasured.append(_unmeasured(case.name if case is not None else "", side, "", run))
        return GateMeasured(
            book=self._book,
            entries=tuple(self._entries),
            rows=rows,
            unmeasured=tuple(self._unmeasured),
            one_sided=one_sided(first.answers) if first is not None else (),
            stop=first.stop if first is not None else None,
            why=first.why if first is not None else "",
            pairs=first.pairs if first is not None else 0,
            interrupted=interrupted,
            changed=self._changed or None,
        )

    # -- entries ----------------------------------------------------------------------------------------

    def _series(self, title: str, before: str | None) -> AbstractContextManager[Series]:
        return series(self._space, self._book, lambda: self._entry(title, before), self._display, advice=LOAD_ADVICE)

    @property
    def _implied(self) -> tuple[str, ...]:
        """What may differ. (A name that no run has would be refused.)"""
        has_path = any((tree.environment / "bin").is_dir() for tree in self._trees)
        return (*_IMPLIED, _PATH) if has_path else _IMPLIED

    def _allowing_environments(self, entry: Entry) -> Entry:
        """The entry with its question as it stands after setup, which may have made virtual environments."""
        [asked] = entry.comparisons
        if asked.implied == self._implied or entry.design is None:
            return entry
        new = dataclasses.replace(asked, implied=self._implied)
        return keep(self._space, self._book, entry, new, asked, entry.design)

    def _entry(self, title: str, before: str | None) -> Entry:
        """A new entry with the question that its pairs answer, and their design."""
        space = self._space
        asked = Comparison(
            references=(),
            axis=SIDE,
            base_value=_AXIS.base,
            metrics=tuple(metric.name for metric in self._job.metrics),
            implied=self._implied,
            minimum_effect=MINIMUM_EFFECT if self._terms.minimum_effect is None else self._terms.minimum_effect,
        )
        design = planned(self._request(), None, 0)
        design = dataclasses.replace(design, seed=any_seed(space.moment(), design, len(_AXIS.values)))
        commits = "\n".join(f"- {tree.name}: `{tree.commit}`" for tree in self._trees)
        draft = draft_entry(space, Prose(continues=before), title=title)
        fields = (Field(label="Question", text=self._job.question), Field(label="Commits", text=commits))
        draft = dataclasses.replace(draft, comparisons=(asked,), design=design, fields=(*fields, *draft.fields))
        return create_entry(space, self._book, draft)


def _unmeasured(case: str, side: str, what: str, run: Run) -> Unmeasured:
    how = how_it_failed(run) if ended_badly(run) else ""
    said = (run.output.error_tail or run.output.tail)[-_TAIL_LINES:] if run.output is not None else ()
    return Unmeasured(case=case, side=side, why=": ".join(filter(None, (what, how))) or "failed", said=said)
