"""What a page costs before it shows anything, and which heavy libraries it pulls in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.measure import PROJECT, Row, fresh

if TYPE_CHECKING:
    from collections.abc import Iterator

HEAVY = ("torch", "transformers", "sklearn")

_WALK = """
import sys, time
from streamlit.testing.v1 import AppTest
start = time.perf_counter()
at = AppTest.from_file("app.py", default_timeout=120).run()
if {page!r}:
    at.switch_page({page!r}).run()
assert not at.exception, at.exception
taken = 1000 * (time.perf_counter() - start)
answer = [taken, sorted(set(sys.modules) & set({heavy!r}))]
"""


def rows() -> Iterator[Row]:
    """Each page opened in a process of its own, against one import that none may need."""
    torch = fresh("import torch").milliseconds
    for page in sorted((PROJECT / "pages").glob("*.py")):
        name = f"pages/{page.name}"
        done = fresh(_WALK.format(page=name, heavy=HEAVY), repeats=3)
        taken, heavy = done.answer
        loaded = f"imports {', '.join(heavy)}" if heavy else f"imports none of {', '.join(HEAVY)}"
        yield Row(f"{name}, first run in a new process; {loaded}", taken, "import torch", torch)
