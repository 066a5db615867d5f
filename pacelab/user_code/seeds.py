"""While user code runs, the global random generators of Python and NumPy have a given seed."""

from __future__ import annotations

import contextlib
import random
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def seeded_generators(seed: int, *, text: str = "") -> Iterator[None]:
    """Seed `random` and `numpy.random` within this context, then restore their state. NumPy is loaded only if it is
    loaded already or if `text`, the user's code, names it.
    """
    before = random.getstate()
    random.seed(seed)
    try:
        with _numpy_draws(seed) if "numpy" in sys.modules or "numpy" in text else contextlib.nullcontext():
            yield
    finally:
        random.setstate(before)


@contextlib.contextmanager
def _numpy_draws(seed: int) -> Iterator[None]:
    try:
        import numpy.random as shared
    except ImportError:
        yield
        return
    before = shared.get_state()  # noqa: NPY002  # users draw from this generator
    shared.seed(divmod(seed, 2**32))  # noqa: NPY002
    try:
        yield
    finally:
        shared.set_state(before)  # noqa: NPY002
