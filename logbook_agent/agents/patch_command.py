"""`logbook patch`."""

from __future__ import annotations

from collections.abc import Sequence

from logbook_agent.agents.patching import Action, PatchAnswer, named_paths, patch
from logbook_agent.cli.options import Common, argument, flag, repeated
from logbook_agent.cli.output import write_bytes
from logbook_agent.model.code import CodeRules
from logbook_agent.model.codec import encode
from logbook_agent.model.errors import exclusive
from logbook_agent.text.phrases import counted, listed


def patch_command(
    *,
    reference: str = argument("ID[/RUN]", "The entry, whose last run with changes is meant, or one of its runs.", ...),
    show: bool = flag("--show", "Print the diff. [default]"),
    apply: bool = flag("--apply", "Change the files as the diff says."),
    undo: bool = flag("--undo", "Take its changes back."),
    paths: Sequence[str] = repeated("--paths PATH", "Only this file, or the files below this folder; repeatable."),
    common: Common,
) -> None:
    """Show, apply or undo the changes of a run's code.

    They are those that were not committed, else those of the commit that a comparison tested against its base.

    `git apply` changes the files all together or not at all, and leaves index, HEAD and other files as they are. A
    new file of code is one of the changes; `--undo` removes one that git does not track, and takes back changes of
    documents, only where `--paths` names them.

    Example: logbook patch MOE-I8-003 --undo --paths bench.py
    """
    exclusive({"--show": show, "--apply": apply, "--undo": undo}, cause="one action at a time")
    space = common.space()
    action: Action = "apply" if apply else "undo" if undo else "show"
    answer = patch(space, reference, action, paths)
    data: dict[str, object] = {"id": answer.id, "run": encode(answer.run), "commit": answer.commit, "action": action}
    data |= {"paths": answer.paths}
    if action != "show":
        common.emit(
            "patch",
            data | {"changed": answer.changed, "left": answer.left},
            _said(answer, space.config.code, undo=undo),
        )
        return
    clean = space.redactor.text(answer.diff.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
    if not common.as_json:
        write_bytes([clean])
    common.emit("patch", data | {"diff": clean.decode("utf-8", "replace")})


def _said(answer: PatchAnswer, rules: CodeRules, *, undo: bool) -> str:
    """`applied MOE-003 to 2 files: bench.py, kernel.py`, and what was left."""
    did, why = ("undid {} in", "untracked") if undo else ("applied {} to", "there already, or not kept")
    files = f"{counted(len(answer.changed), 'file')}: {listed(answer.changed, 10)}"
    lines = [f"{did.format(answer.id)} {files}"] if answer.changed else []
    documents = [path for path in answer.left if rules.is_document(path)] if undo else []
    others = [path for path in answer.left if path not in documents]
    for left, as_ in ((others, why), (documents, "documents")):
        lines += [f"left as they are ({as_}): {listed(left, 10)}"] if left else []
    if undo and (kept := [path for path in answer.left if path in answer.paths]):
        paths = named_paths(kept, answer.way)
        what = "to remove" if others else "to take them back, too"
        lines.append(f"{what}: logbook patch {answer.id}/{answer.run} --undo {paths}")
    return "\n".join(lines) or "nothing to change"
