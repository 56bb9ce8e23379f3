"""Options that variables of the environment give, as the published study's script was driven. No JAX."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args

from bench_core.errors import UsageError
from bench_core.flag import Declared, option

PREFIX = "BENCH_"
_ALIASES = {"ep_size": ("EP_AXIS_SIZE",)}
"""Names in the published study that are not those of the flags."""


def by_variable(flags: Iterable[Declared]) -> dict[str, Declared]:
    """Each flag by the names of its variables: --hidden by BENCH_HIDDEN, --bench-pass by BENCH_PASS."""
    return {
        f"{PREFIX}{name}": flag
        for flag in flags
        for name in (flag.name.upper().removeprefix(PREFIX), *_ALIASES.get(flag.name, ()))
    }


def from_variables(
    environ: Mapping[str, str],
    flags: Sequence[Declared],
    given: Iterable[str],
    *,
    same_axis: Iterable[frozenset[str]] = (),
) -> dict[str, tuple[str, Any]]:
    """For each flag that a variable sets: the assignment, NAME=VALUE, and the value as the option would have it.

    A variable is ignored where the flag itself is among `given`, or another one for the same axis.

    Raises:
        UsageError: there is no such variable, its value is not of the flag's type, or two set one flag.
    """
    known = by_variable(flags)
    groups = list(same_axis)
    covered = {other for name in given for other in (name, *_others(name, groups))}
    found: dict[str, tuple[str, Any]] = {}
    for variable in sorted(name for name in environ if name.startswith(PREFIX)):
        if variable not in known:
            raise UsageError(
                f"the variable {variable} is not known",
                cause=f"it is none of {', '.join(sorted(known))}",
                hint=f"unset {variable}, or correct its name",
            )
        flag = known[variable]
        value = _value(variable, environ[variable], flag)
        if flag.name in covered:
            continue
        if flag.name in found:
            raise UsageError(
                f"{found[flag.name][0]} and {variable}={environ[variable]} both set {option(flag.name)}",
                cause="they are two names of one option",
                hint=f"unset {variable}",
            )
        found[flag.name] = (f"{variable}={environ[variable]}", value)
    return found


def naming_variables(
    error: UsageError, set_by: Mapping[str, str], *, same_axis: Iterable[frozenset[str]] = ()
) -> UsageError:
    """The error, which also names the variable where it is about an option that a variable set, or about another one
    for the same axis. An option that nobody typed cannot be left out: its variable can be unset. `set_by` has the
    assignment of each such option's name."""
    words, groups = error.message.split(), list(same_axis)
    told = [
        assignment
        for name, assignment in set_by.items()
        if any(option(other) in words for other in (name, *_others(name, groups)))
    ]
    if not told:
        return error
    hint = error.hint
    for name, assignment in set_by.items():
        hint = hint.replace(f"leave {option(name)} out", f"unset {assignment.partition('=')[0]}")
    return UsageError(error.message, cause=f"{error.cause}; {' and '.join(told)} set it", hint=hint)


def _others(name: str, same_axis: Iterable[frozenset[str]]) -> set[str]:
    return {other for group in same_axis if name in group for other in group}


def _value(variable: str, text: str, flag: Declared) -> Any:
    if not text.strip():
        raise UsageError(
            f"the variable {variable} is empty",
            cause=f"it gives {option(flag.name)} a value",
            hint=f"unset {variable}, or give it a value",
        )
    if flag.flag.read is None and int in (flag.kind, *get_args(flag.kind)):
        try:
            return int(text)
        except ValueError:
            raise UsageError(
                f"{variable}={text} is not a whole number",
                cause=f"it gives {option(flag.name)} its value",
                hint=f"use a number, such as {variable}=1, or unset it",
            ) from None
    return text.split() if flag.flag.repeated else text
