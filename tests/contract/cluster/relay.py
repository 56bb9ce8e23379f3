"""Another program in place of `ssh`, which passes requests on to the real one, but for those with one verb."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

# How a start fails: `refused` and `denied` take no connection, `before` breaks off before it, `after` behind it.
SAID = {
    "refused": "ssh: connect to host box port 22: Connection refused",
    "denied": "box: Permission denied (publickey).",
    "before": "Connection to box closed by remote host.",
    "after": "Connection to box closed by remote host.",
}
_RELAY = """#!{python} -IS
import os, shutil, subprocess, sys, threading

process = subprocess.Popen([*{words}, *sys.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
takes = True


def bring():
    while data := os.read(process.stdout.fileno(), 1 << 16):
        if takes:
            os.write(1, data)


bringing = threading.Thread(target=bring)
bringing.start()
for line in sys.stdin.buffer:
    if line.startswith(b'["{verb}"') and os.path.exists({when!r}):
        takes = False
        if {passes}:
            process.stdin.write(line)
        process.stdin.close()
        bringing.join()
        process.wait()
        if {answer!r}:
            shutil.copyfileobj(open({answer!r}, "rb"), sys.stdout.buffer)
        open({when!r} + ".met", "w").close()
        if {said!r}:
            print({said!r}, file=sys.stderr)
        sys.exit(255 if {said!r} else 0)
    process.stdin.write(line)
    process.stdin.flush()
process.stdin.close()
bringing.join()
sys.exit(process.wait())
"""


def write(
    program: Path,
    words: Sequence[str],
    verb: str,
    when: Path,
    *,
    said: str = "",
    passes: bool = False,
    answer: str = "",
) -> None:
    """Write the program, which starts `words` with its own arguments behind them. While there is a file `when`, a
    request with this verb gets the `answer` of a file or ends the connection with these words as an error, after it was
    done where it `passes`; then there is a file `when`.met."""
    text = _RELAY.format(
        python=sys.executable, words=list(words), verb=verb, when=str(when), said=said, passes=passes, answer=answer
    )
    program.write_text(text)
    program.chmod(0o755)
