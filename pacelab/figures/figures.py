"""Figures as files, the same bytes each time, in the form that the file's name asks for; and widgets in notebooks."""

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
"""Names that a legend within axes may have; names one below the other in one that stands beside them; names there."""
LINE_IN, LETTER_IN = 0.6, 0.08
"""Width of a line's sign and of a letter in such a legend."""
LEAST_PT = 8
"""Of letters in a figure that are read at the size of a page."""
MOST_SLOPING = 8
"""Names along an axis that stand side by side sloping; more of them stand upright."""
SLOPING, UPRIGHT = 25, 90
"""The angles of these names, degrees."""
MOST_LETTERS = 24
"""Of a name in a figure: all of ours have fewer."""
APART, WIDEST = 0.06, 0.6
"""Of the way from one place on the x axis to the next: from line to line, and all lines of a place together at most."""
LAST_RESORT = "Last Resort"
"""matplotlib's own, which has a box for every letter."""
MISSING = "figure files need matplotlib, which is not installed; {}"
FORMS = ("svg", "png", "pdf")
DPI = 150
_NAMELESS: dict[str, dict[str, None]] = {
    "svg": {"Date": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
"""Metadata left out: dates and versions."""


def require_matplotlib() -> None:
    """HostError with the command that installs matplotlib, if it is missing."""
    if find_spec("matplotlib") is None:
        raise HostError(MISSING.format(install("pacelab[figures]")))


def can_draw() -> bool:
    """Whether matplotlib is installed. If not, a note says once how to get the figures."""
    if find_spec("matplotlib") is not None:
        return True
    _say_missing()
    return False


@cache
def _say_missing() -> None:
    log(f"note: no figure was written: {MISSING.format(install('pacelab[figures]'))}")


def check_figure(path: Path) -> None:
    """ConfigError unless the file's name ends with a form that figures have; HostError without matplotlib."""
    if path.suffix.removeprefix(".") not in FORMS:
        raise ConfigError(f"--out must be a file name that ends with .svg, .png or .pdf, not {str(path)!r}")
    require_matplotlib()


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
    find_letters(figure)
    buffer = BytesIO()
    with rc_context({"svg.hashsalt": "pacelab", "svg.fonttype": "path"}):
        getattr(canvas, f"print_{form}")(buffer, metadata=dict(_NAMELESS[form]))
    return buffer.getvalue()


def find_letters(figure: Figure) -> None:
    """Of what matplotlib's own font lacks, as Chinese names, take what an installed one has; say what none has."""
    from matplotlib.font_manager import fontManager, get_font
    from matplotlib.text import Text

    texts = [text for text in figure.findobj(Text) if isinstance(text, Text) and not text.get_text().isascii()]
    lacking = {letter for text in texts for letter in text.get_text() if ord(letter) not in _usual()} - {"\n"}
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
def _usual() -> frozenset[int]:
    """What matplotlib's own font has; asked once, as each move of a slider draws a picture."""
    from matplotlib.font_manager import findfont, get_font

    return frozenset(get_font(findfont("DejaVu Sans")).get_charmap())


@cache
def _say_lacking(letters: str) -> None:
    log(
        f"note: no font here has {letters}, so boxes are drawn; install a font with these letters, for example Noto "
        "Sans CJK"
    )


def short(name: str) -> str:
    """A name as it fits a figure: of a long one the middle is left out."""
    half = MOST_LETTERS // 2
    return name if len(name) <= MOST_LETTERS else f"{name[: half - 1]}\N{HORIZONTAL ELLIPSIS}{name[-half:]}"


def beside(values: Sequence[float], place: int, count: int) -> list[float]:
    """Where the line at `place` of `count` has its points: a little beside the values, for all intervals to be seen."""
    steps = [after - before for before, after in pairwise(sorted(set(values)))]
    step = min(steps, default=0.0) * min(APART, WIDEST / count)
    return [value + step * (place - (count - 1) / 2) for value in values]


def name_ticks(ax: Axes, names: Sequence[str]) -> None:
    """Names along the x axis, at 0, 1, 2, ...: those of eight schemes do not fit side by side as they are."""
    slope, place = (SLOPING, "top") if len(names) <= MOST_SLOPING else (UPRIGHT, "center")
    ax.set_xticks(range(len(names)), names, rotation=slope, ha="right", va=place, rotation_mode="anchor")


def add_legend(ax: Axes) -> None:
    """What is drawn here: within the axes, or beside them where it would cover what it explains."""
    handles, names = ax.get_legend_handles_labels()
    if len(names) <= MOST_INSIDE:
        ax.legend(fontsize="small")
        return
    columns = -(-min(len(names), MOST_NAMED) // MOST_ROWS)
    some = f"the first {MOST_NAMED} of {len(names)}" if len(names) > MOST_NAMED else None
    look: dict[str, Any] = {"fontsize": LEAST_PT, "loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "ncols": columns}
    ax.legend(handles[:MOST_NAMED], names[:MOST_NAMED], title=some, **look)


def rise(ax: Axes, low: float = 0.0, high: float | None = None) -> None:
    """The y axis, from `low` to `high` or to some room above the data: of what is flat matplotlib leaves none."""
    top = ax.dataLim.y1
    ax.set_ylim(low, low + 1.05 * (top - low) if high is None and low < top < math.inf else high)


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
    figure.legend(named.values(), named, fontsize=LEAST_PT, loc="outside right center", ncols=columns)


def show_widget(widget: Any, markup: str) -> Callable[[str], None]:
    """Display a widget; `markup` is what a saved or exported notebook has of it, and what is returned changes that.

    Notebooks are saved without their widgets: opened again or exported, they would show none of it.
    """
    display = importlib.import_module("IPython.display")
    mark = f"pacelab-{uuid4().hex}"
    widget.add_class(mark)
    template = Template(files("pacelab.figures").joinpath("kept.html").read_text("utf-8"))

    def kept_html(markup: str) -> str:
        """What a saved notebook shows. It is hidden as long as the widget beside it has a kernel."""
        return template.substitute(mark=mark, markup=markup)

    bundle = widget._repr_mimebundle_()
    live = bundle[0] if isinstance(bundle, tuple) else bundle  # anywidget's has its metadata beside it
    display.display({**live, "text/plain": "", "text/html": ""}, raw=True)
    kept = display.display(display.HTML(kept_html(markup)), display_id=True)
    return lambda changed: kept.update(display.HTML(kept_html(changed)))
