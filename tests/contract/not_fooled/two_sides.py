"""A command of two sides, of which the second takes a tenth of the time, and what readers say of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.conftest import Answer, Cli

# The second side takes a tenth of the time; the noise is the number of the run.
SCRIPT = """\
n=$((LOGBOOK_RUN * 7 % 10))
if [ "$Q" = 1 ]; then echo "RESULT time_s=1.0$n $BASE"; else echo "RESULT time_s=0.10$n $OTHER"; fi
"""
AXIS = ("ab", "--axis", "env:Q=1,2")
COMMAND = ("--", "sh", "b.sh")
AB = (*AXIS, *COMMAND)
# Every reader of a logbook, as it is typed.
READERS = (("status",), ("status", "--json"), ("list",), ("compare", "T-000"), ("compare", "T-000", "--json"),
           ("show", "T-000"), ("show", "T-000", "--json"))  # fmt: skip


def answer_of(cli: Cli, entry: str = "T-000") -> Any:
    return cli("compare", entry, "--json").data["answer"]


def outcomes(cli: Cli, entry: str = "T-000") -> dict[str, str]:
    return {f["metric"]: f["outcome"] for f in answer_of(cli, entry)["findings"]}


def readers(cli: Cli, folder: Path) -> dict[str, str]:
    """What each reader says."""
    said = {" ".join(words): cli(*words).out for words in READERS}
    cli("report")
    page = folder / "logbooks/.report/t.html"
    return {**said, "view": (folder / "logbooks/t.md").read_text(), "page": page.read_text()}


def best(cli: Cli, metric: str = "time_s") -> list[float]:
    return [one["value"] for one in cli("status", "--json").data.get("best", []) if one["metric"] == metric]


def printed(cli: Cli, *lines: str) -> Answer:
    return cli("run", "--json", "--", "printf", "".join(f"{line}\\n" for line in lines))
