"""Figures as files: the same bytes each time, in the form that the file's name asks for."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pacelab.errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": "pacelab", "svg.fonttype": "path"}):
        return image(figure, path.suffix.removeprefix("."), dpi=DPI)


def image(figure: Figure, form: str, *, dpi: float) -> bytes:
    """The figure in this form, drawn once: `savefig` draws all of it a first time where there is a layout to find."""
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
    getattr(canvas, f"print_{form}")(buffer, metadata=dict(_NAMELESS[form]))
    return buffer.getvalue()
