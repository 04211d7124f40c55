"""A training run from configuration to folder: what the command line and the worker both drive."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors.torch import save

from posviz.errors import TrainingError
from posviz.runfolder import CONFIG, METRICS, MODEL, SNAPSHOTS, VOCABULARY
from posviz.training.bert import BERT
from posviz.training.config import default_config
from posviz.training.finetuner import trainer_of
from posviz.training.gpt import GPT
from posviz.training.huggingface import to_tensors
from posviz.training.metrics import snapshot_metrics
from posviz.training.pretrained import PretrainedConfig, config_of
from posviz.training.recording import Recording, json_bytes, write_whole
from posviz.training.runs import open_run
from posviz.training.state import STATE, load_state, save_state
from posviz.training.tasks import TASKS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from posviz.training.config import Schedule, TrainConfig
    from posviz.training.loop import Snapshot, Trainer

_SETTLE = 5  # steps before the speed is worth telling


@dataclass(frozen=True, eq=False)
class Progress:
    """Where a run stands.

    Parameters
    ----------
    step, steps : int
        Taken, and asked for.
    batch_loss : float or None
        Loss in nats of the last step's own batch; None before any step of this process.
    steps_per_second, seconds_left : float or None
        Averaged over this process's share of the run, snapshots included; None until it is known.
    seconds : float
        Since this process began training.
    snapshot : Snapshot or None
        The table, where one was due; it is on disk already.
    metrics : mapping or None
        The snapshot's line of ``metrics.jsonl``.
    """

    step: int
    steps: int
    batch_loss: float | None
    steps_per_second: float | None
    seconds_left: float | None
    seconds: float
    snapshot: Snapshot | None = None
    metrics: Mapping[str, Any] | None = None


def configure(
    out: str | Path, *, resume: bool = False, task: str | None = None, **settings: Any
) -> TrainConfig | PretrainedConfig:
    """The configuration that options ask for.

    Parameters
    ----------
    out : path of the run folder
    resume : bool
        What is not given comes from the run in ``out`` instead of from the task's defaults.
    task, settings
        As :class:`TrainConfig`; None counts as not given.

    Raises
    ------
    TrainingError
        A setting is out of range, or there is no run to resume.
    """
    if not resume:
        return default_config(task or "sticky-mlm", **settings)
    given = {name: value for name, value in settings.items() if value is not None}
    if task is not None:
        given["task"] = task
    return config_of({**_resumable(Path(out)), **given})


def summary(last: Progress, out: str | Path) -> dict[str, Any]:
    """What ``posviz train --json`` prints: the end of a run, with its last snapshot's metrics.

    Parameters
    ----------
    last : Progress
        The last one that :func:`train` gave; it has a snapshot.
    out : path of the run folder
    """
    metrics = dict(last.metrics or {})
    return {
        "steps": last.step,
        "loss": metrics.get("loss"),
        "seconds": last.seconds,
        "out": str(out),
        **metrics,
    }


def train(
    config: TrainConfig | PretrainedConfig,
    out: str | Path,
    *,
    resume: bool = False,
    stop: Callable[[], bool] = lambda: False,
    make: Callable[[Any], Trainer] = trainer_of,
    reading: Callable[..., None] | None = None,
) -> Iterator[Progress]:
    """Train, writing the run folder step by step; to break off is to stop asking for more.

    Everything that can be refused is refused before this returns. While iterating, a snapshot is
    on disk before it is given, and the folder is readable at any moment.

    Parameters
    ----------
    config : TrainConfig or PretrainedConfig
    out : path of the run folder
        Made if missing.
    resume : bool
        Go on from the last saved moment to ``config.steps``, with the same result as a run that
        was never broken off. Nothing but ``steps`` may differ from the run in ``out``.
    stop : callable () -> bool
        Asked after each step; a yes keeps a snapshot of that very step and ends the run there.
    make : function (configuration) -> Trainer
        :func:`posviz.model.tuner.trainer_of` knows models of others too.
    reading : function, optional
        Hears how far a step is: see :class:`posviz.training.loop.Trainer`.

    Raises
    ------
    TrainingError
        The task refuses its text, the folder already holds something or cannot be written, the
        run to resume differs; while iterating: the loss is no longer finite, the disk is full.
    """
    if (
        config.text is not None
        and not isinstance(config, PretrainedConfig)
        and not TASKS[config.task].reads_text
    ):
        readers = ", ".join(name for name, task in TASKS.items() if task.reads_text)
        raise TrainingError(
            f"{config.task} makes its own sequences and reads no text; {config.text} was given. "
            f"Leave the text out, or choose a task that reads one: {readers}."
        )
    folder = Path(out)
    if resume:
        _check_same(config, _resumable(folder))
    else:
        _check_free(folder)
    trainer = make(config)
    if reading is not None:
        trainer.reading = reading
    _make(folder)
    digest = trainer.data.text_sha256
    recording = Recording(folder, header={"format": "pt"})
    if resume and (folder / STATE).exists():
        _check_text(folder, digest)
        load_state(trainer, folder)
        if trainer.step > config.steps:
            raise TrainingError(
                f"The run in {folder} has taken {trainer.step} steps already; {config.steps} were "
                f"asked for. Ask for at least as many as it has."
            )
        recording = _kept(folder, trainer)
    settings = {"training": config.as_dict(), "text_sha256": digest, "device": trainer.device.type}
    if trainer.keeps_model:
        numbers = trainer.data.vocabulary.numbers
        write_whole(folder / VOCABULARY, json_bytes(numbers, indent=0))
    said = trainer.description()
    said["posviz"] = settings | said.get("posviz", {})
    write_whole(folder / CONFIG, json_bytes(said, indent=2))
    return _run(trainer, folder, recording, stop)


def _run(
    trainer: Trainer, folder: Path, recording: Recording, stop: Callable[[], bool]
) -> Iterator[Progress]:
    first, steps, began = trainer.step, trainer.config.steps, time.monotonic()
    for now in trainer.progress():
        stopping, snapshot, metrics = stop(), now.snapshot, None
        if snapshot is None and stopping:
            snapshot = trainer.snapshot()
        if snapshot is not None:
            metrics = snapshot_metrics(snapshot)
            recording.add(snapshot.table, metrics)
            if trainer.keeps_model:
                assert isinstance(trainer.model, GPT | BERT)
                tensors = to_tensors(trainer.model)
                write_whole(folder / MODEL, save(tensors, metadata={"format": "pt"}))
            save_state(trainer, folder)
        seconds = time.monotonic() - began
        taken = now.step - first
        speed = taken / seconds if taken >= _SETTLE else None
        left = (steps - now.step) / speed if speed else None
        yield Progress(now.step, steps, now.batch_loss, speed, left, seconds, snapshot, metrics)
        if stopping:
            return


def _check_free(folder: Path) -> None:
    held = [n for n in (CONFIG, METRICS, SNAPSHOTS, MODEL, STATE) if (folder / n).exists()]
    if held:
        raise TrainingError(
            f"{folder} already holds {', '.join(held)}, which a new run would overwrite. "
            f"Choose another folder, or resume the run that is there."
        )


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as err:
        raise TrainingError(
            f"The folder {folder} cannot be made ({err.strerror}). Choose another one."
        ) from err


def _resumable(folder: Path) -> dict[str, Any]:
    settings = open_run(folder).settings
    if not settings:
        raise TrainingError(
            f"{folder} holds no training settings, so there is nothing to resume. "
            f"Train anew in another folder."
        )
    return settings


def _check_same(config: Schedule, kept: Mapping[str, Any]) -> None:
    asked = config.as_dict()
    differing = [
        f"{name.replace('_', '-')} ({kept.get(name)} in the run, {asked[name]} asked for)"
        for name in asked
        if name != "steps" and asked[name] != kept.get(name)
    ]
    if differing:
        raise TrainingError(
            f"A resumed run keeps its settings; these differ: {', '.join(differing)}. "
            f"Leave them out, or train anew in another folder."
        )


def _check_text(folder: Path, digest: str | None) -> None:
    if open_run(folder).text_sha256 != digest:
        raise TrainingError(
            f"The text is not the one the run in {folder} was trained on, so going on would not "
            f"equal an unbroken run. Give the old text back, or train anew in another folder."
        )


def _kept(folder: Path, trainer: Trainer) -> Recording:
    """The snapshots so far, but for the last of a shorter run: an unbroken one has none there."""
    run = open_run(folder)
    due = set(takewhile(lambda step: step <= trainer.step, trainer.schedule()))
    lines = {line["step"]: line for line in run.metrics if line["step"] in due}
    return Recording(
        folder,
        snapshots={step: run.snapshot(step) for step in lines},
        metrics=lines,
        header={"format": "pt"},
    )
