"""`logbook report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from logbook_agent.cli.options import Common, Text
from logbook_agent.cli.output import emit
from logbook_agent.report.live.serving import serve_pages
from logbook_agent.report.page.write import write_report


def report_command(
    *,
    out: Annotated[
        Text, Option("--out", metavar="DIR", help="The folder to write to. [.report in the folder of logbooks]")
    ] = None,
    no_logs: Annotated[bool, Option("--no-logs", help="Do not copy the logs of the runs next to the pages.")] = False,
    serve: Annotated[
        bool, Option("--serve", help="Write nothing: show the pages in a browser until Ctrl-C, updated during runs.")
    ] = False,
    port: Annotated[
        int,
        Option(
            "--port",
            metavar="N",
            min=0,
            max=65535,
            help="Serve on this port of 127.0.0.1; implies --serve. [any]",
            show_default=False,
        ),
    ] = 0,
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
    data = {"index": str(done.index), "pages": list(map(str, done.pages)), "left_out": done.left_out}
    text = "\n".join(space.shown(path) for path in (done.index, *done.pages))
    emit("report", data, text, as_json=common.as_json, warnings=space.warnings)
    return 1 if done.left_out else 0
