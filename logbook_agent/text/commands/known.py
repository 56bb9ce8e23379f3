"""Launchers that are recognised without any settings: `... dev_tpu.py ... execute ... -- CMD`, which runs a command on
a TPU and waits for it, and `... iris ... job run ... -- CMD`, which submits one to a cluster."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from logbook_agent.text.shell_words import split_env_word

# Options of `iris job run` without a value; `-e` has two, all others have one.
_IRIS_SWITCHES = frozenset(
    {"--no-wait", "--enable-extra-resources", "--terminate-on-exit", "--no-terminate-on-exit", "--help"}
)
_IRIS_ENV = ("-e", "--env-vars")


class Found(NamedTuple):
    """A launcher's command line in its parts; `prefix` counts the words before the remote command. `submits`: it
    returns before that has ended. Of `BASE job run OPTIONS -- CMD`, `base` counts the words up to `job`, and `job` is
    what it calls the job itself."""

    name: str
    target: str | None
    prefix: int
    command: tuple[str, ...]
    env: dict[str, str]
    submits: bool = False
    syncs: bool = True
    base: int = 0
    job: str | None = None


def known(words: Sequence[str]) -> Found | None:
    """The parts of a command line of either launcher, local environment words already taken off; None for any other."""
    return dev_tpu(words) or iris(words)


def remote_part(words: Sequence[str]) -> int | None:
    """Where the remote command begins; None when `words` are of neither launcher."""
    found = known(words)
    return None if found is None or not found.command else found.prefix


def dev_tpu(words: Sequence[str]) -> Found | None:
    """The parts of a command line of `dev_tpu.py execute`."""
    if "--" not in words:
        return None
    script = next((i for i, w in enumerate(words) if w.rpartition("/")[2] == "dev_tpu.py"), None)
    if script is None or "--" not in words[script:] or "execute" not in words[script:]:
        return None
    execute = words.index("execute", script)
    end = words.index("--", script)
    if execute > end:
        return None
    env = [split_env_word(value) for _, value in given_options(words[execute + 1 : end], ("-e", "--env"))]
    return Found(
        name="dev_tpu",
        target=_value(words[script + 1 : end], "--tpu-name"),
        prefix=end + 1,
        command=tuple(words[end + 1 :]),
        env=dict(pair for pair in env if pair is not None),
        syncs="--no-sync" not in words[execute:end],
    )


def given_options(words: Sequence[str], names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """These options with their values, in any spelling: `-e V`, `-eV`, `--env V`, `--env=V`."""
    for place, word in enumerate(words):
        for name in names:
            joined = f"{name}=" if name.startswith("--") else name
            if word == name and place + 1 < len(words):
                yield name, words[place + 1]
            elif word != name and word.startswith(joined) and word.startswith("--") == name.startswith("--"):
                yield name, word[len(joined) :]


def _value(words: Sequence[str], *names: str) -> str | None:
    return next((value for _, value in given_options(words, names)), None)


def iris(words: Sequence[str]) -> Found | None:
    """The parts of a command line of `iris job run`, started by itself or by `uv run`."""
    place = next((i for i, word in enumerate(words) if posixpath.basename(word) == "iris"), None)
    if place is None or "--" not in words[place:] or (place and posixpath.basename(words[0]) != "uv"):
        return None
    end = words.index("--", place)
    base = next((i for i in range(place + 1, end) if words[i] == "job"), end)
    if list(words[base + 1 : base + 2]) != ["run"]:
        return None
    env: dict[str, str] = {}
    job, is_waited_for, at = None, True, base + 2
    while at < len(words) and words[at] != "--":
        option, equals, value = words[at].partition("=")
        is_waited_for = is_waited_for and option != "--no-wait"
        if option in _IRIS_ENV:
            if at + 2 < len(words):
                env[words[at + 1]] = words[at + 2]
            at += 3
            continue
        has_value = not equals and option not in _IRIS_SWITCHES
        if option == "--job-name":
            job = value if equals else "".join(words[at + 1 : at + 2])
        at += 2 if has_value else 1
    if at + 1 >= len(words):
        return None
    return Found(
        name="iris",
        target=_value(words[place + 1 : base], "--cluster", "--config"),
        prefix=at + 1,
        command=tuple(words[at + 1 :]),
        env=env,
        submits=not is_waited_for,
        base=base,
        job=job,
    )
