"""The place where a command is typed, for advice that names codes or folders."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from functools import cache, partial

from logbook_agent.campaign.recipe_files import FOLDER
from logbook_agent.findings.advice import branch_now
from logbook_agent.findings.cases import Case
from logbook_agent.findings.protocol import ELSEWHERE, TypingPlace
from logbook_agent.model.code import Code
from logbook_agent.model.comparison import CODE_AXIS, WORK, Comparison, code_hash, code_name
from logbook_agent.model.record import SETUP
from logbook_agent.running.provenance.git_calls import DIFF, WHOLE, try_git
from logbook_agent.running.provenance.named_files import files_named
from logbook_agent.running.provenance.worktrees import GitApply
from logbook_agent.store.places import commit_of, repository_of
from logbook_agent.store.workspace import Workspace, folder_of
from logbook_agent.text.commands.flags import ANY
from logbook_agent.text.commands.script import command_words

_HASH = re.compile("[0-9a-f]{9,64}")
_SHA = re.compile("[0-9a-f]{40,64}")


def typing_place(workspace: Workspace) -> TypingPlace:
    """The current folder, and the commits of its repository."""
    here = _Here(workspace)
    return TypingPlace(
        of=here.of,
        knows=here.knows,
        code=here.code,
        another=here.another,
        held=here.held,
        keeps=here.keeps,
        folder=here.folder,
        gone=here.gone,
        is_of=here.is_of,
        tells=here.tells,
    )


class _Here:
    """What `TypingPlace` tells, asked of git once each."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._place = repository_of(workspace.cwd)
        self.of = cache(partial(commit_of, workspace.cwd))
        self.code = cache(self._code)
        self._is_same = cache(self._compare)
        self._work = cache(self._look)

    def gone(self, commits: Collection[str]) -> set[str]:
        asked = sorted(filter(_SHA.fullmatch, commits))
        held = self._git("rev-list", "--no-walk", "--ignore-missing", *asked, "--") if asked else None
        return {*asked} - {*held.decode().split()} if held is not None else set()

    def folder(self, name: str) -> str:
        return os.path.relpath(folder_of(name, self._workspace), os.path.realpath(self._workspace.cwd))

    def knows(self, name: str) -> bool:
        words = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{code_hash(name)}^{{commit}}"]
        return self._place is None or bool(self.of(name)) or bool(self._git(*words))

    def another(self, stated: Comparison, side: str) -> str:
        if stated.question.axis == CODE_AXIS and side == SETUP:
            return next(filter(None, (self.another(stated, value) for value in stated.question.values)), "")
        if stated.question.axis == CODE_AXIS and "@" in side:
            name = branch_now(stated, side, self.of)
            now = self.of(name) if name else None
            is_known = any(self.code(name, code_hash(value)) is not None for value in stated.question.values)
            return now[:9] if now is not None and not is_known else ""
        codes = None if any(one.differed for one in stated.evaluator) else self._recorded(stated, side)
        base = self._recorded(stated, stated.question.base)
        # What has the base's code again is no other code, which somebody could compare with it.
        is_base = base is not None and base[0].mark == base[1].mark
        return WORK if codes is not None and codes[0].mark != codes[1].mark and not is_base else ""

    def held(self, stated: Comparison, side: str, name: str) -> str:
        if "@" in side:
            commit = code_hash(side)
            if self._holds(name, commit):
                return name
            elsewhere = self._git("for-each-ref", "--count=1", "--contains", commit, "refs/heads", "refs/remotes")
            is_there = elsewhere or self._is_same(code_name(side), commit) or self._is_same("HEAD", commit)
            return ELSEWHERE if is_there else ""
        codes = self._recorded(stated, side)
        if codes is None or codes[0].identity != codes[1].identity:
            return ELSEWHERE
        if codes[1].dirty:
            return WORK
        return name if self._place is None or self._holds(name, "HEAD") else ELSEWHERE

    def keeps(self, stated: Comparison, name: str) -> str:
        side = stated.question.sides[-1]
        if "@" in side:
            return "HEAD" if _keeps(self._workspace, stated) else ""
        where = self.held(stated, side, name)
        where = where if where != ELSEWHERE else _has_changes(self._workspace, stated.code.get(side))
        return where if where != "HEAD" else name if self._holds(name, "HEAD") else ""

    def is_of(self, case: Case) -> bool:
        code = self._work(case.cwd or ".", case.command, None)
        return code.key is not None and code.key == case.code

    def tells(self, commit: str, other: str, case: Case) -> str | None:
        from logbook_agent.running.provenance.same_code import changed_code  # for a first comparison of code alone

        space, place = self._workspace, self._place
        commits = [code for code in (commit, other) if code != WORK]
        if place is None:
            return ""
        changed = changed_code(place, space.root, space.config.code, space.environ, *commits)
        if not changed:
            return "" if changed is None else None
        read = files_named(command_words(case.command), folder_of(case.cwd or ".", space)).read
        measures = {os.path.relpath(path, place.top) for path in read}
        # What measures itself has no evaluator beside it; a recipe is none of what it measures.
        return "--evaluator none" if {p for p in changed if not p.startswith(f"{FOLDER}/")} <= measures else ""

    def _git(self, *words: str) -> bytes | None:
        """What git prints; None where it fails, or there is no repository."""
        return try_git(self._place.top, words, self._workspace.environ) if self._place is not None else None

    def _compare(self, one: str, other: str) -> bool:
        """Whether two commits have the same code."""
        from logbook_agent.running.provenance.same_code import is_same_code  # for criteria and decisions alone

        given = self._workspace.root, self._workspace.config.code, self._workspace.environ
        return self._place is not None and is_same_code(self._place, *given, one, other)

    def _code(self, name: str, other: str) -> str | None:
        commit, rival = (one if _HASH.fullmatch(one) else self.of(one) for one in (name, other))
        if commit is None or rival is None or self._place is None:
            return None
        return commit if self._is_same(commit, rival) else None

    def _look(self, folder: str, argv: tuple[str, ...], written: str | None) -> Code:
        """The code that a command would run in a folder of the working tree."""
        from logbook_agent.running.provenance.git import CodeLook  # for what failed, or waits for a decision, alone

        space = self._workspace
        rules = space.config.code.reading(written)
        return CodeLook(folder_of(folder, space), space.root, command_words(argv), space.environ, rules).facts().code

    def _recorded(self, stated: Comparison, side: str) -> tuple[Code, Code] | None:
        """The code of a side, and that of the working tree; None where that is unknown."""
        then, run = stated.code.get(side) or stated.code.get(stated.question.base), stated.run
        if then is None or run is None:
            return None
        base = next(iter(run.values), stated.question.base)
        now = self._work(run.cwd, tuple(word.replace(ANY, base) for word in run.argv), run.read)
        return (then, now) if now.mark is not None else None

    def _holds(self, name: str, commit: str) -> bool:
        """Whether a commit is in the history of a name, or has the code of it, as an amended or squashed one."""
        return self._git("merge-base", "--is-ancestor", commit, name) is not None or self._is_same(name, commit)


