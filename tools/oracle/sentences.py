"""A finding in a sentence, written a second time from what the reference of the command line promises."""

from __future__ import annotations

import html
import re
from typing import Any

Data = dict[str, Any]


def sentence(answer: Data, f: Data) -> str:
    """`new has 5.97% more tflops than base (95%: 4.95 to 6.59%; 8 pairs`, up to the number of pairs."""
    side, base, change = f["side"], answer["base"], f["change"]
    case = " at " + ", ".join(f"{k}={v}" for k, v in f["case"].items()) if f["case"] else ""
    if f["outcome"] == "no difference":
        claim = f"{side} and {base} show no difference in {f['metric']}{case}"
    elif f["outcome"] == "open":
        claim = f"{side} against {base}{case} is open in {f['metric']}"
        claim += (
            f" for effects of {percent(answer['minimum_effect'])}% or more" if answer["minimum_effect"] != 0.01 else ""
        )
        claim += f", {percent(change, '+')}% so far" if change is not None else ""
    elif f["unit"] == "s":
        claim = f"{side} takes {percent(abs(change))}% {'less' if change < 0 else 'more'} time than {base}{case}"
    else:
        words = ("less", "more") if "/" in (f["unit"] or "") else ("lower", "higher")
        claim = f"{side} has {percent(abs(change))}% {words[change > 0]} {f['metric']} than {base}{case}"
    ends = f["interval"]
    basis = ""
    if ends is not None and f["outcome"] in ("better", "worse") and not ends[0] < 0 < ends[1]:
        small, large = (percent(end) for end in sorted(map(abs, ends)))
        basis = f"95%: {'above ' if small == '0' else ''}{small} to {large}%; "
    elif ends is not None:
        basis = f"95%: {percent(ends[0], '+')} to {percent(ends[1], '+')}%; "
    pairs = f["pairs"] if f["outcome"] == "open" else f["judged"]
    return f"{claim} ({basis}{pairs} pair{'s' * (pairs != 1)}"


def percent(part: float, sign: str = "") -> str:
    value = 100 * part
    if abs(value) < 0.001:
        return "0"
    return f"{value:{sign}.3g}" if abs(value) < 999.5 else f"{value:{sign},.0f}"


def plain(text: str) -> str:
    """Text without the marks of Markdown and HTML."""
    return html.unescape(re.sub(r"<[^>]*>", "", text)).replace("\\", "").replace("**", "")
