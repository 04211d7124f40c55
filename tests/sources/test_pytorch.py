"""PyTorch files read as data: everything torch writes, and what torch refuses to read."""

from __future__ import annotations

import argparse
import collections
import datetime
import pathlib
import sys

import numpy as np
import pytest

from posviz import sources
from posviz.errors import SourceError

torch = pytest.importorskip("torch")

ZIPPED = pytest.mark.parametrize("zipped", [True, False], ids=["zip", "legacy"])


class Net(torch.nn.Module):
    """Pickled as a whole by the tests below."""

    def __init__(self) -> None:
        super().__init__()
        self.wpe = torch.nn.Embedding(8, 4)
        self.h = torch.nn.ModuleList([torch.nn.Linear(4, 4)])


@pytest.fixture
def saved(tmp_path):
    """A function (object, zipped, name) that saves with torch and opens with posviz."""

    def saved(value, *, zipped=True, name="model.pt"):
        path = tmp_path / name
        torch.save(value, path, _use_new_zipfile_serialization=zipped)
        return sources.open(str(path))

    return saved


def weights(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(3))


@ZIPPED
def test_agrees_with_torch_on_every_tensor_torch_reads(tmp_path, saved, zipped):
    base = weights(6, 8)
    value = {
        "wpe.weight": torch.nn.Parameter(weights(16, 8)),
        "f64": weights(3, 2).double(),
        "f16": weights(3, 2).half(),
        "bf16": weights(3, 2).bfloat16(),
        "i64": torch.arange(5),
        "bool": torch.tensor([True, False]),
        "turned": base.T,
        "every_second": base[::2, 1::3],
        "row": base[2],
        "single": torch.tensor(3.5),
        "empty": torch.zeros(0, 4),
        "expanded": torch.ones(1, 4).expand(8, 4),
        "nested": collections.OrderedDict(a=[weights(2, 2), {"b": weights(2)}]),
    }
    found = saved(value, zipped=zipped)
    expected = torch.load(tmp_path / "model.pt", weights_only=True)
    flat = {name: tensor for name, tensor in expected.items() if name != "nested"}
    flat |= {
        "nested.a.0": expected["nested"]["a"][0],
        "nested.a.1.b": expected["nested"]["a"][1]["b"],
    }
    assert {entry.name for entry in found.entries} == set(flat)
    for entry in found.entries:
        assert entry.shape == tuple(flat[entry.name].shape)
        np.testing.assert_array_equal(found.read(entry.name), flat[entry.name].detach().float())


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2"])
def test_float8_agrees_with_torch(saved, dtype):
    stored = weights(8, 4).to(getattr(torch, dtype))
    found = saved({"wpe.weight": stored})
    np.testing.assert_array_equal(found.table().weights, stored.float().numpy())
    assert found.tables[0].dtype == dtype.upper().replace("FLOAT8", "F8").removesuffix("FN")


@ZIPPED
@pytest.mark.parametrize(
    "beside",
    [
        {"args": argparse.Namespace(lr=1)},
        {"best": np.float64(1.5)},
        {"rng": np.random.default_rng(0).bit_generator.state, "array": np.arange(3)},
        {"path": pathlib.PurePosixPath("/tmp/x"), "when": datetime.datetime(2020, 1, 1)},
        {"counts": collections.defaultdict(list, a=[1])},
        {"set": {1, 2}, "bytes": b"x", "complex": 1 + 2j, "dtype": torch.float16},
    ],
)
def test_l01_what_lies_beside_the_weights_does_not_matter(saved, zipped, beside):
    table = weights(8, 4)
    found = saved({**beside, "model": {"wpe.weight": table}}, zipped=zipped)
    assert found.tables[0].parameter == "model.wpe.weight"
    np.testing.assert_array_equal(found.table().weights, table)


@ZIPPED
def test_l03_whole_pickled_model_opens_and_is_named(saved, zipped):
    net = Net()
    found = saved(net, zipped=zipped)
    assert {entry.name for entry in found.entries} == {"wpe.weight", "h.0.weight", "h.0.bias"}
    np.testing.assert_array_equal(found.table().weights, net.wpe.weight.detach())
    assert found.warnings == (
        f"model.pt is a whole pickled object ({Net.__module__}.Net), not a set of weights. Its "
        f"tensors were read as data; no class was imported.",
    )


def test_l03_no_module_of_the_file_is_imported(tmp_path, monkeypatch):
    (tmp_path / "secret_module.py").write_text("raise SystemExit('imported')")
    source = type("Net", (), {"__module__": "secret_module"})
    monkeypatch.setitem(sys.modules, "secret_module", type(sys)("secret_module"))
    sys.modules["secret_module"].Net = source
    thing = source()
    thing.weights = {"wpe.weight": weights(8, 4)}
    torch.save(thing, tmp_path / "m.pt")
    monkeypatch.delitem(sys.modules, "secret_module")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = sources.open(str(tmp_path / "m.pt"))
    assert found.tables[0].parameter == "weights.wpe.weight"
    assert "secret_module" not in sys.modules


@ZIPPED
def test_f19_megatron_nests_dictionaries(saved, zipped):
    table, name = weights(512, 16), "model.language_model.embedding.position_embeddings.weight"
    embedding = {
        "position_embeddings": {"weight": table},
        "word_embeddings": {"weight": weights(9, 16)},
    }
    found = saved(
        {"model": {"language_model": {"embedding": embedding}}, "iteration": 5}, zipped=zipped
    )
    assert [t.parameter for t in found.tables] == [name]
    np.testing.assert_array_equal(found.table().weights, table)


