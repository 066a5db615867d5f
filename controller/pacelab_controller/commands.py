"""`pacelab controller`, which `pacelab` finds through an entry point."""

from __future__ import annotations

import contextlib
import errno
import json as json_module
import os
import secrets
import signal
import socket
import sys
import threading
from pathlib import Path
from typing import Annotated, Any, NoReturn
from urllib.parse import quote

import click

from pacelab import Option
from pacelab_controller.errors import ControllerError, InputError
from pacelab_controller.installation import INSTALL, OPENFLOW_PORT
from pacelab_controller.network_file import read_network
from pacelab_controller.web.client import TOKEN


def _option(flag: str, metavar: str | None, text: str) -> Any:
    return Option(flag, metavar=metavar, help=text)


Listen = Annotated[str, _option("--listen", "HOST:PORT", "address for the switches (OpenFlow)")]
PortNumber = Annotated[int, Option("--port", limits=(0, 65_535), help="REST and page on 127.0.0.1; 0: any free port")]
Socket = Annotated[Path | None, _option("--socket", "PATH", "also serve REST on this Unix socket")]
Descriptor = Annotated[int | None, Option("--fd", hidden=True, help="REST on this open socket")]
NetworkFile = Annotated[
    Path | None,
    _option("--network", "FILE", "JSON file: names of switches and addresses, and which switches may connect"),
]
Check = Annotated[
    bool, _option("--check", None, "self-test with a real Open vSwitch, in private namespaces (needs root)")
]
Json = Annotated[bool, _option("--json", None, "print one JSON document per line: ready, then each event")]
Quiet = Annotated[bool, _option("--quiet", None, "print only the link")]


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
    """Run the OpenFlow controller of the wired side. It serves a REST API and a web page on 127.0.0.1."""
    try:
        if check:
            from pacelab_controller.switches.selftest import run_in_private

            raise click.exceptions.Exit(run_in_private(json=json, print_line=_say))
        _serve(listen, port, socket_path, fd, network, json=json, quiet=quiet)
    except ControllerError as error:
        _say(str(error))
        raise click.exceptions.Exit(error.exit_code) from None


def _serve(
    listen: str, port: int, path: Path | None, fd: int | None, network: Path | None, *, json: bool, quiet: bool
) -> None:
    host, number = read_listen(listen)
    known = read_network(network)
    try:
        from pacelab_controller.core.controller import Controller
        from pacelab_controller.openflow.driver import Driver
        from pacelab_controller.openflow.run import start
        from pacelab_controller.web.serve import open_port, open_unix, serve
    except ImportError as error:
        raise ControllerError(f"a requirement is missing ({error}); install it: {INSTALL}") from None
    driver = Driver(Controller(generation=secrets.randbits(16), switches=known.switches))
    sockets = [open_port(port) if fd is None else socket.socket(fileno=fd)]
    if path is not None:
        sockets.append(open_unix(path))
    try:
        start(driver, host=host, port=number)
    except OSError as error:
        if path is not None:
            path.unlink(missing_ok=True)
        raise ControllerError(f"--listen {listen}: {_why(error)}") from None
    _end_cleanly(path)
    token = os.environ.get(TOKEN) or secrets.token_urlsafe(16)
    link = f"http://127.0.0.1:{sockets[0].getsockname()[1]}/?token={quote(token, safe='')}"
    ready = json_module.dumps({"event": "ready", "version": 1, "openflow": listen, "link": link})
    try:
        print(ready if json else link, flush=True)
    except OSError as error:
        _say(f"writing the link: {error.strerror}; give an output that can be written")
        _end(path, ControllerError.exit_code)
    if not quiet:
        threading.Thread(target=_print_events, args=(driver, json), daemon=True).start()
    serve(driver, sockets, token=token, names=known.names, picture=known.picture)


def _end_cleanly(path: Path | None) -> None:
    """End the process on SIGTERM and Ctrl-C with exit code 0, and remove its Unix socket.

    uvicorn raises the signal again when it has ended.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: _end(path, 0))


def _end(path: Path | None, code: int) -> NoReturn:
    """End the process, and remove its Unix socket. os-ken's threads would wait for switches."""
    if path is not None:
        path.unlink(missing_ok=True)
    os._exit(code)


def read_listen(text: str) -> tuple[str, int]:
    """Address and port of --listen. Raises InputError."""
    host, colon, number = text.rpartition(":")
    if not colon or not number.isdecimal() or not 0 < int(number) < 65_536 or not _is_encodable(host):
        raise InputError(f"--listen must be HOST:PORT, not {text!r}; for example 127.0.0.1:{OPENFLOW_PORT}")
    return host, int(number)


def _is_encodable(host: str) -> bool:
    """Whether a host name can be looked up: no part of it is empty or too long."""
    try:
        host.encode("idna")
    except UnicodeError:
        return False
    return True


def _why(error: OSError) -> str:
    """Why it is not possible to listen there, and what to do."""
    if error.errno == errno.EADDRNOTAVAIL or (error.errno or 0) < 0:  # below 0: no such name
        return "this host has no such address; give one that `ip addr` shows, or 0.0.0.0 for all"
    if error.errno == errno.EADDRINUSE:
        return "Address already in use, perhaps by another controller; choose another port"
    return f"{os.strerror(error.errno or 0)}; choose another port"


def _print_events(driver: Any, as_json: bool) -> None:
    """Print events until nobody reads them, or until they cannot be written."""
    number = 1
    with contextlib.suppress(OSError):
        while True:
            with driver.news:
                driver.news.wait(0.5)
            for entry in driver.ask(lambda controller, _now_ns, at=number: controller.journal.since(at)):
                number = entry.number + 1
                if as_json:
                    print(json_module.dumps({"event": entry.kind, **entry.data}), flush=True)
                else:
                    _say(f"{entry.kind}: " + ", ".join(f"{name} {value}" for name, value in entry.data.items()))


def _say(line: str) -> None:
    print(f"pacelab: {line}", file=sys.stderr, flush=True)
