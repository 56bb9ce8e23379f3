"""The colours of figures by their role, for a light and a dark theme, and the style sheet that puts them on.

The eight of the series come from the palette of M. Okabe and K. Ito (jfly.uni-koeln.de/color, 2008), which people with
any common colour blindness can tell apart, made darker or lighter until each has a contrast of 3 to 1 against the paper
of its theme (WCAG 2.2, 1.4.11); text has 4.5 to 1.
"""

from __future__ import annotations

from collections.abc import Mapping

SERIES = 8
_COLOURS = {
    "paper": ("#ffffff", "#0d1117"),
    "ink": ("#1f2328", "#e6edf3"),
    "muted": ("#59636e", "#9198a1"),
    "grid": ("#d8dee4", "#30363d"),
    "series-1": ("#0072b2", "#4aa3df"),
    "series-2": ("#d55e00", "#f08339"),
    "series-3": ("#00815f", "#1fb58f"),
    "series-4": ("#b5478f", "#e08cc0"),
    "series-5": ("#8a6a00", "#e3c22f"),
    "series-6": ("#2b86bd", "#9ad1f5"),
    "series-7": ("#5c5c5c", "#b8b8b8"),
    "series-8": ("#7d3c98", "#c397d8"),
}
LIGHT, DARK = ({role: pair[at] for role, pair in _COLOURS.items()} for at in (0, 1))
# A page sets the variables.
PAGE = {role: f"var(--{role})" for role in _COLOURS}
_FONT = "12px 'Segoe UI',Helvetica,Arial,sans-serif"


def rules(colours: Mapping[str, str]) -> str:
    """The style sheet of a picture in these colours. It has no variables, which programs other than browsers lack."""
    of = {f"c{n}": colours[f"series-{n}"] for n in range(1, SERIES + 1)} | {"muted": colours["muted"]}
    return "".join(
        (
            f".plot text{{font:{_FONT};fill:{colours['ink']};stroke:none}}",
            f".plot .title{{font-weight:600;font-size:14px}}.plot .note{{font-size:11px;fill:{colours['muted']}}}",
            f".plot .name{{fill:{colours['muted']}}}.plot .paper{{fill:{colours['paper']}}}",
            *(f".plot .{name}{{fill:{colour};stroke:{colour}}}" for name, colour in of.items()),
            f".plot .grid{{stroke:{colours['grid']}}}.plot .axis{{stroke:{colours['muted']};fill:none}}",
            f".plot .line{{fill:none;stroke-width:1.6}}.plot .hollow{{fill:{colours['paper']};stroke-width:1.4}}",
            f".plot .over{{stroke:{colours['paper']};stroke-width:6;paint-order:stroke}}",
            ".plot .band{fill-opacity:.16;stroke:none}.plot .dots{stroke-width:5;stroke-linecap:round}",
            ".plot .disc{stroke-width:9;stroke-linecap:round}",
        )
    )
