"""A figure with controls: each change draws it anew, in well under a second.

The figure is an image with a text beside it that says the same in numbers (it is the image's alternative text, too), so
that nothing is told by the picture alone. Errors in the drawing function appear in the figure's place, in one line.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from html import escape
from typing import Any

from pacelab.console import Interrupted
from pacelab.errors import ConfigError, PaceLabError
from pacelab.lab.controls import Control
from pacelab.lab.picture import Picture
from pacelab.lab.screen import show, widgets
from pacelab.options.arguments import an, checked, function, taken
from pacelab.show.kept_widget import show_widget

Draw = Callable[..., Picture]
"""Takes the controls' values by name."""
_A_PICTURE = an(Picture, "a picture, as lab.series, lab.curves or lab.picture gives it, and `return` before it")
STALE = (
    '<p role="alert"><b>This figure stands still: the kernel that drew it has ended. '
    "Run this cell again, after those above it.</b></p>"
)
NO_CONTROLS = "<p>No controls: <code>make notebooks</code> installs ipywidgets.</p>"


class Exploration:
    """A drawing function with its controls. Shows itself at the end of a notebook's cell."""

    def __init__(self, draw: Draw, controls: dict[str, Control]) -> None:
        self._draw = draw
        self._controls = controls
        self._html: Any = None
        self._keep: Callable[[str], None] = lambda _markup: None
        self.values = {name: control.start for name, control in controls.items()}
        """The controls' values."""
        self.text = ""
        """What the figure shows, in words; of a drawing that failed, the reason."""
        self.seconds: list[float] = []
        """How long each drawing took, from the change of a control to the finished image."""
        self.processor_s: list[float] = []
        """The same in processor time, whatever else the computer does."""
        self._markup = ""
        self._redraw()

    def set(self, **values: Any) -> str:
        """Set controls by name, as moving them would; returns the figure's text."""
        for name, value in values.items():
            if name not in self._controls:
                raise ConfigError(f"control {name!r}: allowed is one of {', '.join(self._controls)}")
            if value not in self._controls[name].values:
                allowed = self._controls[name].values
                raise ConfigError(f"{name}={value!r}: allowed is one of {', '.join(map(str, allowed))}")
        self.values |= values
        self._redraw()
        return self.text

    def _redraw(self) -> None:
        started, begun_s = time.perf_counter(), time.process_time()
        try:
            picture = taken("the drawing function gave", _A_PICTURE, self._draw(**self.values))
            self.text, self._markup = picture.text, picture._repr_html_()
        except KeyboardInterrupt:
            raise Interrupted("the figure") from None
        except PaceLabError as error:
            self._failed(str(error))
        except Exception as error:
            self._failed(f"the drawing function raised {type(error).__name__}: {error}")
        if self._html is not None:
            self._html.value = self._markup
            self._keep(self._still())
        self.seconds.append(time.perf_counter() - started)
        self.processor_s.append(time.process_time() - begun_s)

    def _changed(self, name: str, value: Any) -> None:
        self.set(**{name: value})

    def _failed(self, why: str) -> None:
        self.text = f"Not drawn: {why}"
        self._markup = f'<p role="alert" style="white-space:pre-wrap"><b>{escape(self.text)}</b></p>'

    def _still(self) -> str:
        places = "; ".join(
            f"{control.label}: {control.told(self.values[name])}" for name, control in self._controls.items()
        )
        return f"{STALE}<p>{escape(places)}</p>{self._markup}"

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value}" for name, value in self.values.items())
        return f"<{shown}: {self.text}>"

    def _ipython_display_(self) -> None:
        ipywidgets = widgets()
        if ipywidgets is None:
            show(self._markup + NO_CONTROLS)
            return
        self._html = ipywidgets.HTML(self._markup, layout={"max_width": "100%"})
        boxes = [
            control.widget(partial(self._changed, name), self.values[name]) for name, control in self._controls.items()
        ]
        self._keep = show_widget(ipywidgets.VBox([*boxes, self._html]), self._still())


@checked(draw=function)
def explore(draw: Draw, **controls: Control) -> Exploration:
    """Show what `draw` draws, with a control for each of its parameters (see `lab.slide`, `choice`, `switch`).

    `draw` takes the values by name and returns a picture (see `lab.picture` and the ready-made ones).
    """
    for name, control in controls.items():
        if not isinstance(control, Control):
            raise ConfigError(
                f"explore: {name}={control!r:.60}: allowed is what lab.slide, lab.choice or lab.switch makes, "
                f"as {name}=lab.slide({name!r}, 1, 5, start=1)"
            )
    return Exploration(draw, controls)
