"""`pacelab controller`: reached through an entry point."""

from __future__ import annotations

import contextlib
import errno
import json as json_module
import os
import re
import secrets
import shlex
import signal
import socket
import sys
import threading
from importlib.util import find_spec
from ipaddress import AddressValueError, IPv4Address
from pathlib import Path
from typing import Annotated, Any

import typer

from pacelab_controller.errors import ControllerError, InputError
from pacelab_controller.web.client import TOKEN

OPENFLOW_PORT = 6653
_PYTHON = shlex.quote(sys.executable)
_PIP = f"{_PYTHON} -m pip install" if find_spec("pip") else f"uv pip install --python {_PYTHON}"
INSTALL = f"{_PIP} 'pacelab[controller]'"
"""What brings os-ken, FastAPI and uvicorn to the Python that runs this, also under `sudo`; uv's tools have no pip."""


def _option(flag: str, metavar: str | None, text: str) -> Any:
    return typer.Option(flag, metavar=metavar, help=text)


Listen = Annotated[str, _option("--listen", "HOST:PORT", "OpenFlow: where switches connect to")]
PortNumber = Annotated[int, typer.Option("--port", min=0, max=65_535, help="REST and page on 127.0.0.1; 0: any free")]
Socket = Annotated[Path | None, _option("--socket", "PATH", "REST on this Unix socket, too")]
Descriptor = Annotated[int | None, typer.Option("--fd", hidden=True, help="REST on this open socket")]
NetworkFile = Annotated[
    Path | None, _option("--network", "FILE", "JSON: names of switches and addresses, which switches may connect")
]
Check = Annotated[bool, _option("--check", None, "test it against a real Open vSwitch, in private namespaces (root)")]
Json = Annotated[bool, _option("--json", None, "a JSON document a line: ready, then each event")]
Quiet = Annotated[bool, _option("--quiet", None, "say nothing but the link")]


