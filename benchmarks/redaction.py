"""How fast secrets are looked for in what benchmarks print: MB a second of processor time, of ordinary lines in random
order. `--save FILE` keeps the samples."""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path
from random import Random

from logbook_agent.text.redaction.redactor import Redactor
from logbook_agent.text.redaction.stream import StreamRedactor

LINES = Path(__file__).resolve().parents[1] / "tests/unit/text/redaction/ordinary.txt"
_BYTES = 4_000_000


def printed() -> bytes:
    """Some megabytes of the lines, no two alike in a row."""
    lines, random = LINES.read_text().splitlines(), Random(1)
    some = random.choices(lines, k=_BYTES * len(lines) // LINES.stat().st_size)
    return "\n".join(f"{line} {random.random():.6f}" for line in some).encode()


def rate(data: bytes) -> float:
    began = time.process_time()
    StreamRedactor(Redactor()).feed(data)
    return len(data) / (time.process_time() - began) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--save", type=Path)
    options = parser.parse_args()
    data = printed()
    found = [rate(data) for _ in range(options.rounds)]
    print(f"{statistics.median(found):.1f} MB/s ({min(found):.1f} to {max(found):.1f}) of {len(data) / 1e6:.1f} MB")
    if options.save:
        options.save.write_text(json.dumps({"megabytes_a_second": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
