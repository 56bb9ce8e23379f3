"""Keep what a native library writes out of the user's sight. It writes to file descriptors, not to sys.stderr."""

import contextlib
import faulthandler
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(slots=True, kw_only=True)
class Captured:
    """What was written meanwhile, as text; complete when the block has ended."""

    text: str = field(default="")


@contextlib.contextmanager
def captured_output() -> Iterator[Captured]:
    """Collect everything that this process and its children write to stdout and stderr.

    Both descriptors are those of the whole process: nothing else may write to them meanwhile.
    """
    captured = Captured()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    with tempfile.TemporaryFile() as store, contextlib.ExitStack() as stack:
        for descriptor in (1, 2):
            saved = os.dup(descriptor)
            stack.callback(os.close, saved)
            stack.callback(os.dup2, saved, descriptor)
            os.dup2(store.fileno(), descriptor)
        if not faulthandler.is_enabled():
            # A native library that aborts takes what it said with it; at least that it did is shown.
            faulthandler.enable(saved)
            stack.callback(faulthandler.disable)
        try:
            yield captured
        finally:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            stack.close()
            store.seek(0)
            captured.text = store.read().decode(errors="replace")
