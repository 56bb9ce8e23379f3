"""Which simple commands a script or a command line runs in the end: behind `env`, `uv run`, `bash -lc` and a launcher.

Enough of the shell's grammar is read, and nothing evaluated. A word that the shell would expand (`"$tk"`, `$(date)`) is
marked, so that nobody mistakes its text for a value. Any text is accepted: an unfinished quote runs to the end.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from logbook_agent.text.commands.known import remote_part
from logbook_agent.text.words import split_env_word

# Syntax in front of a command; `for NAME in WORDS` and `case` hold no command at all.
_LEADING = frozenset({"do", "then", "else", "elif", "if", "while", "until", "!", "{", "}", "time", "done", "fi"})
_NO_COMMAND = frozenset({"for", "case", "select", "esac", "function"})
_HEREDOC = re.compile(r"<<(?!<)-?[ \t]*(?P<quote>['\"]?)(?P<end>[\w.-]+)(?P=quote)")
SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh"})
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


@dataclass(frozen=True, slots=True)
class Word:
    """One word; `expanded` when the shell would replace some of `text` by something unknown here."""

    text: str
    expanded: bool = False


Simple = tuple[Word, ...]


def simple_commands(script: str) -> tuple[Simple, ...]:
    """The simple commands of a script in the order they are written, without redirections.

    Loop heads and comments are left out, and so are here-documents and what stands in `$(...)`.
    """
    commands = []
    for words in _Scanner(script).scan():
        while words and not words[0].expanded and words[0].text in _LEADING:
            words = words[1:]
        if words and words[0].text not in _NO_COMMAND:
            commands.append(tuple(words))
    return tuple(commands)


@dataclass(slots=True)
class _Scanner:
    text: str
    at: int = 0
    commands: list[list[Word]] = field(default_factory=lambda: [[]])
    chars: list[str] = field(default_factory=list)
    in_word: bool = False
    expanded: bool = False
    skip_next: bool = False
    heredocs: list[str] = field(default_factory=list)

    def scan(self) -> list[list[Word]]:
        while self.at < len(self.text):
            self._step(self.text[self.at])
        self._end_word()
        return self.commands

    def _step(self, c: str) -> None:
        if c in " \t\r":
            self._end_word()
            self.at += 1
        elif c in "\n;&|()":
            self._end_command(c)
        elif c in "<>":
            self._redirection()
        elif c == "#" and not self.in_word:
            self.at = self._find("\n", self.at)
        elif c == "'":
            end = self._find("'", self.at + 1)
            self._take(self.text[self.at + 1 : end], end + 1)
        elif c == '"':
            self._double_quoted()
        elif c == "\\":
            following = self.text[self.at + 1 : self.at + 2]
            if following == "\n":
                self.at += 2
            else:
                self._take(following, self.at + 2)
        elif c in "$`":
            self._expansion()
        else:
            self._take(c, self.at + 1)

    def _find(self, what: str, start: int) -> int:
        found = self.text.find(what, start)
        return len(self.text) if found < 0 else found

    def _take(self, text: str, then: int) -> None:
        self.chars.append(text)
        self.in_word = True
        self.at = then

    def _end_word(self) -> None:
        if not self.in_word:
            return
        if self.skip_next:
            self.skip_next = False
        else:
            self.commands[-1].append(Word("".join(self.chars), self.expanded))
        self.chars, self.in_word, self.expanded = [], False, False

    def _end_command(self, c: str) -> None:
        self._end_word()
        self.skip_next = False
        self.at += 1
        self.commands.append([])
        if c == "\n":
            while self.heredocs:
                self._skip_heredoc(self.heredocs.pop(0))

    def _redirection(self) -> None:
        if self.in_word and all(part.isdigit() for part in self.chars):
            self.chars, self.in_word = [], False  # the 2 of `2>&1`
        self._end_word()
        heredoc = _HEREDOC.match(self.text, self.at)
        if heredoc is not None:
            self.heredocs.append(heredoc["end"])
            self.at = heredoc.end()
            return
        while self.at < len(self.text) and self.text[self.at] in "<>&|":
            self.at += 1
        self.skip_next = True

    def _skip_heredoc(self, end: str) -> None:
        while self.at < len(self.text):
            stop = self._find("\n", self.at)
            line = self.text[self.at : stop]
            self.at = stop + 1
            if line.lstrip("\t") == end:
                return

    def _double_quoted(self) -> None:
        self.in_word = True
        self.at += 1
        while self.at < len(self.text) and self.text[self.at] != '"':
            c = self.text[self.at]
            if c == "\\" and self.text[self.at + 1 : self.at + 2] in ('"', "\\", "$", "`"):
                self._take(self.text[self.at + 1], self.at + 2)
            elif c in "$`":
                self._expansion()
            else:
                self._take(c, self.at + 1)
        self.at += 1

    def _expansion(self) -> None:
        """`$name`, `${...}`, `$(...)` or backticks: kept as typed and marked."""
        start, opener = self.at, self.text[self.at : self.at + 2]
        if opener[0] == "`":
            end = self._find("`", start + 1) + 1
        elif opener == "$(":
            end = self._closing(start + 1, "(", ")")
        elif opener == "${":
            end = self._closing(start + 1, "{", "}")
        else:
            name = re.compile(r"\$(?:\w+|[@*#?$!-])?").match(self.text, start)
            end = name.end() if name else start + 1
        self.expanded = self.expanded or end > start + 1
        self._take(self.text[start:end], end)

    def _closing(self, start: int, opening: str, closing: str) -> int:
        depth = 0
        for i in range(start, len(self.text)):
            depth += {opening: 1, closing: -1}.get(self.text[i], 0)
            if depth == 0:
                return i + 1
        return len(self.text)


# -- what a command line runs in the end -----------------------------------------------------------


def simple_commands_of(argv: Sequence[str]) -> tuple[Simple, ...]:
    """The simple commands that `argv` runs, each without env words and wrappers; never empty ones.

    A launcher of the built-in shape is followed to its remote command, `bash -lc` into its script.
    """
    return _expand(tuple(map(Word, argv)), _DEPTH)


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
