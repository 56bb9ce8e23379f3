"""An answer begins with what got worse, and with what is constant on each side and differs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.not_fooled.two_sides import AB, AXIS, COMMAND, SCRIPT, answer_of, best, outcomes, readers


@pytest.mark.parametrize("more", [(), ("--metric", "time_s")])
def test_the_answer_begins_with_what_got_worse(sides: Callable[..., Cli], folder: Path, more: tuple[str, ...]) -> None:
    cli = sides("ok=1", "ok=0")
    made = cli(*AXIS, *more, *COMMAND)
    assert made.out.splitlines()[1].startswith("ok is 0 with Q=2, 1 with Q=1")
    for name, text in readers(cli, folder).items():
        assert "ok is 0 with Q=2, 1 with Q=1" in text, name
    assert cli("status", "--json").data["answers"][0]["outcome"] != "better"
    assert all(value > 0.5 for value in best(cli)), "a side whose ok got worse is no best"


def test_a_metric_may_be_declared_later(sides: Callable[..., Cli]) -> None:
    cli = sides("mem_mb=100", "mem_mb=150", metrics=("time_s:min:s",))
    cli(*AB)
    made = cli("edit", "--metric", "mem_mb:min:MB", "--reason", "memory matters, too", "--json")
    assert [m["name"] for m in made.data["metrics"]] == ["time_s", "mem_mb"]
    assert answer_of(cli)["first"][0].startswith("mem_mb is 150")
    assert answer_of(cli)["first"][0].endswith("(worse)")


def test_a_loss_that_nobody_declared_is_said_before_counts(sides: Callable[..., Cli]) -> None:
    cli = sides("batch=4 tokens=9 loss=0.5", "batch=2 tokens=5 loss=0.9", metrics=("time_s:min:s",))
    cli(*AB)
    assert answer_of(cli)["first"][0].startswith("loss is 0.9 with Q=2")
    assert "loss is 0.9" in cli("status").out


# -- labels -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["checksum", "output_sha256", "digest", "md5", "crc32", "hash"])
@pytest.mark.parametrize("values", [("3f2a", "9b1c"), ("12345", "99887")])
def test_another_checksum_leaves_the_answer_open(
    sides: Callable[..., Cli], folder: Path, name: str, values: tuple[str, str]
) -> None:
    cli = sides(f"{name}={values[0]}", f"{name}={values[1]}", metrics=("time_s:min:s",))
    made = cli(*AXIS, "--json", *COMMAND)
    assert outcomes(cli) == {"time_s": "open"}
    assert (made.data["stopped"]["by"], name in made.data["stopped"]["why"]) == ("open", True)
    assert not any(one["settled"] for one in cli("status", "--json").data["answers"])
    for which, text in readers(cli, folder).items():
        assert f"{name} is {values[1]} with Q=2, {values[0]} with Q=1" in text, which
    # Either of the two commands that it prints.
    [finding] = answer_of(cli)["findings"]
    assert f"logbook edit T-000 --gate 'same {name}'" in finding["to_settle"]
    assert f"--free {name}" in finding["to_settle"]
    assert [step["command"] for step in cli("next", "--json").data["steps"][:1]] == [
        f"logbook edit T-000 --gate 'same {name}'"
    ]
    cli("edit", "T-000", "--free", name)
    assert outcomes(cli) == {"time_s": "better"}
    cli("edit", "T-000", "--drop", name, "--gate", f"same {name}")
    assert (outcomes(cli), answer_of(cli)["failed"].keys()) == ({"time_s": "open"}, {"2"})


def test_pairs_are_not_advised_before_the_decision_on_a_checksum(sides: Callable[..., Cli]) -> None:
    cli = sides("checksum=a", "checksum=b", metrics=("time_s:min:s",))
    made = cli(*AXIS, "--max-pairs", "4", "--json", *COMMAND)
    assert "your decision on checksum" in made.data["stopped"]["why"]
    assert "to continue" not in made.data["stopped"]["why"]
    [answer] = cli("status", "--json").data["answers"]
    assert (answer["command"], answer["lacks"]) == ("logbook edit T-000 --gate 'same checksum'", "decision")
    cli("edit", "T-000", "--free", "checksum")
    [answer] = cli("status", "--json").data["answers"]
    assert answer["command"].endswith("--max-pairs 6")
    # The latest word on a label counts.
    changed = cli("edit", "T-000", "--gate", "same checksum")
    assert "T-000 has no pair that counts now: gate same checksum: it is b, not a" in changed.out
    [answer] = cli("status", "--json").data["answers"]
    assert "command" not in answer
    assert "a change of Q=2" in answer["why"]


def test_a_checksum_of_the_code_or_that_varies_by_itself_says_nothing(sides: Callable[..., Cli]) -> None:
    cli = sides("git_hash=3f2a checksum=$LOGBOOK_RUN", "git_hash=9b1c checksum=$LOGBOOK_RUN", metrics=("time_s:min:s",))
    (Path("b.sh")).write_text(
        SCRIPT.replace("$BASE", "checksum=a$LOGBOOK_RUN").replace("$OTHER", "checksum=b$LOGBOOK_RUN")
    )
    cli(*AB)
    assert outcomes(cli) == {"time_s": "better"}


# -- numbers that nobody declared ---------------------------------------------------------------------------


def test_a_count_that_changed_stands_beside_the_answer(sides: Callable[..., Cli], folder: Path) -> None:
    cli = sides("tokens=278358", "tokens=251004", metrics=("time_s:min:s",))
    cli(*AB)
    assert outcomes(cli) == {"time_s": "better"}
    for name, text in readers(cli, folder).items():
        assert "tokens is 251004 with Q=2, 278358 with Q=1" in text, name


def test_labels_are_shown(cli: Cli) -> None:
    cli("start", "t", "--prefix", "T", "--metric", "time_s:min:s")
    cli("run", "--", "echo", "RESULT time_s=1 checksum=3f2a status=pass")
    assert "checksum=3f2a" in cli("show", "T-000").out
    assert "status=pass" in cli("show", "T-000").out


def test_what_is_worse_among_watched_metrics_is_said_first(sides: Callable[..., Cli]) -> None:
    cli = sides("mem_mb=100", "mem_mb=150", metrics=("time_s:min:s", "mem_mb:min:MB"))
    made = cli(*AXIS, "--metric", "time_s", *COMMAND)
    assert "mem_mb" in made.out.splitlines()[1]
    assert cli("status", "--json").data["answers"][0]["outcome"] == "mixed"


@pytest.mark.parametrize("form", ["RESULT time_s=1 checksum={}", "METRIC time_s=1\\nMETRIC checksum={}"])
def test_a_checksum_is_a_label_whatever_it_looks_like(cli: Cli, form: str) -> None:
    cli("start", "t", "--prefix", "T", "--metric", "time_s:min:s")
    large = "12345678901234567891"
    [row] = cli("run", "--json", "--", "printf", form.format(large) + "\\n").data["runs"][0]["rows"]
    assert row["labels"]["checksum"] == large
    assert [*row["metrics"]] == ["time_s"]


# -- what an adversary found ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base", "other", "said"),
    [
        ("status=pass", "status=FAILED", "status is FAILED with Q=2, pass with Q=1"),
        ("verified=true", "verified=false", "verified is false with Q=2, true with Q=1"),
        ("backend=gpu checksum=abc", "backend=cpu", "checksum is not reported with Q=2, abc with Q=1"),
        ("size=100", "size=10", "size is 10 with Q=2, 100 with Q=1"),
        ("hbm_bytes=3221225472", "hbm_bytes=268435456", "hbm_bytes is 0.25 GiB with Q=2, 3.00 GiB with Q=1"),
        ("hbm_bytes=64000001", "hbm_bytes=64000000", "hbm_bytes is 64000000 with Q=2, 64000001 with Q=1"),
        ("tput=900", "tput=1", "tput is 1 with Q=2, 900 with Q=1"),
        ("ok=1", "", "ok is not reported with Q=2"),
    ],
)
def test_what_is_the_same_in_every_run_of_a_side_and_differs_is_said_first(
    sides: Callable[..., Cli], folder: Path, base: str, other: str, said: str
) -> None:
    cli = sides(base, other)
    cli(*AXIS, "--metric", "time_s", "--config", "size=100", *COMMAND) if "size" in base else cli(
        *AXIS, "--metric", "time_s", *COMMAND
    )
    assert said in " ".join(answer_of(cli)["first"])
    for name, text in readers(cli, folder).items():
        assert said in text, name


def test_another_config_is_said_first(cli: Cli, folder: Path) -> None:
    (folder / "b.sh").write_text(
        'n=$((LOGBOOK_RUN * 7 % 10)); [ $Q = 1 ] && k=8 t=2.0$n || k=1 t=1.0$n\n'
        'echo "RESULT_JSON {\\"config\\": {\\"k\\": $k}, \\"metrics\\": {\\"time_s\\": $t}}"\n'
    )  # fmt: skip
    cli("start", "t", "--prefix", "T", "--metric", "time_s:min:s")
    cli(*AB)
    assert answer_of(cli)["first"] == ["k is 1 with Q=2, 8 with Q=1"]
    assert "k is 1 with Q=2" in cli("status").out


def test_a_checksum_that_only_the_side_varies_leaves_the_answer_open(sides: Callable[..., Cli], folder: Path) -> None:
    cli = sides("x=1", "x=1", metrics=("time_s:min:s",))
    (folder / "b.sh").write_text(SCRIPT.replace("$BASE", "checksum=a").replace("$OTHER", "checksum=b$LOGBOOK_RUN"))
    cli(*AB)
    assert outcomes(cli) == {"time_s": "open"}


def test_a_side_that_crashes_now_and_then_is_named(cli: Cli, folder: Path) -> None:
    (folder / "b.sh").write_text(
        'n=$((LOGBOOK_RUN * 7 % 10)); if [ $Q = 2 ]; then [ $((LOGBOOK_RUN % 5)) = 0 ] && exit 3; t=0.9$n; '
        'else t=1.0$n; fi; echo "RESULT time_s=$t"\n'
    )  # fmt: skip
    cli("start", "t", "--prefix", "T", "--metric", "time_s:min:s")
    made = cli(*AXIS, "--json", *COMMAND)
    for _ in range(12):
        if made.data["stopped"]["by"] == "settled":
            break
        made = cli("ab", "--id", "T-000", "--json")
    assert answer_of(cli)["first"][0].startswith("Q=2 failed in ")
