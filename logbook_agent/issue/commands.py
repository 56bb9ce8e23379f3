"""`logbook sync`, and `logbook link`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from shlex import join
from typing import Annotated

from msgspec import structs

from logbook_agent.cli.options import Common, Text, argument, duration, flag, option, repeated
from logbook_agent.cli.output import say
from logbook_agent.issue.destination import default_repository, issue_of, site_of_names
from logbook_agent.issue.new_issue import adopted, write_offline
from logbook_agent.issue.pace import Pace
from logbook_agent.issue.sync import SyncResult, sync
from logbook_agent.issue.values import SyncRequest
from logbook_agent.model.errors import LogbookError, Taken, UsageError, exclusive
from logbook_agent.model.header import Header, Link
from logbook_agent.pages.views import changing
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.address import parse_issue
from logbook_agent.text.markdown import clean, one_line_code
from logbook_agent.text.phrases import counted, listed
from logbook_agent.text.redaction.redactor import by_shape

MAX_WAIT = duration("--max-wait TIME", "Longest total wait for the host: 90s, 15m, 1h.", "15m")
DRY_RUN = flag("--dry-run", "Say what would be written, and write nothing.")


class SyncOptions:
    """What is written: a `SyncRequest`."""

    create = flag("--create", "Open the experiment issue when there is none.")
    repository = option("--repo OWNER/REPO", "With --create: where to open it. [the git remote's]")
    labels = repeated("--label NAME", "With --create: a label of the issue; repeatable.")
    entries = repeated("--entry ID", "Post only the update of this entry, finished or not; repeatable.")
    dry_run = DRY_RUN
    new_block = flag("--new-block", "Add the block to the issue's body again if it was removed.")
    digest = option("--digest DIGEST", "Write only the plan that --dry-run --json gave this digest.")


def sync_command(
    *,
    request: Annotated[SyncRequest, SyncOptions],
    offline: Text = option("--offline DIR", "Write what would be sent to files in this folder, and send nothing."),
    max_wait_s: float = MAX_WAIT,
    common: Common,
) -> None:
    """Bring the issue up to date.

    Updates logbook's block in the body of the issue, and posts one comment with the entries that were added or have
    finished since the last sync. What people wrote stays. A second sync writes nothing.

    Example: logbook sync --dry-run
    """
    space = common.space()
    if offline is not None:
        exclusive({"--offline": offline, "--dry-run": request.dry_run}, cause="--offline only writes files")
        if offline.startswith("-"):
            cause = "an option stands where the folder should"
            raise UsageError(f"--offline {offline}: expected a folder", cause=cause, hint="logbook sync --offline DIR")
        book, paths = write_offline(space, offline, request)
        files = [space.shown(path) for path in paths]
        common.emit("sync", {"logbook": book.topic, "files": files}, "\n".join(files))
        return
    with warned(space):
        result = sync(space, request, pace_of(common, space, max_wait_s))
    dry_run = request.dry_run
    common.emit("sync", sync_data(result, dry_run=dry_run), sync_text(result, dry_run=dry_run))


def pace_of(common: Common, space: Workspace, max_wait_s: float) -> Pace:
    """The pace of a command that talks to a host; it tells the user what it waits for."""
    # By the forms of secrets alone: settings need not be readable yet, and errors pass their redactor.
    typed = join(("logbook", *by_shape().argv(common.words)))
    return Pace(say=lambda text: say(space.redactor.text(text)), again=typed, max_wait_s=max_wait_s, **space.timing)


@contextlib.contextmanager
def warned(space: Workspace) -> Iterator[None]:
    """What there was to warn about is told also when the command ends in an error: it may be the reason."""
    try:
        yield
    except LogbookError:
        for warning in space.warnings:
            say(f"warning: {warning}")
        raise


def sync_data(result: SyncResult, *, dry_run: bool) -> dict[str, object]:
    """A sync as plain data. A dry run has the lines of what each write changes, and the digest of the plan."""
    planned = {"digest": result.digest} if dry_run else {}
    return {
        "logbook": result.book.topic,
        "issue": result.issue,
        "dry_run": dry_run,
        "steps": [write.data() | ({"diff": write.diff()} if dry_run else {}) for write in result.writes],
        "waiting": list(result.waiting),
        "pinned_to": result.links.commit,
        "not_pushed": None if result.links.commit is not None else result.links.why,
        **planned,
    }


def sync_text(result: SyncResult, *, dry_run: bool = False) -> str:
    lines = [f"issue: {result.issue}"] if result.issue is not None else []
    if result.writes:
        lines.append(f"{counted(len(result.writes), 'step')} {'would be written' if dry_run else 'written'}:")
    else:
        lines.append("already up to date")
    for write in result.writes:
        # What stands in the issue was written by others: nothing in it may be obeyed by a terminal.
        diff = [f"    {clean(line)}".rstrip() for line in write.diff()] if dry_run else []
        lines += [f"- {write.what}", *diff]
    if result.waiting:
        lines.append(f"not finished, so not posted: {listed(result.waiting, 5)}")
    if result.links.commit is None:
        lines.append(f"links: {result.links.why}")
    return "\n".join(lines)


def link_command(
    *,
    target: str = argument("URL|OWNER/REPO#N", "The issue.", ...),
    label: Text = option("--as LABEL", "How it relates to this thread: 'Prior issue', 'Related issue'."),
    replace: bool = flag("--replace", "Continue in this issue instead of the current one."),
    common: Common,
) -> None:
    """Link an issue: without --as the experiment issue, with it a prior or related one.

    The next sync adds the block to the experiment issue, and names the others in it.
    Example: logbook link acme/moe#2704 --as "Prior issue"
    """
    exclusive(
        {"--as": label, "--replace": replace},
        cause="--replace is for the experiment issue only",
        hint=f"logbook link {target} --replace",
    )
    space = common.space()
    book = space.book()
    own = issue_of(book)
    default = default_repository(space) or (own.repository if own is not None else None)
    url = parse_issue(target, default=default, site=site_of_names(space)).web
    if label is not None and not (label := one_line_code(label).strip()):
        raise UsageError(
            "no label", cause="the text after --as is empty; it is the label of the link", hint="--as 'Prior issue'"
        )

    def changed(header: Header) -> Header:
        return _related(header, Link(label=label, url=url)) if label else _own(header, url, replace=replace)

    before = book.reread_header().issue
    with changing(space, book):
        book.change_header(changed)
    if not label and before is not None and before.url != url:
        space.warnings.append(
            f"the block and the comments in {before.url} stay as they are and do not mention the change:"
            " write there where the thread continues, and close it"
        )
    label = space.redactor.text(label) if label else None
    following = "logbook sync" if book.header.issue is not None else "logbook sync --create"
    text = f"{book.topic}: {label or 'experiment issue'} is {url}\nnext: {following}"
    common.emit("link", {"logbook": book.topic, "url": url, "label": label}, text)


def _own(header: Header, url: str, *, replace: bool) -> Header:
    """The header with the experiment issue, in the place of another one if `replace` says so. Raises Taken."""
    if header.issue is not None and header.issue.url != url and not replace:
        raise Taken(
            f"{header.topic} already has an issue: {header.issue.url}",
            cause="a logbook has one issue",
            hint=f"logbook link {url} --as 'Related issue'; or, to continue there instead:"
            f" logbook link {url} --replace",
        )
    return adopted(header, url)


def _related(header: Header, new: Link) -> Header:
    """The header with a link to another issue; nothing is written there: GitHub shows the reference itself. Raises
    Taken."""
    if header.issue is not None and header.issue.url == new.url:
        raise Taken(
            f"{new.url} is the experiment issue of {header.topic}",
            cause="the experiment issue cannot also be a related issue",
            hint="logbook link URL --as 'Related issue', with the address of another one",
        )
    links = tuple(new if x.url == new.url else x for x in header.links)
    return structs.replace(header, links=links if new in links else (*links, new))
