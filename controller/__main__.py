"""`python -m pacelab.controller` is `pacelab controller`."""

from __future__ import annotations

import typer

from pacelab.controller.commands import controller

if __name__ == "__main__":
    typer.run(controller)
