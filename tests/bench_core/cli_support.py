"""What a `bench-core` command did."""

import json
import shlex
from typing import Any


class Outcome:
    """Exit code, stdout, stderr."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def rows(self) -> list[dict[str, Any]]:
        lines = self.out.splitlines()
        return [json.loads(line.removeprefix("RESULT_JSON ")) for line in lines if "RESULT_JSON " in line]

    @property
    def results(self) -> list[dict[str, str]]:
        lines = [line for line in self.out.splitlines() if line.startswith("RESULT ")]
        return [dict(word.split("=", 1) for word in shlex.split(line)[1:]) for line in lines]
