"""Where the sides of an A/B run: in place, in a copy of the code as it is, or in checkouts of commits and of recorded
code; with what is known of the code, and the command that prepares each folder."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence

from msgspec import structs

from logbook_agent.campaign.ab_axis import AbAxis, AbCase, Sides, placed
from logbook_agent.campaign.ab_request import AbRequest
from logbook_agent.campaign.checkouts import Tree, beside, in_trees, placed_in
from logbook_agent.campaign.code_guard import CodeGuard, looks_at
from logbook_agent.campaign.code_labels import labels_of, shared_evaluator
from logbook_agent.campaign.run_request import RunRequest, own_plans, prepared, setup_command
from logbook_agent.campaign.series import RunSeries
from logbook_agent.findings.advice import ab_afresh, ab_more
from logbook_agent.model.code import Code
from logbook_agent.model.comparison import CASE_AXIS, CODE_AXIS, WORK, Comparison
from logbook_agent.model.errors import CommandNotFound, LogbookError, UsageError
from logbook_agent.model.record import SETUP, TEARDOWN
from logbook_agent.running.executors.table import executor_named_by
from logbook_agent.running.order import Display
from logbook_agent.running.provenance.git import CodeFacts
from logbook_agent.store.book import Book
from logbook_agent.store.places import repository_of
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.phrases import assignments, listed

_SHOWN = 3
# Of one length, which is part of what a program meets: its path.
_NAMES = ("base", "head")


@contextlib.contextmanager
def sides_of(
    workspace: Workspace,
    book: Book,
    request: AbRequest,
    display: Display,
    stated: Comparison | None,
    trees: list[Tree] | None = None,
) -> Iterator[Sides]:
    """The sides that are asked for, while their folders are there; those of an entry with the code that it `stated`,
    in place where that is the code that is there; codes in their `trees`, where they are checked out. Raises UsageError
    where it cannot be had, and StoreError where git cannot check it out."""
    # In trees that others have checked out, a program that is missing is a run that fails.
    is_built, afresh = _is_set_up(request) or trees is not None, ab_afresh(request.run.entry_id or "", new=False)
    of = _SidesOf(workspace, book, request, display, afresh, is_built=is_built)
    with of.folders:
        yield of.values(stated) if request.codes is None else of.codes(request.codes, stated, trees)


@contextlib.contextmanager
def sides_of_runs(
    series: RunSeries, runs: Sequence[RunRequest], recorded: Code | None, afresh: str, *, is_built: bool
) -> Iterator[Sides]:
    """Whole runs as sides, while their folder is there: with the code that was `recorded`, as in `sides_of`."""
    of = _SidesOf(series.workspace, series.book, AbRequest(run=runs[0]), series.display, afresh, is_built=is_built)
    with of.folders:
        yield of.in_folder(AbAxis(name=CASE_AXIS, values=("base", "other")), runs, recorded, ())


class _SidesOf:
    """Makes the sides of a request. The checkouts in which they run are there as long as `folders` are held. `afresh`
    asks the same of the code as it is now."""

    def __init__(
        self, workspace: Workspace, book: Book, request: AbRequest, display: Display, afresh: str, *, is_built: bool
    ) -> None:
        self._workspace, self._book, self._request, self._display = workspace, book, request, display
        self._afresh, self._is_built = afresh, is_built
        self.folders = contextlib.ExitStack()

    def _made(self, axis: AbAxis, cases: Sequence[Sequence[RunRequest]], trees: Sequence[Tree] = ()) -> Sides:
        """The sides of an axis, of each case a run for each, with their one code and what prepares their folders."""
        made, asked, runs = [], self._request, cases[0]
        for case in cases:
            commands = tuple(prepared(self._workspace, run, is_built=self._is_built) for run in case)
            name = assignments(case[0].config) if len(cases) > 1 else ""
            made.append(AbCase(commands=commands, configs=tuple(run.config for run in case), name=name))
        looks = looks_at(self._workspace, self._book.root, made[0].commands)
        guard = CodeGuard(looks, {tree.folder: tree.name for tree in trees})
        # What prepares a folder is the same for each value.
        plain = [{name: text for name, text in run.env.items() if name != axis.variable} for run in runs]
        folders = {run.cwd: structs.replace(run, env=env) for run, env in zip(runs, plain, strict=True)}
        names = {str(tree.folder): tree.name for tree in trees if len(trees) > 1}
        own = {SETUP: (*asked.prepare, *setup_command(asked.setup)), TEARDOWN: asked.teardown}
        _check_here(self._workspace, asked.run.on, any(own.values()))
        setup, teardown = (
            tuple(
                own_plans(self._workspace, label, of, run, folder=names.get(run.cwd or "", ""))
                for run in folders.values()
            )
            for label, of in own.items()
        )
        facts = guard.facts(made[0].commands[0])
        return Sides(
            axis=axis,
            argv=asked.run.argv,
            cases=tuple(made),
            guard=guard,
            code={axis.keys[0]: facts} if facts is not None else {},
            setup=setup,
            teardown=teardown,
        )

    # -- values of one code ----------------------------------------------------------------------------

    def values(self, stated: Comparison | None) -> Sides:
        """The values of an axis: in place, or in a checkout of the code as it is or as it was recorded."""
        axis, run = self._request.axis, self._request.run
        if axis is None:
            raise AssertionError("nothing is compared")
        self._check_named(axis)
        here = os.path.realpath(self._workspace.cwd)
        folder = os.path.realpath(self._workspace.cwd / (run.cwd or "."))
        argv = placed(axis, run.argv, run.config, os.path.relpath(folder, here))
        runs = [
            structs.replace(run, argv=axis.words(argv, value), env={**run.env, **axis.env(value)})
            for value in axis.values
        ]
        recorded = stated.code.get(stated.question.base) if stated is not None else None
        needs = stated.run.needs if stated is not None and stated.run is not None else ()
        return structs.replace(self.in_folder(axis, runs, recorded, needs), argv=argv)

    def _check_named(self, axis: AbAxis) -> None:
        """Raises UsageError where a value is that of a secret variable: records have the variable's name instead."""
        if any(secret.kind is None for value in axis.values for secret in self._workspace.redactor.found(value)):
            raise UsageError(
                f"a value of --axis {axis.name} is the value of a secret variable",
                cause="records have the variable's name instead, so its side would have no name",
                hint=f"let the command read the variable, and vary which: --axis {axis.variable or axis.name}_from=A,B",
            )

    def _trees(self, option: str, codes: Mapping[str, str | Code]) -> list[Tree]:
        space, run = self._workspace, self._request.run
        return self.folders.enter_context(in_trees(space, run, option, codes, self._display, self._book, self._afresh))

    def in_folder(self, axis: AbAxis, runs: Sequence[RunRequest], recorded: Code | None, needs: Sequence[str]) -> Sides:
        """Sides of one code: in place, or in a checkout of the code as it is, or as it was `recorded`, with files that
        it `needs`."""
        try:
            here = self._made(axis, [runs])
        except LogbookError:
            # Its program or its folder may be gone here, and be in the recorded code.
            if recorded is None or recorded.commit is None:
                raise
            return self._as_recorded(axis, runs, recorded, needs)
        if recorded is not None and _has_changed(recorded, here):
            return self._as_recorded(axis, runs, recorded, needs)
        code = here.code.get(axis.keys[0])
        found = beside(self._workspace, here.commands[0], code) if code is not None else ()
        if self._request.run.frozen:
            [tree] = self._trees("--frozen", {"copy": WORK})
            here = self._made(axis, [[placed_in(self._workspace, run, tree) for run in runs]], [tree])
        return structs.replace(here, needs=found)

    def _as_recorded(self, axis: AbAxis, runs: Sequence[RunRequest], recorded: Code, needs: Sequence[str]) -> Sides:
        """The sides in a checkout of the code that was recorded. Raises UsageError where that cannot be had, or where
        files are not there that were, and no setup makes them."""
        folder = self._workspace.cwd / (self._request.run.cwd or ".")
        if repository_of(folder) is None:
            raise self._lost(f"the code has changed, and {folder} is in no git repository, which has it as it was")
        [tree] = self._trees("--id", {"copy": recorded})
        lacks = [name for name in needs if not (tree.top / name).exists()]
        if lacks and self._request.setup is None:
            again = ab_more(self._request.run.entry_id or "", self._request.max_pairs)
            raise UsageError(
                f"the code has changed, and a checkout of {tree.commit[:9]} lacks {listed(lacks, _SHOWN)}",
                cause="git does not hold them: a build made them, or they are data",
                hint=f"{again} --setup 'COMMAND THAT MAKES THEM'",
            )
        sides = self._made(axis, [[placed_in(self._workspace, run, tree) for run in runs]], [tree])
        if _has_changed(recorded, sides):
            raise self._lost(
                "its record differs from it: a secret in its changes was replaced, a file lies outside of the"
                " repository, or git changes files when it checks them out"
            )
        return structs.replace(sides, code={})

    def _lost(self, cause: str) -> UsageError:
        return UsageError(
            f"the code of {self._request.run.entry_id or 'the comparison'} cannot be brought back as it was",
            cause=cause,
            hint=f"to ask the same of the code as it is now: {self._afresh}",
        )

    # -- codes -----------------------------------------------------------------------------------------

    def codes(self, codes: tuple[str, str], stated: Comparison | None, at: list[Tree] | None) -> Sides:
        """Both codes, each in a checkout; those that are stated as they were recorded. Their labels are such as
        `main@3f2a9c01d` and `WORK+a1b2c3d`. Raises UsageError where one is no commit, or both are the same code."""
        recorded = [stated.code[side] for side in stated.question.values] if stated is not None else codes
        trees = at or self._trees("--code", dict(zip(_NAMES, recorded, strict=True)))
        checkout, evaluator = trees[0].checkout, shared_evaluator(trees, self._request, stated)
        is_set_up = _is_set_up(self._request)
        cases = [
            [placed_in(self._workspace, one, tree, is_set_up=is_set_up) for tree in trees]
            for one in self._request.cases or (self._request.run,)
        ]
        try:
            sides = self._made(AbAxis(name=CODE_AXIS, values=_NAMES), cases, trees)
        except CommandNotFound as error:
            error.hint = "if a build makes it, have it made in each checkout: add --setup 'COMMAND'"
            raise
        facts = [sides.guard.facts(command) or CodeFacts() for command in sides.commands]
        if stated is not None:
            labels = stated.question.values
        else:
            identities, differed = [one.code.identity for one in facts], [one.path for one in evaluator if one.differed]
            labels = labels_of(self._book, self._request, trees, identities, listed(differed), self._display)
        branches, lines = {}, []
        for code, tree, label, one in zip(codes, trees, labels, facts, strict=True):
            branches[label] = checkout.branch() if code == WORK else checkout.branches_at(tree.commit)
            # A commit differs from its checkout where the evaluator of the base was brought in.
            is_changed = bool(one.code.dirty) and label.startswith(f"{WORK}+")
            line = f"- {label}: `{tree.commit}` {checkout.subject_of(tree.commit)}".rstrip()
            lines.append(line + ", with changes" * is_changed)
        return structs.replace(
            sides,
            axis=AbAxis(name=CODE_AXIS, values=labels, evaluator=evaluator),
            code=dict(zip(labels, facts, strict=True)),
            branches=branches,
            lines=tuple(lines),
        )


def _is_set_up(request: AbRequest) -> bool:
    return request.setup is not None or bool(request.prepare)


def _check_here(workspace: Workspace, on: str | None, is_prepared: bool) -> None:
    """Raises UsageError where a folder of this machine is prepared, and the runs are made elsewhere."""
    if is_prepared and executor_named_by(workspace, on) is not None:
        raise UsageError(
            f"--setup and --on {on} cannot be used together",
            cause=f"what a setup builds in a folder of this machine does not come along to {on}",
            hint="build in the command itself: --shell -- 'make -s && ./prog {axis}'",
        )


def _has_changed(recorded: Code, sides: Sides) -> bool:
    now = sides.code.get(sides.axis.keys[0])
    return now is not None and recorded.mark not in (None, now.code.mark)