def controller(
    *,
    listen: Listen = f"127.0.0.1:{OPENFLOW_PORT}",
    port: PortNumber = 0,
    socket_path: Socket = None,
    fd: Descriptor = None,
    network: NetworkFile = None,
    check: Check = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run the OpenFlow controller of the wired side: flows, calls, handover; REST and a page on loopback."""
    try:
        if check:
            from pacelab_controller.switches.selftest import run_in_private

            raise typer.Exit(run_in_private(json=json, say=_say))
        _serve(listen, port, socket_path, fd, network, json=json, quiet=quiet)
    except ControllerError as error:
        _say(str(error))
        raise typer.Exit(error.exit_code) from None


def _serve(
    listen: str, port: int, path: Path | None, fd: int | None, network: Path | None, *, json: bool, quiet: bool
) -> None:
    host, number = read_listen(listen)
    known = read_network(network)
    try:
        from pacelab_controller.core.brain import Brain
        from pacelab_controller.openflow.run import start
        from pacelab_controller.openflow.shell import Shell
        from pacelab_controller.web.serve import open_port, open_unix, serve
    except ImportError as error:
        raise ControllerError(f"controller: {error}; {INSTALL}") from None
    shell = Shell(Brain(generation=secrets.randbits(16), switches=known["switches"]))
    sockets = [open_port(port) if fd is None else socket.socket(fileno=fd)]
    if path is not None:
        sockets.append(open_unix(path))
    try:
        start(shell, host=host, port=number)
    except OSError as error:
        if path is not None:
            path.unlink(missing_ok=True)
        raise ControllerError(f"--listen {listen}: {_why(error)}") from None
    _end_cleanly(path)
    token = os.environ.get(TOKEN) or secrets.token_urlsafe(16)
    link = f"http://127.0.0.1:{sockets[0].getsockname()[1]}/?token={token}"
    if json:
        print(json_module.dumps({"event": "ready", "version": 1, "openflow": listen, "link": link}), flush=True)
    else:
        print(link, flush=True)
    if not quiet:
        threading.Thread(target=_follow, args=(shell, json), daemon=True).start()
    serve(shell, sockets, token=token, names=known["names"], picture=known["picture"])


def _end_cleanly(path: Path | None) -> None:
    """SIGTERM and Ctrl-C end the process with exit code 0, and its Unix socket with it: os-ken's threads wait for
    switches, and uvicorn gives a signal back when it has served.
    """

    def end(_number: int, _frame: Any) -> None:
        if path is not None:
            path.unlink(missing_ok=True)
        os._exit(0)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)


def read_listen(text: str) -> tuple[str, int]:
    """Address and port of --listen."""
    host, colon, number = text.rpartition(":")
    if not colon or not number.isdecimal() or not 0 < int(number) < 65_536:
        raise InputError(f"--listen {text!r}: allowed is HOST:PORT, for example 127.0.0.1:{OPENFLOW_PORT}")
    return host, int(number)


def _why(error: OSError) -> str:
    """Why nobody can listen there, and what to do."""
    if error.errno == errno.EADDRNOTAVAIL or (error.errno or 0) < 0:  # below 0: no such name
        return "this host has no such address; take one of `ip addr`, as 127.0.0.1, or 0.0.0.0 for all"
    if error.errno == errno.EADDRINUSE:
        return "Address already in use, maybe by another controller; choose another port"
    return f"{os.strerror(error.errno or 0)}; choose another port"


def _follow(shell: Any, as_json: bool) -> None:
    """Say what happens, as it does, while anybody reads it."""
    number = 1
    with contextlib.suppress(BrokenPipeError):
        while True:
            with shell.news:
                shell.news.wait(0.5)
            for entry in shell.ask(lambda brain, _now_ns, at=number: brain.journal.since(at)):
                number = entry.number + 1
                if as_json:
                    print(json_module.dumps({"event": entry.kind, **entry.data}), flush=True)
                else:
                    _say(f"{entry.kind}: " + ", ".join(f"{name} {value}" for name, value in entry.data.items()))


def _say(line: str) -> None:
    print(f"pacelab: {line}", file=sys.stderr, flush=True)


# The file of `--network`: who is who, and which switches may connect.

KEYS = ("names", "switches", "picture")
_ID = re.compile(r"(0x)?[0-9A-Fa-f]{1,16}")
_EXAMPLE = "docs/controller.md has an example"


def read_network(path: Path | None) -> dict[str, Any]:
    """`names`, `switches` (None: any may connect) and `picture` of a file."""
    if path is None:
        return {"names": {}, "switches": None, "picture": None}
    try:
        found = json_module.loads(path.read_text("utf-8"))
        return _checked(found)
    except OSError as error:
        raise InputError(f"--network {path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"--network {path}: {error}; {_EXAMPLE}") from None


def _checked(found: Any) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise ValueError(f"allowed is an object with {', '.join(KEYS)}")
    for key in found:
        if key not in KEYS:
            raise ValueError(f"{key!r}: allowed is one of {', '.join(KEYS)}")
    names, switches, picture = found.get("names", {}), found.get("switches"), found.get("picture")
    if not isinstance(names, dict) or not all(isinstance(name, str) for name in names.values()):
        raise ValueError("names: allowed is an object of texts")
    if switches is not None and not isinstance(switches, list):
        raise ValueError("switches: allowed is a list")
    if picture is not None and not isinstance(picture, dict):
        raise ValueError("picture: allowed is an object")
    return {
        "names": {_named(key): name for key, name in names.items()},
        "switches": None if switches is None else [_switch(one) for one in switches],
        "picture": picture,
    }


def _named(key: str) -> str:
    """A switch as the controller writes it, or an address."""
    if _ID.fullmatch(key):
        return f"{_switch(key):016x}"
    try:
        return str(IPv4Address(key))
    except AddressValueError:
        raise ValueError(f"names: {key!r}: allowed is a switch's hexadecimal digits or an IPv4 address") from None


def _switch(text: Any) -> int:
    if not isinstance(text, str) or not _ID.fullmatch(text):
        raise ValueError(f"switches: {text!r}: allowed are a switch's up to 16 hexadecimal digits, as a text")
    return int(text, 16)
