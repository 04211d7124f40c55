"""The position table of a model in memory, found as in a file and read as often as asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from posviz.errors import NoTableError, SourceError
from posviz.sources import detective
from posviz.sources.checkpoint import Candidate, listed, two_axes
from posviz.sources.detective import Case
from posviz.sources.formats.dtypes import from_numpy
from posviz.sources.formats.tensors import Entry, shape_text
from posviz.sources.names import label

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from posviz.sources.suspects import Suspect

_SPELLING = {
    "float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16",
    "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class LiveTable:
    """Where a model keeps its position table.

    Parameters
    ----------
    candidate : Candidate
        What it is, and the reason it was taken for one.
    suspect : Suspect
        The tensors that make it.
    """

    candidate: Candidate
    suspect: Suspect

    def rows(self, tensors: Mapping[str, Any]) -> NDArray[np.float32]:
        """The rows as they are now: a copy, shape (n_positions, d_model), no offset rows.

        Raises
        ------
        SourceError
            A tensor of the table is gone.
        """
        return self.suspect.rows(_reader(tensors))[self.candidate.row_offset :].copy()


def tensors_of(model: Any) -> dict[str, Any]:
    """Parameters and buffers of a PyTorch module by name, or a mapping of names to tensors.

    A module's own ``state_dict`` is not asked: a sharded one would wait there for all processes.

    Raises
    ------
    SourceError
        The model is neither.
    """
    if isinstance(model, Mapping):
        return dict(model)
    model = unwrapped(
        model
    )  # the same names, whether it has been compiled or wrapped by now or not
    try:
        return {**dict(model.named_parameters()), **dict(model.named_buffers())}
    except (AttributeError, TypeError) as err:
        raise SourceError(
            f"A PyTorch module or a mapping of names to tensors is expected; "
            f"{type(model).__name__} is neither. Give the model itself, or its state_dict()."
        ) from err


def unwrapped(model: Any) -> Any:
    """The model inside what compiling and parallel training wrap around it."""
    while (inner := getattr(model, "_orig_mod", None) or _data_parallel(model)) is not None:
        model = inner
    return model


def config_of(model: Any) -> dict[str, object]:
    """The model's own settings: of transformers, a dataclass as in nanoGPT, or none."""
    config = getattr(unwrapped(model), "config", None)
    if callable(to_dict := getattr(config, "to_dict", None)):
        config = to_dict()  # before the fields: only this names the model's type
    elif is_dataclass(config) and not isinstance(config, type):
        config = asdict(config)
    return dict(config) if isinstance(config, Mapping) else {}


def find(
    tensors: Mapping[str, Any],
    config: Mapping[str, object] | None = None,
    *,
    parameter: str | None = None,
) -> LiveTable:
    """The position table among the tensors of a model.

    Parameters
    ----------
    tensors : mapping of names to tensors
        Wrappers' prefixes (``module.``, ``_orig_mod.``) do no harm.
    config : mapping, optional
        The model's settings, as config.json has them.
    parameter : str, optional
        The tensor to take, with or without wrappers' prefixes; the best candidate if absent.

    Raises
    ------
    NoTableError
        Nothing here is a position table, and none was named.
    SourceError
        The named tensor is not there, cannot be a table, or is spread over several processes.
    """
    entries = tuple(_entry(name, tensor) for name, tensor in tensors.items())
    case = Case(entries, config, lambda entry: _reader(tensors)(entry), bare=len(entries) == 1)
    if parameter is None:
        found = detective.investigate(case)
        if not found.tables:
            raise NoTableError(
                f"{found.message} Name one with parameter=… to record it all the same.",
                scheme=found.scheme,
            )
        chosen = found.tables[0]
    else:
        chosen = _named(parameter, case)
    return LiveTable(detective.read_table(chosen, case)[0], case.suspects[chosen.parameter])


def _named(parameter: str, case: Case) -> Candidate:
    same = [entry.name for entry in case.entries if entry.name == parameter]
    same = same or [e.name for e in case.entries if label(e.name) == label(parameter)]
    if len(same) == 1 and (chosen := detective.by_hand(same[0], case)) is not None:
        return chosen
    several = (
        f"Several tensors are called so: {listed(same)}." if same else two_axes(tuple(case.entries))
    )
    raise SourceError(f"The model holds no single tensor named {parameter}. {several}")


def _entry(name: str, tensor: Any) -> Entry:
    dtype = getattr(tensor, "dtype", None)
    if isinstance(dtype, np.dtype):
        spelled = from_numpy(dtype)
    else:
        plain = str(dtype).removeprefix("torch.")
        spelled = _SPELLING.get(plain, plain)
    return Entry(name, tuple(int(length) for length in tensor.shape), spelled, None, "model")


def _reader(tensors: Mapping[str, Any]) -> Callable[[Entry], NDArray[np.float32]]:
    def read(entry: Entry) -> NDArray[np.float32]:
        tensor = tensors.get(entry.name)
        if tensor is None:  # a part of the model may have been compiled or wrapped since
            same = [name for name in tensors if _plain(name) == _plain(entry.name)]
            if len(same) != 1:
                raise SourceError(f"The model no longer holds a tensor named {entry.name}.")
            tensor = tensors[same[0]]
        if (shape := tuple(tensor.shape)) != (before := entry.shape or ()):
            raise SourceError(
                f"{entry.name} was of shape {shape_text(before)} and is now of shape "
                f"{shape_text(shape)}. Record it as another run from here on."
            )
        if hasattr(tensor, "full_tensor"):
            raise SourceError(
                f"{entry.name} is spread over several processes. Gather it with full_tensor() on "
                f"all of them and give that: a mapping of its name to the tensor."
            )
        try:
            if hasattr(tensor, "detach"):
                tensor = tensor.detach().float().cpu().numpy()
            return np.asarray(tensor, dtype=np.float32)
        except (
            RuntimeError,
            TypeError,
            ValueError,
        ) as err:  # a device that is gone, or none at all
            raise SourceError(
                f"{entry.name} cannot be read from the model ({type(err).__name__}: {err})."
            ) from err

    return read


def _plain(name: str) -> str:
    return label(name.replace("_orig_mod.", ""))


def _data_parallel(model: Any) -> Any:
    # DataParallel, DistributedDataParallel and FullyShardedDataParallel hold one module so.
    return getattr(model, "module", None) if "Parallel" in type(model).__name__ else None
