"""`logbook criteria`."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Annotated

from typer import Option

from logbook_agent.cli.options import PROSE, BudgetOption, Common, Text, Texts, prose
from logbook_agent.cli.output import emit, say
from logbook_agent.entries.criteria import (
    CriteriaRequest,
    CriterionLine,
    JudgeRequest,
    change_criteria,
    criteria,
    criteria_data,
    judge_name,
)
from logbook_agent.findings.read import read
from logbook_agent.model.errors import UsageError, exclusive
from logbook_agent.model.header import Computed
from logbook_agent.store.workspace import Workspace, naming

_NONE = "no stop criteria; to add one: logbook criteria --help"


@dataclass(frozen=True, kw_only=True)
class CriteriaOptions:
    """A change of stop criteria, or a judgement on one, as options."""

    met: Annotated[int | None, Option("--met", metavar="N", help="Judge criterion N as met.")] = None
    unmet: Annotated[int | None, Option("--unmet", metavar="N", help="Judge criterion N as not met.")] = None
    evidence: Annotated[Text, Option("--evidence", metavar="ID|URL", help="The evidence: an entry, or a URL.")] = None
    by: Annotated[Text, Option("--by", metavar="NAME", help="Who judges. [the user's name]")] = None
    add: Annotated[Text, Option("--add", metavar="TEXT", help="Add a criterion in words.")] = None
    predicates: Annotated[
        Texts,
        Option(
            "--predicate",
            metavar="N=YAML",
            help="Check criterion N by this predicate; `N=` removes it. With --add, leave N= out.",
        ),
    ] = None
    drop: Annotated[int | None, Option("--drop", metavar="N", help="Remove criterion N; the others move up.")] = None
    budget: BudgetOption = None
    reason: Annotated[
        Text,
        Option(
            "--reason",
            metavar="TEXT",
            help=f"Why they change; required to drop a criterion, or to replace its predicate. {PROSE}",
        ),
    ] = None

    def request(self, space: Workspace) -> CriteriaRequest:
        """What is asked for. Raises UsageError for options that do not fit together."""
        exclusive({"--met": self.met, "--unmet": self.unmet}, cause="one judgement at a time")
        predicates = self.predicates or []
        if len(predicates) > 1:
            raise UsageError(
                f"{len(predicates)} predicates given, expected one",
                cause="each command changes one criterion, so that an invalid predicate leaves none changed",
                hint=f"logbook criteria --predicate {shlex.quote(predicates[0])}",
            )
        return CriteriaRequest(
            add=prose(self.add) or "" if self.add is not None else None,
            predicate=_numbered(predicates[0], adds=self.add is not None) if predicates else None,
            judgement=self._judgement(space),
            drop=self.drop,
            budget=tuple(self.budget or ()),
            reason=prose(self.reason),
        )

    def _judgement(self, space: Workspace) -> JudgeRequest | None:
        number = self.met if self.met is not None else self.unmet
        if number is None and (self.evidence or self.by):
            raise UsageError(
                "no criterion named",
                cause="--evidence and --by need --met or --unmet",
                hint="add: --met N (logbook criteria)",
            )
        if number is None:
            return None
        by = self.by or judge_name(space.environ)
        return JudgeRequest(number=number, met=self.met is not None, evidence=self.evidence, by=by)


def criteria_command(*, options: CriteriaOptions, common: Common) -> int:
    """Show which stop criteria are met, or change them.

    A criterion is met when its rule holds, or when someone judges it met and names the evidence. A change with
    --reason is a decision in the log.

    Exit code without options: 1 while a criterion is not met. With options that change criteria: 0.

    Example: logbook criteria --met 2 --evidence MOE-I8-004

    Example: logbook criteria --predicate '1=compared: {axis: quant_mode, values: [none, int8]}'
    """
    space = common.space()
    request = options.request(space)
    book = space.book()
    change_criteria(space, book, request)
    thread = read(space, book, naming(space, book))
    header = thread.header
    found = criteria(header)
    lines = [
        f"{'[x]' if c['met'] else '[ ]'} {c['number']}. {c['text']}{_signed(c, of.computed)}"
        for c, of in zip(found, header.stop_criteria, strict=True)
    ]
    data = criteria_data(book, thread)
    lines = [*(lines or [_NONE]), *([thread.budget] if thread.budget else [])]
    emit("criteria", data, "\n".join(lines), as_json=common.as_json, warnings=space.warnings)
    if request != CriteriaRequest() or data["met"]:
        return 0
    if not common.as_json:
        say(f"{sum(not c['met'] for c in found)} of {len(found)} not met (exit code 1)")
    return 1


def _numbered(text: str, *, adds: bool) -> tuple[int | None, str]:
    """`2=compared: ...`; the number may be left out for a criterion that is added by the same command."""
    number, equals, predicate = text.partition("=")
    if equals and number.strip().isdecimal():
        return int(number), predicate
    if adds:
        return None, text
    raise UsageError(
        "--predicate needs the number of a criterion",
        cause="logbook criteria lists the numbers",
        hint=f"logbook criteria --predicate '1={text}'",
    )


def _signed(criterion: CriterionLine, computed: Computed | None) -> str:
    """Who judged it, and what was computed."""
    said = []
    if criterion["by"] is not None:
        said.append(f"{'met' if criterion['met'] else 'not met'}: {criterion['evidence']}, {criterion['by']}")
    if criterion["doubt"] is not None:
        said.append(criterion["doubt"])
    if computed is not None:
        said.append(f"computed: {computed.text}")
    return f" ({'; '.join(said)})" if said else ""
