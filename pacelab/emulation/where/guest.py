"""The guest's side of a run: reads a job, runs its plan on this kernel, and writes the result.

python -m pacelab.emulation.where.guest FOLDER    in a virtual machine, as root; User-Mode Linux's PID 1 calls `run_job`
"""

from __future__ import annotations

import sys
import traceback
from pathlib import Path

from pacelab.emulation.supervisor import perform, send_message
from pacelab.emulation.where.job import Sink, read_job
from pacelab.errors import ConfigError, PaceLabError


def run_job(folder: str) -> None:
    """Run the job of a folder. Its result or its error is written to the folder in every case."""
    place = Path(folder)
    sink = Sink(place)
    try:
        send_message(sink, {"result": perform(read_job(place), sink)})
    except PaceLabError as error:
        kind = "config" if isinstance(error, ConfigError) else "host"
        send_message(sink, {"error": {"kind": kind, "message": str(error)}})
    except Exception as error:
        traceback.print_exc()
        send_message(sink, {"error": {"kind": "bug", "message": f"{type(error).__name__}: {error}"}})
    finally:
        sink.close()


if __name__ == "__main__":
    run_job(sys.argv[1])
