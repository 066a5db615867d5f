"""The generic netlink family MAC80211_HWSIM, as far as making radios goes.

By the standard library: the answer to a new radio is its number in the place of an error code, which pyroute2 takes
for an error.

Source: linux/drivers/net/wireless/mac80211_hwsim.h.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
import subprocess
from typing import Self

from pacelab.errors import HostError
from pacelab.hosts.helper_client import as_root
from pacelab.hosts.processes import environment

NAME = "MAC80211_HWSIM"
MODULE = "mac80211_hwsim"
MEND = f"sudo modprobe {MODULE}; kernels that have it: docs/hwsim.md"

_HEADER, _GENERIC, _ATTRIBUTE = struct.Struct("=IHHII"), struct.Struct("=BBH"), struct.Struct("=HH")
_REQUEST, _ACK = 1, 4
_ERROR, _CONTROL = 2, 16
_GET_FAMILY, _FAMILY_ID, _FAMILY_NAME = 3, 1, 2
_NEW_RADIO, _CUSTOM_REG, _PERM_ADDR = 4, 12, 22
_FREE_CHANNELS = struct.pack("=I", 0)
"""The module's first set of rules: an IBSS may begin at 2.4 GHz and at 5.2 GHz, whatever country the host is in."""
_BUFFER_BYTES = 65_536


class Hwsim:
    """A socket to the module, in the network namespace of the calling thread. Radios made by it belong there."""

    def __init__(self) -> None:
        """Loads the module where that is allowed. Raises HostError."""
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 16)
        family = self._find_family()
        if family is None:
            load_module()
            family = self._find_family()
        if family is None:
            self._socket.close()
            raise HostError(f"back end hwsim: this kernel has no {MODULE}: {MEND}")
        self._family = family

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()  # the radios stay

    def new_radio(self, mac: str) -> None:
        """Make a radio with this permanent address, and an interface of that address. Raises HostError."""
        address = bytes.fromhex(mac.replace(":", ""))
        code, _ = self._ask(self._family, _NEW_RADIO, [(_PERM_ADDR, address), (_CUSTOM_REG, _FREE_CHANNELS)])
        if code < 0:  # else it is the radio's number
            mend = f"run as root: {as_root()}" if code == -errno.EPERM else "see the kernel's log: sudo dmesg"
            raise HostError(f"back end hwsim: making radio {mac}: {os.strerror(-code)}; {mend}")

    def _find_family(self) -> int | None:
        _, payload = self._ask(_CONTROL, _GET_FAMILY, [(_FAMILY_NAME, NAME.encode() + b"\0")])
        found = _attributes(payload).get(_FAMILY_ID)
        return None if found is None else int(struct.unpack("=H", found)[0])

    def _ask(self, family: int, command: int, attributes: list[tuple[int, bytes]]) -> tuple[int, bytes]:
        """Code of the answer, and its attributes where it is not just a code."""
        body = _GENERIC.pack(command, 1, 0)
        for kind, value in attributes:
            body += _ATTRIBUTE.pack(_ATTRIBUTE.size + len(value), kind) + value + bytes(-len(value) % 4)
        self._socket.send(_HEADER.pack(_HEADER.size + len(body), family, _REQUEST | _ACK, 1, 0) + body)
        payload = b""
        while True:
            answer = self._socket.recv(_BUFFER_BYTES)
            kind = _HEADER.unpack_from(answer)[1]
            if kind == _ERROR:
                return int(struct.unpack_from("=i", answer, _HEADER.size)[0]), payload
            payload = answer[_HEADER.size + _GENERIC.size :]


def load_module() -> None:
    """Load it without radios of its own, if the kernel has it and we may."""
    try:
        subprocess.run(["modprobe", "--quiet", MODULE, "radios=0"], env=environment(), capture_output=True, check=False)
    except OSError:  # no modprobe here
        return


def _attributes(payload: bytes) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    while len(payload) >= _ATTRIBUTE.size:
        length, kind = _ATTRIBUTE.unpack_from(payload)
        if length < _ATTRIBUTE.size:
            break
        found[kind] = payload[_ATTRIBUTE.size : length]
        payload = payload[length + -length % 4 :]
    return found
