"""All that a run needs to go on as if it had never stopped, in one safetensors file.

Weights, the optimiser's moments, the random generator and the rows seen are one moment of the
run, so they share one file: a kill can leave an older moment, never a mixed one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from posviz.errors import TrainingError
from posviz.training.recording import write_whole

if TYPE_CHECKING:
    from pathlib import Path

    import torch

    from posviz.training.loop import Trainer

STATE = "resume.safetensors"


def save_state(trainer: Trainer, folder: Path) -> None:
    """Write the trainer's state to the run folder.

    Raises
    ------
    TrainingError
        The folder cannot be written.
    """
    from safetensors.torch import save

    tensors = {f"model.{name}": value for name, value in trainer.model.state_dict().items()}
    for number, moments in trainer.optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{number}.{name}": value for name, value in moments.items()}
    tensors |= {"generator": trainer.generator.get_state(), "seen": trainer.seen}
    write_whole(folder / STATE, save(tensors, metadata={"step": str(trainer.step)}))


def load_state(trainer: Trainer, folder: Path) -> None:
    """Take a trainer of the same configuration to the saved state.

    Raises
    ------
    TrainingError
        The file is damaged or belongs to a model of another size.
    """
    from safetensors import SafetensorError, safe_open

    path = folder / STATE
    try:
        with safe_open(path, framework="pt") as file:
            step = int(file.metadata()["step"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        moments: dict[int, dict[str, torch.Tensor]] = {}
        for name in tensors:
            if name.startswith("optimizer."):
                _, number, moment = name.split(".")
                moments.setdefault(int(number), {})[moment] = tensors[name]
        trainer.model.load_state_dict(
            {name: tensors[f"model.{name}"] for name in trainer.model.state_dict()}
        )
        trainer.optimizer.load_state_dict(trainer.optimizer.state_dict() | {"state": moments})
        trainer.generator.set_state(tensors["generator"])
        trainer.seen = tensors["seen"]
    except (SafetensorError, OSError, KeyError, TypeError, ValueError, RuntimeError) as err:
        raise TrainingError(
            f"{path} does not hold the state of this run, so it cannot be resumed. "
            f"Its snapshots can still be opened; train anew in another folder."
        ) from err
    trainer.step = step
