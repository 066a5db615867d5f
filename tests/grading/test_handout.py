from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pacelab.grading import handout
from pacelab.grading.assignments import ASSIGNMENTS, find_assignment
from pacelab.grading.handout import hand_out, notebook_of, update
from pacelab.grading.notebook import module_of


def test_update_replaces_what_is_untouched_and_keeps_what_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = find_assignment(3)
    hand_out(tmp_path, first)
    (tmp_path / "gateway_pacer.py").write_text("my work")
    second = replace(first, version=2)
    monkeypatch.setattr(handout, "ASSIGNMENTS", {3: second})
    monkeypatch.setattr(
        handout, "files_of", lambda _: {"gateway_pacer.py": b"new file", "gateway_pacer.ipynb": b"new notebook"}
    )
    said = update(tmp_path)
    assert (tmp_path / "gateway_pacer.py").read_text() == "my work"
    assert (tmp_path / "gateway_pacer.version-2.py").read_text() == "new file"
    assert (tmp_path / "gateway_pacer.ipynb").read_text() == "new notebook"
    assert any("beside it" in line for line in said)
    assert update(tmp_path) == ["gateway_pacer.py: yours, kept", "gateway_pacer.ipynb: up to date"]


@pytest.mark.parametrize("number", ASSIGNMENTS)
def test_notebook_is_the_template(number: int) -> None:
    """What is collected from the notebook defines the same names as the template."""
    assignment = ASSIGNMENTS[number]
    module = module_of(json.dumps(notebook_of(assignment)), "n.ipynb", assignment.names)
    assert module.problems == ()
    assert module.source is not None
    for name in assignment.names:
        assert f"def {name}(" in module.source or f"class {name}" in module.source
    assert f"PACELAB_ASSIGNMENT = '{assignment.stamp}'" in module.source
    assert all(len(cell["source"]) <= 60 for cell in notebook_of(assignment)["cells"])
