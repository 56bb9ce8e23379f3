"""`logbook patch`."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from logbook_agent.agents.patching import Action, PatchAnswer, PatchRequest, patch
from logbook_agent.cli.options import Common, Texts
from logbook_agent.cli.output import emit, write_bytes
from logbook_agent.model.errors import UsageError
from logbook_agent.text.phrases import counted, listed


def patch_command(
    *,
    reference: Annotated[str, Argument(metavar="ID[/RUN]", help="The entry, or one of its runs.")],
    show: Annotated[bool, Option("--show", help="Print the diff. [default]")] = False,
    apply: Annotated[bool, Option("--apply", help="Change the files as the diff says.")] = False,
    undo: Annotated[bool, Option("--undo", help="Take its changes back.")] = False,
    paths: Annotated[
        Texts, Option("--paths", metavar="PATH", help="Only this file, or the files below this folder; repeatable.")
    ] = None,
    common: Common,
) -> None:
    """Show, apply or undo the uncommitted changes of a run's code.

    Files are changed all together or not at all. The index, HEAD and other files stay as they are; where other changes
    overlap with the diff, they are named and nothing is changed.

    Example: logbook patch MOE-I8-003 --undo --paths bench.py
    """
    if show + apply + undo > 1:
        raise UsageError(
            "--show, --apply and --undo cannot be used together", cause="one action at a time", hint="leave one out"
        )
    space = common.space()
    action: Action = "apply" if apply else "undo" if undo else "show"
    answer = patch(space, PatchRequest(reference=reference, action=action, paths=paths or ()))
    data: dict[str, object] = {
        "id": answer.id,
        "run": answer.run,
        "commit": answer.commit,
        "action": action,
        "paths": list(answer.paths),
    }
    if action != "show":
        data |= {"changed": list(answer.changed), "already": list(answer.already)}
        text = _said(answer, "applied" if apply else "undid")
        emit("patch", data, text, as_json=common.as_json, warnings=space.warnings)
        return
    clean = space.redactor.text(answer.diff.decode("utf-8", "surrogateescape"))
    if common.as_json:
        text = clean.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        emit("patch", data | {"diff": text}, "", as_json=True, warnings=space.warnings)
        return
    write_bytes([clean.encode("utf-8", "surrogateescape")])


def _said(answer: PatchAnswer, done: str) -> str:
    """`applied MOE-003 to 2 files: bench.py, kernel.py`, and what was so already."""
    lines = []
    if answer.changed:
        of = "to" if done == "applied" else "in"
        lines.append(f"{done} {answer.id} {of} {counted(len(answer.changed), 'file')}: {listed(answer.changed, 10)}")
    if answer.already:
        state = "with" if done == "applied" else "without"
        lines.append(f"already {state} these changes: {listed(answer.already, 10)}")
    return "\n".join(lines) or "nothing to change"
