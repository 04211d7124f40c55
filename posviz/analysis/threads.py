"""Independent parts of one analysis at the same time, on the cores that there are.

Each part is a pure function that runs whole on one thread, so its numbers do not depend on how
many threads there are. NumPy lets go of Python's lock where the time is spent. The linear algebra
library itself runs on one thread (posviz/__init__.py says why).
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor


def cores() -> int:
    """How many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def at_once() -> ThreadPoolExecutor:
    """A pool for the parts of one analysis; submit the longest first, and leave it by ``with``."""
    return ThreadPoolExecutor(max_workers=cores(), thread_name_prefix="posviz-analysis")
