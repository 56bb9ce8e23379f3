"""`python -m tools.fuzz`: documents by the thousand against the readers and the command line."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tools.fuzz.campaign import Plan, campaign, replay, work


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz", description=__doc__)
    parser.add_argument("--documents", type=int, default=100_000, metavar="N", help="how many documents [100000]")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="what all of them follow from [1]")
    parser.add_argument(
        "--first", type=int, default=0, metavar="N", help="go on at this number, as the last line said [0]"
    )
    parser.add_argument("--seconds", type=float, default=6 * 3600, metavar="T", help="stop after this time [six hours]")
    parser.add_argument(
        "--commands-every", type=int, default=10, metavar="N", help="every N-th document meets commands [10]"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("build/fuzz"), metavar="DIR", help="documents that failed [build/fuzz]"
    )
    parser.add_argument("--replay", type=Path, metavar="FILE", help="try a document that failed again")
    parser.add_argument("--worker", nargs=4, type=int, help=argparse.SUPPRESS)
    parser.add_argument("--top", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        work(given.top, *given.worker)
        return 0
    if given.replay:
        problems = replay(given.replay)
        print("\n".join(problems) or "no problem")
        return 1 if problems else 0
    last = given.first + given.documents
    plan = Plan(
        seed=given.seed,
        first=given.first,
        last=last,
        commands_every=given.commands_every,
        folder=given.out.absolute(),
        until_s=given.seconds,
    )
    tally = campaign(plan)
    for problem, count in tally.problems.most_common():
        print(f"{count:6} {problem}")
    for path in tally.files:
        print(f"kept: {path}")
    print(tally.line)
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
