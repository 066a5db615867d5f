"""Runs in the browser's Python: prints the digests of the cases on standard input, one JSON list per line.

A case is a row of tests/data/digests.csv, so the recorded digests are those of the native engine.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "conformance"))

import digests

for case in json.loads(Path(sys.argv[1]).read_text()):
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(digests.digests(case, Path(folder))), flush=True)
