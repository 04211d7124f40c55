"""Somebody's own training script: a model, a loop with one line for posviz in it, and its runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from torch import nn

import posviz
from posviz import recorder


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of all runs, in a process that has recorded nothing yet."""
    monkeypatch.setenv("POSVIZ_RUNS", str(tmp_path / "runs"))
    recorder._recorders.clear()
    yield tmp_path / "runs"
    recorder._recorders.clear()


@pytest.fixture
def new_process() -> Callable[[], None]:
    """A function after which nothing is known of earlier recordings, as in a process just begun."""
    return recorder._recorders.clear


class NanoGPT(nn.Module):
    """Named as in nanoGPT; it does not need attention to have a table that learns."""

    def __init__(self, rows: int = 24, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        self.transformer = nn.ModuleDict(
            {"wte": nn.Embedding(11, 8, dtype=dtype), "wpe": nn.Embedding(rows, 8, dtype=dtype)}
        )
        self.lm_head = nn.Linear(8, 11, dtype=dtype)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        place = torch.arange(tokens.shape[1])
        return self.lm_head(self.transformer["wte"](tokens) + self.transformer["wpe"](place))


@pytest.fixture
def nano_gpt() -> type[NanoGPT]:
    """The class of a small model; its table is ``transformer["wpe"].weight``."""
    return NanoGPT


@pytest.fixture
def train() -> Callable[..., list[str]]:
    """A person's own loop, as a function (model, steps); the references of what was kept."""

    def train(model: nn.Module, steps: int, *, length: int = 24, **recorded: object) -> list[str]:
        torch.manual_seed(0)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.1)
        kept = []
        for step in range(steps):
            tokens = torch.randint(11, (4, length))
            loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
            kept.append(posviz.record(model, step, loss=loss, **recorded))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return [ref for ref in kept if ref]

    return train
