"""`python -m pacelab` is `pacelab`."""

from __future__ import annotations

import sys

from pacelab.cli.main import main

if __name__ == "__main__":  # spawned workers import this module too
    sys.exit(main())
