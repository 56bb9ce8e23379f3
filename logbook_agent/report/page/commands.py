"""`logbook report`."""

from __future__ import annotations

import json
import signal
from pathlib import Path

from logbook_agent.cli.options import Common, Text, flag, number, option
from logbook_agent.cli.output import say
from logbook_agent.model.errors import NotFound
from logbook_agent.report.page.document import page_file
from logbook_agent.report.page.page import write_report
from logbook_agent.text.phrases import listed


def report_command(
    *,
    out: Text = option("--out DIR", "The folder to write to. [.report in the folder of logbooks]"),
    no_logs: bool = flag("--no-logs", "Do not copy the logs and files of the runs next to the pages."),
    serve: bool = flag("--serve", "Write nothing: show the pages in a browser until Ctrl-C, updated during runs."),
    port: int = number(
        "--port N",
        "Serve on this port of 127.0.0.1; implies --serve. [any]",
        0,
        min=0,
        max=65535,
        show_default=False,
    ),
    common: Common,
) -> int:
    """Write an HTML page for each logbook, and an index.

    With -L, write only the page of that logbook; the index lists all. The pages need no server and no network.
    Exit code: 1 when an entry or a logbook cannot be read and is left out.
    Example: logbook report --out public
    """
    if serve or port:
        serve_pages(common, port)
        return 0
    space = common.space()
    books = [space.book()] if common.logbook else None
    folder = (space.cwd / Path(out).expanduser()).absolute() if out is not None else None
    done = write_report(space, folder, books, logs=not no_logs)
    data = {
        "index": str(done.index),
        "pages": list(map(str, done.pages)),
        "binaries": list(map(str, done.binaries)),
        "left_out": done.left_out,
    }
    text = "\n".join(space.shown(path) for path in (done.index, *done.pages))
    if names := [space.shown(path) for path in done.binaries]:
        space.warnings.append(f"only text is searched for secrets; check these files yourself: {listed(names)}")
    common.emit("report", data, text)
    return 1 if done.left_out else 0


def serve_pages(common: Common, port: int) -> None:
    """Print an address with a token, which works on this machine only, and serve the pages there until Ctrl-C. It is
    read-only: it does not collect runs that have ended."""
    from logbook_agent.report.live.follower import ends_well, looking
    from logbook_agent.report.live.server import LiveServer
    from logbook_agent.report.live.site import LiveSite

    with ends_well(0, signal.SIGTERM, signal.SIGINT):
        space = looking(common)
        books = space.books()
        if not books:
            raise NotFound(
                f"no logbook in {space.root}",
                cause="there is nothing to serve: no logbook was started here",
                hint="logbook start TOPIC",
            )
        path = f"/{page_file(space.book().topic)}" if common.logbook or len(books) == 1 else "/"
        with LiveServer(port, LiveSite(lambda: looking(common)).answer) as server:
            address = server.address(path)
            data = {"schema": "logbook/serve/1", "data": {"url": address, "port": server.port}, "warnings": []}
            # `emit` would redact the token, and this is the only place that shows it.
            print(json.dumps(data) if common.as_json else address, flush=True)
            say("serving to this machine only; press Ctrl-C to stop")
            server.serve_forever(poll_interval=0.2)
