"""The assignment that the files are stamped with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pacelab.errors import ConfigError
from pacelab.grading.assignments.make_examples import write
from pacelab.grading.submission import stamped_number


def test_stamp_of_the_examples(tmp_path: Path) -> None:
    assert stamped_number(write(tmp_path)) == 3
    assert stamped_number([tmp_path]) == 3


def test_stamp_in_a_notebook(tmp_path: Path) -> None:
    cell = {"cell_type": "code", "source": ['PACELAB_ASSIGNMENT = "4/1"\n'], "metadata": {}}
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": [cell]}))
    assert stamped_number([tmp_path]) == 4


def test_stamp_that_is_missing_or_in_doubt_asks(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    with pytest.raises(ConfigError, match="none that can be read from here: say --assignment N"):
        stamped_number([tmp_path])
    (tmp_path / "a.py").write_text('PACELAB_ASSIGNMENT = "1/1"\n')
    (tmp_path / "b.py").write_text("PACELAB_ASSIGNMENT = '2/1'\n")
    with pytest.raises(ConfigError, match="stamped with 1, 2: say --assignment N"):
        stamped_number([tmp_path])
