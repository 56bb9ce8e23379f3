"""`logbook publish`."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from logbook_agent.cli.options import Common, Text, flag, option
from logbook_agent.cli.output import emit, say
from logbook_agent.model.errors import UsageError, exclusive
from logbook_agent.report.page.document import page_file
from logbook_agent.report.page.page import check_replaceable
from logbook_agent.report.publish.targets import (
    PagesBranch,
    PublishedFile,
    check_no_secret,
    one_file,
    report_files,
    upload,
)
from logbook_agent.store.folder import Folder
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.phrases import counted, listed


def publish_command(
    *,
    file: Text = option("--file FILE", "Write one logbook as one file with its logs inside."),
    branch: Text = option("--branch NAME", "Commit the pages to this branch, such as gh-pages."),
    push_to: Text = option("--push REMOTE", "With --branch: push it there."),
    hub: Text = option("--space OWNER/NAME", "Upload the pages as a static Space of Hugging Face."),
    no_logs: bool = flag("--no-logs", "Leave out the logs of the runs."),
    dry_run: bool = flag("--dry-run", "List what would be published; write and send nothing."),
    common: Common,
) -> None:
    """Publish the pages of `logbook report`: in one file, on a branch, or as a Space.

    Lists the files first and searches them for secrets once more; a file that still holds one stops it.
    With -L, publish only that logbook. The work tree and the index of git are not touched.
    Example: logbook publish --branch gh-pages --push origin
    """
    _check_one_target(file, branch, hub, push_to)
    space = common.space()
    path = _file_path(space, file) if file is not None else None
    with tempfile.TemporaryDirectory() as made:
        books = [space.book()] if common.logbook or file is not None else None
        files = report_files(space, Path(made), books, logs=not no_logs)
        if binaries := [one.path for one in files if one.text is None]:
            space.warnings.append(f"only text is searched for secrets; check these files yourself: {listed(binaries)}")
        left_out: list[str] = []
        if path is not None:
            page, left_out = one_file(page_file(space.book().topic), {one.path: one for one in files})
            files = (page,)
            check_no_secret(files, space.redactor)
        if not common.as_json:
            _list(files, space.warnings)
        place, text = None, f"{counted(len(files), 'file')}, nothing published (--dry-run)"
        if not dry_run and path is not None:
            Folder(path.parent).write(path, [files[0].content], durable=False)
            place = text = space.shown(path)
        elif not dry_run and hub is not None:
            place = text = upload(Path(made), hub, space.root.name)
        elif not dry_run and branch is not None:
            place = _committed(space, branch, files, push_to)
            text = place or f"{branch} has these pages already"
    listing = [{"path": one.path, "bytes": len(one.content), "media_type": one.media_type} for one in files]
    data = {"files": listing, "left_out": left_out, "published": place}
    emit("publish", data, text, as_json=common.as_json, warnings=space.warnings if common.as_json else ())


def _list(files: Sequence[PublishedFile], warnings: Sequence[str]) -> None:
    """Name what is to be published, before anything leaves."""
    for one in files:
        say(f"{len(one.content):>11,} bytes  {one.path}")
    for warning in warnings:
        say(f"warning: {warning}")


def _committed(space: Workspace, branch: str, files: Sequence[PublishedFile], push_to: str | None) -> str | None:
    """Where the pages are now; None for a branch that had them."""
    pages = PagesBranch.of(space.root, branch, space.environ)
    commit = pages.commit(files, "Pages of the logbooks")
    if push_to is not None:
        pages.push(push_to)
        return f"{branch} pushed to {push_to}" + (f" at {commit[:9]}" if commit else "")
    return f"{branch} is at {commit[:9]}" if commit is not None else None


def _check_one_target(file: str | None, branch: str | None, hub: str | None, push_to: str | None) -> None:
    cause = "pages are published in one place at a time"
    hint = "logbook publish --file report.html, or --branch gh-pages, or --space OWNER/NAME"
    exclusive({"--file": file, "--branch": branch, "--space": hub}, cause=cause, hint=hint)
    if not (file or branch or hub):
        raise UsageError("publish needs one target", cause=cause, hint=hint)
    if push_to is not None and branch is None:
        raise UsageError(
            "--push needs --branch", cause="only a branch is pushed", hint=f"--branch gh-pages --push {push_to}"
        )


def _file_path(space: Workspace, file: str) -> Path:
    """Where the one file is written. Raises UsageError where there is no folder for it, and Taken where another file
    has its name."""
    path, cause = (space.cwd / Path(file).expanduser()).absolute(), "--file names one file in a folder that exists"
    if path.is_dir():
        hint = f"--file {Path(file) / 'report.html'}"
        raise UsageError(f"cannot write {file}: it is a folder", cause=cause, hint=hint)
    if not path.parent.is_dir():
        hint = f"mkdir -p {Path(file).parent}"
        raise UsageError(f"cannot write {file}: there is no such folder", cause=cause, hint=hint)
    check_replaceable(path, Folder(path.parent), "--file")
    return path
