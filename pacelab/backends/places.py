"""What `--where` refuses. Looks at no machine."""

from __future__ import annotations

from pacelab.errors import ConfigError
from pacelab.options.request import Options
from pacelab.options.values import HERE


def check(options: Options) -> None:
    """Raise ConfigError when this experiment cannot run there."""
    if options.where == HERE:
        return
    if options.backend == "sim":
        raise ConfigError(f"--where {options.where} with --backend sim: it has no kernel: allowed is {HERE}")
    for name, plain in (("builder", "plain"), ("medium", "own"), ("controller", None)):
        if getattr(options, name) not in (None, plain):
            given = f"--{name} {getattr(options, name)}"
            raise ConfigError(f"{given} with --where {options.where}: its guest has none: allowed is --where {HERE}")
