"""The same numbers whatever the number of threads, of this program or of the algebra library."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from posviz.analysis import threads
from posviz.analysis.summary import analyze
from posviz.table import PositionTable, Provenance

PROGRAM = """
import sys
import posviz
from posviz.analysis.summary import analyze
import json
analysis = analyze(posviz.load(sys.argv[1]))
scores = analysis.decomposition.scores(3).round(9).tolist()
print(json.dumps(analysis.as_dict() | {"scores": scores}))
"""


def leaves(value: object, path: str = "") -> dict[str, object]:
    """Every number of a JSON value by its path."""
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    else:
        return {path: value}
    found: dict[str, object] = {}
    for key, part in items:
        found |= leaves(part, f"{path}.{key}")
    return found


def assert_same(first: object, second: object) -> None:
    ours, theirs = leaves(first), leaves(second)
    assert ours.keys() == theirs.keys()
    for path, value in ours.items():
        if isinstance(value, float):
            assert theirs[path] == pytest.approx(value, rel=1e-6, abs=1e-6), path
        else:
            assert theirs[path] == value, path


def test_one_core_or_several_give_the_same_bits(
    helix_weights: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = PositionTable(helix_weights[:200, :64], "made", Provenance("file", "made"))
    found = []
    for cores in (1, 4):
        monkeypatch.setattr(threads, "cores", lambda cores=cores: cores)
        found.append(analyze(table).as_dict())
    assert found[0] == found[1]


def test_threads_of_the_algebra_library_make_no_difference(
    helix_weights: np.ndarray, tmp_path: Path
) -> None:
    file = tmp_path / "helix.npy"
    np.save(file, helix_weights[:600, :300])
    found = []
    for count in ("1", "2", "3"):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(file)],
            env=os.environ | {"OPENBLAS_NUM_THREADS": count, "OMP_NUM_THREADS": count},
            capture_output=True,
            text=True,
            check=True,
        )
        found.append(json.loads(done.stdout))
    # Signs and orientation of the curve too: its scores are among the numbers.
    assert_same(found[0], found[1])
    assert_same(found[0], found[2])
