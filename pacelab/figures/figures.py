"""Figures as files, the same bytes each time, in the format of the file name's suffix; and widgets in notebooks."""

from __future__ import annotations

import importlib
import math
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pacelab.console import install, log
from pacelab.errors import ConfigError, HostError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


MOST_INSIDE, MOST_ROWS, MOST_NAMED = 6, 13, 26
"""Maximum entries of a legend inside the axes; entries per column of a legend beside them; maximum entries there."""
LINE_IN, LETTER_IN = 0.6, 0.08
"""Width in inches of a line sample and of a character in such a legend."""
LEAST_PT = 8
"""Minimum font size in a figure that is read at the size of a page."""
MOST_SLOPING = 8
"""Maximum number of slanted names along an axis; more names are vertical."""
SLOPING, UPRIGHT = 25, 90
"""The angles of slanted and vertical names in degrees."""
MOST_LETTERS = 24
"""Maximum length of a name in a figure. All of our names are shorter."""
APART, WIDEST = 0.06, 0.6
"""As a fraction of the distance between two x values: distance between lines, and total width of the lines at one
value.
"""
LAST_RESORT = "Last Resort"
"""matplotlib's fallback font, which has a box for every character."""
MISSING = "figure files need matplotlib, which is not installed; {}"
FORMS = ("svg", "png", "pdf")
DPI = 150
_NAMELESS: dict[str, dict[str, None]] = {
    "svg": {"Date": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
"""Metadata to leave out: dates and versions."""


def require_matplotlib() -> None:
    """Raise HostError with the command that installs matplotlib if it is missing."""
    if find_spec("matplotlib") is None:
        raise HostError(MISSING.format(install("pacelab[figures]")))


def can_draw() -> bool:
    """Whether matplotlib is installed. If it is not, a note says once how to install it."""
    if find_spec("matplotlib") is not None:
        return True
    _say_missing()
    return False


@cache
def _say_missing() -> None:
    log(f"note: no figure was written: {MISSING.format(install('pacelab[figures]'))}")


def check_figure(path: Path) -> None:
    """Raise ConfigError unless the file name has a suffix for figures, or HostError without matplotlib."""
    if path.suffix.removeprefix(".") not in FORMS:
        raise ConfigError(f"--out must be a file name that ends with .svg, .png or .pdf, not {str(path)!r}")
    require_matplotlib()


def figure_bytes(figure: Figure, path: Path) -> bytes:
    """The figure in the format of the file name's suffix."""
    return image(figure, path.suffix.removeprefix("."), dpi=DPI)


def images(figure: Figure, name: str, *, dpi: float) -> dict[str, bytes]:
    """NAME.png and NAME.svg. The SVG has the PNG's layout: computing a layout takes as long as drawing."""
    png = image(figure, "png", dpi=dpi)
    figure.set_layout_engine("none")
    return {f"{name}.png": png, f"{name}.svg": image(figure, "svg", dpi=dpi)}


def image(figure: Figure, form: str, *, dpi: float) -> bytes:
    """The figure in this format, drawn once: `savefig` draws it an additional time to compute a layout."""
    from matplotlib import rc_context

    canvas: Any  # its methods have no type information
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
    find_letters(figure)
    buffer = BytesIO()
    with rc_context({"svg.hashsalt": "pacelab", "svg.fonttype": "path"}):
        getattr(canvas, f"print_{form}")(buffer, metadata=dict(_NAMELESS[form]))
    return buffer.getvalue()


def find_letters(figure: Figure) -> None:
    """Find an installed font for characters that matplotlib's own lacks, such as Chinese; report those that no font
    has.
    """
    from matplotlib.font_manager import fontManager, get_font
    from matplotlib.text import Text

    texts = [text for text in figure.findobj(Text) if isinstance(text, Text) and not text.get_text().isascii()]
    lacking = {
        letter for text in texts for letter in text.get_text() if ord(letter) not in _default_font_characters()
    } - {"\n"}
    families = ["DejaVu Sans"]
    for font in sorted(fontManager.ttflist, key=lambda font: font.name) if lacking else ():
        if font.name.startswith(LAST_RESORT):
            continue
        if has := {letter for letter in lacking if ord(letter) in get_font(font.fname).get_charmap()}:
            families.append(font.name)
            lacking -= has
    if families[1:]:
        for text in texts:
            text.set_fontfamily(families)
    if lacking:
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from ")
        _say_lacking("".join(sorted(lacking)))


@cache
def _default_font_characters() -> frozenset[int]:
    """The characters of matplotlib's own font; cached, since each move of a slider draws a picture."""
    from matplotlib.font_manager import findfont, get_font

    return frozenset(get_font(findfont("DejaVu Sans")).get_charmap())


@cache
def _say_lacking(letters: str) -> None:
    log(
        f"note: no font here has {letters}, so boxes are drawn; install a font with these letters, for example Noto "
        "Sans CJK"
    )


def short(name: str) -> str:
    """A name shortened to fit a figure: the middle of a long name is left out."""
    half = MOST_LETTERS // 2
    return name if len(name) <= MOST_LETTERS else f"{name[: half - 1]}\N{HORIZONTAL ELLIPSIS}{name[-half:]}"


def spread(values: Sequence[float], place: int, count: int) -> list[float]:
    """The x values of line `place` of `count`, shifted a little so that all intervals are visible."""
    steps = [after - before for before, after in pairwise(sorted(set(values)))]
    step = min(steps, default=0.0) * min(APART, WIDEST / count)
    return [value + step * (place - (count - 1) / 2) for value in values]


def apart(values: Sequence[float], texts: Sequence[str], *, letters: int) -> list[tuple[float, str]]:
    """The values with their texts, without those that would overlap the one before them along a linear axis.

    `letters` of a text fit along the axis.
    """
    step = (max(values) - min(values)) * (max(map(len, texts)) + 1) / letters
    kept: list[tuple[float, str]] = []
    for value, text in sorted(zip(values, texts, strict=True)):
        if not kept or value - kept[-1][0] >= step:
            kept.append((float(value), text))
    return kept


def name_ticks(ax: Axes, names: Sequence[str]) -> None:
    """Names along the x axis at 0, 1, 2, ..., slanted or vertical if there are many."""
    slope, place = (SLOPING, "top") if len(names) <= MOST_SLOPING else (UPRIGHT, "center")
    ax.set_xticks(range(len(names)), names, rotation=slope, ha="right", va=place, rotation_mode="anchor")


def add_legend(ax: Axes) -> None:
    """Add a legend: inside the axes, or beside them if it would cover the data."""
    handles, names = ax.get_legend_handles_labels()
    if len(names) <= MOST_INSIDE:
        ax.legend(fontsize="small")
        return
    columns = -(-min(len(names), MOST_NAMED) // MOST_ROWS)
    some = f"the first {MOST_NAMED} of {len(names)}" if len(names) > MOST_NAMED else None
    look: dict[str, Any] = {"fontsize": LEAST_PT, "loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "ncols": columns}
    ax.legend(handles[:MOST_NAMED], names[:MOST_NAMED], title=some, **look)


def set_y_limits(ax: Axes, low: float = 0.0, high: float | None = None) -> None:
    """Set the y axis from `low` to `high`, or to some room above the data: matplotlib leaves none for constant data."""
    top = ax.dataLim.y1
    ax.set_ylim(low, low + 1.05 * (top - low) if high is None and low < top < math.inf else high)


def share_legend(figure: Figure, panels: Sequence[Axes]) -> None:
    """One legend for all axes whose own legends would be beside them. The figure grows by its size."""
    named = {name: handle for panel in panels for handle, name in zip(*panel.get_legend_handles_labels(), strict=True)}
    if len(named) <= MOST_INSIDE:
        return
    for panel in panels:
        if (legend := panel.get_legend()) is not None:
            legend.remove()
    columns = -(-len(named) // MOST_ROWS)
    width, height = figure.get_size_inches()
    figure.set_size_inches(width + columns * (LINE_IN + LETTER_IN * max(map(len, named))), height)
    figure.legend(named.values(), named, fontsize=LEAST_PT, loc="outside right center", ncols=columns)


def show_widget(widget: Any, markup: str) -> Callable[[str], None]:
    """Display a widget. `markup` is what a saved or exported notebook shows instead; the returned function changes it.

    Notebooks are saved without their widgets, so without `markup` a reopened or exported notebook would show nothing.
    """
    display = importlib.import_module("IPython.display")
    mark = f"pacelab-{uuid4().hex}"
    widget.add_class(mark)
    template = Template(files("pacelab.figures").joinpath("kept.html").read_text("utf-8"))

    def kept_html(markup: str) -> str:
        """The HTML that a saved notebook shows. It is hidden while the widget beside it has a kernel."""
        return template.substitute(mark=mark, markup=markup)

    bundle = widget._repr_mimebundle_()
    live = bundle[0] if isinstance(bundle, tuple) else bundle  # anywidget returns its metadata as well
    display.display({**live, "text/plain": "", "text/html": ""}, raw=True)
    kept = display.display(display.HTML(kept_html(markup)), display_id=True)
    return lambda changed: kept.update(display.HTML(kept_html(changed)))
