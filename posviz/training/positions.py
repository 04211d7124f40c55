"""The position table of a model in training: four ways to fill it, one way to hold it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from posviz.analysis.references import sinusoidal

if TYPE_CHECKING:  # torch takes seconds to load, and a page needs only the names and labels below
    import torch
    from torch import nn


@dataclass(frozen=True)
class TableKind:
    """One way to fill a position table before training.

    Parameters
    ----------
    label, explanation : str
        For menus: a name, and one sentence on what the choice shows.
    learned : bool
        Whether training changes the rows.
    fill : callable (n_positions, d_model, scale) -> tensor of shape (n_positions, d_model)
        The rows before the first step. ``scale`` is the standard deviation of random rows.
    """

    label: str
    explanation: str
    learned: bool
    fill: Callable[[int, int, float], torch.Tensor]


def _gaussian(n_positions: int, d_model: int, scale: float) -> torch.Tensor:
    import torch

    return torch.randn(n_positions, d_model) * scale


def _sinusoid(n_positions: int, d_model: int, scale: float) -> torch.Tensor:
    import torch

    # As published: sines and cosines of unit amplitude, whatever the scale of random rows.
    return torch.from_numpy(sinusoidal(n_positions, d_model)).float()


def _zeros(n_positions: int, d_model: int, scale: float) -> torch.Tensor:
    import torch

    return torch.zeros(n_positions, d_model)


TABLE_KINDS: dict[str, TableKind] = {
    "learned": TableKind("Learned", "Random rows that training changes.", True, _gaussian),
    "sinusoidal": TableKind(
        "Sinusoidal", "The fixed sines and cosines of the first transformer.", False, _sinusoid
    ),
    "frozen": TableKind(
        "Random, frozen", "Random rows that training may not change.", False, _gaussian
    ),
    # Adding zeros is the same function as adding nothing, and keeps one shape of model.
    "none": TableKind(
        "None", "No positions at all: every row is zero and stays so.", False, _zeros
    ),
}


def position_table(kind: str, n_positions: int, d_model: int, scale: float) -> nn.Embedding:
    """A position table ready for a model.

    Parameters
    ----------
    kind : key of TABLE_KINDS
    n_positions, d_model : int
        Rows and dimensions.
    scale : float
        Standard deviation of random rows, in the units of the token table.

    Returns
    -------
    nn.Embedding with weight of shape (n_positions, d_model)
        Its weight takes no gradient unless the kind is learned.
    """
    from torch import nn

    chosen = TABLE_KINDS[kind]
    rows = chosen.fill(n_positions, d_model, scale)
    table = nn.Embedding(n_positions, d_model)
    table.weight = nn.Parameter(rows, requires_grad=chosen.learned)
    return table
