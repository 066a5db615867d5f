"""One child process and what it cost: every timing in this folder goes through `run`.

Linux carries the parent's peak memory over to a child's figure, so whatever starts children here stays small: plots are
imported after the last measurement.
"""

import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass


class ChildFailedError(RuntimeError):
    """The child ended with a code other than 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """A finished child: its output, user + system CPU seconds, peak memory of its largest process (MB = 10^6 B)."""

    stdout: str
    cpu_s: float
    peak_mb: float


def run(argv: Sequence[str | os.PathLike[str]], *, stdin: str = "") -> Child:
    """Run `argv` to its end. Descendants that it waited for count as its CPU."""
    with tempfile.TemporaryFile("w+") as into, tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        into.write(stdin)
        into.seek(0)
        process = subprocess.Popen([os.fspath(word) for word in argv], stdin=into, stdout=out, stderr=err)
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            process.wait()
            raise
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        stdout = out.read()
        if process.returncode:
            last = (err.read().strip() or stdout.strip() or "no message").splitlines()[-1]
            raise ChildFailedError(f"{' '.join(map(str, argv))}: exit code {process.returncode}: {last}")
    return Child(stdout=stdout, cpu_s=usage.ru_utime + usage.ru_stime, peak_mb=usage.ru_maxrss * 1024 / 1e6)
