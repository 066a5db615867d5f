"""Where the kernel of a run between real hosts is: `--where here|vm|uml`. It adds no topology code.

    here   this machine's
    vm     a virtual machine's (`make vm`): a stock Debian kernel, in real time
    uml    User-Mode Linux (`make uml-kernel`): a kernel as a process of yours, whose clock moves only when it is idle,
           so that a run is a function of its configuration and seed, whatever the machine's speed or load

Both of the last two do one thing: a back end's plan goes into a folder that a guest shares, the same pacelab in the
guest runs it with `--where here`, and its result comes back through the folder. They differ in how a guest is booted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pacelab.errors import ConfigError

if TYPE_CHECKING:
    from pacelab.chosen import Options

HERE, VM, UML = "here", "vm", "uml"
PLACES = (HERE, VM, UML)


def check(options: Options) -> None:
    """Raise ConfigError when this experiment cannot run there. Looks at no machine."""
    if options.where == HERE:
        return
    if options.backend == "sim":
        raise ConfigError(f"--where {options.where} with --backend sim: it has no kernel: allowed is {HERE}")
    for name, plain in (("builder", "plain"), ("medium", "own"), ("controller", None)):
        if getattr(options, name) not in (None, plain):
            given = f"--{name} {getattr(options, name)}"
            raise ConfigError(f"{given} with --where {options.where}: its guest has none: allowed is --where {HERE}")
