"""Markdown of records as HTML in which nothing is live: no raw HTML, no picture but those that the caller has, no link
but those to http(s) and to entries of the page, no style, no mark that turns the direction of text."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, MutableMapping, Sequence
from functools import cache
from itertools import takewhile
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from logbook_agent.text.markdown import without_controls

_PICTURE = re.compile(r"!\[([^\]\n]*)\]\((?:\./)?([^()\s]+)\)")
_WEB = re.compile(r"https?://[^\s/?#]", re.IGNORECASE)
# Explicit directions of text: they can make it read as something else than what it is.
_DIRECTIONS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_ID = re.compile(r"(?<![\w-])[A-Z][A-Z0-9]*(?:-[A-Z0-9]+)*-\d{3,}(?![\w-])")


def is_web(address: str) -> bool:
    """Whether an address may be a live link."""
    return _WEB.match(address) is not None


def visible(text: str) -> str:
    """The text with its marks of direction as `\\u202e`."""
    return _DIRECTIONS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def as_html(text: str, ids: Collection[str] = (), pictures: MutableMapping[str, str] | None = None) -> str:
    """Markdown as HTML of blocks. `ids` are entries of the same page: where one is named, it is a link to it.
    `pictures`: the sources of pictures, `data:` addresses, by the path that the text has for them. Each is shown once,
    and taken out."""
    text = without_controls(text)
    return visible(_reader().render(text, {"ids": ids, "pictures": pictures}))


def as_inline_html(text: str, ids: Collection[str] = ()) -> str:
    """Markdown of one paragraph as HTML within a line."""
    text = " ".join(without_controls(text).split("\n"))
    return visible(_reader().renderInline(text, {"ids": ids}))


@cache
def _reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False, "linkify": False, "maxNesting": 20})
    reader.enable(["table", "strikethrough"]).disable(["image", "html_block", "html_inline"])
    reader.validateLink = is_web  # type: ignore[method-assign, assignment]
    reader.core.ruler.push("pictures", _show_pictures)
    reader.core.ruler.push("entries", _link_entries)
    for kind, rule in _RULES.items():
        reader.add_render_rule(kind, rule)
    return reader


def _show_pictures(state: StateCore) -> None:
    """Put pictures where the text names them; the reader, which knows none, has left their signs as text."""
    pictures: MutableMapping[str, str] = state.env.get("pictures") or {}
    for block in state.tokens if pictures else ():
        if block.children and any(token.type == "text" and "![" in token.content for token in block.children):
            block.children = [new for token in block.children for new in _pictured(token, pictures)]


def _pictured(token: Token, pictures: MutableMapping[str, str]) -> Iterator[Token]:
    at = 0
    for match in _PICTURE.finditer(token.content) if token.type == "text" else ():
        caption, name = match.groups()
        if name in pictures:
            yield _text(token.content[at : match.start()])
            image = f'<img src="{escapeHtml(pictures.pop(name))}" alt="{escapeHtml(caption or name)}" decoding="async">'
            yield Token("html_inline", "", 0, content=image)
            at = match.end()
    if at:
        yield _text(token.content[at:])
    else:
        yield token


def _link_entries(state: StateCore) -> None:
    ids = state.env.get("ids", ())
    if not ids:
        return
    for block in state.tokens:
        if block.children and any(token.type == "text" and _ID.search(token.content) for token in block.children):
            block.children = _linked(block.children, ids)


def _linked(tokens: Sequence[Token], ids: Collection[str]) -> list[Token]:
    found: list[Token] = []
    links = 0
    for token in tokens:
        links += (token.type == "link_open") - (token.type == "link_close")
        if token.type != "text" or links:
            found.append(token)
            continue
        at = 0
        for match in _ID.finditer(token.content):
            if match[0] in ids:
                found.append(_text(token.content[at : match.start()]))
                found.append(Token("link_open", "a", 1, attrs={"class": "id", "href": f"#{match[0]}"}))
                found += [_text(match[0]), Token("link_close", "a", -1)]
                at = match.end()
        found.append(_text(token.content[at:]))
    return found


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)


# -- how tokens are written ------------------------------------------------------------------------


def _table_open(
    self: RendererHTML, tokens: Sequence[Token], at: int, options: Any, env: MutableMapping[str, Any]
) -> str:
    """The classes of a table name its columns of numbers: the policy of the page refuses styles in attributes."""
    heading = takewhile(lambda token: token.type != "tr_close", tokens[at:])
    cells = [token for token in heading if token.type == "th_open"]
    numeric = [n for n, cell in enumerate(cells, 1) if "right" in str(cell.attrs.get("style", ""))]
    return f"<table{number_columns(numeric)}>\n"


def number_columns(places: Iterable[int]) -> str:
    """The attribute of a table that has numbers in these columns, counted from 1."""
    names = " ".join(f"n{place}" for place in places)
    return names and f' class="{names}"'


def _link_open(
    self: RendererHTML, tokens: Sequence[Token], at: int, options: Any, env: MutableMapping[str, Any]
) -> str:
    if not str(tokens[at].attrs.get("href", "")).startswith("#"):
        tokens[at].attrSet("rel", "noopener noreferrer nofollow")
    return self.renderToken(tokens, at, options, env)


_RULES: dict[str, Callable[..., str]] = {
    "table_open": _table_open,
    # Its first row is the head.
    **{f"t{part}_{end}": lambda *_: "" for part in ("head", "body") for end in ("open", "close")},
    # The headings of a page are its own.
    "heading_open": lambda *_: '<p class="heading">',
    "heading_close": lambda *_: "</p>\n",
    "th_open": lambda *_: "<th>",
    "td_open": lambda *_: "<td>",
    "link_open": _link_open,
}
