"""Which simple commands a script or a command line runs in the end: behind `env`, `uv run`, `bash -lc` and a launcher.

Nothing is evaluated: a word that the shell would expand (`"$tk"`, `$(date)`) is marked, so that nobody mistakes its
text for a value. Any text is accepted; of syntax that is not known here, the words are kept.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Mapping, Sequence

from msgspec import Struct

from logbook_agent.model.code import CommandWords
from logbook_agent.text.commands.launchers import given_options, remote_part
from logbook_agent.text.shell_words import has_expansion, split_env_word

# Syntax in front of a command; `for NAME in WORDS` and `case` hold no command at all.
_LEADING = frozenset({"do", "then", "else", "elif", "if", "while", "until", "!", "{", "}", "time", "done", "fi"})
_NO_COMMAND = frozenset({"for", "case", "select", "esac", "function"})
# `<<'END'`, the rest of its line, and the text up to END.
_HEREDOC = re.compile(
    r"(?<!<)<<-?[ \t]*(['\"]?)([\w.-]+)\1(?P<rest>[^\n]*\n).*?(?:^\t*\2$|\Z)", re.DOTALL | re.MULTILINE
)
_TOKEN = re.compile(
    r"""(?P<comment> (?<![^\s;&|()]) \# [^\n]* )
    | (?P<end> [\n;&|()] )
    | (?P<redirection> \d* [<>] [<>&|]* )
    | (?P<word>
        (?: '[^']*'? | "(?:\\.|[^"\\])*"? | \\. | \$\([^()]*\) | \$\{[^{}]*\} | `[^`]*` | [^\s;&|()<>'"\\] )+
    )""",
    re.VERBOSE | re.DOTALL,
)
SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh"})
_REDIRECTED = re.compile(r">{1,2}\s*([^\s;&|<>()'\"]+)")
_SUCCEEDS = re.compile(r"(?:\|\||[;\n])\s*(?:true|:)\s*$")
_WRAPPERS = frozenset({"env", "nohup", "nice", "time", "exec", "stdbuf", "timeout", "caffeinate"})
_WRAPPER_VALUES = frozenset({"-u", "-n", "-k", "-s", "-C", "--unset", "--signal", "--kill-after", "--chdir"})
# Options of `uv run` that take the next word; every other one stands alone.
_UV_OPTIONS = (
    "--package --extra --no-extra --group --no-group --only-group --python -p --with --with-editable "
    "--with-requirements --env-file --project --directory --index --default-index --index-url --config-file "
    "--cache-dir --refresh-package --upgrade-package --resolution --prerelease --link-mode -w"
)
_UV_VALUES = frozenset(_UV_OPTIONS.split())
_DEPTH = 6


class Word(Struct, frozen=True):
    """One word; `expanded` when the shell would replace some of `text` by something unknown here."""

    text: str
    expanded: bool = False


Simple = tuple[Word, ...]


def simple_commands(script: str) -> tuple[Simple, ...]:
    """The simple commands of a script in the order they are written.

    Loop heads, comments, redirections and here-documents are left out.
    """
    commands: list[list[Word]] = [[]]
    skip = False
    for token in _TOKEN.finditer(_HEREDOC.sub(r"\g<rest>", script).replace("\\\n", "")):
        if token["end"]:
            commands.append([])
        elif token["word"] and not skip:
            commands[-1].append(_word(token["word"]))
        # The word behind `>` is a file.
        skip = bool(token["redirection"])
    return tuple(found for words in commands if (found := _without_syntax(words)))


def _word(typed: str) -> Word:
    """A word as typed, without its quotes."""
    if has_expansion(typed):
        return Word(typed.replace('"', ""), expanded=True)
    try:
        return Word(" ".join(shlex.split(typed)))
    except ValueError:
        return Word(typed.strip("'\""))


def _without_syntax(words: Sequence[Word]) -> Simple:
    """The words of a command behind `do`, `then` and the like; nothing for the head of a loop."""
    at = next((i for i, word in enumerate(words) if word.text not in _LEADING), len(words))
    rest = tuple(words[at:])
    return () if rest and rest[0].text in _NO_COMMAND else rest


# -- what a command line runs in the end -----------------------------------------------------------


def simple_commands_of(argv: Sequence[str]) -> tuple[Simple, ...]:
    """The simple commands that `argv` runs, each without env words and wrappers; never empty ones.

    A launcher of the built-in shape is followed to its remote command, `bash -lc` into its script.
    """
    return _expand(tuple(map(Word, argv)), _DEPTH)


def command_words(argv: Sequence[str]) -> CommandWords:
    """What a worker needs to know of the words of a command; one word with blanks is a script."""
    words = ("sh", "-c", argv[0]) if len(argv) == 1 and " " in argv[0] else tuple(argv)
    return CommandWords(
        simple=tuple(tuple("" if w.expanded else w.text for w in simple) for simple in simple_commands_of(words)),
        written=tuple(_REDIRECTED.findall("\n".join(words))),
        uses_uv=uses_uv(words),
    )


def _expand(words: Simple, depth: int) -> tuple[Simple, ...]:
    words = strip_wrappers(words)
    if not words:
        return ()
    if depth == 0:
        return (words,)
    texts = [w.text for w in words]
    remote = remote_part(texts)
    if remote is not None:
        inner = words[remote:]
        if len(inner) == 1 and " " in inner[0].text:
            return _script(inner[0].text, depth)
        return _expand(inner, depth - 1)
    script = script_of(texts)
    return (words,) if script is None else _script(script, depth)


def _script(text: str, depth: int) -> tuple[Simple, ...]:
    return tuple(c for simple in simple_commands(text) for c in _expand(simple, depth - 1))


def script_of(argv: Sequence[str]) -> str | None:
    """The script of `bash -lc SCRIPT` (also `sh -c`, `bash -eo pipefail -c`), else None."""
    if not argv or posixpath.basename(argv[0]) not in SHELLS:
        return None
    i = 1
    while i < len(argv) and argv[i][:1] in "-+" and argv[i] not in ("-", "--", ""):
        cluster = "" if argv[i].startswith("--") else argv[i][1:]
        # `-o NAME` takes the next word, in a cluster as well: `bash -eo pipefail -c ...`.
        i += 1 + cluster.count("o")
        if "c" in cluster:
            return argv[i] if i < len(argv) else None
    return None


def has_pipe(script: str) -> bool:
    """Whether a command of the script, outside of words, writes to another one."""
    ends = [m.start() for m in _TOKEN.finditer(script) if m["end"] == "|"]
    return any(at - 1 not in ends and at + 1 not in ends for at in ends)


def hides_failures(argv: Sequence[str]) -> bool:
    """Whether a script among these words, `sh -c SCRIPT`, pipes and does not ask how the first commands ended."""
    script = _script_in(argv)
    return has_pipe(script) and "pipefail" not in " ".join(argv) and "PIPESTATUS" not in script


def swallows_failures(argv: Sequence[str], *, shell: bool) -> bool:
    """Whether a script, which these words are or have, ends so that it always succeeds: `|| true`, `; :`."""
    return _SUCCEEDS.search(argv[0] if shell else _script_in(argv)) is not None


def _script_in(argv: Sequence[str]) -> str:
    """The first script among these words, `sh -c SCRIPT`; empty where there is none."""
    return next((s for i in range(len(argv)) if (s := script_of(argv[i:])) is not None), "")


def strip_wrappers(words: Simple) -> Simple:
    """Without leading env words, `env`, `nice`, `timeout 30`, `uv run OPTIONS` and the like."""
    while words:
        name = posixpath.basename(words[0].text)
        if split_env_word(words[0].text) is not None:
            words = words[1:]
        elif name == "uv" and len(words) > 1 and any(w.text == "run" for w in words[1:]):
            run = next(i for i, w in enumerate(words) if w.text == "run")
            words = _without_options(words[run + 1 :], _UV_VALUES)
        elif name in _WRAPPERS:
            words = _without_options(words[1:], _WRAPPER_VALUES)
            words = words[1:] if name == "timeout" else words
        else:
            return words
    return words


def _without_options(words: Simple, with_value: frozenset[str]) -> Simple:
    i = 0
    while i < len(words) and words[i].text.startswith("-"):
        text = words[i].text
        if text == "--":
            return words[i + 1 :]
        if text in ("-m", "--module"):
            # `uv run -m pkg` is `python -m pkg`.
            return (Word("python"), Word("-m"), *words[i + 1 :])
        i += 2 if text in with_value else 1
    return words[i:]


def uses_uv(argv: Sequence[str]) -> bool:
    """Whether the command that runs in the end is started by `uv run`, here rather than by a launcher."""
    remote = remote_part(argv)
    if remote is not None:
        return False
    for i, word in enumerate(argv):
        if posixpath.basename(word) == "uv":
            return "run" in argv[i + 1 :]
        if split_env_word(word) is None and posixpath.basename(word) not in _WRAPPERS:
            script = script_of(argv[i:])
            return script is not None and any(uses_uv([w.text for w in simple]) for simple in simple_commands(script))
    return False


TITLE_CHARS = 60

_PYTHON = re.compile(r"python[\d.]*w?")
_PYTHON_VALUES = frozenset({"-W", "-X", "--check-hash-based-pycs"})
# Commands of a script that prepare; the title names the first one that does the work.
_PREPARING = (
    "set cd export mkdir read echo printf source . : true sleep rm cp mv touch ulimit unset shift "
    "trap pushd popd local declare test [ [[ break continue exit wait module"
)
_SETUP = frozenset(_PREPARING.split())


def title_of(argv: Sequence[str]) -> str:
    """At most 60 characters: the program's own name and as many of its words as fit, `…` when cut."""
    commands = simple_commands_of(argv)
    if not commands:
        return _first([*argv, "(empty command)"])
    main = next((c for c in commands if c[0].text not in _SETUP), commands[0])
    words = [w.text for w in _program(main)]
    name = posixpath.basename(words[0]).removesuffix(".py") or words[0]
    return _first([" ".join([name, *words[1:]]), *argv, "(empty command)"])


def _first(candidates: Sequence[str]) -> str:
    return next(title for title in map(_fit, candidates) if title)


def _program(words: Simple) -> Simple:
    """`python -u x.py a` is about `x.py a`, `python -m pkg a` about `pkg a`; the rest about itself."""
    if not _PYTHON.fullmatch(posixpath.basename(words[0].text)):
        return words
    i = 1
    while i < len(words) and words[i].text.startswith("-") and words[i].text not in ("-c", "-"):
        if words[i].text == "-m":
            return words[i + 1 :] or words
        i += 2 if words[i].text in _PYTHON_VALUES else 1
    if i >= len(words) or words[i].text in ("-c", "-"):
        return words
    return words[i:]


def _fit(text: str) -> str:
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    if len(text) <= TITLE_CHARS:
        return text
    cut = text[: TITLE_CHARS - 1]
    # A whole last word reads better, unless it would cost most of the title.
    head = cut.rpartition(" ")[0]
    return (head if len(head) > TITLE_CHARS // 2 else cut).rstrip() + "…"


# -- commands that run one program on several hosts ------------------------------------------------


# Launchers of a program's processes, with the options that say on how many hosts. An allocation that `srun` starts in
# may have said so before.
_HOSTS = {
    "srun": ("-N", "--nodes"),
    "sbatch": ("-N", "--nodes"),
    "salloc": ("-N", "--nodes"),
    "torchrun": ("--nnodes",),
}
# Options of launchers without a value. All others have one; the first word beyond them is the program.
_SWITCHES = frozenset(
    (
        *("-l", "--label", "-u", "--unbuffered", "-v", "--verbose", "-q", "--quiet", "-O", "--overcommit", "-s"),
        *(
            "--oversubscribe",
            "-K",
            "--kill-on-bad-exit",
            "-X",
            "--disable-status",
            "-Z",
            "--no-allocate",
            "-H",
            "--hold",
        ),
        *("--exclusive", "--overlap", "--exact", "--whole", "--pty", "--contiguous", "-k", "--no-kill", "-E", "-I"),
        *("--preserve-env", "--spread-job", "--use-min-nodes", "--multi-prog", "--immediate", "--requeue"),
        *("--standalone", "--no-python", "--no_python", "-m", "--module", "--run-path", "--run_path"),
    )
)
_ALLOCATED = ("SLURM_JOB_NUM_NODES", "SLURM_NNODES")
# `2`, `1-4` of Slurm and `1:4` of torchrun: the last is the most.
_MOST = re.compile(r"(?:\d+[-:])?(?P<most>\d+)")


def several_hosts(argv: Sequence[str], environ: Mapping[str, str]) -> str | None:
    """What puts a command on several hosts, such as `srun --nodes 2`; None for a command of one host."""
    return next((said for simple in simple_commands_of(argv) if (said := _said(simple, environ)) is not None), None)


def _said(simple: Simple, environ: Mapping[str, str]) -> str | None:
    words = [word.text for word in simple]
    names = [posixpath.basename(word) for word in words]
    if names[0] not in _HOSTS:
        return None
    for option, number in given_options(_own(words[1:]), _HOSTS[names[0]]):
        most = _MOST.fullmatch(number)
        return f"{names[0]} {option} {number}" if most is not None and int(most["most"]) > 1 else None
    allocated = next((environ[key] for key in _ALLOCATED if key in environ), "1")
    return f"srun in an allocation of {allocated} nodes" if names[0] == "srun" and allocated != "1" else None


def _own(words: Sequence[str]) -> Sequence[str]:
    """The words of a launcher, up to the program that it starts."""
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "--":
        word = words[at]
        is_whole = "=" in word or word in _SWITCHES or (len(word) > 2 and not word.startswith("--"))
        at += 1 if is_whole else 2
    return words[:at]
