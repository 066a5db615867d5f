"""`python -m pacelab_controller` is `pacelab controller`."""

from __future__ import annotations

import typer

from pacelab_controller.commands import controller

if __name__ == "__main__":
    typer.run(controller)
