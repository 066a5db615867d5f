"""A figure with a text that gives the same facts (also for screen readers), and a small table."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence, Set
from html import escape
from typing import TYPE_CHECKING, Any

from pacelab.figures.chart import Chart
from pacelab.figures.figures import image
from pacelab.figures.page import element, script
from pacelab.options.arguments import TEXT, checked, coerce, held, texts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


DPI = 110
"""Labels have 15 pixels and small labels 13, so that they are readable on a projector at 1280x720."""
LONG = 600
"""A longer text is folded, so that a reader who sees the picture need not scroll past the text."""


class Picture:
    """A figure and its text. The text describes the figure to screen readers and is also shown below the figure.

    Shows itself at the end of a notebook's cell. The text of a `folded` picture opens at a click, as a longer one does.
    """

    def __init__(self, drawn: Chart | Figure, text: str, *, folded: bool = False) -> None:
        self._drawn: Chart | bytes = drawn if isinstance(drawn, Chart) else _png(drawn)
        self.text = text
        self._folded = folded

    @property
    def chart(self) -> Chart | None:
        """The figure as data; None for a figure of matplotlib."""
        return self._drawn if isinstance(self._drawn, Chart) else None

    @property
    def png(self) -> bytes:
        """The figure as matplotlib draws it."""
        if isinstance(self._drawn, bytes):
            return self._drawn
        from pacelab.figures.in_matplotlib import draw_chart

        return _png(draw_chart(self._drawn))

    def markup(self) -> str:
        """HTML for a page that has the figures' module."""
        lines = escape(self.text)
        if isinstance(self._drawn, bytes):
            source = b64encode(self._drawn).decode()
            figure = f'<img alt="{lines}" src="data:image/png;base64,{source}" style="max-width:100%">'
        else:
            figure = element(self._drawn, self.text)
        shown = f'<p aria-live="polite" style="line-height:1.4">{lines.replace(chr(10), "<br>")}</p>'
        if self._folded or len(self.text) > LONG:
            shown = f"<details><summary>the same in numbers</summary>{shown}</details>"
        return figure + shown

    def _repr_html_(self) -> str:
        return self.markup() + script()

    def __repr__(self) -> str:
        return f"<picture: {self.text}>"


def _png(figure: Figure) -> bytes:
    """The figure as PNG. The figure is closed: otherwise each change of a slider would keep one more in memory."""
    from matplotlib import pyplot

    png = image(figure, "png", dpi=DPI)
    pyplot.close(figure)
    return png


def _drawn(value: Any) -> Any:
    """A figure or axes of matplotlib. The check does not import matplotlib."""
    if not hasattr(value, "get_figure"):
        raise ValueError("a figure, or the axes that plot_goodput and its like give")
    return value


@checked(drawn=_drawn, text=TEXT)
def picture(drawn: Figure | Axes, text: str) -> Picture:
    """Show a figure (or the one that these axes belong to) with a text that says what it shows."""
    from matplotlib.figure import Figure

    if isinstance(drawn, Figure):
        return Picture(drawn, text)
    figure = drawn.get_figure(root=True)
    assert figure is not None
    return Picture(figure, text)


CELL = ";padding:0.3em 0.6em"
"""The space in a cell of a table. JupyterLab has this space in outputs, but not in the widget of a prediction."""


class Table:
    """Rows under a header. Numbers are aligned right. A float has three significant digits."""

    def __init__(self, header: Sequence[str], rows: Iterable[Iterable[Any]], caption: str = "") -> None:
        self.header = list(coerce("table: header", texts, header))
        told = enumerate(coerce("table: rows", _rows, rows), start=1)
        values = [coerce(f"table: row {number}", self._row, row) for number, row in told]
        self.rows = [[_show(value) for value in row] for row in values]
        self._right = [all(_is_number(row[i]) for row in values) for i in range(len(self.header))]
        self.caption = caption

    def __str__(self) -> str:
        lines = [self.header, *self.rows]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.header))]
        text = "\n".join("  ".join(self._pad(line[i], i, widths[i]) for i in range(len(widths))) for line in lines)
        return f"{text}\n{self.caption}" if self.caption else text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        align = ["right" if right else "left" for right in self._right]
        head = "".join(
            f'<th scope="col" style="text-align:{a}{CELL}">{escape(h)}</th>'
            for a, h in zip(align, self.header, strict=True)
        )
        body = "".join(
            "<tr>"
            + "".join(f'<td style="text-align:{a}{CELL}">{escape(v)}</td>' for a, v in zip(align, row, strict=True))
            + "</tr>"
            for row in self.rows
        )
        caption = f'<caption style="text-align:left">{escape(self.caption)}</caption>' if self.caption else ""
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def _row(self, value: Any) -> tuple[Any, ...]:
        """A row's values; numpy numbers become Python numbers."""
        found = held(value, Set, Mapping)
        if found is None or len(found) != len(self.header):
            raise ValueError(f"a row of {len(self.header)} values, as the header has")
        return found

    def _pad(self, text: str, column: int, width: int) -> str:
        return text.rjust(width) if self._right[column] else text.ljust(width)


def table(header: Sequence[str], rows: Iterable[Iterable[Any]], caption: str = "") -> Table:
    """A table of `rows` under `header`."""
    return Table(header, rows, caption)


def _rows(value: Any) -> tuple[Any, ...]:
    """Rows, from any iterable."""
    found = held(value)
    if found is None:
        raise ValueError("a list of rows")
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _show(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
