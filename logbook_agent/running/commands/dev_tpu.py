"""The launcher that needs no configuration: `... dev_tpu.py [OPTIONS] execute [-e K=V]... -- CMD`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from logbook_agent.text.words import split_env_word


class Found(NamedTuple):
    """A launcher's command line in its parts; `prefix` counts the words before the remote command."""

    name: str
    target: str | None
    prefix: int
    command: tuple[str, ...]
    env: dict[str, str]


def remote_part(words: Sequence[str]) -> int | None:
    """Where the remote command begins; None when `words` are not of this shape."""
    found = dev_tpu(words)
    return None if found is None or not found.command else found.prefix


def dev_tpu(words: Sequence[str]) -> Found | None:
    """The parts of such a command line, local environment words already taken off; None for any other."""
    if "--" not in words:
        return None
    script = next((i for i, w in enumerate(words) if w.rpartition("/")[2] == "dev_tpu.py"), None)
    if script is None or "--" not in words[script:] or "execute" not in words[script:]:
        return None
    execute = words.index("execute", script)
    end = words.index("--", script)
    if execute > end:
        return None
    options = list(words[script + 1 : end])
    env = [split_env_word(v) for v in _values(list(words[execute + 1 : end]), ("-e", "--env"))]
    return Found(
        name="dev_tpu",
        target=next(_values(options, ("--tpu-name",)), None),
        prefix=end + 1,
        command=tuple(words[end + 1 :]),
        env=dict(pair for pair in env if pair is not None),
    )


def _values(options: Sequence[str], names: tuple[str, ...]) -> Iterator[str]:
    """Values of an option in any of its spellings: `-e V`, `-eV`, `--env V`, `--env=V`."""
    for i, word in enumerate(options):
        for name in names:
            joined = f"{name}=" if name.startswith("--") else name
            if word == name and i + 1 < len(options):
                yield options[i + 1]
            elif word.startswith(joined) and word != name and word.startswith("--") == name.startswith("--"):
                yield word[len(joined) :]
