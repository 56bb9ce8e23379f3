"""Whether a command as typed needs a shell: words alone would mean something else."""

from __future__ import annotations

import re

_OPERATORS = frozenset(";&|<>()\n")
_RESERVED = re.compile(r"\s*(?:for|while|until|if|case|function|select|\{|!|\[\[)(?:\s|$)")
_EXPANSION = re.compile(r"\$[A-Za-z_0-9{(?#@*!$-]|`")


def shell_syntax(text: str) -> str | None:
    """The first piece of shell syntax in a command line (an operator, an expansion, a loop), else None.

    What stands in single quotes is text; in double quotes only expansions count; a backslash makes the next
    character text.
    """
    reserved = _RESERVED.match(text)
    if reserved is not None:
        return reserved[0].strip()
    quote = ""
    at = 0
    while at < len(text):
        c = text[at]
        if c == "\\" and quote != "'":
            at += 2
            continue
        if quote:
            if c == quote:
                quote = ""
        elif c in "'\"":
            quote = c
        elif c in _OPERATORS:
            return "a line end" if c == "\n" else c
        elif c in "*?" or (c == "~" and (at == 0 or text[at - 1].isspace())):
            return c
        expansion = _EXPANSION.match(text, at) if quote != "'" else None
        if expansion is not None:
            return expansion[0]
        at += 1
    return None
