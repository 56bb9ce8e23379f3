"""Options that go together are one parameter of a command, and typer sees each of them."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Annotated

import typer
from typer.testing import CliRunner

from logbook_agent.cli import grouped


@dataclass(frozen=True, kw_only=True)
class Size:
    width: Annotated[int, typer.Option("--width")] = 1
    names: Annotated[list[str] | None, typer.Option("--name")] = None


def command(
    *, first: Annotated[str, typer.Argument()], size: Size, last: Annotated[bool, typer.Option("--last")] = False
) -> None:
    """What it does."""
    typer.echo(f"{first} {size} {last}")


def test_fields_are_options_in_the_place_of_their_group() -> None:
    assert list(inspect.signature(grouped(command)).parameters) == ["first", "width", "names", "last"]
    assert grouped(command).__doc__ == "What it does."
    app = typer.Typer()
    app.command()(grouped(command))
    given = CliRunner().invoke(app, ["a", "--width", "3", "--name", "x", "--name", "y", "--last"])
    assert given.output == "a Size(width=3, names=['x', 'y']) True\n"
    assert CliRunner().invoke(app, ["a"]).output == "a Size(width=1, names=None) False\n"


def test_a_command_without_groups_stays_as_it_is() -> None:
    def plain(*, a: Annotated[int, typer.Option("--a")] = 1) -> None: ...

    assert grouped(plain) is plain
