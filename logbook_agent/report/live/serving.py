"""`logbook report --serve`."""

from __future__ import annotations

import json

from logbook_agent.cli.options import Common
from logbook_agent.cli.output import say
from logbook_agent.model.errors import NotFound, UsageError
from logbook_agent.report.live.watch_command import ends_well, looking


def serve_pages(common: Common, port: int) -> None:
    """Print an address with a token, which works on this machine only, and serve the pages there until Ctrl-C. It is
    read-only: it does not collect runs that have ended."""
    try:
        from logbook_agent.report.live.guard import Access
        from logbook_agent.report.live.server import bound, serve
    except ModuleNotFoundError as error:
        raise UsageError(
            f"{(error.name or 'starlette').partition('.')[0]} is not installed",
            cause="the live view needs the extra `serve`",
            hint="pip install 'logbook-agent[serve]'",
        ) from error
    with ends_well():
        space = looking(common)
        books = space.books()
        if not books:
            raise NotFound(
                f"no logbook in {space.root}",
                cause="there is nothing to serve: no logbook was started here",
                hint="logbook start TOPIC",
            )
        path = f"/{space.book().topic}.html" if common.logbook or len(books) == 1 else "/"
        with bound(port) as listening:
            access = Access(port=listening.getsockname()[1])
            address = access.address(path)
            data = {"schema": "logbook/serve/1", "data": {"url": address, "port": access.port}, "warnings": []}
            # `emit` would redact the token, and this is the only place that shows it.
            print(json.dumps(data) if common.as_json else address, flush=True)
            say("serving to this machine only; press Ctrl-C to stop")
            serve(lambda: looking(common, space.root), listening, access)
