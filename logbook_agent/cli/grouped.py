"""Options that go together as one parameter of a command."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any, get_type_hints


def grouped(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with a parameter for each field of its parameters that are dataclasses, in their places, as typer
    reads them. A field's annotation and default are those of the option."""
    hints = get_type_hints(command, include_extras=True)
    given = inspect.signature(command).parameters.values()
    groups: dict[str, Any] = {p.name: kind for p in given if dataclasses.is_dataclass(kind := hints[p.name])}
    if not groups:
        return command

    def flat() -> Iterator[inspect.Parameter]:
        for parameter in given:
            if parameter.name not in groups:
                yield parameter.replace(annotation=hints[parameter.name])
                continue
            kinds = get_type_hints(groups[parameter.name], include_extras=True)
            for field in dataclasses.fields(groups[parameter.name]):
                yield inspect.Parameter(
                    field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=kinds[field.name]
                )

    parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in flat()]

    @functools.wraps(command)
    def called(**options: Any) -> Any:
        for name, group in groups.items():
            options[name] = group(**{f.name: options.pop(f.name) for f in dataclasses.fields(group)})
        return command(**options)

    vars(called).pop("__wrapped__")
    vars(called)["__signature__"] = inspect.Signature(parameters)
    called.__annotations__ = {p.name: p.annotation for p in parameters}
    return called
