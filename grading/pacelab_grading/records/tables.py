"""CSV files from outside: the encoding, the separator, and rows with the number of their line."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

from pacelab import ConfigError

BEFORE_HEADER = re.compile(
    r"\A(?:[ \t]*\r?\n)*(?:sep=.\r?\n)?(?:[ \t]*\r?\n)*(?:[^\n]*\n(?:[ \t,\"]*\r?\n)*(?=\"?Display ID\"?,))?"
)
"""Empty lines, the line that tells Excel the separator, and the lines with the title of Sakai's grades.csv."""
BEYOND = "\0beyond"
"""Cells of a row after the last column of the header."""
END_OF_LINE = "End-of-Line Indicator"
"""The last column of Brightspace's files."""
WORKBOOKS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
"""How .xlsx and .ods, and how .xls begin."""
HTML = re.compile(rb"\s*<(?:!doctype|html|table|\?xml)", re.IGNORECASE)
"""Some platforms write a page and call it .xls."""
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class Table:
    """The rows of a CSV with a header, with the line on which each row starts.

    `name` starts every message, as in "roster 'class.csv'". Raises ConfigError for a file that cannot be read.
    """

    def __init__(self, path: Path, name: str) -> None:
        self.name = name
        text, above = _text(path, name)
        self._above = above.count("\n")
        self._reader = csv.DictReader(
            io.StringIO(text, newline=""), delimiter=delimiter(text), restkey=BEYOND, strict=True
        )
        try:
            self.header = tuple(self._reader.fieldnames or ())
        except csv.Error as error:
            raise self._broken(1, error) from None

    def __iter__(self) -> Iterator[tuple[int, dict[str, str]]]:
        """Line and cells of each row that is not empty. Raises ConfigError for a row with too many cells."""
        last = self._reader.line_num
        while True:
            try:
                row = next(self._reader)
            except StopIteration:
                return
            except csv.Error as error:  # a cell of more than 128 KiB, or a quote that is not closed
                raise self._broken(last + 1, error) from None
            beyond = row.pop(BEYOND, None)
            cells = {name: value or "" for name, value in row.items()}
            last = self._reader.line_num
            line = self._above + last - sum(value.count("\n") for value in cells.values())
            if any(beyond or ()):
                advice = 'more cells than the header; put quotes around a cell with a separator, as in "Smith, Jane"'
                raise ConfigError(f"{self.name}, line {line}: {advice}")
            yield line, cells

    def _broken(self, line: int, error: csv.Error) -> ConfigError:
        advice = f"{error}; shorten the cell, or close its quotes"
        return ConfigError(f"{self.name}, line {self._above + line}: {advice}")


def read_columns(
    path: Path, name: str, columns: tuple[str, ...], required: tuple[str, ...]
) -> list[tuple[int, dict[str, str]]]:
    """Line and cells of each row, for a file with these columns and perhaps others. Missing cells are empty.

    Raises ConfigError with the line of the problem.
    """
    table = Table(path, name)
    titles = [title.strip().casefold() for title in table.header]
    if twice := next((title for title in columns if titles.count(title) > 1), None):
        raise ConfigError(f"{name} has {titles.count(twice)} columns named {twice!r}; rename all but one of them")
    if not set(required) <= set(titles):
        raise ConfigError(f"{name} has the columns {', '.join(titles) or 'none'}; give {', '.join(columns)}")
    found = []
    for line, row in table:
        cells = {title.strip().casefold(): value.strip() for title, value in row.items()}
        if any(cells.values()):
            found.append((line, {column: cells.get(column, "") for column in columns}))
    return found


def read_table_parts(path: Path, name: str) -> tuple[str, str]:
    """The text of a CSV above its header, and from its header on. Raises ConfigError."""
    text, above = _text(path, name)
    return above, text


def delimiter(text: str) -> str:
    """The separator of a CSV. Where decimals have a comma, spreadsheets write semicolons."""
    header = text.partition("\n")[0]
    return max(",;\t", key=header.count)


def _text(path: Path, name: str) -> tuple[str, str]:
    """The text from the header on, and the text above it."""
    try:
        content = path.read_bytes()
        if content.startswith(WORKBOOKS) or HTML.match(content):
            raise ConfigError(f"{name} is not a CSV file; open it in a spreadsheet and save it as CSV UTF-8")
        text = content.decode("utf-16" if content.startswith(UTF_16) else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{name}, line {line}: not UTF-8; save it as CSV UTF-8") from None
    except OSError as error:
        raise ConfigError(f"{name} cannot be read ({error.strerror or error}); give a CSV file") from None
    above = BEFORE_HEADER.match(text)
    skipped = above[0] if above else ""
    return text[len(skipped) :], skipped
