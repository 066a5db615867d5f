"""Python's shared random numbers, while code of a user's own runs."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator


@contextlib.contextmanager
def shared_draws(seed: int) -> Iterator[None]:
    """Meanwhile who draws from `random` itself draws the seed's numbers; then it goes on as before."""
    before = random.getstate()
    random.seed(seed)
    try:
        yield
    finally:
        random.setstate(before)
