"""Signatures of this user: by them a command that is found on disk is known for one that was typed here."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Mapping

from logbook_agent.model.errors import UsageError
from logbook_agent.store.files import locked, make_folder, write_atomic
from logbook_agent.store.reading import read_text
from logbook_agent.store.user_config import user_config_file

_KEY_BYTES = 32
_MOST_BYTES = 1000


def signature(environ: Mapping[str, str], text: str) -> str:
    """A signature of a text with the key of this user, which is made with the first one. Raises UsageError where there
    is no place for a key, StoreError where it cannot be read or written."""
    return _signed(key_of(environ, make=True) or "", text)


def is_signed(environ: Mapping[str, str], text: str, found: str) -> bool:
    """Whether this user signed a text."""
    key = key_of(environ, make=False)
    return key is not None and hmac.compare_digest(_signed(key, text), found)


def _signed(key: str, text: str) -> str:
    return hmac.new(key.encode(), text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


def key_of(environ: Mapping[str, str], *, make: bool) -> str | None:
    """The key, which lies beside the user's settings and leaves this machine as little as they do; None where there is
    none, and none is to be made."""
    settings = user_config_file(environ)
    if settings is None:
        if not make:
            return None
        raise UsageError(
            "no folder for your settings",
            cause="neither XDG_CONFIG_HOME nor HOME names an absolute path",
            hint="set HOME",
        )
    path = settings.with_name("key")
    if make and not os.path.lexists(path):
        make_folder(path.parent, within=path.parent, private=True)
        with locked(path.with_name("config.lock"), within=path.parent):
            if not os.path.lexists(path):
                write_atomic(path, secrets.token_hex(_KEY_BYTES).encode(), within=path.parent, private=True)
    return read_text(path, within=None, limit=_MOST_BYTES) if os.path.lexists(path) else None
