"""Where runs were submitted to, signed by the user who did that.

A spool lies in the repository and may come with a branch that was pulled. What it names decides which folder of another
machine is read and removed, which job is stopped, and what a launcher is asked with; so only what this user has written
counts.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence

from logbook_agent.model.codec import encode
from logbook_agent.model.errors import StoreError
from logbook_agent.store.signing import is_signed, signature
from logbook_agent.store.spool import WORK, Sent, Spool, write_sent_together


def write_sent(spool: Spool, sent: Sent, environ: Mapping[str, str]) -> None:
    """Write into a spool where its run is submitted to. Raises UsageError where there is no place for a key."""
    write_sent_together([(spool, _signed(spool, sent, environ))])


def write_sent_all(items: Sequence[tuple[Spool, Sent]], environ: Mapping[str, str]) -> None:
    """`write_sent` for many spools of one logbook, together."""
    write_sent_together([(spool, _signed(spool, sent, environ)) for spool, sent in items])


def _signed(spool: Spool, sent: Sent, environ: Mapping[str, str]) -> Sent:
    return dataclasses.replace(sent, signed=signature(environ, _text(spool, sent)))


def sent_of(spool: Spool, environ: Mapping[str, str]) -> Sent | None:
    """Where the run was submitted to; None before it was. Raises StoreError where somebody else wrote that."""
    sent = spool.sent()
    if sent is not None and (sent.signed is None or not is_signed(environ, _text(spool, sent), sent.signed)):
        raise StoreError(
            f"the run in {spool.folder} was not submitted by you",
            cause="its files came from another machine or another user, or were changed",
            hint="collect it where it was submitted, or remove that folder",
        )
    return sent


def _text(spool: Spool, sent: Sent) -> str:
    """What is signed: all that decides where the run is looked for, and what with."""
    return json.dumps(["sent", encode(dataclasses.replace(sent, signed=None)), spool.read(WORK)])
