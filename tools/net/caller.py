"""The only module of the net that touches the product: call it in this process, by MCP, and with a clock that stands.

PYTHONPATH names the version. `python -m tools.net.caller WORDS` is `logbook WORDS` with the clock of $NET_CLOCK.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from logbook_agent.cli import main
from logbook_agent.store import workspace

UNKNOWN = re.compile(r"no such (command|option)", re.IGNORECASE)
USAGE = 2


@dataclass(frozen=True)
class Answer:
    """Exit code, stdout and stderr of a command line."""

    code: int
    out: str
    err: str

    @property
    def is_unknown(self) -> bool:
        """Whether this version has no such command or option."""
        return self.code == USAGE and UNKNOWN.search(self.out + self.err) is not None


def stop_the_clock(clock: Callable[[], datetime]) -> None:
    """Take the time from `clock`, in this process only: detached workers have the machine's.

    The order of an A/B and the seed of a sweep are drawn from the time, so they are fixed, too.
    """
    os.fsync = lambda descriptor: None  # type: ignore[assignment]  # no power cut is tested
    # Before any module takes the clock from there. A version that has it elsewhere: add that place.
    workspace.utc_now = clock
    for name, module in list(sys.modules.items()):
        if name.startswith("logbook_agent") and hasattr(module, "utc_now"):
            module.utc_now = clock  # type: ignore[attr-defined]


def call(*words: str) -> Answer:
    """Run `logbook WORDS`; stdout and stderr include what child processes print."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        saved = [os.dup(descriptor) for descriptor in (1, 2)]
        sys.stdout.flush()
        sys.stderr.flush()
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        try:
            code = main(words)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            for descriptor, copy in zip((1, 2), saved, strict=True):
                os.dup2(copy, descriptor)
                os.close(copy)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    return Answer(code, *texts)


def call_tools(calls: Iterable[tuple[str, dict[str, Any]]], now: datetime) -> list[Any]:
    """Start `logbook mcp`, call tools by JSON-RPC on its stdin, and return what each answered."""
    client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "net", "version": "1"}}
    requests = [("initialize", client), *(("tools/call", {"name": n, "arguments": given}) for n, given in calls)]
    server = subprocess.Popen(
        [sys.executable, "-P", "-m", "tools.net.caller", "mcp", "--allow-run"],
        env={**os.environ, "NET_CLOCK": now.isoformat()},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    answers = []
    with server:
        assert server.stdin is not None
        assert server.stdout is not None
        for number, (method, given) in enumerate(requests):
            request = {"jsonrpc": "2.0", "id": number, "method": method, "params": given}
            lines = [request] if number else [request, {"jsonrpc": "2.0", "method": "notifications/initialized"}]
            server.stdin.write("".join(f"{json.dumps(line)}\n" for line in lines))
            server.stdin.flush()
            answer: dict[str, Any] = {}
            while answer.get("id") != number:
                answer = json.loads(server.stdout.readline() or json.dumps({"id": number, "error": "no answer"}))
            answers.append(answer.get("error") or answer["result"].get("structuredContent") or answer["result"])
        server.stdin.close()
    return answers[1:]


if __name__ == "__main__":
    moment = datetime.fromisoformat(os.environ["NET_CLOCK"])
    stop_the_clock(lambda: moment)
    sys.exit(main(sys.argv[1:]))
