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
    ("table", "words", "said"),
    [
        ('kind = "ssh"\nhost = "box"\nflder = "x"', (), "executor 'box': flder: unknown key"),
        ('kind = "sssh"\nhost = "box"', (), "executor 'box': unknown kind 'sssh'"),
        ('kind = "slurm"\nfolder = "far"', (), "executor 'box': folder 'far' is relative"),
        ('kind = "slurm"\nfolder = "/far/%j"', (), "executor 'box': folder '/far/%j' contains % or \\"),
        ('kind = "slurm"\nfolder = "/far\\\\"', (), "executor 'box': folder '/far\\\\' contains % or \\"),
        ('kind = "ssh"\nhost = "box"\ntree = "far"', (), "executor 'box': tree 'far' is relative"),
        (f'{_IRIS}\npython = "python3"', (), "executor 'box': python: unknown key"),
        (_IRIS, ("--timeout", "3s"), "box cannot end a job after 3 s"),
    ],
)
def test_what_cannot_work_leaves_no_entry(
    table: str, words: tuple[str, ...], said: str, started: Cli, folder: Path, tmp_path: Path
) -> None:
    settings(tmp_path, table)
    refused = started("run", "--on", "box", *words, "--", "true")
    assert (refused.code, refused.err.splitlines()[0]) == (2, f"error: {said}")
    assert not (folder / "logbooks/moe/entries").exists()


def test_a_typed_submission_with_a_timeout_leaves_no_entry(started: Cli, folder: Path) -> None:
    refused = started("run", "--timeout", "3s", "--", "iris", "--cluster=x", "job", "run", "--no-wait", "--", "true")
    assert (refused.code, refused.err.splitlines()[0]) == (2, "error: iris cannot end a job after 3 s")
    assert not (folder / "logbooks/moe/entries").exists()


def test_a_run_that_never_started_says_what_to_type_and_nothing_of_its_code(
    started: Cli, folder: Path, tmp_path: Path
) -> None:
    settings(tmp_path, 'kind = "ssh"\nhost = "box"')
    done = started("run", "--on", "box", "--", "true")  # the folder is in no git repository
    why = "cannot sync .* (it is not in a git repository); next: git init, or set sync = false for this executor"
    head, tail = why.split(".*")
    assert done.code == 125
    assert head in done.err
    assert tail in done.err
    assert "- code: unknown\n" in started("show", "MOE-000").out


def test_nothing_is_pruned_on_a_cluster_of_ray(started: Cli, tmp_path: Path) -> None:
    settings(tmp_path, 'kind = "ray"\naddress = "http://127.0.0.1:1"')
    refused = started("executors", "box", "--prune")
    assert (refused.code, refused.err.splitlines()[0]) == (2, "error: nothing to prune on box")
