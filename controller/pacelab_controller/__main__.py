"""`python -m pacelab_controller` is `pacelab controller`."""

from __future__ import annotations

import sys

from pacelab.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["controller", *sys.argv[1:]]))
