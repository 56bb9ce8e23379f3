"""A story: commands in the order a researcher would type them, and the document they leave behind.

The whole view is compared with a file beside the tests. What belongs to the machine and the moment is replaced
first, and nothing else: see `normalised`. Commit hashes need no replacing, because the commits of a story are
made with a fixed author, date and content.

To accept a change of the documents: `LOGBOOK_UPDATE_GOLDEN=1 pytest tests/contract/e2e/golden`, then read the diff.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.conftest import Answer, Cli, FixedClock
from tests.contract.e2e.e2e_support import blocks_of

HERE = Path(__file__).resolve().parent
# Read at import: the tests themselves run without any LOGBOOK variable.
UPDATE = os.environ.get("LOGBOOK_UPDATE_GOLDEN") == "1"

_REPLACED: tuple[tuple[str, str], ...] = (
    # Digests are those of the files and the text before replacing.
    (r"(?m)^(<!-- logbook:digest )[0-9a-f]{16} -->$", r"\g<1>0000000000000000 -->"),
    (r"after \d+(?:\.\d+)? s\b", "after 0.50 s"),
    # Packages of this Python; those of a far side end without the tool's own version.
    (r"installed: (?:python [^;\n]*, )?logbook-agent [\w.+]+", "installed: python 1.0, logbook-agent 1.0"),
    (r"host HOST \(\d+ cores\)", "host HOST (4 cores)"),
)


class Story:
    """Runs `logbook` in its folder; the clock goes on between the commands."""

    def __init__(self, cli: Cli, clock: FixedClock, folder: Path) -> None:
        self._cli, self.clock, self.folder = cli, clock, folder

    def __call__(self, *words: str, code: int = 0, minutes: int = 4) -> Answer:
        self.clock.tick(minutes)
        answer = self._cli(*words)
        assert answer.code == code, answer.err or answer.out
        return answer

    def repository(self, *fakes: str) -> None:
        """The folder becomes a repository with one commit that holds the named fake programs."""
        for name in fakes:
            shutil.copy(HERE / "fakes" / name, self.folder / name)
        date = "2026-02-09T09:00:00+00:00"
        env = {**os.environ, "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
        for words in (("init", "-q", "-b", "main"), ("add", "."), ("commit", "-q", "-m", "Benchmarks")):
            subprocess.run(["git", *words], cwd=self.folder, env=env, check=True, capture_output=True, timeout=30)

    @property
    def view(self) -> Path:
        [path] = (self.folder / "logbooks").glob("*.md")
        return path


def normalised(text: str, folder: Path) -> str:
    """A view without host name, processor, cores, folder, durations, versions and block hashes.

    They become HOST, CPU, 4, /work, 0.50 s, 1.0 and zeros.
    """
    text = text.replace(str(folder), "/work").replace(f"host {socket.gethostname()}", "host HOST")
    for pattern, stand_in in _REPLACED:
        text = re.sub(pattern, stand_in, text)
    [*records] = folder.glob("logbooks/*/runs/*/*/run.json")
    cpu = next((cpu for path in records if (cpu := json.loads(path.read_text()).get("host", {}).get("cpu"))), None)
    return text.replace(f"({cpu})", "(CPU)") if cpu else text.replace("1 × cpu;", "1 × cpu (CPU);")


def check(story: Story, name: str, blocks: list[str]) -> None:
    """The document is the golden one, holds these blocks, and is what a full render gives."""
    incremental = story.view.read_text()
    assert blocks_of(story.view) == blocks
    assert_full_render_is_the_same(story, incremental)
    golden = HERE / f"{name}.md"
    text = normalised(incremental, story.folder)
    if UPDATE:
        golden.write_text(text)
    assert text == golden.read_text(), (
        "if this change is wanted: LOGBOOK_UPDATE_GOLDEN=1 pytest tests/contract/e2e/golden"
    )


def assert_full_render_is_the_same(story: Story, incremental: str) -> None:
    story.view.unlink()
    topic = next(p.parent.name for p in story.folder.glob("logbooks/*/logbook.yaml"))
    story("-L", topic, "render")
    assert story.view.read_text() == incremental
    # And again over the view that is there now.
    story("render")
    assert story.view.read_text() == incremental


def ids(prefix: str, count: int, *, footer: bool = False) -> list[str]:
    """Names of the blocks of a logbook with `count` entries."""
    return ["header", *(f"{prefix}-{n:03d}" for n in range(count)), *(["footer"] if footer else [])]


StoryFixture = Callable[[], Story]
