"""The model card's note of what was done to the position table, and the lines that repeat it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

import posviz
from posviz.export.weights import as_safetensors, is_repickled
from posviz.interpolation import METHODS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from posviz.export.recipe import Recipe
    from posviz.interpolation import Extended
    from posviz.sources.bundle import Bundle

HEADING = "## Another position table"


@dataclass(frozen=True)
class Loading:
    """How a checkpoint is loaded in Python.

    Parameters
    ----------
    imports : str
        The line that names the library.
    line : str
        The line that loads, with ``{out}`` where the place goes.
    """

    imports: str
    line: str


def loading(bundle: Bundle) -> Loading:
    """The lines that load a checkpoint like this one, as the library of its kind does."""
    config = bundle.checkpoint.config or {}
    name, file = next(iter(bundle.opened.items()))
    if is_repickled(bundle, file):
        return Loading(
            "import torch", f"checkpoint = torch.load({{out}} + {f'/{name}'!r}, weights_only=True)"
        )
    if "pretrained_cfg" in config:
        return Loading(
            "import timm", 'model = timm.create_model("local-dir:" + {out}, pretrained=True)'
        )
    if bundle.weights.config is None:
        return Loading(
            "from safetensors.torch import load_file",
            f"weights = load_file({{out}} + {f'/{as_safetensors(name, file)}'!r})",
        )
    named = config.get("architectures")
    first = named[0] if isinstance(named, list) and named else None
    kind = first if isinstance(first, str) and first.isidentifier() else "AutoModel"
    return Loading(f"from transformers import {kind}", f"model = {kind}.from_pretrained({{out}})")


def snippet(
    ref: str, recipe: Recipe, out: str, how: Loading, *, parameter: str | None = None
) -> str:
    """The few lines of Python that write the same checkpoint and load it.

    Parameters
    ----------
    ref : str
        The reference of the source.
    recipe : Recipe
    out : str
        Folder to write.
    how : Loading
        As :func:`loading` says.
    parameter : str or None
        Which table, where it is not the one that opens.
    """
    settings = dict(recipe.said())
    if parameter is not None:
        settings["parameter"] = parameter
    arguments = ", ".join(f"{name}={value!r}" for name, value in settings.items())
    return (
        f"from posviz.export.checkpoint import extend_checkpoint\n"
        f"{how.imports}\n"
        f"\n"
        f"extend_checkpoint({ref!r}, {out!r}, {arguments})\n"
        f"{how.line.format(out=repr(out))}\n"
    )


def table_snippet(ref: str, recipe: Recipe, out: str, *, parameter: str | None = None) -> str:
    """The few lines of Python that write the new table alone."""
    named = "" if parameter is None else f", parameter={parameter!r}"
    arguments = ", ".join(f"{name}={value!r}" for name, value in recipe.said().items())
    return (
        f"import posviz\n"
        f"from posviz.export.arrays import save_table\n"
        f"from posviz.interpolation import extend\n"
        f"\n"
        f"table = posviz.load({ref!r}{named})\n"
        f"save_table(extend(table, {arguments}).table, {out!r})\n"
    )


def card(
    bundle: Bundle,
    recipe: Recipe,
    extended: Extended,
    changed: Iterable[str],
    left_out: Iterable[str],
    before: str,
) -> str:
    """The model card: what it said before, then what was done and how to do it again.

    Parameters
    ----------
    before : str
        The card of the source, empty where it has none.
    """
    checkpoint, table = bundle.checkpoint, extended.table
    # A card is published; where its author's folders lie is nobody's business.
    ref = PurePath(checkpoint.ref).name if checkpoint.source == "file" else checkpoint.ref
    old = checkpoint.candidate(table.provenance.parameter)
    method = METHODS[extended.method]
    revision = f" at {checkpoint.revision}" if checkpoint.revision else ""
    kept = f" Positions {_listed(extended.kept)} were put back unchanged." if extended.kept else ""
    same = bundle.tuned is not None and table.n_positions == bundle.tuned.n_positions
    how = "" if same else f" {method.explanation}"
    if bundle.tuned is not None:
        new_rows = "The table was trained for a while at its new length; every other weight stayed."
    elif table.n_positions == old.n_positions:
        new_rows = "The table is as it was."
    elif method.family == "append" and table.n_positions > old.n_positions:
        new_rows = (
            f"Positions 0 to {old.n_positions - 1:,} are as they were; the "
            f"{table.n_positions - old.n_positions:,} after them were made by rule and never "
            f"trained. Inputs up to {old.n_positions:,} tokens give the same outputs as before."
        )
    else:
        new_rows = (
            "Its rows were made by rule from the trained ones and never trained themselves, so "
            "outputs differ from the original's at every length. Fine-tune before you rely on it."
        )
    lines = [
        HEADING,
        "",
        f"posviz {posviz.__version__} gave `{table.provenance.parameter}` of `{ref}`"
        f"{revision} {table.n_positions:,} positions in place of {old.n_positions:,}: "
        f"{table.provenance.note}.{how}{kept}",
        "",
        new_rows,
        "",
        "Changed:",
        "",
        *(f"- {line}" for line in changed),
    ]
    gone = [f"- {line}" for line in left_out]
    if gone:
        lines += ["", "Left out:", "", *gone]
    default = checkpoint.tables and checkpoint.tables[0].parameter == old.parameter
    code = snippet(
        ref, recipe, f"{checkpoint.name}-{table.n_positions}", loading(bundle),
        parameter=None if default else old.parameter,
    )  # fmt: skip
    lines += ["", "To do the same again:", "", "```python", code.rstrip("\n"), "```", ""]
    head = f"{before.rstrip()}\n\n" if before.strip() else f"# {checkpoint.name}\n\n"
    return head + "\n".join(lines)


def _listed(positions: tuple[int, ...]) -> str:
    shown = ", ".join(map(str, positions[:8]))
    return shown if len(positions) <= 8 else f"{shown} and {len(positions) - 8} more"
