"""Curves as inline SVG. The page's style sheet colours them, so they follow light, dark and print."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

import numpy as np
from jaxtyping import Int64

WIDTH, HEIGHT = 460, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 26, 12, 46

# Eight colours that colour-blind readers can distinguish; markers and dashes differ too.
COLOURS, _DASHES = 8, ("", "6 3", "2 3")
WORST = -1
"""The style of the worst case over all curves: a wide line without marks."""
_MARKERS = (
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    "M-3.5-3.5h7v7h-7z",
    "M0-5 5 0 0 5-5 0z",
    "M0-4.5 4.5 4h-9z",
    "M0 4.5 4.5-4h-9z",
    "M-1.5-4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z",
    "M-4.5-2.5-2.5-4.5 0-2 2.5-4.5 4.5-2.5 2 0 4.5 2.5 2.5 4.5 0 2-2.5 4.5-4.5 2.5-2 0z",
    "M0-5 1.5-1.5 5 0 1.5 1.5 0 5-1.5 1.5-5 0-1.5-1.5z",
)


@dataclass(frozen=True)
class Point:
    """A point of a curve, with its interval where it has one."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Series:
    """A curve, and the number of its style (colour, marker and dash); a quiet one is faint until it is chosen."""

    name: str
    style: int
    points: tuple[Point, ...]
    quiet: bool = False


def curves(series: Sequence[Series], *, x_label: str, y_label: str, log_x: bool = False, title: str) -> str:
    """Curves of percentages over whole budgets, or over costs on a logarithmic axis."""
    xs = [point.x for one in series for point in one.points]
    if not xs:
        return ""
    if log_x:
        first, last = floor(log10(min(xs))), max(ceil(log10(max(xs))), floor(log10(min(xs))) + 1)
        ticks = [(10.0**k, f"{10**k:,}") for k in range(first, last + 1)]
    else:
        whole = sorted({int(x) for x in xs})
        step = max(1, ceil(len(whole) / 10))
        ticks = [(float(x), str(x)) for x in whole[::step]]
    low, high = (ticks[0][0], ticks[-1][0]) if log_x else (min(xs), max(xs))

    def x_of(value: float) -> float:
        a, b, v = (log10(low), log10(high), log10(value)) if log_x else (low - 0.3, high + 0.3, value)
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * (v - a) / (b - a)

    def y_of(value: float) -> float:
        return _TOP + (HEIGHT - _TOP - _BOTTOM) * (1 - value)

    parts = [_open(title)]
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = y_of(share)
        parts.append(f'<path class="grid" d="M{_LEFT} {y:.1f}H{WIDTH - _RIGHT}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{100 * share:.0f}</text>')
    for value, text in ticks:
        x = x_of(value)
        parts.append(f'<path class="tick" d="M{x:.1f} {y_of(0.0):.1f}v5"/>')
        parts.append(f'<text x="{x:.1f}" y="{y_of(0.0) + 18:.1f}" text-anchor="middle">{text}</text>')
    middle = (_LEFT + WIDTH - _RIGHT) / 2
    parts.append(f'<text x="{middle:.0f}" y="{HEIGHT - 8}" text-anchor="middle">{escape(x_label)}</text>')
    parts.append(
        f'<text transform="translate(11 {y_of(0.5):.0f}) rotate(-90)" text-anchor="middle">{escape(y_label)}</text>'
    )
    for place, one in enumerate(sorted(series, key=lambda one: not one.quiet)):  # quiet ones lie below
        if not one.points:
            continue
        # Whiskers at equal budgets would overlap: shift the curves a little.
        shift = 0.0 if log_x else 2.2 * (place - (len(series) - 1) / 2)
        parts.append(_curve(one, [(x_of(p.x) + shift, p) for p in one.points], y_of))
    return "".join([*parts, "</svg>"])


def _curve(series: Series, points: Sequence[tuple[float, Point]], y_of: Callable[[float], float]) -> str:
    line = "L".join(f"{x:.1f} {y_of(p.y):.1f}" for x, p in points)
    bars = "".join(
        f"M{x:.1f} {y_of(p.low):.1f}V{y_of(p.high):.1f}" for x, p in points if p.low is not None and p.high is not None
    )
    marks = "".join(
        f'<path class="mark" transform="translate({x:.1f} {y_of(p.y):.1f})" d="{marker(series.style)}">'
        f"<title>{escape(f'{series.name}: {p.note}')}</title></path>"
        for x, p in points
    )
    whiskers = f'<path class="whisker" d="{bars}"/>' if bars else ""
    kind = "worst" if series.style == WORST else f"c{series.style % COLOURS}"
    quiet = " quiet" if series.quiet else ""
    return (
        f'<g class="series {kind}{quiet}" data-series="{series.style}">{whiskers}'
        f'<path class="line" d="M{line}"{dash(series.style)}/>{marks}</g>'
    )


def marker(style: int) -> str:
    """The outline of a curve's marks."""
    return _MARKERS[(style + style // COLOURS) % len(_MARKERS)]


def dash(style: int) -> str:
    """The SVG attribute that dashes a curve's line."""
    if style == WORST:
        return ""
    pattern = _DASHES[style // COLOURS % len(_DASHES)]
    return f' stroke-dasharray="{pattern}"' if pattern else ""


def swatch(style: int) -> str:
    """A piece of a curve, for the legend."""
    if style == WORST:
        line = '<path class="line" d="M-15 0H15"/>'
        return f'<svg class="swatch worst" viewBox="-15 -7 30 14" aria-hidden="true">{line}</svg>'
    return (
        f'<svg class="swatch c{style % COLOURS}" viewBox="-15 -7 30 14" aria-hidden="true">'
        f'<path class="line" d="M-15 0H15"{dash(style)}/><path class="mark" d="{marker(style)}"/></svg>'
    )


def positions(counts: Int64[np.ndarray, "features"], names: Sequence[str], *, title: str) -> str:
    """A bar for each position of a sequence: how often it was changed."""
    most = max(1, int(counts.max()))
    width, height = 920, 150
    step = (width - 50) / len(counts)
    parts = [_open(title, width, height)]
    for share in (0, 0.5, 1):
        y = 10 + 105 * (1 - share)
        parts.append(f'<path class="grid" d="M44 {y:.1f}H{width - 6}"/>')
        parts.append(f'<text x="38" y="{y + 4:.1f}" text-anchor="end">{share * most:,.0f}</text>')
    for i, (count, name) in enumerate(zip(counts.tolist(), names, strict=True)):
        tall = 105 * count / most
        if count:
            parts.append(
                f'<rect class="fill" x="{44 + i * step:.2f}" y="{115 - tall:.1f}" width="{max(0.6, 0.8 * step):.2f}" '
                f'height="{tall:.1f}"><title>{escape(name)}: {count:,}</title></rect>'
            )
    every = next(n for n in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10**9) if len(counts) / n <= 16)
    numbers = [
        f'<text x="{44 + (i + 0.4) * step:.1f}" y="134" text-anchor="middle">{i + 1}</text>'
        for i in range(len(counts))
        if i == 0 or (i + 1) % every == 0
    ]
    return "".join([*parts, *numbers, "</svg>"])


def _open(title: str, width: int = WIDTH, height: int = HEIGHT) -> str:
    return f'<svg class="chart" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title)}">'
