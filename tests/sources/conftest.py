"""Checkpoints built by hand, and what opening any file may cost."""

from __future__ import annotations

import contextlib
import json
import struct
import time
import tracemalloc
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from posviz import sources
from posviz.errors import PosvizError

if TYPE_CHECKING:
    from posviz.sources import Candidate, Checkpoint

CODES = {
    "F64": ("<f8", 8), "F32": ("<f4", 4), "F16": ("<f2", 2), "I64": ("<i8", 8), "U8": ("u1", 1)
}  # fmt: skip


def safetensors_bytes(
    tensors: Mapping[str, tuple[str, tuple[int, ...], bytes]], metadata: object = ...
) -> bytes:
    """A safetensors file from (type, shape, bytes) by name."""
    header: dict[str, object] = {} if metadata is ... else {"__metadata__": metadata}
    offset = 0
    for name, (dtype, shape, data) in tensors.items():
        span = [offset, offset + len(data)]
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": span}
        offset += len(data)
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + b"".join(data for _, _, data in tensors.values())


Arrays = Mapping[str, np.ndarray]


@pytest.fixture
def write_safetensors() -> Callable[..., Path]:
    """A function (path, arrays, dtype of each, metadata) that writes a safetensors file."""

    def write(path: Path, arrays: Arrays, *, dtype: str = "F32", metadata: object = ...) -> Path:
        tensors = {}
        for name, array in arrays.items():
            code = {"int64": "I64", "uint8": "U8"}.get(str(array.dtype), dtype)
            tensors[name] = (code, array.shape, array.astype(CODES[code][0]).tobytes())
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(safetensors_bytes(tensors, metadata))
        return path

    return write


@pytest.fixture
def raw_safetensors() -> Callable[..., bytes]:
    """The function that puts (type, shape, bytes) together, for files that are wrong on purpose."""
    return safetensors_bytes


@pytest.fixture
def model_folder(write_safetensors: Callable[..., Path], tmp_path: Path) -> Callable[..., Path]:
    """A function (arrays, config) that writes model.safetensors and config.json."""

    def write(
        arrays: Arrays, config: Mapping[str, object] | None = None, *, dtype: str = "F32",
        name: str = "model",
    ) -> Path:  # fmt: skip
        folder = tmp_path / name
        write_safetensors(folder / "model.safetensors", arrays, dtype=dtype)
        if config is not None:
            (folder / "config.json").write_text(json.dumps(config))
        return folder

    return write


@pytest.fixture
def rows() -> Callable[..., np.ndarray]:
    """A function (*shape) that draws numbers which look like no sinusoid."""
    rng = np.random.default_rng(5)
    return lambda *shape: rng.normal(0, 0.02, shape).astype(np.float32)


@pytest.fixture
def opened(model_folder: Callable[..., Path]) -> Callable[..., Checkpoint]:
    """A function (arrays, config, dtype) that writes a model folder and opens it."""

    def opened(
        arrays: Arrays, config: Mapping[str, object] | None = None, *, dtype: str = "F32"
    ) -> Checkpoint:
        return sources.open(str(model_folder(arrays, config, dtype=dtype)))

    return opened


@pytest.fixture
def only() -> Callable[[Checkpoint], Candidate]:
    """A function that gives the one table of a checkpoint, and fails if there are several."""

    def only(checkpoint: Checkpoint) -> Candidate:
        assert len(checkpoint.tables) == 1
        return checkpoint.tables[0]

    return only


@pytest.fixture
def shards(tmp_path: Path, write_safetensors: Callable[..., Path]) -> Callable[..., Path]:
    """A function (index map, shard files) that writes a sharded folder."""

    def shards(
        weight_map: Mapping[str, str] | None,
        files: Mapping[str, Arrays],
        *,
        folder: str = "sharded",
    ) -> Path:
        root = tmp_path / folder
        for name, arrays in files.items():
            write_safetensors(root / name, arrays)
        if weight_map is not None:
            text = json.dumps({"metadata": {}, "weight_map": weight_map})
            (root / "model.safetensors.index.json").write_text(text)
        return root

    return shards


class Bounded:
    """Runs something and checks what hostile input must never cost: a minute, 200 MB.

    Opening takes milliseconds and refusing the worst file about two seconds: the
    minute of processor time tells work that a file can multiply at will from a slow machine.
    """

    seconds = 60.0
    nbytes = 200 << 20

    def __call__(self, run: Callable[[], object]) -> object:
        start = time.process_time()
        try:
            return run()
        finally:
            assert time.process_time() - start < self.seconds

    def memory(self, run: Callable[[], object]) -> None:
        """The same again, watched: what is allocated at once stays small."""
        tracemalloc.start()
        try:
            with contextlib.suppress(PosvizError):
                run()
            assert tracemalloc.get_traced_memory()[1] < self.nbytes
        finally:
            tracemalloc.stop()


@pytest.fixture
def bounded() -> Bounded:
    return Bounded()


@pytest.fixture
def refused(tmp_path: Path, bounded: Bounded) -> Callable[[str, bytes], str]:
    """A function (file name, content) that gives the one sentence of the refusal.

    The file is opened from disk and as an upload, in bounded time and memory; both must say
    the same.
    """

    def refused(name: str, content: bytes) -> str:
        path = tmp_path / "hostile" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        with pytest.raises(PosvizError) as local:
            bounded(lambda: sources.open(str(path)).table())
        with pytest.raises(PosvizError) as upload:
            bounded(lambda: sources.open_upload({name: content}).table())
        if len(content) < 1 << 20:  # watching a million small allocations takes very long
            bounded.memory(lambda: sources.open(str(path)).table())
        sentence = str(local.value)
        assert sentence == str(upload.value)
        assert sentence.endswith(".")
        assert "\n" not in sentence
        return sentence

    return refused


@pytest.fixture
def data() -> Path:
    """Small files that other programs wrote (tests/sources/data/README.md says which)."""
    return Path(__file__).parent / "data"
