"""The autograder zip that Gradescope runs.

The zip contains everything, because the container may have an older Python and no network: this Python with its
library, and the installed packages that grading imports, which are found by grading the model solution. It runs where
the C library is at least as new as on this machine (Gradescope's images have Ubuntu 22.04's 2.35), so make it in such a
container.

    setup.sh         tries the interpreter, so that Gradescope rejects a zip that cannot run when it builds the
                     container
    run_autograder   grades /autograder/submission into /autograder/results/results.json, one process at a time
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from time import monotonic

from pacelab import HostError, write_file
from pacelab_grading.assignments import find_assignment
from pacelab_grading.grade.batch import grade_one
from pacelab_grading.judging.process import BatchSettings, JudgeProcess
from pacelab_grading.receive.collect import collect
from pacelab_grading.receive.platforms import KnownNames
from pacelab_grading.records.gradescope import results
from pacelab_grading.rubric.assignment import Number

SETTINGS = "settings.json"
AUTOGRADER = Path("/autograder")

SETUP = """#!/bin/sh
# Gradescope runs this once, when it builds the container.
cd "$(dirname "$0")" || exit 1
chmod 700 .
export LD_LIBRARY_PATH="$PWD/python/lib"
if ! ./python/bin/python3 -c 'import pacelab_medium'; then
    echo "The Python in this zip does not run in this image: make the zip in a container of the same image."
    exit 1
fi
"""
RUN = """#!/bin/sh
# Gradescope runs this for each submission.
here=/autograder/source
[ -d "$here/python" ] || here="$(dirname "$0")"
chmod 700 "$here"
export LD_LIBRARY_PATH="$here/python/lib"
exec "$here/python/bin/python3" -m pacelab_grading.grade.autograder "$here"
"""
SKIPPED = ("__pycache__", "test", "tests", "idlelib", "tkinter", "turtledemo", "ensurepip", "site-packages", "lib2to3")


def write_autograder(place: Path, *, number: Number, key: str, hidden: str, time_factor: float = 1.0) -> int:
    """Write the zip; returns its size in bytes. `time_factor` multiplies all time limits."""
    find_assignment(number)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        _script(archive, "setup.sh", SETUP)
        _script(archive, "run_autograder", RUN)
        settings = {"assignment": number, "key": key, "hidden": hidden, "time_factor": time_factor}
        archive.writestr(SETTINGS, json.dumps(settings, indent=1))
        for source, name in _interpreter():
            _add(archive, source, f"python/{name}")
        for source, name in _packages(number):
            _add(archive, source, f"python/lib/{_version()}/site-packages/{name}")
    write_file(place, out.getvalue())
    return len(out.getvalue())


def main(source: str) -> None:
    """Grade one submission: run_autograder calls this."""
    started = monotonic()
    settings = json.loads((Path(source) / SETTINGS).read_text(encoding="utf-8"))
    assignment = find_assignment(settings["assignment"])
    time_factor = settings["time_factor"]
    with JudgeProcess(time_factor) as process:  # the folder is one student's, whatever it looks like
        collected = collect(
            [AUTOGRADER / "submission"], assignment, KnownNames(names=("submission",)), read=process.read
        )
    batch = BatchSettings(assignment=assignment.number, key=settings["key"], time_factor=time_factor, weak_walls=True)
    verdict = grade_one(collected.submissions[0], batch)
    document = results(verdict, hidden=settings["hidden"], seconds=monotonic() - started)
    place = AUTOGRADER / "results"
    place.mkdir(exist_ok=True)
    write_file(place / "results.json", json.dumps(document, indent=1).encode())


def _version() -> str:
    return f"python{sys.version_info.major}.{sys.version_info.minor}"


def _script(archive: zipfile.ZipFile, name: str, text: str) -> None:
    info = zipfile.ZipInfo(name)
    info.external_attr = 0o755 << 16
    archive.writestr(info, text)


def _add(archive: zipfile.ZipFile, source: Path, name: str) -> None:
    info = zipfile.ZipInfo(name)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = (source.stat().st_mode & 0o777) << 16
    archive.writestr(info, source.read_bytes(), compresslevel=1)  # a third of the time, and a tenth more bytes (34 MB)


def _interpreter() -> Iterator[tuple[Path, str]]:
    """The executable, standard library and libpython of this Python, without tests and packages."""
    base = Path(sys.base_prefix)
    yield Path(os.path.realpath(sys._base_executable)), "bin/python3"  # type: ignore[attr-defined]
    for path in sorted((base / "lib").glob("libpython*.so*")):
        yield path, f"lib/{path.name}"
    library = Path(sysconfig.get_path("stdlib", vars={"base": str(base), "installed_base": str(base)}))
    yield from _tree(library, f"lib/{_version()}")


def _packages(number: Number) -> Iterator[tuple[Path, str]]:
    """PaceLab, and the other packages that are imported when the model solution is graded."""
    code = (
        "import sys; from pacelab_grading.judging.process import BatchSettings, grade_here;"
        "import pacelab_grading.grade.autograder; from pacelab_grading.receive.submission import Submission;"
        f"from pacelab_grading.assignments import find_assignment; assignment = find_assignment({number!r});"
        "settings = BatchSettings(assignment=assignment.number, weak_walls=True);"
        "grade_here(Submission(student='m', source=assignment.model), settings);"
        "print(*sorted({m.split('.')[0] for m in sys.modules}), sep='\\n')"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        reason = ran.stderr.strip().splitlines()[-1]
        raise HostError(f"cannot build the autograder zip: grading the model solution failed: {reason}")
    ours = [name for name in ran.stdout.split() if name.startswith("pacelab")]
    for name in ours:
        spec = find_spec(name)
        if spec is not None and spec.submodule_search_locations:
            yield from _tree(Path(spec.submodule_search_locations[0]), name)
    for name in ran.stdout.split():
        if name in sys.stdlib_module_names or name.startswith("_") or name in (*ours, "sitecustomize"):
            continue
        for place in map(Path, sys.path):
            if (place / name).is_dir() and "site-packages" in place.parts:
                yield from _tree(place / name, name)
                if (place / f"{name}.libs").is_dir():
                    yield from _tree(place / f"{name}.libs", f"{name}.libs")
                break
            if (place / f"{name}.py").is_file() and "site-packages" in place.parts:
                yield place / f"{name}.py", f"{name}.py"
                break


def _tree(top: Path, name: str) -> Iterator[tuple[Path, str]]:
    for folder, folders, files in os.walk(top, followlinks=True):
        folders[:] = sorted(item for item in folders if item not in SKIPPED)
        for file in sorted(files):
            path = Path(folder) / file
            if path.suffix not in (".pyc", ".a") and path.is_file():
                yield path, f"{name}/{path.relative_to(top).as_posix()}"


if __name__ == "__main__":
    main(sys.argv[1])