def _has_changes(workspace: Workspace, code: Code | None) -> str:
    """Where the changes that were tested are, beside others made since: in HEAD, in WORK, or nowhere here. A diff is
    called by its digest, so that the copy of any logbook will do."""
    place, name = repository_of(workspace.cwd), code.diff_kept if code is not None else None
    file = next(workspace.root.glob(f"*/{name}"), None) if name is not None else None
    if place is None or file is None:
        return ""
    git, diff = GitApply(place.top, workspace.environ), file.read_bytes()
    return ("HEAD" if git.has_committed(diff) else WORK) if git.has(diff) else ""


def _keeps(workspace: Workspace, stated: Comparison) -> bool:
    """Whether HEAD has what the tested commit changed in files of code, beside others' changes since."""
    from logbook_agent.running.provenance.git import excluded_place  # for what is worse alone

    place, rules = repository_of(workspace.cwd), workspace.config.code
    if place is None:
        return False
    root = excluded_place(place, workspace.root)
    others = [f":(top,exclude){root}"] if root is not None else []
    changes = f"{code_hash(stated.question.base)}...{code_hash(stated.question.sides[-1])}"
    words = ["diff", "--name-only", "--no-renames", "-z", changes, "--", ":/", *others]
    changed = try_git(place.top, words, workspace.environ) or b""
    paths = changed.decode("utf-8", "surrogateescape").split("\0")[:-1]
    # Where no file of code was changed, whatever was is the idea.
    files = [*filter(rules.is_source, paths)] or [path for path in paths if not rules.is_document(path)]
    words = [*DIFF, *WHOLE, changes, "--", *(f":(top,literal){path}" for path in files)]
    made = try_git(place.top, words, workspace.environ) if files else None
    return bool(made) and GitApply(place.top, workspace.environ).has_committed(made or b"")
