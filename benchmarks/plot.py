"""Throughput as a drawing: panels of lines over a linear axis, events per second on a logarithmic one; plain SVG."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

WIDTH, HEIGHT = 380, 300  # of a panel, with its labels
LEFT, RIGHT, TOP, BOTTOM = 58, 16, 34, 46  # around the lines
LEGEND, CAPTION = 26, 26
COLOURS = ("#222222", "#0072b2", "#009e73", "#d55e00", "#8c6bb1")
DASHES = ("", "", "6 3", "2 3", "")
MARK = 3.5


@dataclass(frozen=True)
class Line:
    name: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Panel:
    title: str
    axis: str
    lines: Sequence[Line]


def drawing(panels: Sequence[Panel], caption: str) -> str:
    """The panels side by side on one scale, the legend above, the caption below."""
    values = [y for panel in panels for line in panel.lines for _, y in line.points]
    decades = floor(log10(min(values))), max(ceil(log10(max(values))), floor(log10(min(values))) + 1)
    names = list(dict.fromkeys(line.name for panel in panels for line in panel.lines))
    width, height = WIDTH * len(panels), LEGEND + HEIGHT + CAPTION
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        *_legend(names),
    ]
    for place, panel in enumerate(panels):
        parts += [f'<g transform="translate({place * WIDTH},{LEGEND})">', *_panel(panel, decades, names), "</g>"]
    parts += [_text(LEFT / 2, height - 9, caption, anchor="start", size=11), "</svg>"]
    return "\n".join(parts) + "\n"


def _legend(names: Sequence[str]) -> list[str]:
    parts, x = [], LEFT
    for number, name in enumerate(names):
        parts.append(f'<path d="M{x} 14h26" {_stroke(number)}/>')
        parts += [_mark(x + 13, 14, number), _text(x + 32, 18, name, anchor="start")]
        x += 56 + 7 * len(name)
    return parts


def _panel(panel: Panel, decades: tuple[int, int], names: Sequence[str]) -> list[str]:
    places = sorted({x for line in panel.lines for x, _ in line.points})
    first, last = places[0], places[-1]
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM

    def across(x: float) -> float:
        return LEFT + 8 + (x - first) / ((last - first) or 1) * (right - LEFT - 16)

    def down(y: float) -> float:
        return bottom - (log10(y) - decades[0]) / (decades[1] - decades[0]) * (bottom - TOP)

    parts = [
        f'<path d="M{LEFT} {TOP}V{bottom}H{right}" fill="none" stroke="black"/>',
        _text((LEFT + right) / 2, TOP - 12, panel.title, weight="bold"),
        _text((LEFT + right) / 2, HEIGHT - 10, panel.axis),
        _text(LEFT - 44, TOP - 12, "events/s", anchor="start", size=11),
    ]
    for decade in range(decades[0], decades[1] + 1):
        y = down(10.0**decade)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{right}" stroke="#dddddd"/>')
        parts.append(_text(LEFT - 6, y + 4, _power(decade), anchor="end"))
    free = LEFT - 30.0  # labels that would touch the one before are left out
    for x in places:
        parts.append(f'<path d="M{across(x):.1f} {bottom}v4" stroke="black"/>')
        if across(x) - free >= 26:
            parts.append(_text(across(x), bottom + 17, f"{x:.1f}".removesuffix(".0")))
            free = across(x)
    for line in panel.lines:
        number = names.index(line.name)
        path = " ".join(f"{across(x):.1f},{down(y):.1f}" for x, y in line.points)
        parts.append(f'<polyline points="{path}" {_stroke(number)}/>')
        parts += [_mark(across(x), down(y), number) for x, y in line.points]
    return parts


def _power(decade: int) -> str:
    value = 10**decade
    return f"{value // 10**6} M" if value >= 10**6 else f"{value // 10**3} k" if value >= 10**3 else str(value)


def _stroke(number: int) -> str:
    dash = DASHES[number % len(DASHES)]
    return (
        f'fill="none" stroke="{COLOURS[number % len(COLOURS)]}" stroke-width="1.6" stroke-dasharray="{dash or "none"}"'
    )


def _mark(x: float, y: float, number: int) -> str:
    """Shapes as well as colours tell lines apart."""
    colour = COLOURS[number % len(COLOURS)]
    if number % 2:
        side = 2 * MARK
        return f'<rect x="{x - MARK:.1f}" y="{y - MARK:.1f}" width="{side}" height="{side}" fill="{colour}"/>'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{MARK}" fill="{colour}"/>'


def _text(x: float, y: float, text: str, *, anchor: str = "middle", size: int = 12, weight: str = "normal") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {place} font-size="{size}" font-weight="{weight}">{escape(text)}</text>'
