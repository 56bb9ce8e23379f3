"""A flag is stated once, with the field that holds its value."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

from bench_core.cli.flags import with_flags
from bench_core.errors import UsageError
from bench_core.flag import Flag, build, declared
from bench_core.harness.case import CASE_FLAGS, Case
from bench_core.shapes import MoeShape


class Pace(StrEnum):
    SLOW = "slow"
    FAST = "fast"


@dataclass(frozen=True, kw_only=True)
class Wheel:
    size: Annotated[int, Flag(name="wheel_size", help="Inches.", after="pace")] = 26


@dataclass(frozen=True, kw_only=True)
class Ride:
    wheel: Wheel
    bell: Annotated[bool, Flag(help="Has a bell.")] = False
    pace: Annotated[Pace, Flag(help="How it goes.", several=True)] = Pace.SLOW
    bike: Annotated[str, Flag(help="Which.", choices=("road", "city"), unless="that of the city")] = "city"
    stops: Annotated[tuple[str, ...], Flag(help="Where.", metavar="TOWN", read=tuple, repeated=True)] = ()
    log: Annotated[Path | None, Flag(help="Its log.", metavar="FILE", shown_after="wheel_size")] = None


FLAGS = {flag.name: flag for flag in declared(Ride)}


def ask(*words: str) -> Mapping[str, Any]:
    """What a command is told of these words."""
    told: list[Mapping[str, Any]] = []
    app = typer.Typer(rich_markup_mode=None, add_completion=False)
    app.command()(with_flags(told.append, declared(Ride)))
    answer = CliRunner().invoke(app, list(words))
    assert answer.exit_code == 0, answer.output
    return told[0] if told else {"help": answer.output}


def test_a_flag_stands_behind_the_one_that_it_names() -> None:
    assert list(FLAGS) == ["bell", "pace", "wheel_size", "bike", "stops", "log"]
    shown = [line.split()[0] for line in ask("--help")["help"].splitlines() if line.startswith("  --")]
    assert shown == ["--bell", "--pace", "--wheel-size", "--log", "--bike", "--stops", "--help"]


def test_the_help_is_made_of_type_and_default() -> None:
    text = " ".join(ask("--help")["help"].split())
    assert "--pace slow|fast|both How it goes. [default: slow]" in text
    assert "--bike road|city Which. [default: that of the city]" in text
    assert "--wheel-size <int> Inches. [default: 26]" in text
    assert "--log FILE Its log." in text


def test_what_was_given_becomes_the_value() -> None:
    given = ask("--pace", "fast", "--wheel-size", "28", "--stops", "Ulm", "--stops", "Bonn", "--log", "x")
    assert given == {"bell": False, "pace": "fast", "wheel_size": 28, "stops": ["Ulm", "Bonn"], "log": Path("x")}
    ride = build(Ride, {name: FLAGS[name].read(value) for name, value in given.items()})
    assert ride == Ride(wheel=Wheel(size=28), pace=Pace.FAST, stops=("Ulm", "Bonn"), log=Path("x"))
    assert {name: flag.of(ride) for name, flag in FLAGS.items()} == {
        "bell": False,
        "pace": Pace.FAST,
        "wheel_size": 28,
        "bike": "city",
        "stops": ("Ulm", "Bonn"),
        "log": Path("x"),
    }
    # What was left out is told apart where the command has to know it.
    assert "bike" not in ask()
    assert ask("--bike", "city")["bike"] == "city"


def test_both_is_all_words() -> None:
    assert FLAGS["pace"].read_several("both") == [Pace.SLOW, Pace.FAST]
    assert FLAGS["pace"].read_several("fast") == [Pace.FAST]
    with pytest.raises(UsageError) as caught:
        FLAGS["pace"].read_several("still")
    assert caught.value.render() == (
        "error: --pace still is not known\n"
        "  cause: this version supports: slow, fast, both\n"
        "  next: use --pace slow, or see bench-core hillclimb --list"
    )


def test_a_field_without_a_flag_is_refused() -> None:
    @dataclass
    class Bare:
        width: int = 1

    with pytest.raises(TypeError, match=r"Bare\.width declares no flag"):
        declared(Bare)


def test_every_field_of_a_case_is_a_flag() -> None:
    assert {flag.path[0] for flag in CASE_FLAGS} == {field.name for field in fields(Case)}
    assert [f.name for f in CASE_FLAGS][: len(fields(MoeShape))] == [field.name for field in fields(MoeShape)]
    assert set(build(Case, {}).config()) <= {flag.name for flag in CASE_FLAGS}


EVEN = ("--parallel-mode ep --ep-impl all_to_all --devices 4", "--parallel-mode dp --devices 4", "")
