"""A small table that reads well in a notebook and as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from html import escape
from typing import Any

from pacelab.options.arguments import held, taken, texts


class Table:
    """Rows under a header. Numbers stand to the right; a float is shown with three significant digits."""

    def __init__(self, header: Sequence[str], rows: Iterable[Iterable[Any]], caption: str = "") -> None:
        self.header = list(taken("table: header", texts, header))
        told = enumerate(taken("table: rows", _rows, rows), start=1)
        values = [taken(f"table: row {number},", self._row, row) for number, row in told]
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
            f'<th scope="col" style="text-align:{a}">{escape(h)}</th>' for a, h in zip(align, self.header, strict=True)
        )
        body = "".join(
            "<tr>"
            + "".join(f'<td style="text-align:{a}">{escape(v)}</td>' for a, v in zip(align, row, strict=True))
            + "</tr>"
            for row in self.rows
        )
        caption = f'<caption style="text-align:left">{escape(self.caption)}</caption>' if self.caption else ""
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def _row(self, value: Any) -> tuple[Any, ...]:
        """A row's values, numpy's as Python's own."""
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
    """Rows, of whatever can be gone through."""
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
