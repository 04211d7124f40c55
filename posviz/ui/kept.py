"""Tables that were read, kept in memory for all visitors, within a limit that the operator sets.

``POSVIZ_TABLE_MEMORY``
    Megabytes of tables to keep beside those that are open on some page, uploads included; 512
    unless it is set. Those that were asked for longest ago go first. A table that a visitor has
    open stays theirs, is shared with whoever asks for it too, and leaves memory when the last of
    them has left it. What was uploaded is its visitor's alone and ends with the visit.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from weakref import WeakValueDictionary, ref

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from posviz.ui.facts import Facts, Read

T = TypeVar("T")

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


class Lent(Generic[T]):
    """What a visitor brought and cannot be read again: theirs, as long as memory lasts.

    The visit holds this, and the server only refers to it, so that it ends with the visit.

    Parameters
    ----------
    value : object
    nbytes : int
        Bytes that keeping it takes.
    """

    def __init__(self, value: T, nbytes: int) -> None:
        self.nbytes = nbytes
        self._value: T | None = value
        self._alive = ref(value)

    def get(self) -> T | None:
        """It; None where it was let go and no page shows it."""
        return self._alive()

    def let_go(self) -> None:
        """Keep it no longer than some page shows it."""
        self._value = None


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
        # Asked for longest ago first; of what is lent only a reference, under its identity.
        self._kept: OrderedDict[Hashable, Read | ref[Lent[Any]]] = OrderedDict()
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

    def lend(self, value: T, nbytes: int) -> Lent[T]:
        """Keep what a visitor brought, within the same limit, for as long as the visit holds it."""
        lent = Lent(value, nbytes)
        with self._lock:
            self._kept[id(lent)] = ref(lent)
            self._kept.move_to_end(id(lent))  # where one that has ended had the same identity
            self._fit()
        return lent

    def use(self, lent: Lent[T]) -> T | None:
        """What was lent, now among the last asked for; None where it had to be let go."""
        with self._lock:
            if id(lent) in self._kept:
                self._kept.move_to_end(id(lent))
        return lent.get()

    @property
    def nbytes(self) -> int:
        """Bytes that are kept beside what is open on some page."""
        with self._lock:
            return sum(map(_kept_bytes, self._kept.values()))

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
            self._fit()
            self._since = {old: at for old, at in self._since.items() if old in self._alive}

    def _fit(self) -> None:
        """Let go what was asked for longest ago, down to the limit; the lock is held."""
        ended = [key for key, one in self._kept.items() if isinstance(one, ref) and one() is None]
        for key in ended:  # with their visits
            del self._kept[key]
        held, most = sum(map(_kept_bytes, self._kept.values())), self._limit()
        while held > most:
            _, oldest = self._kept.popitem(last=False)
            held -= _kept_bytes(oldest)
            lent = oldest() if isinstance(oldest, ref) else None
            if lent is not None:
                lent.let_go()


def cost(read: Read) -> int:
    """Bytes that keeping this takes."""
    return (0 if read.table is None else read.table.raw.nbytes) + cost_of_facts(read.facts)


def cost_of_facts(facts: Facts) -> int:
    """Bytes that keeping what a checkpoint said takes."""
    return _ENTRY_BYTES * len(facts.entries)


def _kept_bytes(one: Read | ref[Lent[Any]]) -> int:
    if not isinstance(one, ref):
        return cost(one)
    lent = one()
    return 0 if lent is None else lent.nbytes


TABLES = Tables()
"""Those of this server."""
