"""Where the kernel of real hosts can be (`pacelab.hosts.where`)."""

from __future__ import annotations

HERE, VM, UML = "here", "vm", "uml"
PLACES = (HERE, VM, UML)
