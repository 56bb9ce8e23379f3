"""`logbook patch`."""

from __future__ import annotations

from shlex import quote
from typing import Annotated

from typer import Argument, Option

from logbook_agent.agents.patching import Action, PatchAnswer, patch
from logbook_agent.cli.options import Common, Texts
from logbook_agent.cli.output import emit, write_bytes
from logbook_agent.model.codec import encode
from logbook_agent.model.errors import exclusive
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

    `git apply` changes the files all together or not at all, and leaves index, HEAD and other files as they are. A
    new file of code is one of the changes; `--undo` removes one that git does not track only where `--paths` names it.

    Example: logbook patch MOE-I8-003 --undo --paths bench.py
    """
    exclusive({"--show": show, "--apply": apply, "--undo": undo}, cause="one action at a time")
    space = common.space()
    action: Action = "apply" if apply else "undo" if undo else "show"
    answer = patch(space, reference, action, paths or ())
    data: dict[str, object] = {"id": answer.id, "run": encode(answer.run), "commit": answer.commit, "action": action}
    data |= {"paths": answer.paths}
    if action != "show":
        data |= {"changed": answer.changed, "already": answer.already, "left": answer.left}
        emit("patch", data, _said(answer, undo=undo), as_json=common.as_json, warnings=space.warnings)
        return
    clean = space.redactor.text(answer.diff.decode("utf-8", "surrogateescape"))
    if common.as_json:
        text = clean.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        emit("patch", data | {"diff": text}, "", as_json=True, warnings=space.warnings)
        return
    write_bytes([clean.encode("utf-8", "surrogateescape")])


def _said(answer: PatchAnswer, *, undo: bool) -> str:
    """`applied MOE-003 to 2 files: bench.py, kernel.py`, what was so already, and what was left."""
    did, state, why = ("undid {} in", "without", "untracked") if undo else ("applied {} to", "with", "not kept")
    files = f"{counted(len(answer.changed), 'file')}: {listed(answer.changed, 10)}"
    lines = [f"{did.format(answer.id)} {files}"] if answer.changed else []
    lines += [f"already {state} these changes: {listed(answer.already, 10)}"] if answer.already else []
    lines += [f"left as they are ({why}): {listed(answer.left, 10)}"] if answer.left else []
    if undo and (kept := [path for path in answer.left if path in answer.paths]):
        paths = " ".join(f"--paths {quote(path)}" for path in kept)
        lines.append(f"to remove: logbook patch {answer.id}/{answer.run} --undo {paths}")
    return "\n".join(lines) or "nothing to change"
