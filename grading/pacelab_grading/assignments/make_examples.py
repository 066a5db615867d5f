"""Writes examples for grading: a model solution, six planted mistakes and three hostile files, for assignment 3.

python -m pacelab_grading.assignments.make_examples FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

from pacelab_grading.assignments.a3_gateway_pacer.checks import ASSIGNMENT
from pacelab_grading.assignments.a3_gateway_pacer.wrong import WRONG

CUT = '"""\n\nfrom'
SHOWN = ("four-hops-always", "rate-for-interval", "acks-paced", "from-arrival", "no-karn", "silent")
HOSTILE = {
    "hostile-endless": ("while True:\n        pass", "a loop that never ends"),
    "hostile-forger": (
        "import os\n    for descriptor in range(3, 64):\n        try:\n"
        '            os.write(descriptor, b\'\\0\\0\\0\\x15["hello","ok",100.00]\')\n'
        "        except OSError:\n            pass\n    return 100.0",
        "writes scores into each file descriptor that it finds",
    ),
    "hostile-vandal": (
        "import os\n    import shutil\n    shutil.rmtree('/', ignore_errors=True)\n    os.kill(os.getppid(), 9)",
        "deletes all files that it can and kills the grader",
    ),
}


def examples() -> dict[str, str]:
    """File name -> text."""
    model = (ASSIGNMENT.path / "model.py").read_text(encoding="utf-8")
    made = {"model.py": model}
    for mistake in WRONG:
        if mistake.name in SHOWN:
            head = f'"""A wrong solution of assignment 3: {mistake.misconception}."""'
            made[f"wrong-{mistake.name}.py"] = f"{head}\n\nfrom{mistake.apply(model).partition(CUT)[2]}"
    line = "    raise NotImplementedError\n\n\nclass PaceEstimator"
    for name, (body, does) in HOSTILE.items():
        text = ASSIGNMENT.template.replace(line, f"    {body}\n\n\nclass PaceEstimator", 1)
        made[f"{name}.py"] = f'"""A hostile file: {does}."""\n\nfrom{text.partition(CUT)[2]}'
    return made


def write(folder: Path) -> list[Path]:
    """Write the files into a folder, which is created if it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    made = {folder / name: text for name, text in examples().items()}
    for path, text in made.items():
        path.write_text(text, encoding="utf-8")
    return sorted(made)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
