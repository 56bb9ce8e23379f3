"""The line of a record at which one of its keys stands: YAML, and JSON, which is YAML too."""

from __future__ import annotations

import re

from logbook_agent.store.parse import check_yaml, safe_loader

_MOST_CHARS = 200_000
_STEP = re.compile(r"\[(\d{1,9})\]|([^.\[\]]+)")


def line_of(text: str, place: str) -> int | None:
    """The line (from 1) of a place such as `fields[0].text`; None when it cannot be told."""
    import yaml

    # Worth a moment, not more: records of many rows are long, and their lines say little.
    if len(text) > _MOST_CHARS:
        return None
    try:
        check_yaml(text)
        node = yaml.compose(text, Loader=safe_loader())
    except yaml.YAMLError:
        return None
    line: int | None = None
    for index, key in _STEP.findall(place):
        found: yaml.Node | None = None
        if index and isinstance(node, yaml.SequenceNode) and int(index) < len(node.value):
            found = node.value[int(index)]
            line = found.start_mark.line + 1
        elif key and isinstance(node, yaml.MappingNode):
            for name, value in node.value:
                if name.value == key:
                    found, line = value, name.start_mark.line + 1
        if found is None:
            return line
        node = found
    return line
