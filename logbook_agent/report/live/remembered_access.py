"""The port and token of the last server of a root, so that a page that is open finds the next one."""

from __future__ import annotations

import json
import socket

from logbook_agent.model.errors import LogbookError, UsageError
from logbook_agent.report.live.guard import Access
from logbook_agent.report.live.server import bound
from logbook_agent.store.layout import SETTINGS_BYTES
from logbook_agent.store.user_config import UserPlaces

_FILE = "serve.json"
# Whatever is shorter is no token of ours.
_LEAST_CHARS = 32


def opened(places: UserPlaces, port: int) -> tuple[socket.socket, Access]:
    """A socket that listens, and the access to it: those of the last server if its port is free and `port` is that or
    0 (any), else new ones. They are kept for this user alone. Raises UsageError where `port` is taken."""
    last = _last(places)
    if last is not None and port in (0, last.port):
        try:
            return bound(last.port), last
        except UsageError:
            if port:
                raise
            # Another server of this root has it, whose pages go on asking there.
            listening = bound(0)
            return listening, Access(port=listening.getsockname()[1])
    listening = bound(port)
    access = Access(port=listening.getsockname()[1])
    if places.state is not None:
        text = json.dumps({"port": access.port, "token": access.token, "session": access.session})
        places.state.make(private=True)
        places.state.write(_FILE, text.encode(), durable=False, private=True)
    return listening, access


def _last(places: UserPlaces) -> Access | None:
    """The access of the last server; None where none is known."""
    if places.state is None or not places.state.at(_FILE).is_file():
        return None
    try:
        found = json.loads(places.state.text(_FILE, limit=SETTINGS_BYTES))
        port, token, session = found["port"], found["token"], found["session"]
    except (LogbookError, ValueError, KeyError, TypeError):
        return None  # a new one replaces it
    texts = all(isinstance(text, str) and len(text) >= _LEAST_CHARS for text in (token, session))
    return (
        Access(port=port, token=token, session=session)
        if texts and isinstance(port, int) and 0 < port < 2**16
        else None
    )
