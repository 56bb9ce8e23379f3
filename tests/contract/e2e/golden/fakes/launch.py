"""Stands in for a launcher: `launch.py --host NAME execute [-e K=V]... -- CMD`, with a bare environment."""

import os
import subprocess
import sys

words = sys.argv[1:]
end = words.index("--")
options, command = words[:end], words[end + 1 :]
env = dict(words[i + 1].split("=", 1) for i, w in enumerate(options[:-1]) if w == "-e")
print(f"[launch] {options[options.index('--host') + 1]}: {' '.join(command[:2])}", file=sys.stderr)
if os.environ.get("FAKE_HOST_DOWN"):
    sys.exit("ssh: connect to host port 22: Operation timed out")
sys.exit(subprocess.run(command, env={"PATH": os.environ["PATH"], **env}, check=False).returncode)
