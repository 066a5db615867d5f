"""Predict, then run: a question with ranges to choose from, and the run's own number as the judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape
from typing import Any

from pacelab.errors import ConfigError
from pacelab.lab.screen import show, widgets
from pacelab.options.arguments import a_text, checked, number
from pacelab.show.kept_widget import show_widget

NO_BUTTONS = (
    "<p>No buttons: <code>make notebooks</code> installs ipywidgets. Without them "
    '<code>.choose("...")</code> behind the name of the prediction takes an answer\'s words.</p>'
)
TO_CHOOSE = "<p>To choose, run this cell again, after those above it.</p>"
NOT_CHOSEN = "You made no prediction: choose one above, and let the result surprise you."


class Verdict(str):
    """A text that shows itself as it is at the end of a cell, without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class Prediction:
    """A question and its possible answers: words -> range of the number that will be measured."""

    def __init__(self, question: str, answers: Mapping[str, tuple[float, float]]) -> None:
        self.question = question
        self.answers = dict(answers)
        self.chosen: str | None = None
        """The answer chosen, None as long as there is none."""
        self._keep: Callable[[str], None] = lambda _markup: None

    def choose(self, answer: str) -> None:
        """Choose an answer, as clicking on it does."""
        if answer not in self.answers:
            raise ConfigError(f"answer {answer!r}: allowed is one of {', '.join(map(repr, self.answers))}")
        self.chosen = answer
        self._keep(self._listed() + TO_CHOOSE)

    @checked(measured=number)
    def against(self, measured: float) -> Verdict:
        """What was predicted and what came, a text of two lines."""
        fits = [answer for answer, (low, high) in self.answers.items() if low <= measured < high]
        came = f"Measured: {measured:.3g}" + (f", that is: {fits[0]}." if fits else ", outside of all answers.")
        if self.chosen is None:
            return Verdict(f"{came}\n{NOT_CHOSEN}")
        if self.chosen in fits:
            return Verdict(f"{came}\nAs you predicted.")
        return Verdict(f"{came}\nYou predicted: {self.chosen}. What did you assume that the air does not do?")

    def __repr__(self) -> str:
        return f"{self.question} [{' / '.join(self.answers)}]"

    def _ipython_display_(self) -> None:
        show(f"<p><b>Predict:</b> {escape(self.question)}</p>")
        ipywidgets = widgets()
        if ipywidgets is None:
            show(self._listed() + NO_BUTTONS)
            return
        buttons = ipywidgets.RadioButtons(options=list(self.answers), value=self.chosen, layout={"width": "100%"})
        buttons.observe(self._clicked, names="value")
        self._keep = show_widget(buttons, self._listed() + TO_CHOOSE)

    def _clicked(self, change: Mapping[str, Any]) -> None:
        self.choose(change["new"])

    def _listed(self) -> str:
        chosen = {answer: " <b>(predicted)</b>" if answer == self.chosen else "" for answer in self.answers}
        return "<ul>" + "".join(f"<li>{escape(answer)}{mark}</li>" for answer, mark in chosen.items()) + "</ul>"


def _answers(value: Any) -> dict[str, tuple[float, float]]:
    """Words, each with the range of numbers that it stands for."""
    try:
        return {a_text(words): (number(low), number(high)) for words, (low, high) in value.items()}
    except (AttributeError, TypeError, ValueError):
        raise ValueError("a range of numbers for each answer, as {'half of it': (0.4, 0.6)}") from None


@checked(question=a_text, answers=_answers)
def predict(question: str, answers: Mapping[str, tuple[float, float]]) -> Prediction:
    """Ask before the run. `answers` maps each answer to the range (from, below) of the number it stands for."""
    return Prediction(question, answers)
