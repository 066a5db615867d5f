"""A figure with the text that says the same: its alternative text, and what is read below it."""

from __future__ import annotations

from base64 import b64encode
from html import escape
from typing import TYPE_CHECKING, Any

from pacelab.options.arguments import a_text, checked
from pacelab.show.figures import image

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 110
"""Labels of 15 pixels, small ones of 13: to be read where a notebook is projected at 1280x720."""
LONG = 600
"""A text of more characters is folded away: who sees the picture need not scroll past it."""


class Picture:
    """A drawn figure and its text. Shows itself at the end of a notebook's cell."""

    def __init__(self, figure: Figure, text: str) -> None:
        from matplotlib import pyplot

        self.png = image(figure, "png", dpi=DPI)
        pyplot.close(figure)  # else each change of a slider would keep one more figure
        self.text = text

    def _repr_html_(self) -> str:
        lines = escape(self.text)
        source = b64encode(self.png).decode()
        image = f'<img alt="{lines}" src="data:image/png;base64,{source}" style="max-width:100%">'
        shown = f'<p aria-live="polite" style="line-height:1.4">{lines.replace(chr(10), "<br>")}</p>'
        if len(self.text) > LONG:
            shown = f"<details><summary>the same in numbers</summary>{shown}</details>"
        return image + shown

    def __repr__(self) -> str:
        return f"<picture: {self.text}>"


def _drawn(value: Any) -> Any:
    """A figure or axes of matplotlib's, which need not be loaded for this."""
    if not hasattr(value, "get_figure"):
        raise ValueError("a figure, or the axes that plot_topology and its like give")
    return value


@checked(drawn=_drawn, text=a_text)
def picture(drawn: Figure | Axes, text: str) -> Picture:
    """Show a figure (or the one that these axes belong to) with a text that says what it shows."""
    from matplotlib.figure import Figure

    if isinstance(drawn, Figure):
        return Picture(drawn, text)
    figure = drawn.get_figure(root=True)
    assert figure is not None
    return Picture(figure, text)
