"""Tables that were read, kept in memory for all visitors, within a limit that the operator sets.

``POSVIZ_TABLE_MEMORY``
    Megabytes of tables to keep beside those that are open on some page; 512 unless it is set. The
    tables that were asked for longest ago go first. A table that a visitor has open stays theirs,
    is shared with whoever asks for it too, and leaves memory when the last of them has left it.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import OrderedDict
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from posviz.ui.facts import Read

MEMORY = "POSVIZ_TABLE_MEMORY"
DEFAULT_MB = 512
SECONDS = 3600
"""After so long a table is read anew: a branch on the Hub may have moved."""

_ENTRY_BYTES = 600  # of what is known of one tensor, its name included


def limit() -> int:
    """How many bytes of tables are kept, as the operator set it."""
    said = os.environ.get(MEMORY, "").strip()
    if said.isdecimal() and len(said) < 10:
        return int(said) << 20
    if said:
        logging.getLogger(__name__).warning(
            "%s is %r, no whole number of megabytes; %d is taken.", MEMORY, said, DEFAULT_MB
        )
    return DEFAULT_MB << 20


class Tables:
    """What was read, by what was asked for; safe to use from many visitors at once.

    Parameters
    ----------
    limit : function
        How many bytes may be kept.
    clock : function
        Seconds.
    """

    def __init__(
        self, limit: Callable[[], int] = limit, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._limit = limit
        self._clock = clock
        self._kept: OrderedDict[Hashable, Read] = OrderedDict()  # asked for longest ago first
        self._alive: WeakValueDictionary[Hashable, Read] = WeakValueDictionary()
        self._since: dict[Hashable, float] = {}
        self._turns: dict[Hashable, threading.Lock] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable, read: Callable[[], Read]) -> Read:
        """What was read for `key` before, by anybody; else what `read` reads now.

        Of several visitors who ask for the same at once, one reads and the others wait.
        """
        with self._lock:
            found = self._find(key)
            if found is not None:
                return found
            turn = self._turns.setdefault(key, threading.Lock())
        try:
            with turn:
                with self._lock:
                    found = self._find(key)
                if found is None:
                    found = read()
                    self._keep(key, found)
                return found
        finally:
            with self._lock:
                self._turns.pop(key, None)

    @property
    def nbytes(self) -> int:
        """Bytes that are kept beside what is open on some page."""
        with self._lock:
            return sum(map(cost, self._kept.values()))

    def _find(self, key: Hashable) -> Read | None:
        if self._clock() - self._since.get(key, -SECONDS) >= SECONDS:
            return None
        found = self._alive.get(key)
        if key in self._kept:
            self._kept.move_to_end(key)
        return found

    def _keep(self, key: Hashable, found: Read) -> None:
        with self._lock:
            self._kept[key] = self._alive[key] = found
            self._kept.move_to_end(key)
            self._since[key] = self._clock()
            held, most = sum(map(cost, self._kept.values())), self._limit()
            while held > most:
                held -= cost(self._kept.popitem(last=False)[1])
            self._since = {old: at for old, at in self._since.items() if old in self._alive}


def cost(read: Read) -> int:
    """Bytes that keeping this takes."""
    table = 0 if read.table is None else read.table.raw.nbytes
    return table + _ENTRY_BYTES * len(read.facts.entries)


TABLES = Tables()
"""Those of this server."""
