"""Which process is which: a number alone names none for good."""

from __future__ import annotations

import os

from logbook_agent.store.processes import create_time, is_alive


def test_a_process_that_plain_data_names() -> None:
    me = {"pid": os.getpid(), "started": create_time(os.getpid())}
    assert is_alive(me)
    assert is_alive({**me, "host": os.uname().nodename})
    assert not is_alive({**me, "started": 1000.0})
    assert is_alive({**me, "started": 1000.0, "host": "another-host"}), "it cannot be told from here"
    for pid in (0, -1, 2**31, "1", None):
        assert not is_alive({"pid": pid})
