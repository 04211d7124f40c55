"""Imports go downwards only, and heavy libraries are imported where they are used.

The rule is read from the source, so that a forbidden import fails here even when no test runs it.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

PROJECT = Path(__file__).resolve().parents[1]

BELOW = {
    "errors": set(),
    "table": {"errors"},
    "runfolder": set(),
    "processes": set(),
    "wording": set(),
    "analysis": {"errors", "table", "wording"},
    "interpolation": {"errors", "table", "analysis"},
    "sources": {"errors", "table", "analysis", "runfolder", "wording"},
    "training": {"errors", "table", "analysis", "interpolation", "runfolder", "processes"},
    "model": {
        *("errors", "table", "analysis", "interpolation"),
        *("runfolder", "processes", "sources", "training"),
    },
    "figures": {"errors", "table", "analysis", "interpolation", "wording"},
    "export": {
        *("errors", "table", "analysis", "interpolation", "processes", "sources", "figures"),
        "wording",
    },
}
EVERYTHING_BELOW = set(BELOW) | {"data"}
BELOW |= {"cli": EVERYTHING_BELOW, "ui": EVERYTHING_BELOW, "__main__": {"cli"}}
BELOW |= {"recorder": {"errors", "runfolder", "analysis", "sources", "training"}}
BELOW |= {"__init__": {"sources", "table", "errors", "recorder"}}

ONLY_IN = {"streamlit": {"ui"}, "plotly": {"figures"}}
HEAVY = {"torch", "transformers", "sklearn", "scipy", "pandas", "huggingface_hub", "h5py"}
HEAVY_AT_TOP = {"torch": {"training", "model"}}


class Import(NamedTuple):
    file: Path
    layer: str
    target: str
    at_top: bool

    def __str__(self) -> str:
        return f"{self.file.relative_to(PROJECT)} imports {self.target}"


def _imports(path: Path) -> list[tuple[str, bool]]:
    """Names that a file imports, each with whether that happens when the file is imported."""
    found: list[tuple[str, bool]] = []

    def visit(node: ast.AST, at_top: bool) -> None:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return  # for the type checker; never runs
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            at_top = False
        if isinstance(node, ast.Import):
            found.extend((alias.name, at_top) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: write absolute imports"
            found.append((str(node.module), at_top))
            if node.module == "posviz":
                found.extend((f"posviz.{alias.name}", at_top) for alias in node.names)
        for child in ast.iter_child_nodes(node):
            visit(child, at_top)

    visit(ast.parse(path.read_text(encoding="utf-8")), at_top=True)
    return found


def _layer(path: Path) -> str:
    first = path.relative_to(PROJECT / "posviz").parts[0]
    return first.removesuffix(".py")


def _all_imports() -> list[Import]:
    return [
        Import(path, _layer(path), target, at_top)
        for path in sorted((PROJECT / "posviz").rglob("*.py"))
        for target, at_top in _imports(path)
    ]


def test_every_module_has_a_layer() -> None:
    unknown = {_layer(path) for path in (PROJECT / "posviz").rglob("*.py")} - set(BELOW)
    assert not unknown, f"give these a place in BELOW: {sorted(unknown)}"


def test_imports_go_downwards() -> None:
    upward = []
    for item in _all_imports():
        name = item.target.split(".")
        if name[0] != "posviz" or len(name) < 2 or name[1] == item.layer:
            continue
        if name[1] in BELOW and name[1] not in BELOW[item.layer]:
            upward.append(str(item))
    assert upward == []


@pytest.mark.parametrize("library", sorted(ONLY_IN))
def test_a_layer_keeps_its_library(library: str) -> None:
    elsewhere = [
        str(item)
        for item in _all_imports()
        if item.target.split(".")[0] == library and item.layer not in ONLY_IN[library]
    ]
    assert elsewhere == []


def test_heavy_libraries_are_imported_where_they_are_used() -> None:
    at_start = [
        str(item)
        for item in _all_imports()
        if (library := item.target.split(".")[0]) in HEAVY
        and item.at_top
        and item.layer not in HEAVY_AT_TOP.get(library, set())
    ]
    assert at_start == []


def test_pages_import_only_what_the_screen_needs() -> None:
    allowed = {"__future__", "pathlib", "streamlit", "posviz", "numpy"}
    for path in [PROJECT / "app.py", *sorted((PROJECT / "pages").glob("*.py"))]:
        for target, _ in _imports(path):
            assert target.split(".")[0] in allowed, f"{path.name} imports {target}"


def test_linear_algebra_takes_one_thread_unless_somebody_chose() -> None:
    program = (
        "import sys, os, streamlit; assert 'numpy' not in sys.modules, 'too late to choose'; "
        "import posviz; print(os.environ['OPENBLAS_NUM_THREADS'])"
    )
    for chosen, expected in ((None, "1"), ("3", "3")):
        environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_NUM_THREADS"}
        environment |= {} if chosen is None else {"OPENBLAS_NUM_THREADS": chosen}
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=PROJECT, env=environment, capture_output=True,
            text=True, check=True,
        )  # fmt: skip
        assert done.stdout.strip() == expected
