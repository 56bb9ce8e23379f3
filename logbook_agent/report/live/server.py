"""Serves the live view on 127.0.0.1 until it is asked to end."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import signal
import socket
from collections.abc import Callable, Iterator
from typing import ClassVar

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from logbook_agent.model.errors import UsageError
from logbook_agent.report.live.app import LiveSite
from logbook_agent.report.live.guard import Access
from logbook_agent.store.workspace import Workspace

# A request has so long (s) to arrive; a connection on which none does is closed.
_REQUEST_S = 10.0
# So many connections may wait for a request at once; the one that has waited longest makes room for another.
_MOST_WAITING = 64


class _Connection(H11Protocol):
    """A connection that is closed if no complete request arrives in time, or if too many connections wait for one. So
    clients that send nothing cannot keep others out."""

    # All there are, in the order in which they came; a process serves once.
    _open: ClassVar[dict[_Connection, None]] = {}

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        waiting = [one for one in self._open if one.is_waiting]
        for one in waiting[: len(waiting) + 1 - _MOST_WAITING]:
            one.transport.abort()
        self._open[self] = None
        self._look_again(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self._open.pop(self, None)
        super().connection_lost(exc)

    @property
    def is_waiting(self) -> bool:
        """Whether it waits for a request."""
        return not self.transport.is_closing() and (self.cycle is None or self.cycle.response_complete)

    def _look_again(self, last: RequestResponseCycle | None) -> None:
        self.loop.call_later(_REQUEST_S, self._look, last)

    def _look(self, last: RequestResponseCycle | None) -> None:
        if self.cycle is last and self.is_waiting:
            self.transport.close()
        elif not self.transport.is_closing():
            self._look_again(self.cycle)


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
        site.app, log_config=None, access_log=False, lifespan="off", ws="none", http=_Connection, loop="asyncio",
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
