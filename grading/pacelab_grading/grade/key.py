"""The instructor's key: 32 random bytes that determine all hidden seeds and parameters.

The program makes the key at the first run and keeps it in a file beside the roster, so that a regrade finds it. A key
that a person invents could be guessed from the numbers that a report shows, so it is refused.
"""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path

from pacelab import ConfigError, HostError, log
from pacelab_grading.text.printable import printable

KEY_FILE = "pacelab-grading.key"
KEY_BYTES = 32
DIGITS = re.compile(rf"[0-9a-f]{{{2 * KEY_BYTES}}}", re.IGNORECASE)
MOST_BYTES = 4096
FORM = f"{2 * KEY_BYTES} hexadecimal digits"


def grading_key(given: str, folders: list[Path]) -> str:
    """The key as hexadecimal digits: the given one, else that of the first of these folders with a key, else a new one.

    `given` is the key, the file that holds it, or empty. A new key is kept in the first folder. Raises ConfigError for
    anything that is no key, HostError if a key cannot be kept.
    """
    if given:
        return given.lower() if DIGITS.fullmatch(given) else _read(Path(given))
    for folder in folders:
        if (folder / KEY_FILE).exists():
            return _read(folder / KEY_FILE)
    return _made(folders[0] / KEY_FILE)


def check_form(given: str) -> None:
    """Raise ConfigError unless this is a key, the name of a file, or empty."""
    if given and not DIGITS.fullmatch(given) and not Path(given).is_file():
        raise ConfigError(
            f"--key must be {FORM} or the file that holds them; it has {len(given)} characters and is no file. Leave "
            f"--key out: a key is then made and kept in {KEY_FILE}"
        )


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            text = file.read(MOST_BYTES + 1).decode("utf-8-sig", "replace")
    except OSError as error:
        raise ConfigError(f"the key {path} cannot be read: {error.strerror or error}") from None
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    remedy = "restore the file, or delete it: a new key is then made, and all grades with hidden numbers may change"
    if not lines:
        raise ConfigError(f"the key {path}, line 1: it is empty, not {FORM}; {remedy}")
    number, line = lines[0]
    if not DIGITS.fullmatch(line):
        raise ConfigError(f"the key {path}, line {number}: {len(line)} characters, not {FORM}; {remedy}")
    if len(lines) > 1:
        number, line = lines[1]
        raise ConfigError(f"the key {path}, line {number}: {printable(line, 20)!r} after the key; {remedy}")
    return line.lower()


def _made(path: Path) -> str:
    key = secrets.token_hex(KEY_BYTES)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:  # another run has made it meanwhile
            return _read(path)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(f"{key}\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise HostError(f"the key cannot be kept in {path}: {error.strerror or error}; give --key FILE") from None
    log(f"made the key of the hidden checks: {path}. Keep this file: a regrade needs the same key")
    return key
