"""Where the sides of an A/B run: in place, in a copy of the code as it is, or in checkouts of commits and of recorded
code; with what is known of the code, and the command that prepares each folder."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from logbook_agent.campaign.ab_axis import AbAxis, placed
from logbook_agent.campaign.ab_request import NONE, AbRequest
from logbook_agent.campaign.checkouts import WORK, Tree, beside, in_trees, placed_in
from logbook_agent.campaign.code_guard import CodeGuard, looks_at
from logbook_agent.campaign.code_labels import label_of, like_of, named_before, other_code, say_moved
from logbook_agent.campaign.evaluator import shared_evaluator
from logbook_agent.campaign.run_request import RunRequest, own_plans, prepared, setup_command
from logbook_agent.campaign.series import RunSeries
from logbook_agent.campaign.sides import AbCase, Sides
from logbook_agent.findings.advice import ab_afresh, ab_more
from logbook_agent.model.code import Code
from logbook_agent.model.comparison import CASE_AXIS, CODE_AXIS, Comparison
from logbook_agent.model.entry import Entry
from logbook_agent.model.errors import CommandNotFound, LogbookError, UsageError
from logbook_agent.model.record import SETUP, TEARDOWN
from logbook_agent.running.order import Display
from logbook_agent.running.provenance.git import CodeFacts
from logbook_agent.running.provenance.worktrees import Checkout
from logbook_agent.store.book import Book
from logbook_agent.store.repository import repository_of
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.phrases import listed

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
    trees: tuple[Checkout, list[Tree]] | None = None,
) -> Iterator[Sides]:
    """The sides that are asked for, while their folders are there; those of an entry with the code that it `stated`,
    in place where that is the code that is there; codes in their `trees`, where they are checked out. Raises UsageError
    where it cannot be had, and StoreError where git cannot check it out."""
    # In trees that others have checked out, a program that is missing is a run that fails.
    of = _SidesOf(workspace, book, request, display, is_built=_is_set_up(request) or trees is not None)
    with of.folders:
        yield of.values(stated) if request.codes is None else of.codes(request.codes, stated, trees)


class SameCode(UsageError):
    """Raised where the codes that are to be compared are the same."""


@contextlib.contextmanager
def sides_of_runs(
    series: RunSeries, runs: Sequence[RunRequest], recorded: Code | None, afresh: str, *, is_built: bool
) -> Iterator[Sides]:
    """Whole runs as sides, while their folder is there: with the code that was `recorded`, as in `sides_of`."""
    of = _SidesOf(series.workspace, series.book, AbRequest(run=runs[0]), series.display, is_built=is_built)
    with of.folders:
        yield of.in_folder(AbAxis(name=CASE_AXIS, values=("base", "other")), runs, recorded, (), afresh)


class _SidesOf:
    """Makes the sides of a request. The checkouts in which they run are there as long as `folders` are held."""

    def __init__(
        self, workspace: Workspace, book: Book, request: AbRequest, display: Display, *, is_built: bool
    ) -> None:
        self._workspace, self._book, self._request, self._display = workspace, book, request, display
        self._is_built = is_built
        self.folders = contextlib.ExitStack()

    def _made(self, axis: AbAxis, runs: Sequence[RunRequest], trees: Sequence[Tree] = ()) -> Sides:
        """The sides of an axis whose runs are asked for one by one, with what prepares their folders."""
        commands = tuple(prepared(self._workspace, run, is_built=self._is_built) for run in runs)
        looks = looks_at(self._workspace, self._book.root, commands)
        # What prepares a folder is the same for each value.
        plain = [{name: text for name, text in run.env.items() if name != axis.variable} for run in runs]
        folders = {run.cwd: dataclasses.replace(run, env=env) for run, env in zip(runs, plain, strict=True)}
        asked, names = self._request, {str(tree.folder): tree.name for tree in trees if len(trees) > 1}
        own = {SETUP: (*asked.prepare, *setup_command(asked.setup)), TEARDOWN: asked.teardown}
        setup, teardown = (
            tuple(
                own_plans(self._workspace, label, made, run, names.get(run.cwd or "", "")) for run in folders.values()
            )
            for label, made in own.items()
        )
        return Sides(
            axis=axis,
            argv=self._request.run.argv,
            commands=commands,
            guard=CodeGuard(looks, {tree.folder: tree.name for tree in trees}),
            setup=setup,
            teardown=teardown,
        )

    # -- values of one code ----------------------------------------------------------------------------

    def values(self, stated: Comparison | None) -> Sides:
        """The values of an axis: in place, or in a checkout of the code as it is or as it was recorded."""
        axis, run = self._request.axis, self._request.run
        if axis is None:
            raise AssertionError("nothing is compared")
        argv = placed(axis, run.argv, run.config)
        runs = [
            dataclasses.replace(run, argv=axis.words(argv, value), env={**run.env, **axis.env(value)})
            for value in axis.values
        ]
        recorded = stated.code.get(stated.question.base) if stated is not None else None
        needs = stated.run.needs if stated is not None and stated.run is not None else ()
        sides = self.in_folder(axis, runs, recorded, needs, ab_afresh(run.entry_id or "", new=False))
        return dataclasses.replace(sides, argv=argv)

    def _trees(self, option: str, codes: Mapping[str, str | Code], *afresh: str) -> tuple[Checkout, list[Tree]]:
        run = self._request.run
        return self.folders.enter_context(
            in_trees(self._workspace, run, option, codes, self._display, self._book, *afresh)
        )

    def in_folder(
        self, axis: AbAxis, runs: Sequence[RunRequest], recorded: Code | None, needs: Sequence[str], afresh: str
    ) -> Sides:
        """Sides of one code: in place, or in a checkout of the code as it is, or as it was `recorded`, with files that
        it `needs`."""
        run, here = self._request.run, None
        try:
            here = self._of_one_code(axis, runs)
        except LogbookError:
            # Its program or its folder may be gone here, and be in the recorded code.
            if recorded is None or recorded.commit is None:
                raise
        if recorded is not None and (here is None or _has_changed(recorded, here)):
            return self._as_recorded(axis, runs, recorded, needs, afresh)
        if here is None:
            raise AssertionError("no sides")
        code = here.code.get(axis.keys[0])
        found = beside(self._workspace, here.commands[0], code) if code is not None else ()
        if run.frozen:
            checkout, [tree] = self._trees("--frozen", {"copy": WORK})
            here = self._of_one_code(axis, [placed_in(self._workspace, one, checkout, tree) for one in runs], [tree])
        return dataclasses.replace(here, needs=found)

    def _of_one_code(self, axis: AbAxis, runs: Sequence[RunRequest], trees: Sequence[Tree] = ()) -> Sides:
        sides = self._made(axis, runs, trees)
        facts = sides.guard.facts(sides.commands[0]) if sides.guard is not None else None
        return dataclasses.replace(sides, code={axis.keys[0]: facts} if facts is not None else {})

    def _as_recorded(
        self, axis: AbAxis, runs: Sequence[RunRequest], recorded: Code, needs: Sequence[str], afresh: str
    ) -> Sides:
        """The sides in a checkout of the code that was recorded. Raises UsageError where that cannot be had, or where
        files are not there that were, and no setup makes them."""
        entry_id = self._request.run.entry_id or ""
        folder = self._workspace.cwd / (self._request.run.cwd or ".")
        if repository_of(folder) is None:
            raise UsageError(
                f"the code of {entry_id} has changed, and nothing has it as it was",
                cause=f"{folder} is in no git repository",
                hint=f"to ask the same of the code as it is now: {afresh}",
            )
        checkout, [tree] = self._trees("--id", {"copy": recorded}, afresh)
        lacks = [name for name in needs if not (tree.top / name).exists()]
        if lacks and self._request.setup is None:
            again = ab_more(entry_id, self._request.max_pairs)
            raise UsageError(
                f"the code has changed, and a checkout of {tree.commit[:9]} lacks {listed(lacks, _SHOWN)}",
                cause="git does not hold them: a build made them, or they are data",
                hint=f"{again} --setup 'COMMAND THAT MAKES THEM'",
            )
        sides = self._of_one_code(axis, [placed_in(self._workspace, run, checkout, tree) for run in runs], [tree])
        if _has_changed(recorded, sides):
            raise UsageError(
                f"the code of {entry_id} cannot be brought back as it was",
                cause="its record differs from it: a secret in its changes was replaced, a file lies outside of the"
                " repository, or git changes files when it checks them out",
                hint=f"to ask the same of the code as it is now: {afresh}",
            )
        return dataclasses.replace(sides, code={})

    # -- codes -----------------------------------------------------------------------------------------

    def codes(
        self, codes: tuple[str, str], stated: Comparison | None, at: tuple[Checkout, list[Tree]] | None = None
    ) -> Sides:
        """Both codes, each in a checkout; those that are stated as they were recorded. Their labels are such as
        `main@3f2a9c01d` and `WORK+a1b2c3d`. Raises UsageError where one is no commit, or both are the same code."""
        run = self._request.run
        recorded = [stated.code[side] for side in stated.question.values] if stated is not None else codes
        checkout, trees = at or self._trees("--code", dict(zip(_NAMES, recorded, strict=True)))
        evaluator = shared_evaluator(checkout, self._request, [tree.top for tree in trees], stated)
        is_set_up = _is_set_up(self._request)
        cases = [
            [placed_in(self._workspace, one, checkout, tree, is_set_up=is_set_up) for tree in trees]
            for one in self._request.cases or (run,)
        ]
        try:
            sides = self._made(AbAxis(name=CODE_AXIS, values=_NAMES), cases[0], trees)
        except CommandNotFound as error:
            error.hint = "if a build makes it, have it made in each checkout: add --setup 'COMMAND'"
            raise
        guard = sides.guard
        facts = [(guard.facts(command) if guard is not None else None) or CodeFacts() for command in sides.commands]
        commits = [tree.commit for tree in trees]
        differed = listed([one.path for one in evaluator if one.differed])
        labels = stated.question.values if stated is not None else self._labels(checkout, commits, facts, differed)
        branches = [
            checkout.branch() if code == WORK else checkout.branches_at(commit)
            for code, commit in zip(codes, commits, strict=True)
        ]
        # A commit differs from its checkout where the evaluator of the base was brought in.
        changed = [
            bool(one.code.dirty) and label.startswith(f"{WORK}+") for label, one in zip(labels, facts, strict=True)
        ]
        return dataclasses.replace(
            sides,
            axis=AbAxis(name=CODE_AXIS, values=labels, evaluator=evaluator),
            cases=tuple(
                AbCase(
                    commands=tuple(prepared(self._workspace, one, is_built=self._is_built) for one in runs),
                    config=runs[0].config,
                )
                for runs in cases
            ),
            code=dict(zip(labels, facts, strict=True)),
            branches=dict(zip(labels, branches, strict=True)),
            lines=tuple(
                f"- {label}: `{commit}` {checkout.subject_of(commit)}".rstrip() + ", with changes" * is_changed
                for label, commit, is_changed in zip(labels, commits, changed, strict=True)
            ),
        )

    def _labels(
        self, checkout: Checkout, commits: Sequence[str], facts: Sequence[CodeFacts], differed: str
    ) -> tuple[str, ...]:
        """What both codes are called, with what is noteworthy about them. Raises UsageError where they are the same.
        `differed`: files that measure them, and were not the same."""
        like, codes = like_of(self._book, self._request), self._request.codes or ("", "")
        _check_differ(self._request, facts, differed, like)
        if differed:
            self._display.progress(
                f"{differed} of {codes[0]} measures both sides; for each side's own: --evaluator {NONE}"
            )
        if self._request.names is not None:
            return self._request.names
        known = named_before(like, self._request)
        say_moved(checkout, codes, known, like.id if like is not None else "", self._display)
        return tuple(
            label_of(checkout, code, commit, one.code.identity, known)
            for code, commit, one in zip(codes, commits, facts, strict=True)
        )


def _is_set_up(request: AbRequest) -> bool:
    return request.setup is not None or bool(request.prepare)


def _has_changed(recorded: Code, sides: Sides) -> bool:
    now = sides.code.get(sides.axis.keys[0])
    return now is not None and recorded.mark not in (None, now.code.mark)


def _check_differ(request: AbRequest, facts: Sequence[CodeFacts], differed: str, like: Entry | None) -> None:
    """Raises UsageError where two codes are the same. `differed`: files that measure them, and do not count."""
    codes = request.codes or ("", "")
    if facts[0].code.identity == facts[1].code.identity is not None:
        raise SameCode(
            f"{codes[0]} and {codes[1]} are the same code"
            + (f" but for {differed}, which measures them" if differed else ""),
            cause="they have the same files outside of the logbooks, documents left out",
            hint="--evaluator none measures each with its own" if differed else other_code(like, request),
        )
