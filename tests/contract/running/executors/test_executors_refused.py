"""What is wrong with an executor or a request is said before there is an entry; what shows only when a run is started
stands in its record."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli

_IRIS = 'kind = "command"\npreset = "iris"\nprogram = ["iris", "--cluster=x"]'


def settings(tmp_path: Path, table: str) -> Path:
    path = tmp_path / "config/logbook-agent/config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(f"[executors.box]\n{table}\n")
    return path


@pytest.mark.parametrize(
    ("table", "words", "named"),
    [
        ('kind = "ssh"\nhost = "box"\nflder = "x"', (), "flder"),
        ('kind = "sssh"\nhost = "box"', (), "'sssh'"),
        ('kind = "nowhere:pbs"', (), "'nowhere:pbs'"),
        ('kind = "json:dumps"', (), "'json:dumps'"),
        ('kind = "os:sep"', (), "'os:sep'"),
        ('kind = "operator:is_"', (), "'operator:is_'"),
        ('kind = "slurm"\nfolder = "far"', (), "'far'"),
        ('kind = "slurm"\nfolder = "/far/%j"', (), "'/far/%j'"),
        ('kind = "ssh"\nhost = "box"\ntree = "far"', (), "'far'"),
        (f'{_IRIS}\npython = "python3"', (), "python"),
        (_IRIS, ("--timeout", "3s"), "3 s"),
    ],
)
def test_what_cannot_work_leaves_no_entry(
    table: str, words: tuple[str, ...], named: str, started: Cli, folder: Path, tmp_path: Path
) -> None:
    settings(tmp_path, table)
    refused = started("run", "--json", "--on", "box", *words, "--", "true")
    assert (refused.code, refused.error["code"]) == (2, "usage")
    assert "box" in refused.error["message"]
    assert named in refused.error["message"]
    assert not (folder / "logbooks/moe/entries").exists()


def test_a_typed_submission_with_a_timeout_leaves_no_entry(started: Cli, folder: Path) -> None:
    words = ("iris", "--cluster=x", "job", "run", "--no-wait", "--", "true")
    refused = started("run", "--json", "--timeout", "3s", "--", *words)
    assert (refused.code, "3 s" in refused.error["message"]) == (2, True)
    assert not (folder / "logbooks/moe/entries").exists()


def test_a_run_that_never_started_says_what_to_type_and_nothing_of_its_code(started: Cli, tmp_path: Path) -> None:
    settings(tmp_path, 'kind = "ssh"\nhost = "box"')
    done = started("run", "--on", "box", "--", "true")  # the folder is in no git repository
    assert done.code == 125
    assert all(hint in done.err for hint in ("git init", "sync = false"))
    assert started("list", "--json").data[0]["state"] == "never-started"
    assert "- code: unknown\n" in started("show", "MOE-000").out
