"""A finding in a sentence, written a second time from what the reference of the command line promises."""

from __future__ import annotations

import html
import re
from typing import Any

Data = dict[str, Any]


def sentence(answer: Data, f: Data) -> str:
    """`new has 5.97% more tflops than base (95%: +4.95 to +6.59%; 10 pairs`, up to the number of pairs: those that its
    interval is of."""
    ends, made, judged = f["interval"], f["pairs"], f["judged"] or f["pairs"]
    basis = f"95%: {percent(ends[0], '+')} to {percent(ends[1], '+')}%; " if ends is not None else ""
    pairs = f"{judged} pair{'s' * (judged != 1)}"
    if f["outcome"] == "open" and judged != made:
        pairs = f"{judged} of {made} pair{'s' * (made != 1)}"
    return f"{claim(answer, f)} ({factor(f)}{basis}{pairs}"


def factor(f: Data) -> str:
    """`10.9x as fast; ` of a settled change of three times and more."""
    ratio = 1 + (f["change"] or 0.0)
    if f["outcome"] not in ("better", "worse") or 1 / 3 < ratio < 3:
        return ""
    if f["unit"] != "s":
        return f"{ratio:.3g}x; "
    return f"{1 / ratio:.3g}x as fast; " if ratio < 1 else f"{ratio:.3g}x as long; "


def claim(answer: Data, f: Data) -> str:
    """`new has 5.97% more tflops than base`."""
    side, base, change = f["side"], answer["base"], f["change"]
    case = " at " + ", ".join(f"{k}={v}" for k, v in f["case"].items()) if f["case"] else ""
    least = answer["minimum_effect"]
    if f["outcome"] == "no difference":
        of = f" of {percent(least)}% or more" if least != 0.01 else ""
        return f"{side} and {base} show no difference{of} in {f['metric']}{case}"
    if f["outcome"] == "open":
        of = f" for effects of {percent(least)}% or more" if least != 0.01 else ""
        seen = f", {percent(change, '+')}% so far" if change is not None else ""
        return f"{side} against {base}{case} is open in {f['metric']}{of}{seen}"
    if f["unit"] == "s":
        return f"{side} takes {percent(abs(change))}% {'less' if change < 0 else 'more'} time than {base}{case}"
    words = ("less", "more") if "/" in (f["unit"] or "") else ("lower", "higher")
    return f"{side} has {percent(abs(change))}% {words[change > 0]} {f['metric']} than {base}{case}"


def worse(answer: Data) -> list[str]:
    """What got worse beside the goals, and is said before them."""
    found = [f for f in answer["findings"] if f["watched"] and f["outcome"] == "worse"]
    return [f"{claim(answer, f)} (worse)" for f in found]


def after_first(answer: Data, text: str) -> str:
    """A line about an answer without what comes before any finding; empty where it lacks that."""
    if answer["first"] and not text.startswith(f"{answer['first'][0]}; "):
        return ""
    for said in answer["first"]:
        text = text.removeprefix(f"{said}; ")
    return re.sub(r"^and \d+ more; ", "", text)


def percent(part: float, sign: str = "") -> str:
    value = 100 * part
    if abs(value) < 0.001:
        return "0"
    return f"{value:{sign}.3g}" if abs(value) < 999.5 else f"{value:{sign},.0f}"


def plain(text: str) -> str:
    """Text without the marks of Markdown and HTML."""
    return html.unescape(re.sub(r"<[^>]*>", "", text)).replace("\\", "").replace("**", "")
