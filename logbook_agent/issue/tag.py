"""`logbook snapshot`: a tag at a pushed commit, and a comment from which others can reproduce what stands there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from msgspec import Struct, structs

from logbook_agent.cli.options import Common, argument, option, repeated
from logbook_agent.issue.commands import DRY_RUN, MAX_WAIT, pace_of, sync_data, sync_text, warned
from logbook_agent.issue.destination import connect, default_repository, links_of
from logbook_agent.issue.pace import Pace
from logbook_agent.issue.permalinks import dirty_outside, head_commit, pushed_commit, remote_of
from logbook_agent.issue.sync import SyncResult, sync_after
from logbook_agent.model.errors import Rejected, StoreError, Taken, UsageError
from logbook_agent.model.header import Header, Snapshot
from logbook_agent.pages.views import changing
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.address import RepositoryAddress, parse_remote, tree
from logbook_agent.text.phrases import listed

if TYPE_CHECKING:
    from logbook_agent.issue.github import GitHub

# What git takes as the name of a tag, without the signs that need quotes in a shell.
_NAME = re.compile(r"(?!.*(?:\.\.|//|/\.|\.lock(?:/|$)|[./]$))[A-Za-z0-9][A-Za-z0-9._/+-]{0,99}")


class SnapshotRequest(Struct, frozen=True, kw_only=True):
    """`entries`: those the snapshot is for; all experiments when none is named."""

    name: str
    entries: Sequence[str] = ()
    message: str | None = None
    dry_run: bool = False


def snapshot(workspace: Workspace, request: SnapshotRequest, pace: Pace) -> tuple[Snapshot, bool, SyncResult | None]:
    """Tag HEAD and update the issue, where there is one; the snapshot, and whether the tag was not there before. Raises
    UsageError for a tree that others cannot have, Taken for a tag elsewhere."""
    if not _NAME.fullmatch(request.name):
        raise UsageError(
            f"{request.name!r} cannot be the name of a tag",
            cause="use letters, digits and . _ - + /, with a letter or digit first",
            hint="logbook snapshot moe-int8-20260210",
        )
    book = workspace.book(request.entries[0] if request.entries else None)
    commit, repository = _pushed_head(workspace)
    made = Snapshot(
        name=request.name,
        commit=commit,
        at=workspace.stamp(),
        url=tree(repository, request.name),
        last_entry=next(reversed(book.entry_ids()), None),
        entries=tuple(book.resolve(entry_id) for entry_id in request.entries),
    )
    made = _recorded(book.header, made) or made
    _warn_unpushed(workspace, book, made)
    host = connect(workspace, repository, pace, read_only=request.dry_run)
    # Here, since it must not hold the token, which is known only now.
    safe = workspace.redactor.text(request.name)
    if safe != request.name:
        raise UsageError(
            f"the name of the snapshot looks like a secret: {safe}",
            cause="a tag is public, and the logbook would record it under another name",
            hint="choose another one, such as: logbook snapshot moe-int8-20260210",
        )
    if request.dry_run:
        return made, _is_needed(host, made), None
    message = workspace.redactor.text(request.message or f"Snapshot {made.name}")
    created, synced = _tagged(host, made, message), None

    def changed(header: Header) -> Header:
        known = _recorded(header, made) is not None
        return header if known else structs.replace(header, snapshots=(*header.snapshots, made))

    with changing(workspace, book):
        book.change_header(changed)
    if book.header.issue is None:
        workspace.warnings.append(f"{book.topic} has no issue: its first sync posts the comment on {made.name}")
    else:
        synced = sync_after(workspace, pace, f"the tag {made.name} is set")
    return made, created, synced


def _pushed_head(workspace: Workspace) -> tuple[str, RepositoryAddress]:
    """HEAD's commit and the repository that it was pushed to. Raises UsageError that says how to get there."""
    root, environ = workspace.root, workspace.environ
    commit = head_commit(root, environ)
    remote = remote_of(root, environ, workspace.config.github.remote)
    if commit is None or remote is None:
        raise UsageError(
            "there is nothing to tag",
            cause="the logbook is not in a git repository" if commit is None else "the repository has no remote",
            hint="a snapshot is a commit that others can fetch: "
            + ("git init and git commit" if commit is None else "git remote add origin URL, then git push"),
        )
    outside = dirty_outside(root, environ)
    if outside:
        raise UsageError(
            f"uncommitted changes outside the logbook: {listed(outside, 5)}",
            cause="without them, nobody could reproduce what was run",
            hint="commit and push them, or put them aside with: git stash -u; then take the snapshot again",
        )
    if pushed_commit(root, remote.name, environ) != commit:
        raise UsageError(
            f"HEAD ({commit[:9]}) is not pushed to {remote.name}",
            cause="a tag must name a commit that others can fetch",
            hint=f"git push {remote.name} HEAD; then take the snapshot again",
        )
    repository = parse_remote(remote.url) or default_repository(workspace)
    if repository is None:
        raise UsageError(
            f"the git remote {remote.name} does not point to a repository on the web",
            cause="a tag is set through the API of the repository's host",
            hint='set in logbook.toml: [github] repository = "OWNER/REPO"',
        )
    return commit, repository


