"""Which process is which: a number alone names none for good."""

from __future__ import annotations

import os
import subprocess
import time

from logbook_agent.store.processes import alive, create_time, is_alive


def test_a_process_is_known_by_when_it_started() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        try:
            started = create_time(child.pid)
            assert started is not None
            assert alive(child.pid, started)
            assert alive(child.pid, started + 1), "the boot time is read anew now and then"
            assert alive(child.pid, None)
            assert not alive(child.pid, started - 3), "its number was another's then"
        finally:
            child.kill()
        until = time.monotonic() + 10
        while alive(child.pid, started) and time.monotonic() < until:
            time.sleep(0.01)
        assert not alive(child.pid, None), "nobody has waited for it, and it does no more"
    assert create_time(child.pid) is None


def test_a_process_that_plain_data_names() -> None:
    me = {"pid": os.getpid(), "started": create_time(os.getpid())}
    assert is_alive(me)
    assert is_alive({**me, "host": os.uname().nodename})
    assert not is_alive({**me, "started": 1000.0})
    assert is_alive({**me, "started": 1000.0, "host": "another-host"}), "it cannot be told from here"
    for pid in (0, -1, 2**31, "1", None):
        assert not is_alive({"pid": pid})
