"""Another `ssh`, whose starts fail as it is told while a folder has a file `refuse`: `refused` and `denied` take no
connection, `before` breaks off before a start, `after` behind it."""

from __future__ import annotations

from pathlib import Path

SAID = {
    "refused": "ssh: connect to host box port 22: Connection refused",
    "denied": "box: Permission denied (publickey).",
    "before": "Connection to box closed by remote host.",
    "after": "Connection to box closed by remote host.",
}
_WRAPPER = """#!/bin/sh
case "$*" in
  *" start") if [ -e {folder}/refuse ]; then
    {first}
    touch {folder}/tried; echo '{said}' >&2; exit 255
  fi ;;
esac
exec {ssh} "$@"
"""


def write(wrapper: Path, how: str, folder: Path, ssh: str) -> None:
    """Write the program; `ssh` is the real one."""
    first = f'{ssh} "$@" > /dev/null' if how == "after" else ":"
    wrapper.write_text(_WRAPPER.format(folder=folder, first=first, said=SAID[how], ssh=ssh))
    wrapper.chmod(0o755)
