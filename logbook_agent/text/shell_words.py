"""Between argument vectors and shell text, exactly and both ways; and whether a command as typed needs a shell."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from logbook_agent.model.entry import PlannedCommand

_OPERATORS = frozenset(";&|<>()\n")
_LOOP = re.compile(r"\s*(?:for|while|until|if|case|function|select|\{|!|\[\[)(?:\s|$)")
_EXPANSION = re.compile(r"\$[A-Za-z_0-9{(?#@*!$-]|`")
_FLAG_WORD = re.compile(r"--?[A-Za-z]")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ENV_WORD = re.compile(rf"({_NAME.pattern})=(.*)", re.DOTALL)

# Words that a shell reads as syntax when they come first; quoted they are plain command names.
_SYNTAX = "case coproc do done elif else esac fi for function if in select then time until while"
_RESERVED = frozenset(_SYNTAX.split())
# A line of more characters is folded.
_LONG = 100


def split_env_word(word: str) -> tuple[str, str] | None:
    """`("K", "V")` of a word `K=V` whose K is a valid shell name, else None."""
    match = _ENV_WORD.fullmatch(word)
    return None if match is None else (match[1], match[2])


def split_env_words(argv: Sequence[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """The leading `K=V` words as environment, and the words after them.

    Raises nothing; when every word is `K=V`, the rest is empty and the caller has no command.
    """
    env: dict[str, str] = {}
    for i, word in enumerate(argv):
        pair = split_env_word(word)
        if pair is None:
            return env, tuple(argv[i:])
        env[pair[0]] = pair[1]
    return env, ()


def planned_words(command: PlannedCommand) -> tuple[dict[str, str], tuple[str, ...]]:
    """The variables that a planned command sets, and its words; shell text is one word."""
    return ({}, command.argv) if command.shell else split_env_words(command.argv)


def env_word(key: str, value: str) -> str:
    """`K='v'` as shell text; only the value is quoted, so that a shell still sees an assignment."""
    return f"{key}={shlex.quote(value)}"


def command_line(argv: Sequence[str], env: Mapping[str, str] | None = None, *, shell: bool = False) -> str:
    """Shell text that runs `argv` with `env` when pasted: `K='v' cmd 'a b'`.

    With `shell`, `argv` is one string of shell text and stays as typed; an assignment in front of it
    would hold for its first command alone, so its environment is exported instead.
    """
    env = env or {}
    plain = [env_word(k, v) for k, v in env.items() if _NAME.fullmatch(k)]
    # `env` takes names that no shell assignment can have.
    odd = [shlex.quote(f"{k}={v}") for k, v in env.items() if not _NAME.fullmatch(k)]
    if shell:
        exports = f"export {' '.join(plain)}; " if plain else ""
        return exports + " ".join(argv)
    words = [_quote_first(argv[0]), *map(shlex.quote, argv[1:])] if argv else []
    return " ".join([*plain, *(["env", *odd] if odd else []), *words])


def _quote_first(word: str) -> str:
    """The command word: also quoted where it would read as an assignment or as shell syntax."""
    if word in _RESERVED or _ENV_WORD.fullmatch(word):
        return "'" + word.replace("'", "'\"'\"'") + "'"
    return shlex.quote(word)


def _signs(line: str) -> Iterator[tuple[int, str, bool]]:
    """The characters of shell text that may mean more than themselves: where each stands, and whether in double quotes.
    What stands in single quotes is text, and a backslash makes the next character text."""
    quote = ""
    at = 0
    while at < len(line):
        c = line[at]
        if c == "\\" and quote != "'":
            at += 2
            continue
        if c == quote:
            quote = ""
        elif not quote and c in "'\"":
            quote = c
        elif quote != "'":
            yield at, c, bool(quote)
        at += 1


def folded(line: str) -> str:
    """A long line of shell text with each flag on a line of its own, which a shell reads as the same.

    Text of several lines stays, and so does what has a comment, a here-document or an expansion with text of its own,
    where a line end would mean something else.
    """
    if len(line) <= _LONG or "\n" in line:
        return line
    places: list[int] = []
    for at, c, quoted in _signs(line):
        if c == "`" or line.startswith(("$(", "${", "$'"), at):
            return line
        if not quoted and (c == "#" or line.startswith("<<", at)):
            return line
        if c == " " and not quoted and _FLAG_WORD.match(line, at + 1):
            places.append(at)
    return " \\\n  ".join(line[a:b] for a, b in zip([0, *(p + 1 for p in places)], [*places, len(line)], strict=True))


def shell_syntax(text: str) -> str | None:
    """The first piece of shell syntax in a command line (an operator, an expansion, a loop), else None: words alone
    would mean something else. In double quotes only expansions count."""
    loop = _LOOP.match(text)
    if loop is not None:
        return loop[0].strip()
    for at, c, quoted in _signs(text):
        if not quoted and c in _OPERATORS:
            return "a line end" if c == "\n" else c
        if not quoted and (c in "*?" or (c == "~" and (at == 0 or text[at - 1].isspace()))):
            return c
        expansion = _EXPANSION.match(text, at)
        if expansion is not None:
            return expansion[0]
    return None


def sweep_command(
    recipe: str,
    *more: str,
    scale: str | None = None,
    sets: Sequence[str] = (),
    on: str | None = None,
    named: Sequence[str] = (),
) -> str:
    """What to type to carry out a recipe; `named` says in which logbook, and `more` stands at the end."""
    words = ["logbook", "sweep", recipe, *named]
    words += ["--scale", scale] if scale is not None else []
    words += [word for text in sets for word in ("--set", text)]
    words += ["--on", on] if on is not None else []
    return shlex.join([*words, *more])


def has_expansion(text: str) -> bool:
    """Whether a shell would replace some of `text` (`$name`, `$(...)`, backticks) by something unknown here."""
    return any(_EXPANSION.match(text, at) for at, _, _ in _signs(text))
