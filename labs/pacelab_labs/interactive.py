"""The interactive parts of a notebook: figures with controls, and predictions to make before a run.

Each change of a control redraws the figure in well under a second. A text beside the figure gives the same numbers and
is the image's alternative text, so that no fact is in the picture alone. If the drawing function raises an error, one
line replaces the figure. A prediction offers ranges, and the run's measured number decides which range was right.
IPython and ipywidgets are imported only when something is shown.
"""

from __future__ import annotations

import importlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from html import escape
from itertools import count
from pathlib import Path
from typing import Any

from pacelab.console import Interrupted
from pacelab.domains import Real
from pacelab.errors import ConfigError, PaceLabError
from pacelab.figures.figures import show_widget
from pacelab.figures.page import module, script
from pacelab.options import arguments
from pacelab.options.arguments import NUMBER, TEXT, checked, coerce, function, instance_of, taken
from pacelab_labs.picture import Picture
from pacelab_labs.progress import progress_shown_by


def widgets() -> Any:
    """The package ipywidgets, or None if it (or anywidget) is not installed."""
    try:
        importlib.import_module("anywidget")
        return importlib.import_module("ipywidgets")
    except ImportError:
        return None


def slider(label: str, texts: Sequence[str], index: int, changed: Callable[[int], None]) -> Any:
    """A slider over the positions in `texts`. A screen reader finds no name in the slider of ipywidgets."""
    made = _slider_class()(label=label, texts=list(texts), index=index)
    made.observe(lambda change: changed(change["new"]), names="index")
    return made


@cache
def _slider_class() -> Any:
    anywidget, traitlets = importlib.import_module("anywidget"), importlib.import_module("traitlets")
    members = {
        "_esm": (Path(__file__).parent / "slider.js").read_text(encoding="utf-8"),
        "label": traitlets.Unicode().tag(sync=True),
        "texts": traitlets.List().tag(sync=True),
        "index": traitlets.Int().tag(sync=True),
    }
    return type("Slider", (anywidget.AnyWidget,), members)


def live_html(html: str) -> Any:
    """A widget that shows the HTML in its trait `html`, and draws the figures in the HTML."""
    return _html_class()(html=html)


@cache
def _html_class() -> Any:
    anywidget, traitlets = importlib.import_module("anywidget"), importlib.import_module("traitlets")
    return type("LiveHtml", (anywidget.AnyWidget,), {"_esm": module(), "html": traitlets.Unicode().tag(sync=True)})


def show(markup: str) -> None:
    """Display a text of HTML."""
    display = importlib.import_module("IPython.display")
    display.display(display.HTML(markup))


# Controls are described without a widget, so that tests need no browser.

MOST_PLACES = 10_000
"""The most positions of a slider; nobody can find a value among more."""


@dataclass(frozen=True, slots=True)
class Control:
    """One control: its label, its possible values, and `start`, the value shown first."""

    label: str
    values: tuple[Any, ...]
    start: Any
    kind: str
    """"slide", "choice" or "switch"."""

    def widget(self, changed: Callable[[Any], None], value: Any) -> Any:
        """The control on the screen, showing `value`; it calls `changed` with each new value."""
        if self.kind == "slide":
            texts = [self.told(each) for each in self.values]
            return slider(self.label, texts, self.values.index(value), lambda at: changed(self.values[at]))
        ipywidgets = widgets()
        # No ellipsis: a label must be readable whole, at any width of the page.
        look = {"description": self.label, "style": {"description_width": "15em"}, "layout": {"width": "36em"}}
        options = [(self.told(each), each) for each in self.values]
        box = ipywidgets.Dropdown(options=options, value=value, **look)
        box.observe(lambda change: changed(change["new"]), names="value")
        return box

    def told(self, value: Any) -> str:
        """A value as the control shows it."""
        if self.kind == "switch":
            return "on" if value else "off"
        return f"{value:g}" if isinstance(value, float) else str(value)


@checked(
    label=TEXT,
    low=NUMBER,
    high=NUMBER,
    step=Real(0, 1_000_000_000, above=True),
    start=NUMBER,
)
def slide(label: str, low: float, high: float, *, step: float = 1, start: float) -> Control:
    """A slider from `low` to `high` in steps of `step`; the label says the unit."""
    whole = all(float(number).is_integer() for number in (low, high, step))
    if not (low < high and low <= start <= high):
        raise ConfigError(
            f"slide {label!r}: from {low} to {high}, start {start}: low must be below high, "
            "and start must lie between them"
        )
    if (high - low) / step > MOST_PLACES:
        raise ConfigError(
            f"slide {label!r}: from {low} to {high} in steps of {step}: must be at most {MOST_PLACES} steps"
        )
    values: list[float] = []
    for place in count():
        value = low + place * step
        if value > high + 1e-9 * step:
            break
        values.append(int(value) if whole else round(value, 9))
    first = min(values, key=lambda value: abs(value - start))
    return Control(label, tuple(values), first, "slide")


