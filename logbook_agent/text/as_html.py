"""Markdown of records as HTML in which nothing is live: no raw HTML, no picture but those that the caller has, no link
but those to http(s) and to entries of the page, no style, no mark that turns the direction of text."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, MutableMapping, Sequence
from functools import cache
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

# A line that begins with a letter or with code, of words and code alone; and items of a list, each such a line.
_CODE = r"`(?! )[^`|\n]+(?<! )`(?!`)"
_LINE = rf"(?:[^\W\d_]|{_CODE})(?:[^\\`*_\[\]<>&~|\t\n]|{_CODE})*(?<!\s)"
_PLAIN, _LIST, _CODE_IN = re.compile(_LINE), re.compile(rf"- {_LINE}(?:\n- {_LINE})*"), re.compile(_CODE)
# A table of such cells, in which an underscore between letters is one; then a list, or not. And items that each hold a
# list. Both are the texts that a record has most of.
_CELL = rf"(?:[^\\`*_<>&~|\t\n!]|(?<=[^\W_])_(?=[^\W_])|{_CODE})*"
_ROWS = rf"(?:\|(?: {_CELL} \|)+\n?)+"
_NOTE = rf"- (?!\d+[.)])[^\W_]{_CELL}(?<!\s)"
_NOTES = rf"{_NOTE}(?:\n{_NOTE})*"
_TABLE = re.compile(
    rf"(?P<head>\|(?: {_CELL} \|)+)\n(?P<rule>\|(?: -{{3,}}:? \|)+)\n(?P<rows>{_ROWS})(?:\n(?P<notes>{_NOTES}))?"
)
_NESTED = re.compile(rf"(?:- {_LINE}\n(?:  - {_LINE}(?:\n|\Z))+)+")


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
    # Most texts of records need no parser, which takes many times as long.
    if _PLAIN.fullmatch(text):
        return visible(f"<p>{_line(text, ids)}</p>\n")
    if _LIST.fullmatch(text):
        items = [f"<li>{_line(item[2:], ids)}</li>\n" for item in text.split("\n")]
        return visible(f"<ul>\n{''.join(items)}</ul>\n")
    if _NESTED.fullmatch(text):
        return visible(_nested(text, ids))
    if "](" not in text and (found := _TABLE.fullmatch(text)) and (table := _table(found, ids)):
        return visible(table)
    return visible(_reader().render(text, {"ids": ids, "pictures": pictures}))


def _nested(text: str, ids: Collection[str]) -> str:
    """HTML of items that each hold a list."""
    made, inner = "<ul>\n", False
    for line in text.removesuffix("\n").split("\n"):
        if line.startswith("- "):
            made += ("</ul>\n</li>\n" if inner else "") + f"<li>{_line(line[2:], ids)}\n<ul>\n"
            inner = True
        else:
            made += f"<li>{_line(line[4:], ids)}</li>\n"
    return made + "</ul>\n</li>\n</ul>\n"


def _table(found: re.Match[str], ids: Collection[str]) -> str:
    """HTML of a table with the notes below it; empty where its rows are not of one length."""
    rows = [row[2:-2].split(" | ") for row in (found["head"], *found["rows"].rstrip("\n").split("\n"))]
    numeric = [_NUMERIC if cell.endswith(":") else "" for cell in found["rule"][2:-2].split(" | ")]
    if {*map(len, rows)} != {len(numeric)}:
        return ""
    head, *body = (
        "".join(
            f"<{tag}{more}>{_line(cell.strip(), ids)}</{tag[:2]}>\n" for cell, more in zip(row, numeric, strict=True)
        )
        for row, tag in zip(rows, ('th scope="col"', *["td"] * (len(rows) - 1)), strict=True)
    )
    table = "".join(f"<tr>\n{row}</tr>\n" for row in body)
    made = f"{_TABLE_OPEN}<thead>\n<tr>\n{head}</tr>\n</thead>\n<tbody>\n{table}</tbody>\n</table></div>\n"
    notes = found["notes"].split("\n") if found["notes"] else []
    items = "".join(f"<li>{_line(item[2:], ids)}</li>\n" for item in notes)
    return made + (f"<ul>\n{items}</ul>\n" if items else "")


def as_inline_html(text: str, ids: Collection[str] = ()) -> str:
    """Markdown of one paragraph as HTML within a line."""
    text = " ".join(without_controls(text).split("\n"))
    if _PLAIN.fullmatch(text):
        return visible(_line(text, ids))
    return visible(_reader().renderInline(text, {"ids": ids}))


def _line(text: str, ids: Collection[str]) -> str:
    """HTML of a line of words and code."""
    made, at = "", 0
    for code in _CODE_IN.finditer(text):
        made += f"{_words(text[at : code.start()], ids)}<code>{escapeHtml(code[0][1:-1])}</code>"
        at = code.end()
    return made + _words(text[at:], ids)


def _words(text: str, ids: Collection[str]) -> str:
    def linked(found: re.Match[str]) -> str:
        return f'<a class="id" href="#{found[0]}">{found[0]}</a>' if found[0] in ids else found[0]

    return _ID.sub(linked, escapeHtml(text))


@cache
def _reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False, "linkify": False, "maxNesting": 20})
    reader.enable(["table", "strikethrough"]).disable(["image", "html_block", "html_inline"])
    reader.validateLink = is_web  # type: ignore[method-assign, assignment]
    reader.core.ruler.push("pictures", _show_pictures)
    reader.core.ruler.push("entries", _link_entries)
    for rule in (_table_open, _table_close, _cell_open, _heading_open, _heading_close, _link_open):
        name = rule.__name__.removeprefix("_")
        for kind in ("th_open", "td_open") if name == "cell_open" else (name,):
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

_Env = MutableMapping[str, Any]
_NUMERIC = ' class="num"'
_TABLE_OPEN = '<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>\n'


def _table_open(self: RendererHTML, tokens: Sequence[Token], at: int, options: Any, env: _Env) -> str:
    # A wide table scrolls by itself; without a mouse, when it has the focus.
    return _TABLE_OPEN


def _table_close(self: RendererHTML, tokens: Sequence[Token], at: int, options: Any, env: _Env) -> str:
    return "</table></div>\n"


def _cell_open(self: RendererHTML, tokens: Sequence[Token], at: int, options: Any, env: _Env) -> str:
    """Columns of numbers have a class: the policy of the page refuses styles in attributes."""
    token = tokens[at]
    numeric = "right" in str(token.attrs.get("style", ""))
    scope = ' scope="col"' if token.tag == "th" else ""
    return f"<{token.tag}{scope}{_NUMERIC if numeric else ''}>"


def _heading_open(self: RendererHTML, tokens: Sequence[Token], at: int, options: Any, env: _Env) -> str:
    # The headings of a page are its own.
    return '<p class="heading">'


def _heading_close(self: RendererHTML, tokens: Sequence[Token], at: int, options: Any, env: _Env) -> str:
    return "</p>\n"


def _link_open(self: RendererHTML, tokens: Sequence[Token], at: int, options: Any, env: _Env) -> str:
    if not str(tokens[at].attrs.get("href", "")).startswith("#"):
        tokens[at].attrSet("rel", "noopener noreferrer nofollow")
    return self.renderToken(tokens, at, options, env)
