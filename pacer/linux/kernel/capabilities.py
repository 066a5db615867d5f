"""What root may do, but not in a container that was not given it (linux/capability.h)."""

from __future__ import annotations

from pathlib import Path

from pacelab.pacer.linux.errors import AgentError

_BITS = {"CAP_NET_ADMIN": 12, "CAP_NET_RAW": 13, "CAP_SYS_ADMIN": 21}


def lacking(*names: str) -> str:
    """Those of these capabilities that this process is without; empty when it has all."""
    lines = Path("/proc/self/status").read_text().splitlines()
    held = next(int(line.split()[1], 16) for line in lines if line.startswith("CapEff:"))
    return " and ".join(name for name in names if not held >> _BITS[name] & 1)


def check_permitted() -> None:
    """AgentError when this process may not have packets of this host, or send its own."""
    if lacks := lacking("CAP_NET_ADMIN", "CAP_NET_RAW"):
        raise AgentError(f"not permitted without {lacks}; run as root, in a container with {in_container(lacks)}")


def in_container(lacks: str) -> str:
    """What gives a container the capabilities that `lacking` named."""
    return " ".join(f"--cap-add {name.removeprefix('CAP_')}" for name in lacks.split(" and "))
