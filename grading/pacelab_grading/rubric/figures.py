"""Small SVG pictures for reports, without scripts or external files. Labels repeat what colours show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

WIDTH = 520
ROW = 22
LEFT = 120
FILLS = ("#8a8f98", "#1f6fb2", "#b2541f")
NS_PER_MS = 1e6


def bars(rows: Mapping[str, tuple[float, ...]], series: Sequence[str], unit: str) -> str:
    """Horizontal bars with values: in each row, one bar per series."""
    top = max((value for values in rows.values() for value in values), default=0.0) or 1.0
    body, y = [], 24
    for row, values in rows.items():
        body.append(_text(LEFT - 8, y + 8 * len(values), row, anchor="end"))
        for number, value in enumerate(values):
            width = max(1.0, value / top * (WIDTH - LEFT - 150))
            body.append(f'<rect x="{LEFT}" y="{y}" width="{width:.1f}" height="12" fill="{FILLS[number % 3]}"/>')
            body.append(_text(LEFT + width + 6, y + 11, f"{series[number]} {value:.4g}"))
            y += 15
        y += 9
    described = "; ".join(
        f"{row}: " + ", ".join(f"{name} {value:.4g}" for name, value in zip(series, values, strict=True))
        for row, values in rows.items()
    )
    return _svg(unit, described, body, y)


def timeline(rows: Mapping[str, Sequence[int]], title: str) -> str:
    """Times (in ns) as marks, one line per row."""
    moments = [at for row in rows.values() for at in row]
    first, last = min(moments, default=0), max(moments, default=1)
    scale = (WIDTH - LEFT - 30) / max(1, last - first)
    body, y = [], 28
    for name, times in rows.items():
        body.append(_text(LEFT - 8, y + 10, name, anchor="end"))
        body.append(f'<line x1="{LEFT}" y1="{y + 14}" x2="{WIDTH - 20}" y2="{y + 14}" stroke="#ccc"/>')
        for at in times[:200]:
            x = LEFT + (at - first) * scale
            body.append(
                f'<line x1="{x:.1f}" y1="{y}" x2="{x:.1f}" y2="{y + 14}" stroke="{FILLS[1]}" stroke-width="2"/>'
            )
        y += ROW + 6
    body.append(_text(LEFT, y + 6, f"{first / NS_PER_MS:g} ms"))
    body.append(_text(WIDTH - 20, y + 6, f"{last / NS_PER_MS:g} ms", anchor="end"))
    described = "; ".join(
        f"{name}: " + (", ".join(f"{at / NS_PER_MS:g}" for at in times[:20]) or "none") + " ms"
        for name, times in rows.items()
    )
    return _svg(title, described, body, y + 14)


def histogram(scores: Sequence[float], *, top: float, bins: int = 10) -> str:
    """The number of scores in each of equal bins up to `top`, which belongs to the last bin."""
    counts = [0] * bins
    for score in scores:
        counts[min(bins - 1, max(0, int(score / top * bins)))] += 1
    high = max(counts, default=0) or 1
    width = (WIDTH - 60) / bins
    body = []
    for number, count in enumerate(counts):
        height = 120 * count / high
        x = 40 + number * width
        size = f'width="{width - 4:.1f}" height="{height:.1f}"'
        body.append(f'<rect x="{x:.1f}" y="{150 - height:.1f}" {size} fill="{FILLS[1]}"/>')
        body.append(_text(x + width / 2 - 2, 146 - height, str(count), anchor="middle"))
        body.append(_text(x + width / 2 - 2, 166, f"{number * top / bins:g}", anchor="middle"))
    ranges = ", ".join(f"{number * top / bins:g}+: {count}" for number, count in enumerate(counts))
    return _svg(f"scores of {len(scores)} submissions, in points", ranges, body, 176)


def _svg(title: str, described: str, body: Sequence[str], height: float) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" '
        f'font-family="sans-serif" font-size="11"><title>{escape(title)}</title><desc>{escape(described)}</desc>'
        f"{_text(8, 14, title)}{''.join(body)}</svg>"
    )


def _text(x: float, y: float, text: str, *, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
