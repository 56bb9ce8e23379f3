"""The place where a command is typed, for advice that names codes or folders."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from functools import cache, partial

from logbook_agent.findings.advice import branch_now
from logbook_agent.findings.protocol import ELSEWHERE, TypingPlace
from logbook_agent.model.code import Code
from logbook_agent.model.comparison import CODE_AXIS, Comparison, code_hash, code_name
from logbook_agent.model.record import SETUP
from logbook_agent.running.provenance.git_calls import APPLY, try_git
from logbook_agent.store.places import commit_of, repository_of
from logbook_agent.store.workspace import Workspace, folder_of
from logbook_agent.text.commands.flags import ANY
from logbook_agent.text.commands.script import command_words

_HASH = re.compile("[0-9a-f]{9,64}")
_SHA = re.compile("[0-9a-f]{40,64}")


def typing_place(workspace: Workspace) -> TypingPlace:
    """The current folder, and the commits of its repository."""
    place = repository_of(workspace.cwd)

    def gone(commits: Collection[str]) -> set[str]:
        asked = sorted(filter(_SHA.fullmatch, commits))
        words = ["rev-list", "--no-walk", "--ignore-missing", *asked, "--"]
        held = try_git(place.top, words, workspace.environ) if place is not None and asked else None
        return {*asked} - {*held.decode().split()} if held is not None else set()

    def folder(name: str) -> str:
        return os.path.relpath(folder_of(name, workspace), os.path.realpath(workspace.cwd))

    of = cache(partial(commit_of, workspace.cwd))

    def knows(name: str) -> bool:
        words = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{code_hash(name)}^{{commit}}"]
        return place is None or bool(of(name)) or bool(try_git(place.top, words, workspace.environ))

    @cache
    def is_same(one: str, other: str) -> bool:
        from logbook_agent.running.provenance.git import is_same_code  # for criteria and decisions about code alone

        rules, environ = workspace.config.code, workspace.environ
        return place is not None and is_same_code(place, workspace.root, rules, environ, one, other)

    @cache
    def code(name: str, other: str) -> str | None:
        commit, rival = of(name), other if _HASH.fullmatch(other) else of(other)
        if commit is None or rival is None or place is None:
            return None
        return commit if is_same(commit, rival) else None

    @cache
    def work(folder: str, argv: tuple[str, ...], written: str | None) -> Code:
        from logbook_agent.running.provenance.git import CodeLook  # for what failed, or waits for a decision, alone

        rules = workspace.config.code.reading(written)
        look = CodeLook(folder_of(folder, workspace), workspace.root, command_words(argv), workspace.environ, rules)
        return look.facts().code

    def recorded(stated: Comparison, side: str) -> tuple[Code, Code] | None:
        """The code of a side, and that of the working tree; None where that is unknown."""
        then, run = stated.code.get(side) or stated.code.get(stated.question.base), stated.run
        if then is None or run is None:
            return None
        base = next(iter(run.values), stated.question.base)
        now = work(run.cwd, tuple(word.replace(ANY, base) for word in run.argv), run.read)
        return (then, now) if now.mark is not None else None

    def another(stated: Comparison, side: str) -> str:
        if stated.question.axis == CODE_AXIS and side == SETUP:
            return next(filter(None, (another(stated, value) for value in stated.question.values)), "")
        if stated.question.axis == CODE_AXIS and "@" in side:
            name = branch_now(stated, side, of)
            now = of(name) if name else None
            is_known = any(code(name, code_hash(value)) is not None for value in stated.question.values)
            return now[:9] if now is not None and not is_known else ""
        codes = None if any(one.differed for one in stated.evaluator) else recorded(stated, side)
        base = recorded(stated, stated.question.base)
        # What has the base's code again is no other code, which somebody could compare with it.
        is_base = base is not None and base[0].mark == base[1].mark
        return "WORK" if codes is not None and codes[0].mark != codes[1].mark and not is_base else ""

    def holds(name: str, commit: str) -> bool:
        """Whether a commit is in the history of a name, or has the code of it, as an amended or squashed one."""
        words = ["merge-base", "--is-ancestor", commit, name]
        is_in = place is not None and try_git(place.top, words, workspace.environ) is not None
        return is_in or is_same(name, commit)

    def held(stated: Comparison, side: str, name: str) -> str:
        if "@" in side:
            commit = code_hash(side)
            if holds(name, commit):
                return name
            words = ["for-each-ref", "--count=1", "--contains", commit, "refs/heads", "refs/remotes"]
            elsewhere = try_git(place.top, words, workspace.environ) if place is not None else None
            return ELSEWHERE if elsewhere or is_same(code_name(side), commit) or is_same("HEAD", commit) else ""
        codes = recorded(stated, side)
        if codes is None or codes[0].identity != codes[1].identity:
            return ELSEWHERE
        if codes[1].dirty:
            return "WORK"
        return name if place is None or holds(name, "HEAD") else ELSEWHERE

    def keeps(stated: Comparison, name: str) -> str:
        side = stated.question.sides[-1]
        if "@" in side:
            return "HEAD" if _keeps(workspace, stated) else ""
        where = held(stated, side, name)
        where = where if where != ELSEWHERE else _has_changes(workspace, stated.code.get(side))
        return where if where != "HEAD" else name if holds(name, "HEAD") else ""

    return TypingPlace(
        of=of,
        knows=knows,
        code=code,
        another=another,
        held=held,
        keeps=keeps,
        folder=folder,
        gone=gone,
    )


def _has_changes(workspace: Workspace, code: Code | None) -> str:
    """Where the changes that were tested are, beside others made since: in HEAD, in WORK, or nowhere here. A diff is
    called by its digest, so that the copy of any logbook will do."""
    place, name = repository_of(workspace.cwd), code.diff_kept if code is not None else None
    file = next(workspace.root.glob(f"*/{name}"), None) if name is not None else None

    def has(*words: str) -> bool:
        check = [*APPLY, "--check", "--reverse", *words, str(file)]
        return place is not None and file is not None and try_git(place.top, check, workspace.environ) is not None

    return ("HEAD" if has("--cached") else "WORK") if has() else ""


def _keeps(workspace: Workspace, stated: Comparison) -> bool:
    """Whether HEAD has the files of code that the tested commit changed as that left them."""
    from logbook_agent.running.provenance.git import excluded_place  # for what is worse alone

    place, rules = repository_of(workspace.cwd), workspace.config.code
    if place is None:
        return False
    root = excluded_place(place, workspace.root)
    others = [f":(top,exclude){root}"] if root is not None else []
    base, commit = code_hash(stated.question.base), code_hash(stated.question.sides[-1])
    words = ["diff", "--name-only", "--no-renames", "-z", f"{base}...{commit}", "--", ":/", *others]
    changed = try_git(place.top, words, workspace.environ) or b""
    paths = changed.decode("utf-8", "surrogateescape").split("\0")[:-1]
    # Where no file of code was changed, whatever was is the idea.
    files = [*filter(rules.is_source, paths)] or [path for path in paths if not rules.is_document(path)]
    same = ["diff", "--quiet", commit, "HEAD", "--", *(f":(top,literal){path}" for path in files)]
    return bool(files) and try_git(place.top, same, workspace.environ) is not None