@ZIPPED
def test_f21_raw_and_averaged_weights_are_both_offered(saved, zipped):
    raw = {"wpe.weight": torch.zeros(16, 8)}
    found = saved(
        {"model": raw, "model_ema": {"module.wpe.weight": torch.ones(16, 8)}}, zipped=zipped
    )
    assert {t.parameter for t in found.tables} == {
        "model.wpe.weight",
        "model_ema.module.wpe.weight",
    }
    assert found.table("model.wpe.weight").weights.mean() == 0
    assert found.table("model_ema.module.wpe.weight").weights.mean() == 1
    assert found.table().provenance.parameter == found.tables[0].parameter


@ZIPPED
def test_l12_lightning_keeps_the_offset_and_hides_the_optimizer(saved, zipped):
    value = {
        "state_dict": {"model.roberta.embeddings.position_embeddings.weight": weights(514, 16)},
        "epoch": 1,
        "pytorch-lightning_version": "2.0",
        "callbacks": {},
        "optimizer_states": [{"state": {0: {"exp_avg": weights(514, 16)}}}],
    }
    found = saved(value, zipped=zipped, name="last.ckpt")
    assert len(found.tables) == 1
    assert (found.tables[0].n_positions, found.tables[0].row_offset) == (512, 2)
    assert len(found.entries) == 2


def test_nanogpt_says_its_block_size(saved):
    value = {
        "model": {"_orig_mod.transformer.wpe.weight": weights(64, 8)},
        "optimizer": {"state": {0: {"exp_avg": weights(64, 8)}}},
        "model_args": {"block_size": 128, "n_embd": 8},
    }
    found = saved(value)
    assert found.tables[0].label == "transformer.wpe"
    assert found.warnings == (
        "The file holds 64 positions, while its config says block_size = 128. The table is shown "
        "as stored.",
    )


@ZIPPED
def test_l20_a_slice_gives_its_own_numbers_only(saved, zipped):
    whole = weights(4096, 4)
    found = saved({"wpe.weight": whole[:8]}, zipped=zipped)
    table = found.table()
    below: object = table.raw
    while getattr(below, "base", None) is not None:
        below = below.base
    assert memoryview(below).nbytes == table.raw.nbytes == 8 * 4 * 4  # the rest was not kept
    np.testing.assert_array_equal(table.raw, whole[:8])


def test_sparse_tensor_is_named_not_guessed(saved):
    found = saved({"wpe.weight": torch.eye(4).to_sparse(), "x": weights(2)})
    assert found.tables == ()
    assert found.warnings == (
        "wpe.weight is a tensor that is stored as torch._utils._rebuild_sparse_tensor and not "
        "read.",
    )


def test_torchscript_archives_open(tmp_path):
    table = weights(8, 4)

    class Scripted(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.positional_embedding = torch.nn.Parameter(table)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.positional_embedding

    path = tmp_path / "clip.pt"
    with pytest.warns(DeprecationWarning, match="torch.jit"):
        torch.jit.save(torch.jit.script(Scripted()), path)
    found = sources.open(str(path))
    np.testing.assert_array_equal(found.table().weights, table)


def test_l19_cut_and_empty_files(tmp_path, refused):
    path = tmp_path / "whole.pt"
    torch.save({"wpe.weight": weights(64, 32)}, path)
    content = path.read_bytes()
    assert refused("cut.pt", content[: len(content) // 2]) == (
        "cut.pt is damaged: the archive is incomplete, its directory at the end is missing. "
        "Download or save the file again."
    )
    assert refused("empty.pt", b"") == "empty.pt is empty (0 bytes). Download or save it again."
    torch.save({"wpe.weight": weights(64, 32)}, path, _use_new_zipfile_serialization=False)
    legacy = path.read_bytes()
    assert "cut" in refused("cut2.pt", legacy[: len(legacy) // 2])
    assert "cut" in refused("cut3.pt", legacy[:100])


def test_a_legacy_file_whose_last_numbers_are_missing_is_incomplete(saved, tmp_path, refused):
    whole = saved({"wpe.weight": weights(8, 4), "z": weights(99)}, zipped=False)
    assert whole.table().weights.shape == (8, 4)
    content = (tmp_path / "model.pt").read_bytes()
    sentence = refused("l.pt", content[:-1])
    assert sentence.startswith(f"l.pt is incomplete: {len(content) - 1:,} of {len(content):,} byte")


@ZIPPED
def test_arrays_of_numpy_in_a_pickle_are_named(saved, zipped):
    found = saved({"pos_embed": np.ones((8, 4)), "state": [np.ones(3)]}, zipped=zipped)
    assert found.tables == ()
    assert found.warnings == (
        "model.pt holds no tensor but 2 arrays of NumPy (pos_embed), which are not read from a "
        "pickle. Save them with numpy.savez.",
    )
    assert saved({"wpe.weight": weights(8, 4), "state": np.ones(3)}, zipped=zipped).warnings == ()


def test_upper_case_endings_open(tmp_path):
    for name in ("model.BIN", "Model.Pt", "MODEL.CKPT"):
        torch.save({"wpe.weight": weights(8, 4)}, tmp_path / name)
        assert sources.open(str(tmp_path / name)).format == "pytorch-zip"


def test_a_tensor_beyond_its_storage_is_refused(tmp_path):
    torch.save(
        {"wpe.weight": weights(8, 4)}, tmp_path / "m.pt", _use_new_zipfile_serialization=False
    )
    content = (tmp_path / "m.pt").read_bytes()
    wrong = content.replace(b"K\x08K\x04\x86", b"K\x09K\x04\x86")  # shape (9, 4)
    assert wrong != content
    (tmp_path / "m.pt").write_bytes(wrong)
    with pytest.raises(SourceError, match="reaches beyond its storage"):
        sources.open(str(tmp_path / "m.pt")).table()
