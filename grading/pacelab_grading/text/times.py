"""Times as platforms write them, in English.

Blackboard   2026-11-01-23-58-00
Brightspace  Nov 1, 2026 1158 PM
Moodle       Sunday, 1 November 2026, 10:00 PM, or with American English Sunday, November 1, 2026, 10:00 PM
Sakai        2026-11-01T22:58:00.123Z, or before Sakai 12 20261101225800123, also in UTC
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

DASHED = re.compile(r"(\d{4})-(\d\d)-(\d\d)-(\d\d)-(\d\d)-(\d\d)")
DIGITS = re.compile(r"(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d{3})")
IN_WORDS = re.compile(
    r"(?:[A-Za-z]+, )?(?:(?P<day>\d{1,2}) (?P<month>[A-Za-z]+)|(?P<month_first>[A-Za-z]+) (?P<day_second>\d{1,2}))"
    r",? (?P<year>\d{4}),? (?P<hour>\d{1,2}):?(?P<minute>\d\d)(?: ?(?P<half>[AaPp][Mm]))?"
)
MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september", "october"),
    *("november", "december"),
)
SHORTEST_MONTH = 3


def iso_time(text: str) -> str:
    """The time in ISO 8601; empty if it has another form. Without an offset in the text, the result has none."""
    text = " ".join(text.split())  # Moodle may put a narrow space before PM
    try:
        if match := DASHED.fullmatch(text):
            year, month, day, hour, minute, second = map(int, match.groups())
            return datetime(year, month, day, hour, minute, second).isoformat()
        if match := DIGITS.fullmatch(text):
            year, month, day, hour, minute, second, ms = map(int, match.groups())
            return datetime(year, month, day, hour, minute, second, ms * 1000, tzinfo=UTC).isoformat()
        if match := IN_WORDS.fullmatch(text):
            return _in_words(match).isoformat()
        return datetime.fromisoformat(text).isoformat() if ":" in text else ""
    except ValueError:
        return ""


def _in_words(match: re.Match[str]) -> datetime:
    month = (match["month"] or match["month_first"]).casefold()
    places = [place for place, name in enumerate(MONTHS, 1) if name.startswith(month) and len(month) >= SHORTEST_MONTH]
    hour = int(match["hour"])
    if half := match["half"]:
        if not 1 <= hour <= 12:
            raise ValueError(f"hour {hour} {half}")
        hour = hour % 12 + 12 * (half.casefold() == "pm")
    (place,) = places  # ValueError without a month
    return datetime(int(match["year"]), place, int(match["day"] or match["day_second"]), hour, int(match["minute"]))
