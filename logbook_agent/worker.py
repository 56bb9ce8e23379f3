"""`python -m logbook_agent.worker FOLDER`: one run, made in a process of its own."""

import os
import sys

from logbook_agent.running.worker.entrypoint import main

if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    os._exit(code)