@checked(label=TEXT, values=arguments.listed)
def choice(label: str, values: Sequence[Any], *, start: Any = None) -> Control:
    """One of `values` by name; the default is the first."""
    if start is not None and start not in values:
        raise ConfigError(f"choice {label!r}: start must be one of {', '.join(map(str, values))}, not {start!r}")
    return Control(label, tuple(values), values[0] if start is None else start, "choice")


@checked(label=TEXT, start=arguments.switch)
def switch(label: str, *, start: bool) -> Control:
    """A switch: on or off."""
    return Control(label, (True, False), start, "switch")


# A figure with controls.

Draw = Callable[..., Picture]
"""Takes the controls' values by name."""
_A_PICTURE = instance_of(
    Picture, "a picture, as lab.series, lab.curves or lab.picture gives it, and `return` before it"
)
STALE = (
    '<p role="alert"><b>This figure no longer reacts: its kernel has ended. '
    "Choose Run &gt; Run All Above Selected Cell, then run this cell.</b></p>"
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
        """What the figure shows, in words, or why it was not drawn."""
        self.seconds: list[float] = []
        """The time of each drawing, from the change of a control to the finished image."""
        self.processor_s: list[float] = []
        """The processor time of each drawing, which does not depend on other programs."""
        self._markup = ""
        self._redraw()

    def set(self, **values: Any) -> str:
        """Set controls by name, like moving them; returns the figure's text."""
        for name, value in values.items():
            if name not in self._controls:
                raise ConfigError(f"no such control: {name!r}; must be one of {', '.join(self._controls)}")
            if value not in self._controls[name].values:
                allowed = self._controls[name].values
                raise ConfigError(f"{name} must be one of {', '.join(map(str, allowed))}, not {value!r}")
        self.values |= values
        self._redraw()
        return self.text

    def _redraw(self) -> None:
        started, begun_s = time.perf_counter(), time.process_time()
        try:
            picture = coerce("the result of the drawing function", _A_PICTURE, self._draw(**self.values))
            self.text, self._markup = picture.text, picture.markup()
        except KeyboardInterrupt:
            raise Interrupted("the figure") from None
        except PaceLabError as error:
            self._failed(str(error))
        except Exception as error:
            self._failed(f"the drawing function raised {type(error).__name__}: {error}")
        if self._html is not None:
            self._html.html = self._markup
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
        return f"{STALE}<p>{escape(places)}</p>{self._markup}{script()}"

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value}" for name, value in self.values.items())
        return f"<{shown}: {self.text}>"

    def _ipython_display_(self) -> None:
        ipywidgets = widgets()
        if ipywidgets is None:
            show(self._markup + NO_CONTROLS + script())
            return
        self._html = live_html(self._markup)
        boxes = [
            control.widget(partial(self._changed, name), self.values[name]) for name, control in self._controls.items()
        ]
        # Beside each other if the page is wide enough, so that the controls and the figure fit the screen.
        controls = ipywidgets.Box(boxes, layout={"flex_flow": "row wrap"})
        self._keep = show_widget(ipywidgets.VBox([controls, self._html]), self._still())


@checked(draw=function)
def explore(draw: Draw, **controls: Control) -> Exploration:
    """Show what `draw` draws, with a control for each of its parameters (see `lab.slide`, `choice`, `switch`).

    `draw` takes the values by name and returns a picture (see `lab.picture` and the ready-made ones).
    """
    for name, control in controls.items():
        if not isinstance(control, Control):
            raise ConfigError(
                f"explore: {name} must be a lab.slide, lab.choice or lab.switch, not {control!r:.60}; "
                f"for example {name}=lab.slide({name!r}, 1, 5, start=1)"
            )
    return Exploration(draw, controls)


# Predict, then run.

NO_BUTTONS = (
    "<p>No buttons: <code>make notebooks</code> installs ipywidgets. Without them "
    '<code>.choose("...")</code> behind the name of the prediction takes an answer\'s words.</p>'
)
TO_CHOOSE = "<p>To choose, run the cells above, then this cell again.</p>"
NOT_CHOSEN = "Choose an answer first (at Predict, above). Your choice starts the run."
RUNNING = "Running ..."
KNOWN = "the result is known, so the prediction stays"
RECORDED = Path("predictions.json")
"""The choices in a folder of notebooks: question -> answer. With it, Run All Cells measures without asking again."""


