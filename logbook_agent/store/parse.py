"""YAML, JSON and TOML as plain data, of any text that somebody may have put there; and YAML of plain data.

What parsers pay for without a bound is bounded before they start: depth, which ends Python's and C's stack, and the
number of values. YAML has no aliases, which may stand for any amount. Numbers are no longer than any that the tool
writes.
"""

from __future__ import annotations

import math
import re
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, NoReturn

from logbook_agent.model.errors import RecordError
from logbook_agent.model.values import Spelt
from logbook_agent.store.json_text import place_of

# The records nest five levels deep.
MAX_DEPTH = 64
# Nodes of a YAML document. A node takes some 20 microseconds.
MAX_NODES = 50_000
# Shorter text cannot have many more nodes than that.
_FEW_CHARS = 100_000
# The longest number of the tool's own has 300 digits.
MAX_NUMBER_CHARS = 400

# Collections in block style begin further right, the deeper they are; those of a sequence perhaps on one line.
_INDENTED = re.compile(rf"^[ \t?:-]{{{MAX_DEPTH},}}", re.MULTILINE)
_ALIAS = re.compile(r"\*[A-Za-z0-9_-]")
_NAMES = {"int": "number", "float": "number", "bool": "truth value"}
# What is no text without quotes, and how it may begin. YAML 1.1 reads more so: `no`, `0x10`, `1_000`, `12:30`, dates.
# Each is narrower than there, because that is what decides which texts are written in quotes.
_IMPLICIT = {
    "null": (r"~|null|", ["~", "n", ""]),
    "bool": (r"true|false", ["t", "f"]),
    "int": (r"0|-?[1-9][0-9]*", [*"-0123456789"]),
    "float": (r"([-+]?[0-9]+\.[0-9]*|\.[0-9]+)([eE][-+][0-9]+)?|[-+]?\.inf|\.nan", [*"-+.0123456789"]),
}
# What a block of YAML holds and PyYAML writes in quotes: blanks at the end of a line, and tabs.
_BLANKS = re.compile(r"[ \t]+$|\t", re.MULTILINE)
_MOST_CHARS = 200_000
_STEP = re.compile(r"\[(\d{1,9})\]|([^.\[\]]+)")


def parse_toml(text: str) -> dict[str, Any]:
    """Plain data of TOML text. Raises ValueError."""
    import tomllib

    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None


# -- YAML --------------------------------------------------------------------------------------------


def parse_yaml(text: str, where: str | Path) -> Any:
    """Plain data of YAML text, in which a fraction is a `Spelt`. Raises RecordError with the place, line and column of
    the trouble."""
    import yaml

    try:
        check_yaml(text)
        return yaml.load(text, Loader=_loader())  # noqa: S506  a safe loader
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        at = f", line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
        problem = getattr(error, "problem", None) or str(error).split("\n")[0]
        found = RecordError(
            f"{place_of(where)}{at}: {problem}",
            cause="the file is not valid YAML",
            hint="correct that line; text of several lines is safest as a block: `text: |`",
        )
        found.line = mark.line + 1 if mark is not None else None
        raise found from error


def safe_loader() -> Any:
    """PyYAML's safe loader, the quick one where it is there."""
    import yaml

    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def check_yaml(text: str) -> None:
    """Raise yaml.YAMLError for text that nests too deep, has too many nodes, or has an alias.

    Counting brackets and indentation tells for nearly every text; the rest is read as events, which do not nest.
    """
    brackets = text.count("[") + text.count("{")
    # What an alias refers to has an anchor.
    aliases = "&" in text and _ALIAS.search(text) is not None
    if len(text) > _FEW_CHARS or brackets > MAX_DEPTH or aliases or _INDENTED.search(text) is not None:
        _check_events(text)


def _check_events(text: str) -> None:
    import yaml

    depth = nodes = 0
    for event in yaml.parse(text, Loader=safe_loader()):
        nodes += isinstance(event, yaml.NodeEvent)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            _refuse(f"nested more than {MAX_DEPTH} levels deep", event)
        if isinstance(event, yaml.AliasEvent):
            _refuse(f"an alias, *{event.anchor}: write out what it stands for", event)
        if nodes > MAX_NODES:
            _refuse(f"more than {MAX_NODES} values", event)


