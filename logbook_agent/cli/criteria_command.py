"""`logbook criteria`."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from functools import partial
from typing import Annotated

from msgspec import structs

from logbook_agent.campaign.typing_place import typing_place
from logbook_agent.cli.options import BUDGET, Common, Text, number, option, prose, prose_option, repeated
from logbook_agent.cli.output import say
from logbook_agent.entries.criteria import (
    CriteriaRequest,
    JudgeRequest,
    change_criteria,
    criteria_data,
    judge_name,
)
from logbook_agent.findings.criteria.predicate import MOVING
from logbook_agent.findings.read import read
from logbook_agent.model.comparison import CODE_AXIS, code_hash
from logbook_agent.model.errors import UsageError, exclusive
from logbook_agent.running.provenance.git_calls import try_git
from logbook_agent.store.book import Book
from logbook_agent.store.places import branch_of, repository_of
from logbook_agent.store.workspace import Workspace, naming
from logbook_agent.text.markdown import one_line

_NONE = "no stop criteria; to add one: logbook criteria --help"


def _predicate(texts: Sequence[str]) -> tuple[int | None, str] | None:
    """The number and the YAML of `2=compared: ...`. The number may be left out."""
    if len(texts) > 1:
        raise UsageError(
            f"{len(texts)} predicates given, expected one",
            cause="each command changes one criterion, so that an invalid predicate leaves none changed",
            hint=f"logbook criteria --predicate {shlex.quote(texts[0])}",
        )
    for text in texts:
        number, equals, predicate = text.partition("=")
        return (int(number), predicate) if equals and number.strip().isdecimal() else (None, text)
    return None


class ChangeOptions:
    """A change of stop criteria: a `CriteriaRequest`."""

    add = option("--add TEXT", "Add a criterion in words.", read=prose)
    predicate = repeated(
        "--predicate N=YAML",
        "Check criterion N by this predicate; `N=` removes it. With --add, leave N= out.",
        read=_predicate,
    )
    drop = number("--drop N", "Remove criterion N; the others move up.")
    budget = BUDGET
    reason = prose_option(
        "--reason TEXT", "Why they change; required to drop a criterion, or to replace its predicate."
    )


_COMMIT = re.compile(r"[0-9a-f]{7,40}")


def criteria_command(
    *,
    met: int | None = number("--met N", "Judge criterion N as met."),
    unmet: int | None = number("--unmet N", "Judge criterion N as not met."),
    evidence: Text = option("--evidence ID|URL", "The evidence: an entry, or a URL."),
    by: Text = option("--by NAME", "Who judges. [the user's name]"),
    change: Annotated[CriteriaRequest, ChangeOptions],
    common: Common,
) -> int:
    """Show which stop criteria are met, or change them.

    A criterion is met when its rule holds, or when someone judges it met and names the evidence. A change with
    --reason is a decision in the log.

    Exit code without options: 1 while a criterion is not met. With options that change criteria: 0.

    Example: logbook criteria --met 2 --evidence MOE-I8-004

    Example: logbook criteria --predicate '1=compared: {axis: quant_mode, values: [none, int8], min_effect: 0.05}'
    """
    exclusive({"--met": met, "--unmet": unmet}, cause="one judgement at a time")
    if change.predicate is not None and change.predicate[0] is None and change.add is None:
        raise UsageError(
            "--predicate needs the number of a criterion",
            cause="logbook criteria lists the numbers",
            hint=f"logbook criteria --predicate '1={change.predicate[1]}'",
        )
    space = common.space()
    judged = met if met is not None else unmet
    if judged is not None:
        judgement = JudgeRequest(
            number=judged, met=met is not None, evidence=evidence, by=by or judge_name(space.environ)
        )
        change = structs.replace(change, judgement=judgement)
    elif evidence or by:
        raise UsageError(
            "no criterion named",
            cause="--evidence and --by need --met or --unmet",
            hint="add: --met N (logbook criteria)",
        )
    book = space.book()
    change = structs.replace(change, fixed=_fixed(space, book, change))
    change_criteria(space, book, change, partial(_tagged, space))
    thread = read(space, book, naming(space, book), typing_place(space))
    stated, data = thread.header.stop_criteria, criteria_data(book, thread)
    lines = []
    for n, criterion in enumerate(stated, 1):
        said = "; ".join(filter(None, criterion.said))
        box = "[x]" if criterion.met else "[ ]"
        lines.append(f"{box} {n}. {one_line(criterion.text)}{said and f' ({said})'}")
    common.emit("criteria", data, "\n".join([*(lines or [_NONE]), *([thread.budget] if thread.budget else [])]))
    if change != CriteriaRequest() or data["met"]:
        return 0
    if not common.as_json:
        say(f"{sum(not criterion.met for criterion in stated)} of {len(stated)} not met (exit code 1)")
    return 1


def _tagged(space: Workspace, name: str) -> str:
    """The commit of a tag; empty for other names, also of a branch that somebody will make."""
    repository = repository_of(space.cwd)
    if repository is None or _COMMIT.fullmatch(code_hash(name)):
        return ""
    words = ["rev-parse", "--short=9", "--verify", "--quiet", f"refs/tags/{name}^{{commit}}"]
    return (try_git(repository.top, words, space.environ) or b"").decode().strip()


def _fixed(space: Workspace, book: Book, change: CriteriaRequest) -> str:
    """What to type where the predicate names code that changes: the commits of now, and the branch of the working tree;
    empty where it names none. Where the changes of WORK are committed since, HEAD is what they were compared with."""
    repository = repository_of(space.cwd)
    if change.predicate is None or repository is None or not MOVING.search(change.predicate[1]):
        return ""
    number, text = change.predicate
    code = ["--", ":/", f":(top,exclude){os.path.relpath(space.root, repository.top)}"]
    compared = [a.question.base for a in read(space, book).comparisons.answers if a.question.axis == CODE_AXIS]
    is_committed = try_git(repository.top, ["diff", "--quiet", "HEAD", *code], space.environ) is not None
    if "WORK" in MOVING.findall(text) and (branch := branch_of(repository)):
        # The branch is to stand for the changes: as a base it means its commit.
        text = re.sub(rf"(?<![\w./-]){re.escape(branch)}(?![\w./-])", "HEAD", text)
    base = code_hash(compared[-1]) if compared and is_committed and "WORK" in MOVING.findall(text) else "HEAD"

    def now(match: re.Match[str]) -> str:
        if match[0] == "WORK":
            return branch_of(repository) or "BRANCH"
        name = base if match[0] == "HEAD" else match[0]
        found = try_git(repository.top, ["rev-parse", "--short=9", "--verify", name], space.environ)
        return found.decode().strip() if found else "COMMIT"

    words = shlex.quote(("" if number is None else f"{number}=") + MOVING.sub(now, text))
    add = f"--add {shlex.quote(change.add)} " if change.add is not None else ""
    reason = f" --reason {shlex.quote(change.reason)}" if change.reason is not None else ""
    return f"logbook criteria {add}--predicate {words}{reason}"
