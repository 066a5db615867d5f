"""While user code runs, the shared random numbers of Python and NumPy follow a seed."""

from __future__ import annotations

import contextlib
import random
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def shared_draws(seed: int, *, text: str = "") -> Iterator[None]:
    """Meanwhile who draws from `random` itself, or from `numpy.random`, draws the seed's numbers; then both go on as
    before. NumPy is loaded only where it is already, or where the `text` that runs names it.
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
    before = shared.get_state()  # noqa: NPY002  # it is what users draw from
    shared.seed(divmod(seed, 2**32))  # noqa: NPY002
    try:
        yield
    finally:
        shared.set_state(before)  # noqa: NPY002
