"""The unprivileged end of a run: starts a supervisor in its own namespaces, or asks the root helper for one.

The supervisor depends on the socket between the two processes. When this process ends, however it ends, the kernel
closes the socket, the supervisor exits, and because it is PID 1 everything that it has started ends as well.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator

from pacelab.console import log
from pacelab.documents import JsonObject
from pacelab.emulation.helper_client import as_root
from pacelab.emulation.messages import RunReport
from pacelab.emulation.plan import Plan, dump_plan
from pacelab.emulation.probes import IN_CONTAINER, NEEDS_REAL_ROOT, in_user_namespace, lacking_capabilities
from pacelab.emulation.processes import OWNER, environment, python
from pacelab.errors import ConfigError, HostError
from pacelab.results.outcome import Progress

_SUPERVISOR = "pacelab.emulation.supervisor"
_UNSHARE = ("unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "--")
_SHELL = "pacelab.emulation.shell"
_TERMINAL = ("TERM", "DISPLAY", "XAUTHORITY", "HOME", "LANG", "COLUMNS", "LINES")
SILENCE_S = 120.0
"""A supervisor reports its progress four times a second. Building takes less than this time even on a slow machine."""
END_S = 10.0


def run_plan(plan: Plan, on_progress: Progress) -> RunReport:
    """Run a plan; return what the supervisor found (see `supervisor.perform`). Raises ConfigError or HostError."""
    with _page(plan) as page, _supervisor(page) as link:
        link.settimeout(SILENCE_S)
        return converse(link, plan, on_progress)


def converse(link: socket.socket, plan: Plan, on_progress: Progress) -> RunReport:
    """Send the plan, relay the progress, return the result."""
    try:
        with contextlib.suppress(BrokenPipeError):  # refused before it was read: the reason can be read below
            link.sendall(dump_plan(plan) + b"\n")
        with link.makefile("rb") as lines:
            for line in lines:
                message = json.loads(line)
                if "progress" in message:
                    on_progress(message["progress"])
                elif "note" in message:
                    log(message["note"])
                elif "error" in message:
                    raise error_of(message["error"])
                else:
                    result: RunReport = message["result"]
                    return result
    except TimeoutError:
        raise HostError(f"real hosts: the supervisor sent nothing for {SILENCE_S:g} s; run the command again") from None
    except OSError as error:
        raise HostError(f"real hosts: their supervisor is gone ({error.strerror}); try once more") from None
    raise HostError("real hosts: their supervisor was killed in the middle of a run; try once more")


def start_supervisor(link: socket.socket, page: socket.socket | None = None) -> subprocess.Popen[bytes]:
    """Start a supervisor with `link` as its end of the connection. Needs root. `page`: the listening socket of its
    controller's page.
    """
    descriptors = [one.fileno() for one in (link, page) if one is not None]
    command = [_find_unshare(), *_UNSHARE[1:], *python(_SUPERVISOR, *map(str, descriptors))]
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=descriptors,
        start_new_session=True,  # Ctrl-C is for this process
        env=environment() | {OWNER: owner()},
    )


def _find_unshare() -> str:
    if in_user_namespace():
        raise HostError(f"real hosts: you are root only inside a user namespace: {NEEDS_REAL_ROOT}")
    if lacks := lacking_capabilities():
        raise HostError(f"real hosts: this root lacks {lacks}; {IN_CONTAINER}")
    program = shutil.which(_UNSHARE[0], path=environment()["PATH"])
    if program is None:
        raise HostError("real hosts need the program unshare, which is not installed; run `apt-get install util-linux`")
    return program


def owner() -> str:
    """A name of this process that no later process can have."""
    with open("/proc/self/stat") as stat:
        return f"{os.getpid()}:{stat.read().rsplit(')', 1)[1].split()[19]}"


def run_shell(plan: Plan) -> int:
    """Run Mininet's command line on the hosts of a plan, at this terminal. Needs root; returns the exit code."""
    from pacelab.emulation.probes import check_mininet

    if plan.builder == "plain":
        check_mininet()
    if os.geteuid() != 0:
        raise HostError(f"shell: pacelab shell needs root rights; run {as_root('shell ...')}")
    terminal = {name: os.environ[name] for name in _TERMINAL if name in os.environ}
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            program = _find_unshare()
            command = [program, *_UNSHARE[1:], *python(_SHELL, str(theirs.fileno()))]
            env = environment() | terminal | {OWNER: owner()}
            process = subprocess.Popen(command, pass_fds=[theirs.fileno()], env=env)
        ours.sendall(dump_plan(plan) + b"\n")
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the shell
        try:
            message = ours.makefile("rb").readline()
            process.wait()
        except OSError as error:
            raise HostError(f"shell: another process killed it ({error.strerror}); run the command again") from None
        finally:
            signal.signal(signal.SIGINT, before)
            ours.close()
            end_supervisor(process)
    if message:
        raise error_of(json.loads(message)["error"])
    return process.returncode


@contextlib.contextmanager
def _page(plan: Plan) -> Iterator[socket.socket | None]:
    """A listening socket in this network namespace, which a browser can reach: the controller's namespace has no way
    out.
    """
    if plan.controller is None or os.geteuid() != 0:
        yield None
        return
    with socket.create_server(("127.0.0.1", 0)) as page:
        yield page


@contextlib.contextmanager
def _supervisor(page: socket.socket | None) -> Iterator[socket.socket]:
    if os.geteuid() != 0:
        from pacelab.emulation.helper_client import connect

        with connect() as link:
            yield link
        return
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            process = start_supervisor(theirs, page)
        try:
            yield ours
        finally:
            ours.close()
            end_supervisor(process)


def end_supervisor(process: subprocess.Popen[bytes]) -> None:
    """Wait until the supervisor and all its processes have ended. Its end of the socket is closed already."""
    try:
        process.wait(END_S)
    except subprocess.TimeoutExpired:
        process.kill()  # `--kill-child` then kills PID 1 of the namespaces
        process.wait()


def error_of(error: JsonObject) -> Exception:
    """The exception for an error that a supervisor reported."""
    if error["kind"] == "config":
        return ConfigError(error["message"])
    if error["kind"] == "host":
        return HostError(error["message"])
    return RuntimeError(f"the supervisor of real hosts: {error['message']}")
