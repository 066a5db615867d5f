"""Figures as files: the same bytes each time, in the form that the file's name asks for."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pacelab.errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_INSIDE, MOST_ROWS = 6, 13
"""Names that a legend within axes may have; names one below the other in one that stands beside them."""
LINE_IN, LETTER_IN = 0.6, 0.07
"""Width of a line's sign and of a letter in such a legend."""
MOST_SLOPING = 8
"""Names along an axis that stand side by side sloping; more of them stand upright."""
MOST_LETTERS = 24
"""Of a name in a figure: all of ours have fewer."""
FORMS = ("svg", "png", "pdf")
DPI = 150
_NAMELESS: dict[str, dict[str, None]] = {
    "svg": {"Date": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
"""Metadata left out: dates and versions."""


def check_figure(path: Path) -> None:
    """ConfigError unless the file's name ends with a form that figures have."""
    if path.suffix.removeprefix(".") not in FORMS:
        raise ConfigError(f"--out {str(path)!r}: allowed is a file name that ends with .svg, .png or .pdf")


def figure_bytes(figure: Figure, path: Path) -> bytes:
    """The figure in the form of the file's name."""
    return image(figure, path.suffix.removeprefix("."), dpi=DPI)


def images(figure: Figure, name: str, *, dpi: float) -> dict[str, bytes]:
    """NAME.png and NAME.svg, which has the PNG's layout: to find one takes as long as to draw it."""
    png = image(figure, "png", dpi=dpi)
    figure.set_layout_engine("none")
    return {f"{name}.png": png, f"{name}.svg": image(figure, "svg", dpi=dpi)}


def image(figure: Figure, form: str, *, dpi: float) -> bytes:
    """The figure in this form, drawn once: `savefig` draws all of it a first time where there is a layout to find."""
    from matplotlib import rc_context

    canvas: Any  # its methods have no types
    if form == "png":
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        canvas = FigureCanvasAgg(figure)
    elif form == "svg":
        from matplotlib.backends.backend_svg import FigureCanvasSVG

        canvas = FigureCanvasSVG(figure)
    else:
        from matplotlib.backends.backend_pdf import FigureCanvasPdf

        canvas = FigureCanvasPdf(figure)
    figure.set_dpi(dpi)
    buffer = BytesIO()
    with rc_context({"svg.hashsalt": "pacelab", "svg.fonttype": "path"}):
        getattr(canvas, f"print_{form}")(buffer, metadata=dict(_NAMELESS[form]))
    return buffer.getvalue()


def short(name: str) -> str:
    """A name as it fits a figure: of a long one the middle is left out."""
    half = MOST_LETTERS // 2
    return name if len(name) <= MOST_LETTERS else f"{name[: half - 1]}\N{HORIZONTAL ELLIPSIS}{name[-half:]}"


def name_ticks(ax: Axes, names: Sequence[str]) -> None:
    """Names along the x axis, at 0, 1, 2, ...: those of eight schemes do not fit side by side as they are."""
    slope, place = (25, "top") if len(names) <= MOST_SLOPING else (90, "center")
    ax.set_xticks(range(len(names)), names, rotation=slope, ha="right", va=place, rotation_mode="anchor")


def add_legend(ax: Axes) -> None:
    """What is drawn here: within the axes, or beside them where it would cover what it explains."""
    count = len(ax.get_legend_handles_labels()[1])
    if count <= MOST_INSIDE:
        ax.legend(fontsize="small")
    else:
        ax.legend(fontsize="x-small", loc="upper left", bbox_to_anchor=(1.0, 1.0), ncols=-(-count // MOST_ROWS))


def share_legend(figure: Figure, panels: Sequence[Axes]) -> None:
    """One legend for all of these where each would have its own beside it; the figure grows by it."""
    named = {name: handle for panel in panels for handle, name in zip(*panel.get_legend_handles_labels(), strict=True)}
    if len(named) <= MOST_INSIDE:
        return
    for panel in panels:
        if (legend := panel.get_legend()) is not None:
            legend.remove()
    columns = -(-len(named) // MOST_ROWS)
    width, height = figure.get_size_inches()
    figure.set_size_inches(width + columns * (LINE_IN + LETTER_IN * max(map(len, named))), height)
    figure.legend(named.values(), named, fontsize="x-small", loc="outside right upper", ncols=columns)