def _refuse(problem: str, event: Any) -> NoReturn:
    from yaml.composer import ComposerError

    raise ComposerError(None, None, problem, event.start_mark)


@cache
def _loader() -> Any:
    """The safe loader; a scalar that is not what it looks like, or is tagged as, is an error with its place."""
    from yaml.constructor import ConstructorError

    class Loader(safe_loader()):  # type: ignore[misc]
        yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            names: set[str] = set()
            for name, _ in node.value:
                if isinstance(name.value, str):
                    if name.value in names:
                        problem = f"{name.value[:80]!r} stands twice: remove one, or join them"
                        raise ConstructorError(None, None, problem, name.start_mark)
                    names.add(name.value)
            return super().construct_mapping(node, deep=deep)

    def guarded(kind: str, form: re.Pattern[str]) -> Any:
        construct = getattr(Loader, f"construct_yaml_{kind}")

        def convert(loader: Any, node: Any) -> Any:
            value = node.value
            if not isinstance(value, str) or len(value) > MAX_NUMBER_CHARS or form.fullmatch(value) is None:
                problem = f"not a {_NAMES[kind]} of at most {MAX_NUMBER_CHARS} characters: correct it, or quote it"
                raise ConstructorError(None, None, problem, node.start_mark)
            found = construct(loader, node)
            return Spelt(value) if kind == "float" and math.isfinite(found) else found

        return convert

    for kind, (pattern, first) in _IMPLICIT.items():
        tag, form = f"tag:yaml.org,2002:{kind}", re.compile(rf"(?:{pattern})\Z")
        Loader.add_implicit_resolver(tag, form, first)
        if kind in _NAMES:
            Loader.add_constructor(tag, guarded(kind, form))
    Loader.add_constructor("tag:yaml.org,2002:timestamp", Loader.construct_undefined)
    return Loader


def dump_yaml(data: Any) -> str:
    """YAML with block scalars for text of several lines, keys in their order."""
    import yaml

    text: str = yaml.dump(
        data, Dumper=_dumper(), sort_keys=False, allow_unicode=True, width=110, default_flow_style=False
    )
    return text


@cache
def _dumper() -> Any:
    import yaml

    # The pure-Python emitter: the C one ignores block style for text with long lines or wide characters.
    class Dumper(yaml.SafeDumper):
        def analyze_scalar(self, text: str) -> Any:
            """PyYAML quotes prose for its tabs, and for blanks at the end of a line; a block holds both."""
            found = super().analyze_scalar(text)
            if "\n" in text and not found.allow_block:
                found.allow_block = super().analyze_scalar(_BLANKS.sub("", text) or "\n").allow_block
            return found

        def determine_block_hints(self, text: str) -> Any:
            # Without the indentation, a tab at the start is an error to whoever reads it.
            return super().determine_block_hints(f" {text}" if text[:1] == "\t" else text)

    def represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
        style = "|" if "\n" in text else None
        # YAML 1.1 counts them as ends of lines, and reads any but "\n" as something else.
        if not text.isascii() and any(end in text for end in "\x85\u2028\u2029"):
            style = '"'
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    Dumper.add_representer(str, represent_text)
    return Dumper


# -- the line of a place ---------------------------------------------------------------------------


def line_of(text: str, place: str) -> tuple[int | None, int]:
    """The line (from 1) of a place such as `fields[0].text`, and how many of its steps are there; None and 0 when it
    cannot be told."""
    import yaml

    # Worth a moment, not more: records of many rows are long, and their lines say little.
    if len(text) > _MOST_CHARS:
        return None, 0
    try:
        check_yaml(text)
        node = yaml.compose(text, Loader=safe_loader())
    except yaml.YAMLError:
        return None, 0
    line: int | None = None
    steps = _STEP.findall(place)
    for depth, (index, key) in enumerate(steps):
        found: yaml.Node | None = None
        if index and isinstance(node, yaml.SequenceNode) and int(index) < len(node.value):
            found = node.value[int(index)]
            line = found.start_mark.line + 1
        elif key and isinstance(node, yaml.MappingNode):
            for name, value in node.value:
                if name.value == key:
                    found, line = value, name.start_mark.line + 1
        if found is None:
            return line, depth
        node = found
    return line, len(steps)
