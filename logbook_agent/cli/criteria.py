"""`logbook criteria`."""

from __future__ import annotations

import getpass
import shlex
from collections.abc import Mapping
from typing import Annotated, Any

from typer import Option

from logbook_agent.cli.options import Common, Text, Texts, prose
from logbook_agent.cli.output import emit, say
from logbook_agent.model.errors import UsageError
from logbook_agent.model.header import Computed


def criteria_command(
    *,
    met: Annotated[int | None, Option("--met", metavar="N", help="Judge criterion N as met.")] = None,
    unmet: Annotated[int | None, Option("--unmet", metavar="N", help="Judge criterion N as not met.")] = None,
    evidence: Annotated[Text, Option("--evidence", metavar="ID|URL", help="The evidence: an entry, or a URL.")] = None,
    by: Annotated[Text, Option("--by", metavar="NAME", help="Who judges. [the user's name]")] = None,
    add: Annotated[Text, Option("--add", metavar="TEXT", help="Add a criterion, in words.")] = None,
    predicates: Annotated[
        Texts, Option("--predicate", metavar="N=YAML", help="How to check criterion N; N= removes the predicate.")
    ] = None,
    recipe: Annotated[
        Text, Option("--recipe", metavar="NAME", help="Add the criteria of a recipe, with their predicates.")
    ] = None,
    common: Common,
) -> int:
    """Which stop criteria are met, by their predicates or by a signed judgement with evidence.

    The list has exit code 1 while a criterion is not met; signing a judgement has exit code 0.
    Example: logbook criteria --predicate '1=compared: {axis: quant_mode, values: [none, int8]}'
    """
    from logbook_agent.findings.read import read
    from logbook_agent.start.criteria import CriteriaRequest, JudgeRequest, change_criteria, criteria

    space = common.space()
    if met is not None and unmet is not None:
        raise UsageError(
            "--met and --unmet cannot be used together", cause="one judgement at a time", hint="leave one out"
        )
    if predicates is not None and len(predicates) > 1:
        raise UsageError(
            f"{len(predicates)} predicates given, expected one",
            cause="each command changes one criterion, so that an invalid predicate leaves none changed",
            hint=f"logbook criteria --predicate {shlex.quote(predicates[0])}",
        )
    predicate = predicates[0] if predicates else None
    number = met if met is not None else unmet
    if number is None and (evidence or by):
        raise UsageError(
            "no criterion named",
            cause="--evidence and --by need --met or --unmet",
            hint="add: --met N (logbook criteria)",
        )
    request = CriteriaRequest(
        recipe=recipe,
        add=prose(add) or "" if add is not None else None,
        predicate=_numbered(predicate, adds=add is not None) if predicate is not None else None,
        judgement=JudgeRequest(number=number, met=met is not None, evidence=evidence, by=by or _name(space.environ))
        if number is not None
        else None,
    )
    book = change_criteria(space, request)
    header = read(space, book).header
    found = criteria(header)
    lines = [
        f"{'[x]' if c['met'] else '[ ]'} {c['number']}. {c['text']}{_signed(c, of.computed)}"
        for c, of in zip(found, header.stop_criteria, strict=True)
    ]
    data = {"logbook": book.topic, "met": all(c["met"] for c in found), "criteria": found}
    emit("criteria", data, "\n".join(lines) or "no stop criteria", as_json=common.as_json, warnings=space.warnings)
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


def _name(environ: Mapping[str, str]) -> str:
    """The name of the caller."""
    try:
        return environ.get("GIT_AUTHOR_NAME") or getpass.getuser()
    except (KeyError, OSError):
        raise UsageError(
            "no name to sign the judgement with", cause="the system has no name for this user", hint="add: --by NAME"
        ) from None


def _signed(criterion: dict[str, Any], computed: Computed | None) -> str:
    """Who judged it, and what was computed."""
    from logbook_agent.pages.blocks import computed_text

    said = []
    if criterion["by"] is not None:
        said.append(f"{'met' if criterion['met'] else 'not met'}: {criterion['evidence']}, {criterion['by']}")
    if computed is not None:
        said.append(f"computed: {computed_text(computed)}")
    return f" ({'; '.join(said)})" if said else ""
