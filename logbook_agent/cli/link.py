"""`logbook link`: issues, and the hosts that a token may go to."""

from __future__ import annotations

import os
from typing import Annotated, Any

from typer import Argument, Option

from logbook_agent.cli.options import Common, Text, Texts
from logbook_agent.cli.output import emit
from logbook_agent.issue.sync.link import link
from logbook_agent.issue.sync.place import ALWAYS, VARIABLE, confirm_host, forget_host, is_confirmed, known_hosts
from logbook_agent.model.errors import LogbookError, UsageError
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.address import IssueAddress

_NO_ISSUE: dict[str, Any] = {"logbook": None, "url": None, "label": None}


def link_command(
    *,
    target: Annotated[
        Text, Argument(metavar="URL|OWNER/REPO#N", help="The issue. [without one, lists the hosts a token may go to]")
    ] = None,
    label: Annotated[
        Text, Option("--as", metavar="LABEL", help="How it relates to this thread: 'Prior issue', 'Related issue'.")
    ] = None,
    one_way: Annotated[bool, Option("--one-way", help="Post no comment there that links back.")] = False,
    replace: Annotated[bool, Option("--replace", help="Continue in this issue instead of the current one.")] = False,
    trust: Annotated[
        Texts, Option("--trust", metavar="LOGIN", help="An account that syncs this logbook too; may be repeated.")
    ] = None,
    confirm: Annotated[
        Text, Option("--confirm-host", metavar="HOST", help="Let your token go to this host; kept in your settings.")
    ] = None,
    forget: Annotated[Text, Option("--forget-host", metavar="HOST", help="Withdraw such a confirmation.")] = None,
    common: Common,
) -> None:
    """Link an issue: without --as the experiment issue, with it a prior or related one.

    The next sync adds the block to the experiment issue, and a comment to the others that links back.
    Example: logbook link acme/moe#2704 --as "Prior issue"

    A host other than github.com gets a token only after you have named it, in GH_HOST or with --confirm-host.
    """
    if target is None and (label is not None or one_way or replace or trust):
        raise UsageError("no issue to link", cause="these options need an issue", hint="logbook link URL ...")
    if label is None and one_way:
        raise UsageError(
            "--one-way needs --as", cause="sync always writes to the experiment issue", hint="add: --as 'Related issue'"
        )
    if label is not None and (replace or trust):
        raise UsageError(
            f"--as does not go with {'--replace' if replace else '--trust'}",
            cause="this option is for the experiment issue only",
            hint=f"logbook link {target}{' --replace' if replace else ''}",
        )
    lines = _changed_hosts(confirm, forget)
    data, warnings = dict(_NO_ISSUE), []
    if target is not None:
        space = common.space()
        book, address = link(space, target, label=label, one_way=one_way, replace=replace, trusted=trust or ())
        data, text = _linked(space, book, address, label)
        lines.append(text)
        warnings = space.warnings
    else:
        hosts = known_hosts(os.environ)
        data["hosts"] = [{"host": known.host, "by": known.by} for known in hosts]
        if not lines:
            lines += [f"{known.host}: {_why(known.by)}" for known in hosts]
    emit("link", data, "\n".join(lines), as_json=common.as_json, warnings=warnings)


def _changed_hosts(confirm: str | None, forget: str | None) -> list[str]:
    lines = []
    if confirm is not None:
        lines.append(f"confirmed: {confirm_host(os.environ, confirm)} (a token may go there)")
    if forget is not None:
        host, was_there = forget_host(os.environ, forget)
        lines.append(f"no longer confirmed: {host}" if was_there else f"was not confirmed: {host}")
        if is_confirmed(host, os.environ):
            still = "github.com needs no confirmation" if host == "github.com" else "GH_HOST names it"
            lines.append(f"a token may still go there: {still}")
    return lines


def _linked(space: Workspace, book: Book, address: IssueAddress, label: str | None) -> tuple[dict[str, Any], str]:
    label = space.redactor.text(label) if label is not None else None
    url = address.web
    following = "logbook sync" if book.header.issue is not None else "logbook sync --create"
    host = address.repository.host
    if not _is_known(host):
        following = f"logbook link --confirm-host {host}, if the host may have your token; then: {following}"
    text = f"{book.topic}: {label or 'experiment issue'} is {url}\nnext: {following}"
    return {"logbook": book.topic, "url": url, "label": label}, text


def _is_known(host: str) -> bool:
    """The link is written by now: settings that cannot be read are an error of the command that needs them."""
    try:
        return is_confirmed(host, os.environ)
    except LogbookError:
        return False


def _why(by: str) -> str:
    return {ALWAYS: "needs no confirmation", VARIABLE: "named by GH_HOST"}.get(by, f"confirmed in {by}")