def _recorded(header: Header, made: Snapshot) -> Snapshot | None:
    """The snapshot of this name that is recorded already, at the same commit. Raises Taken when at another."""
    found = next((s for s in header.snapshots if s.name == made.name), None)
    if found is not None and found.commit != made.commit:
        raise _taken(made.name, found.commit, made.commit)
    return found


def _taken(name: str, there: str, here: str) -> Taken:
    return Taken(
        f"the snapshot {name} is at {there[:9]}, and HEAD is {here[:9]}",
        cause="a snapshot never moves: others may have cited it",
        hint="choose another name, such as the same one with today's date",
    )


def _warn_unpushed(workspace: Workspace, book: Book, made: Snapshot) -> None:
    links = links_of(workspace, book, None)
    lacking = [i for i in made.entries or book.entry_ids() if links.entries.get(i) is None]
    if lacking:
        workspace.warnings.append(
            f"the records of {listed(lacking, 5)} are not in the tagged commit as they are now; to include them,"
            " first commit them, then: git push"
        )


def _tagged(host: GitHub, made: Snapshot, message: str) -> bool:
    """Whether the tag was set by this command, also where an answer was lost."""
    sent = False

    def tag() -> bool:
        nonlocal sent
        if not _is_needed(host, made):
            return sent
        was_sent, sent = sent, True
        host.pace.say(f"tag {made.name} at {made.commit[:9]}")
        try:
            host.create_tag(made.name, made.commit, message)
        except Rejected as error:
            # It may be there since it was looked for.
            if _is_there(host, made):
                return was_sent
            error.hint = f"check the answer of the host, or choose a name other than {made.name}"
            raise
        return True

    return host.pace.safely(tag)


def _is_needed(host: GitHub, made: Snapshot) -> bool:
    """Whether the tag is to be set. Raises Taken for one at another commit, StoreError for a commit that the host does
    not have."""
    if _is_there(host, made):
        return False
    host.check_name()
    if not host.has_commit(made.commit):
        raise StoreError(
            f"the host does not know {made.commit[:9]}",
            cause="git counts it as pushed since the last fetch; or the remote is another repository",
            hint="git push, then take the snapshot again",
        )
    return True


def _is_there(host: GitHub, made: Snapshot) -> bool:
    there = host.tagged_commit(made.name)
    if there is not None and there != made.commit:
        raise _taken(made.name, there, made.commit) from None
    return there is not None


# -- the command --------------------------------------------------------------------------------------


class SnapshotOptions:
    """What is tagged: a `SnapshotRequest`."""

    name = argument("NAME", "The tag's name.", ...)
    entries = repeated("--entry ID", "An entry that the tag covers; may be repeated. [all experiments]")
    message = option("--message TEXT", "The tag's message.")
    dry_run = DRY_RUN


def snapshot_command(
    *, request: Annotated[SnapshotRequest, SnapshotOptions], max_wait_s: float = MAX_WAIT, common: Common
) -> None:
    """Tag the pushed commit, and tell the issue how to reproduce what stands there.

    Refused while there are changes outside the logbook, or HEAD is not pushed. Example: logbook snapshot moe-20260210
    """
    space = common.space()
    with warned(space):
        made, created, synced = snapshot(space, request, pace_of(common, space, max_wait_s))
    data = {
        **{name: getattr(made, name) for name in ("name", "commit", "url")},
        "created": created,
        "dry_run": request.dry_run,
        "sync": sync_data(synced, dry_run=False) if synced is not None else None,
    }
    done = ("would be created" if request.dry_run else "created") if created else "already exists"
    lines = [f"tag {made.name} at {made.commit[:9]}: {done}", made.url]
    lines += [sync_text(synced)] if synced is not None else []
    common.emit("snapshot", data, "\n".join(lines))
