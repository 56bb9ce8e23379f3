"""Stands between a client and `far.py`, and fails as it is told: `python relay.py HOW FOLDER COMMAND...`.

While there is FOLDER/refuse: `refused` breaks off when a start is about to come, `denied` takes no connection either;
`before` breaks off before a start, `after` behind it. `bomb`: what is fetched is the archive FOLDER/bomb.tgz.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

SAID = {
    "refused": "ssh: connect to host box port 22: Connection refused",
    "denied": "box: Permission denied (publickey).",
    "before": "Connection to box closed by remote host.",
    "after": "Connection to box closed by remote host.",
}


def main(how: str, folder: Path, command: list[str]) -> None:
    if how == "denied" and (folder / "refuse").exists():
        fail(how, folder)
    far = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert far.stdin is not None
    assert far.stdout is not None
    tell(answer(far))
    for line in sys.stdin.buffer:
        verb = json.loads(line)["verb"]
        if how == "bomb" and verb == "fetch":
            bomb = (folder / "bomb.tgz").read_bytes()
            tell(json.dumps({"sizes": [len(bomb)], "follows": len(bomb)}).encode() + b"\n" + bomb)
            continue
        fails = (folder / "refuse").exists() and verb == ("look" if how in ("refused", "denied") else "start")
        if fails and how == "refused" and not (folder / "cut").exists():
            # A connection that was open before is taken up again without a word.
            (folder / "cut").touch()
            os._exit(255)
        if fails and how != "after":
            fail(how, folder)
        far.stdin.write(line)
        far.stdin.flush()
        found = answer(far)
        if fails:
            fail(how, folder)
        tell(found)


def answer(far: subprocess.Popen[bytes]) -> bytes:
    assert far.stdout is not None
    head = far.stdout.readline()
    if not head:
        sys.exit(far.wait())
    return head + far.stdout.read(json.loads(head)["follows"])


def tell(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def fail(how: str, folder: Path) -> None:
    (folder / "tried").touch()
    print(SAID[how], file=sys.stderr, flush=True)
    os._exit(255)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
