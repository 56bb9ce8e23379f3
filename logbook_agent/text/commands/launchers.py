"""Launchers: a prefix that carries a command to another machine, configured or `... dev_tpu.py execute ... -- CMD`.

A template is shell words with placeholders: `{name}` (the target), `{env}` (the run's environment, each
variable rendered by `env_template`) and `{command}`. As words of their own, env and command are spliced in
as words; inside a bigger word (`ssh host 'cd x && {command}'`) the command goes in as shell text.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct, field

from logbook_agent.model.codec import CodecError, decode
from logbook_agent.model.errors import UsageError
from logbook_agent.model.run import Launch
from logbook_agent.text.shell_words import command_line, env_word, split_env_word, split_env_words

ENV_TEMPLATE = "-e {key}={value}"

_PLACEHOLDER = re.compile(r"(?<!\$)\{(name|env|command)\}")
_ANY_PLACEHOLDER = re.compile(r"(?<!\$)\{(\w+)\}")
_ENV_PLACEHOLDER = re.compile(r"\{(key|value)\}")
KEYS = ("template", "target", "env_template")
_EXAMPLE = "template = 'ssh {name} {command}'"


class Launcher(Struct, frozen=True, kw_only=True):
    """One configured launcher, a prefix of commands.

    template: shell words with `{command}`, and `{env}` and `{name}` if needed
    target: value of `{name}`, unless the run gives another (`--on NAME:TARGET`)
    env_template: how one variable is passed on
    """

    name: str
    template: str
    target: str | None = None
    env_template: str = ENV_TEMPLATE

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(shlex.split(self.template))


class Launched(Struct, frozen=True, kw_only=True):
    """A command behind a launcher: `argv` starts here, `launch.command` runs there.

    `local_env` holds for the launcher's own process, `remote_env` for the command. `submits`: the launcher returns
    before the command has ended. `syncs`: as far as is known, it brings the files of this folder there.
    """

    argv: tuple[str, ...]
    launch: Launch
    local_env: dict[str, str] = field(default_factory=dict)
    remote_env: dict[str, str] = field(default_factory=dict)
    submits: bool = False
    syncs: bool = True


def launchers_from(table: Mapping[str, object]) -> dict[str, Launcher]:
    """The `launchers` table of the user's settings; a plain string is a template.

    Raises UsageError when a launcher is no table, has an unknown key, or its template cannot work.
    """
    return {str(name): _launcher(str(name), given) for name, given in table.items()}


def _launcher(name: str, given: object) -> Launcher:
    where = f"launcher {name!r}"
    given = {"template": given} if isinstance(given, str) else given
    try:
        launcher = decode(Launcher, {"name": name, **given} if isinstance(given, Mapping) else given)
    except CodecError as error:
        raise UsageError(f"{where}: {error}", cause=f"a launcher has {', '.join(KEYS)}", hint=_EXAMPLE) from None
    _check(launcher, where)
    return launcher


def _check(launcher: Launcher, where: str) -> None:
    for what, text in (("template", launcher.template), ("env_template", launcher.env_template)):
        try:
            shlex.split(text)
        except ValueError as error:
            raise UsageError(f"{where}: its {what} is not shell text", cause=str(error), hint=_EXAMPLE) from None
    names = _ANY_PLACEHOLDER.findall(launcher.template)
    unknown = [n for n in names if n not in ("name", "env", "command")]
    if unknown:
        raise UsageError(
            f"{where}: unknown placeholder {{{unknown[0]}}}", hint="placeholders: {name}, {env}, {command}"
        )
    if names.count("command") != 1:
        raise UsageError(f"{where}: its template needs {{command}} exactly once", hint=_EXAMPLE)
    if set(_ANY_PLACEHOLDER.findall(launcher.env_template)) != {"key", "value"}:
        raise UsageError(
            f"{where}: its env_template needs {{key}} and {{value}}", hint=f"env_template = {ENV_TEMPLATE!r}"
        )
    _, words = split_env_words(launcher.words)
    if not words or _PLACEHOLDER.fullmatch(words[0]):
        raise UsageError(f"{where}: its template starts no program", hint=_EXAMPLE)


def wrap(launcher: Launcher, argv: Sequence[str], env: Mapping[str, str], target: str | None = None) -> Launched:
    """`argv` behind the launcher. Leading `K=V` words of `argv` join `env`, as they mean the far side.

    Raises UsageError when a target or environment is needed and the template has no place for it.
    """
    own, command = split_env_words(argv)
    remote_env = {**env, **own}
    target = target or launcher.target
    where = f"launcher {launcher.name!r}"
    names = set(_PLACEHOLDER.findall(launcher.template))
    if not command:
        raise UsageError(f"{where} was given no command")
    if "name" in names and target is None:
        raise UsageError(f"{where} has no target", hint=f"launchers.{launcher.name}.target = 'NAME'")
    if remote_env and "env" not in names:
        raise UsageError(
            f"{where} cannot pass environment on: {', '.join(remote_env)}",
            cause="its template has no {env}",
            hint="put {env} into the template, or set the variables inside the command",
        )
    local_env, words = split_env_words(launcher.words)
    env_words = _env_words(launcher, remote_env)
    spliced: list[str] = []
    prefix = 0
    for word in words:
        if "{command}" in word:
            prefix = len(spliced)
        spliced += _filled(word, target or "", env_words, command)
    launch = Launch(
        name=launcher.name,
        target=target if "name" in names else None,
        prefix=(*(f"{k}={v}" for k, v in local_env.items()), *spliced[:prefix]),
        command=command,
    )
    return _launched(spliced, launch, local_env, remote_env)


def _launched(words: Sequence[str], launch: Launch, local_env: dict[str, str], remote_env: dict[str, str]) -> Launched:
    """With what is known of such a launcher, whoever configured it."""
    way = known(words)
    return Launched(
        argv=tuple(words),
        launch=launch,
        local_env=local_env,
        remote_env=remote_env,
        submits=way is not None and way.submits,
        syncs=way is None or way.syncs,
    )


def _env_words(launcher: Launcher, env: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(
        _ENV_PLACEHOLDER.sub(lambda m, k=key, v=value: k if m[1] == "key" else v, word)  # type: ignore[misc]
        for key, value in env.items()
        for word in shlex.split(launcher.env_template)
    )


def _filled(word: str, target: str, env_words: Sequence[str], command: Sequence[str]) -> tuple[str, ...]:
    if word == "{command}":
        return tuple(command)
    if word == "{env}":
        return tuple(env_words)
    texts = {
        "name": target,
        "env": " ".join(map(_as_shell_text, env_words)),
        "command": command_line(command),
    }
    return (_PLACEHOLDER.sub(lambda m: texts[m[1]], word),)


def _as_shell_text(word: str) -> str:
    pair = split_env_word(word)
    return shlex.quote(word) if pair is None else env_word(*pair)


def recognise(argv: Sequence[str]) -> Launched | None:
    """The launcher that `argv`, as typed by hand, begins with: `dev_tpu.py` or `iris`."""
    local_env, words = split_env_words(argv)
    found = known(words)
    if found is None or not found.command:
        return None
    launch = Launch(
        name=found.name,
        target=found.target,
        prefix=(*argv[: len(argv) - len(words)], *words[: found.prefix]),
        command=found.command,
    )
    return _launched(words, launch, local_env, found.env)


# -- launchers that are recognised without any settings: `... dev_tpu.py ... execute ... -- CMD`, which runs a command
# on a TPU and waits for it, and `... iris ... job run ... -- CMD`, which submits one to a cluster

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
