"""`--where vm`: a run in the project's virtual machine (`make vm`, docs/vm.md), in real time.

Its kernel is Debian's own. Without KVM the processor is emulated: then use rates of 1 to 12 Mbit/s only, and trust a
run only as far as its `fidelity`.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from pacelab.emulation.messages import RunReport
from pacelab.emulation.session import error_of
from pacelab.emulation.where.job import Source, write_job
from pacelab.errors import HostError
from pacelab.packages import source_tree

if TYPE_CHECKING:
    from pacelab.emulation.plan import Plan
    from pacelab.results.outcome import Progress

SHARED = "/lab"
"""The project's folder as the machine sees it."""
_PYTHON = "/opt/pacelab/bin/python"
START_S, SECONDS_PER_S = 300, 3
"""Time limits for an emulated machine: to boot and build the hosts, and for each second of a run."""
REMEDY = "run `sudo make vm` (docs/vm.md)"
_LOOK_S = 0.1


def run_plan(plan: Plan, on_progress: Progress) -> RunReport:
    """Run a plan. Return what the machine's supervisor found."""
    project = project_folder()
    with tempfile.TemporaryDirectory(prefix="where-", dir=project / "build" / "vm") as work:
        job = Path(work)
        inside = f"{SHARED}/{job.relative_to(project)}"
        write_job(job, plan)
        (job / "run.sh").write_text(f"exec {_PYTHON} -B -m pacelab.emulation.where.guest {inside}\n")
        limit_s = round(START_S + SECONDS_PER_S * plan.duration_s)
        command = [str(project / "vm/run"), str((job / "run.sh").relative_to(project)), str(limit_s)]
        source = Source(job)
        with (job / "console").open("wb") as console:
            machine = subprocess.Popen(
                command, cwd=project, stdin=subprocess.DEVNULL, stdout=console, stderr=subprocess.STDOUT
            )
        try:
            while True:
                ended = machine.poll() is not None
                for message in source.read():
                    if "progress" in message:
                        on_progress(message["progress"])
                    elif "error" in message:
                        raise error_of(message["error"])
                    else:
                        machine.wait()  # the machine powers off by itself
                        result: RunReport = message["result"]
                        return result
                if ended:
                    raise HostError(f"--where vm: the machine ended before the run did: {_last_words(job / 'console')}")
                time.sleep(_LOOK_S)
        finally:
            source.close()
            machine.terminate()
            machine.wait()


def project_folder() -> Path:
    """The source tree of this package. Raises HostError if there is none, or if it has no machine image."""
    project = source_tree()
    if not os.access(project / "vm/run", os.X_OK):
        raise HostError("--where vm: it needs PaceLab's source tree, and its virtual machine: git clone, then make vm")
    if not list((project / "build/vm").glob("debian-*.ext4")):
        raise HostError(f"--where vm: no virtual machine in {project / 'build/vm'}; {REMEDY}")
    return project


def _last_words(console: Path) -> str:
    lines = console.read_text(errors="replace").strip().splitlines()
    return " ".join(lines[-1].split()) if lines else "it printed no message"
