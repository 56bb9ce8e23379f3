"""Serves the live view on 127.0.0.1 until it is asked to end."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import signal
import socket
from collections.abc import Callable, Iterator

import uvicorn

from logbook_agent.model.errors import UsageError
from logbook_agent.report.live.app import LiveSite
from logbook_agent.report.live.guard import Access
from logbook_agent.store.workspace import Workspace


class _LiveServer(uvicorn.Server):
    """Signals are ours: they end it, and are not raised again."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def bound(port: int) -> socket.socket:
    """A socket that listens on 127.0.0.1; port 0: any that is free. Raises UsageError."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(("127.0.0.1", port))
        listening.listen(128)
    except OSError as error:
        listening.close()
        is_taken = error.errno == errno.EADDRINUSE
        raise UsageError(
            f"cannot listen on port {port}",
            cause="another program uses it" if is_taken else str(error.strerror or error),
            hint="let the system choose a port: logbook report --serve",
        ) from error
    return listening


def serve(space: Callable[[], Workspace], listening: socket.socket, access: Access) -> None:
    """Serve until INT or TERM."""
    asyncio.run(_serve(space, listening, access))


async def _serve(space: Callable[[], Workspace], listening: socket.socket, access: Access) -> None:
    site = LiveSite(space, access)
    config = uvicorn.Config(
        site.app, log_config=None, access_log=False, lifespan="off", ws="none", loop="asyncio",
        server_header=False, proxy_headers=False, timeout_graceful_shutdown=2, limit_concurrency=200,
    )  # fmt: skip
    server = _LiveServer(config)

    def end() -> None:
        site.is_closing.set()
        server.should_exit = True

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, end)
    try:
        await server.serve(sockets=[listening])
    finally:
        site.close()