class Verdict(str):
    """A text that a cell shows without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class Prediction:
    """A question and its possible answers: words -> range of the number that will be measured.

    The cell with `measure` shows nothing until an answer is chosen. Then it runs, and the choice is final.
    """

    def __init__(self, question: str, answers: Mapping[str, tuple[float, float]]) -> None:
        self.question = question
        self.answers = dict(answers)
        recorded = _recorded().get(question)
        self.chosen: str | None = recorded if recorded in self.answers else None
        """The chosen answer, None if no answer is chosen."""
        self.text = ""
        """The measured value beside the prediction, empty until it is known."""
        self._measurement: Callable[[], Any] | None = None
        self._buttons: Any = None
        self._keep: Callable[[str], None] = lambda _markup: None
        self._show_result: Callable[[str], None] = show

    def choose(self, answer: str) -> None:
        """Choose an answer, like a click on it. This runs the measurement if its cell has been run."""
        if answer not in self.answers:
            raise ConfigError(f"answer must be one of {', '.join(map(repr, self.answers))}, not {answer!r}")
        if self.text and answer != self.chosen:
            raise ConfigError(f"{KNOWN}: {self.chosen!r}")
        self.chosen = answer
        _record(self.question, answer)
        self._keep(self._listed() + TO_CHOOSE)
        if self._measurement is not None and not self.text:
            self._run()

    def measure(self, function: Callable[[], Any]) -> Callable[[], Any]:
        """A decorator for the run that answers the question. It starts at once if an answer is chosen, else later.

        `function` takes nothing. It returns the measured number, or the number and then what to show below it.
        """
        self._measurement = function
        self.text = ""
        if widgets() is not None:
            html = live_html(_paragraph(NOT_CHOSEN))
            keep = show_widget(html, html.html)

            def change(markup: str) -> None:
                html.html = markup
                keep(markup + script())

            self._show_result = change
        elif self.chosen is None:
            show(_paragraph(NOT_CHOSEN))
        if self.chosen is not None:
            self._run()
        return function

    def _run(self) -> None:
        assert self._measurement is not None
        self._show_result(_paragraph(RUNNING))
        try:
            with progress_shown_by(lambda told: self._show_result(_paragraph(f"{RUNNING} {told}"))):
                found = self._measurement()
            measured, *shown = found if isinstance(found, tuple) else (found,)
            text = self.against(measured)
        except Exception as error:
            self._show_result(f'<p role="alert"><b>Not measured: {escape(f"{type(error).__name__}: {error}")}</b></p>')
            raise
        self.text = text
        self._show_result(_paragraph(self.text) + "".join(map(_markup, shown)))
        if self._buttons is not None:
            self._buttons.disabled = True

    @checked(measured=NUMBER)
    def against(self, measured: float) -> Verdict:
        """The measured value beside the prediction. Raises ConfigError if no answer is chosen."""
        if self.chosen is None:
            raise ConfigError(f"no prediction: {NOT_CHOSEN}")
        fits = [answer for answer, (low, high) in self.answers.items() if low <= measured < high]
        result = f"Measured: {measured:.3g}" + (f", that is: {fits[0]}." if fits else ", outside of all answers.")
        if self.chosen in fits:
            return Verdict(f"{result}\nAs you predicted.")
        return Verdict(f"{result}\nYou predicted: {self.chosen}. Which of your assumptions was wrong?")

    def __repr__(self) -> str:
        return f"{self.question} [{' / '.join(self.answers)}]"

    def _ipython_display_(self) -> None:
        show(f"<p><b>Predict:</b> {escape(self.question)}</p>")
        ipywidgets = widgets()
        if ipywidgets is None:
            show(self._listed() + NO_BUTTONS)
            return
        buttons = ipywidgets.RadioButtons(
            options=list(self.answers), value=self.chosen, disabled=bool(self.text), layout={"width": "100%"}
        )
        buttons.observe(self._clicked, names="value")
        self._buttons = buttons
        self._keep = show_widget(buttons, self._listed() + TO_CHOOSE)

    def _clicked(self, change: Mapping[str, Any]) -> None:
        self.choose(change["new"])

    def _listed(self) -> str:
        chosen = {answer: " <b>(predicted)</b>" if answer == self.chosen else "" for answer in self.answers}
        return "<ul>" + "".join(f"<li>{escape(answer)}{mark}</li>" for answer, mark in chosen.items()) + "</ul>"


def _paragraph(text: str) -> str:
    """Lines of text that a screen reader reads when they change."""
    return f'<p aria-live="polite"><b>{escape(text).replace(chr(10), "<br>")}</b></p>'


def _markup(shown: Any) -> str:
    """What a measurement shows, as HTML: a picture, a table or a text."""
    if isinstance(shown, Picture):
        return shown.markup()
    return str(shown._repr_html_()) if hasattr(shown, "_repr_html_") else f"<p>{escape(str(shown))}</p>"


def _recorded() -> dict[str, str]:
    """The choices in this folder, empty if there are none or the file is damaged."""
    try:
        found = json.loads(RECORDED.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _record(question: str, answer: str) -> None:
    """Store a choice for the next session. If the folder is not writable, the choice lasts until the kernel ends."""
    with suppress(OSError):
        RECORDED.write_text(json.dumps(_recorded() | {question: answer}, indent=1), encoding="utf-8")


def _answers(value: Any) -> dict[str, tuple[float, float]]:
    """Answers, each with its range of numbers."""
    try:
        found = {taken(TEXT, words): (taken(NUMBER, low), taken(NUMBER, high)) for words, (low, high) in value.items()}
    except (AttributeError, TypeError, ValueError):
        found = {}
    if not found or any(low >= high for low, high in found.values()):
        raise ValueError("a range of numbers (from, below) for each answer, as {'half of it': (0.4, 0.6)}")
    return found


@checked(question=TEXT, answers=_answers)
def predict(question: str, answers: Mapping[str, tuple[float, float]]) -> Prediction:
    """Ask before the run. `answers` maps each answer to the range (from, below) of the number it stands for."""
    return Prediction(question, answers)
