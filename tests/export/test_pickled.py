"""Checkpoints of training code: weights with settings and an optimizer, in one pickled file."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import posviz
from posviz.errors import SourceError
from posviz.export.checkpoint import extend_checkpoint

torch = pytest.importorskip("torch")
nn = torch.nn

BLOCK, WIDTH, VOCABULARY = 32, 16, 50


def gpt(block_size: int) -> Any:
    """One layer, with the names and the stored causal mask of nanoGPT."""

    class Attention(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.c_attn = nn.Linear(WIDTH, 3 * WIDTH)
            self.c_proj = nn.Linear(WIDTH, WIDTH)
            mask = torch.tril(torch.ones(block_size, block_size))
            self.register_buffer("bias", mask.view(1, 1, block_size, block_size))

        def forward(self, x: Any) -> Any:
            length = x.shape[1]
            query, key, value = self.c_attn(x).split(WIDTH, dim=2)
            scores = (query @ key.transpose(-2, -1)) / WIDTH**0.5
            scores = scores.masked_fill(self.bias[0, :, :length, :length] == 0, float("-inf"))
            return self.c_proj(scores.softmax(-1) @ value)

    class GPT(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            layer = nn.ModuleDict({"attn": Attention()})
            self.transformer = nn.ModuleDict(
                {
                    "wte": nn.Embedding(VOCABULARY, WIDTH),
                    "wpe": nn.Embedding(block_size, WIDTH),
                    "h": nn.ModuleList([layer]),
                }
            )
            self.lm_head = nn.Linear(WIDTH, VOCABULARY, bias=False)
            self.transformer.wte.weight = self.lm_head.weight

        def forward(self, tokens: Any) -> Any:
            places = torch.arange(tokens.shape[1])
            x = self.transformer.wte(tokens) + self.transformer.wpe(places)
            return self.lm_head(x + self.transformer.h[0].attn(x))

    torch.manual_seed(0)
    return GPT().eval()


def trained() -> tuple[Any, Any]:
    """A model after one step, and its optimizer."""
    model = gpt(BLOCK)
    groups = [{"params": list(model.parameters()), "weight_decay": 0.1}]
    optimizer = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.95))
    model(torch.zeros(1, 8, dtype=torch.long)).sum().backward()
    optimizer.step()
    return model, optimizer


@pytest.fixture
def nano(tmp_path: Path) -> Path:
    """A folder as nanoGPT's training leaves it; names as a compiled model has them."""
    model, optimizer = trained()
    state = {f"_orig_mod.{name}": value for name, value in model.state_dict().items()}
    folder = tmp_path / "out-shakespeare"
    folder.mkdir()
    torch.save(
        {
            "model": state,
            "optimizer": optimizer.state_dict(),
            "model_args": {"n_layer": 1, "n_embd": WIDTH, "block_size": BLOCK, "bias": False,
                           "vocab_size": VOCABULARY, "dropout": 0.0},
            "iter_num": 250,
            "best_val_loss": torch.tensor(1.5),
            "config": {"dataset": "shakespeare", "block_size": BLOCK, "learning_rate": 1e-3},
        },
        folder / "ckpt.pt",
    )  # fmt: skip
    return folder


def test_nanogpt_resumes_at_the_new_length(nano: Path, tmp_path: Path) -> None:
    done = extend_checkpoint(str(nano), tmp_path / "new", 64, method="tile")
    assert {path.name for path in (tmp_path / "new").iterdir()} == {"ckpt.pt", "README.md"}
    held = torch.load(tmp_path / "new" / "ckpt.pt", weights_only=True)
    assert (held["model_args"]["block_size"], held["config"]["block_size"]) == (64, 64)
    assert held["model_args"]["bias"] is False
    assert (held["iter_num"], float(held["best_val_loss"])) == (250, 1.5)
    model = gpt(held["model_args"]["block_size"])
    state = {name.removeprefix("_orig_mod."): value for name, value in held["model"].items()}
    model.load_state_dict(state)  # strict: every mask and table has its new length
    optimizer = torch.optim.AdamW([{"params": list(model.parameters())}])
    optimizer.load_state_dict(held["optimizer"])  # what train.py does when it resumes
    assert optimizer.param_groups[0]["betas"] == (0.9, 0.95)
    assert held["optimizer"]["state"] == {}
    tokens = torch.from_numpy(np.random.default_rng(0).integers(0, VOCABULARY, (2, 64)))
    first = trained()[0]
    with torch.no_grad():
        before, after = first(tokens[:, :BLOCK]), model(tokens)
        np.testing.assert_array_equal(model(tokens[:, :BLOCK]), before)
    np.testing.assert_allclose(after[:, :BLOCK], before, atol=1e-5)
    said = "\n".join(done.changed)
    for words in ("ckpt.pt: model_args.block_size from 32 to 64",
                  "ckpt.pt: config.block_size from 32 to 64",
                  "h.0.attn.bias from 1 × 1 × 32 × 32 to 1 × 1 × 64 × 64",
                  "ckpt.pt: optimizer without its running means"):  # fmt: skip
        assert words in said
    card = (tmp_path / "new" / "README.md").read_text()
    assert "optimizer without its running means" in card
    assert "torch.load('out-shakespeare-64' + '/ckpt.pt', weights_only=True)" in card


def test_a_config_beside_it_changes_too_and_the_masks_stay(nano: Path, tmp_path: Path) -> None:
    config = {"model_type": "gpt2", "n_positions": BLOCK, "n_embd": WIDTH}
    (nano / "config.json").write_text(json.dumps(config))
    extend_checkpoint(str(nano), tmp_path / "new", 64)
    held = json.loads((tmp_path / "new" / "config.json").read_text())
    assert held == config | {"n_positions": 64}
    model = torch.load(tmp_path / "new" / "ckpt.pt", weights_only=True)["model"]
    gpt(64).load_state_dict({name.removeprefix("_orig_mod."): x for name, x in model.items()})


def test_weights_that_shared_their_numbers_still_do(nano: Path, tmp_path: Path) -> None:
    extend_checkpoint(str(nano), tmp_path / "new", 64)
    model = torch.load(tmp_path / "new" / "ckpt.pt", weights_only=True)["model"]
    tied = ("_orig_mod.lm_head.weight", "_orig_mod.transformer.wte.weight")
    first, second = (model[name].data_ptr() for name in tied)
    assert first == second


def test_everything_else_in_it_is_as_it_was(nano: Path, tmp_path: Path) -> None:
    extend_checkpoint(str(nano / "ckpt.pt"), tmp_path / "new", 40, method="cubic")
    old = torch.load(nano / "ckpt.pt", weights_only=True)["model"]
    new = torch.load(tmp_path / "new" / "ckpt.pt", weights_only=True)["model"]
    assert list(old) == list(new)
    changed = [name for name in old if old[name].shape != new[name].shape]
    assert [name.rpartition("transformer.")[2] for name in changed] == [
        "wpe.weight", "h.0.attn.bias",
    ]  # fmt: skip
    for name in set(old) - set(changed):
        assert torch.equal(old[name], new[name])
    assert posviz.load(str(tmp_path / "new" / "ckpt.pt")).n_positions == 40


def test_a_lightning_checkpoint_keeps_its_hyper_parameters(tmp_path: Path) -> None:
    model, optimizer = trained()
    content = {
        "epoch": 3,
        "global_step": 250,
        "pytorch-lightning_version": "2.5.0",
        "state_dict": {f"model.{name}": value for name, value in model.state_dict().items()},
        "optimizer_states": [optimizer.state_dict()],
        "lr_schedulers": [{"base_lrs": [1e-3], "last_epoch": 3}],
        "hparams_name": "args",
        "hyper_parameters": argparse.Namespace(block_size=BLOCK, lr=1e-3, place=Path("/data")),
    }
    torch.save(content, tmp_path / "last.ckpt")
    done = extend_checkpoint(str(tmp_path / "last.ckpt"), tmp_path / "new", 64)
    held = torch.load(tmp_path / "new" / "last.ckpt", weights_only=True)
    assert held["hyper_parameters"] == {"block_size": 64, "lr": 1e-3}
    assert held["lr_schedulers"] == content["lr_schedulers"]
    assert held["optimizer_states"][0]["state"] == {}
    gpt(64).load_state_dict(
        {name.removeprefix("model."): value for name, value in held["state_dict"].items()}
    )
    said = "\n".join(done.changed)
    for words in ("hyper_parameters.block_size from 32 to 64",
                  "hyper_parameters is a plain dictionary in place of argparse.Namespace",
                  "hyper_parameters.place left out: pathlib",
                  "optimizer_states.0 without its running means"):  # fmt: skip
        assert words in said


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_every_type_of_numbers_comes_back(dtype: str, tmp_path: Path) -> None:
    kind = getattr(torch, dtype)
    held = {"wpe.weight": torch.randn(8, 4), "half": torch.randn(5).to(kind),
            "turned": torch.randn(3, 2).t(), "none": torch.zeros(0, 3), "one": torch.tensor(True),
            "long": torch.arange(3)}  # fmt: skip
    torch.save({"model": held, "big": 1 << 40, "nothing": None, "deep": (1, [2.5, {"a": "é"}])},
               tmp_path / "w.pt")  # fmt: skip
    extend_checkpoint(str(tmp_path / "w.pt"), tmp_path / "new", 9, method="zeros")
    new = torch.load(tmp_path / "new" / "w.pt", weights_only=True, mmap=True)
    assert (new["big"], new["nothing"], new["deep"]) == (1 << 40, None, (1, [2.5, {"a": "é"}]))
    for name in set(held) - {"wpe.weight"}:
        assert new["model"][name].dtype == held[name].dtype
        assert new["model"][name].shape == held[name].shape
        assert torch.equal(new["model"][name].double(), held[name].double())


def test_bare_weights_without_a_config_stay_a_file_of_torch(tmp_path: Path) -> None:
    state = gpt(BLOCK).state_dict()
    torch.save(state, tmp_path / "weights.pth")
    done = extend_checkpoint(str(tmp_path / "weights.pth"), tmp_path / "new", 64)
    gpt(64).load_state_dict(torch.load(tmp_path / "new" / "weights.pth", weights_only=True))
    assert "no setting that counts positions is known" in "\n".join(done.changed)


def test_a_mask_that_is_not_causal_is_left_out(tmp_path: Path) -> None:
    held = {"wpe.weight": torch.randn(8, 4), "attn.mask": torch.randint(0, 2, (8, 8))}
    torch.save({"model": held}, tmp_path / "w.pt")
    done = extend_checkpoint(str(tmp_path / "w.pt"), tmp_path / "new", 16)
    assert list(torch.load(tmp_path / "new" / "w.pt", weights_only=True)["model"]) == ["wpe.weight"]
    assert "1 buffer of the old length left out (model.attn.mask)" in "\n".join(done.changed)


def test_an_additive_mask_keeps_its_two_numbers(tmp_path: Path) -> None:
    mask = torch.full((8, 8), float("-inf")).triu(1)
    torch.save({"model": {"wpe.weight": torch.randn(8, 4), "attn.mask": mask}}, tmp_path / "w.pt")
    extend_checkpoint(str(tmp_path / "w.pt"), tmp_path / "new", 12)
    new = torch.load(tmp_path / "new" / "w.pt", weights_only=True)["model"]["attn.mask"]
    assert torch.equal(new, torch.full((12, 12), float("-inf")).triu(1))


def test_all_tables_that_one_setting_counts_grow(tmp_path: Path) -> None:
    """An encoder, a decoder, and another table a layer, whose length is one ``block_size``."""
    names = ("encoder.wpe.weight", "decoder.wpe.weight", "decoder.layers.0.pos_emb")
    state = {name: torch.randn(BLOCK, 8) for name in names} | {"head.weight": torch.randn(5, 8)}
    held = {"model": state, "config": {"block_size": BLOCK}}
    torch.save(held, tmp_path / "w.pt")
    extend_checkpoint(str(tmp_path / "w.pt"), tmp_path / "new", 48, method="tile")
    new = torch.load(tmp_path / "new" / "w.pt", weights_only=True)
    assert new["config"] == {"block_size": 48}
    for name in names:
        assert torch.equal(new["model"][name], torch.cat([state[name], state[name][:16]]))
    assert torch.equal(new["model"]["head.weight"], state["head.weight"])


def test_a_pickled_model_is_refused(tmp_path: Path) -> None:
    module = nn.ModuleDict({"wpe": nn.Embedding(32, 16)})
    torch.save(module, tmp_path / "model.pt")
    with pytest.raises(SourceError, match="is a whole object, not a dictionary of weights"):
        extend_checkpoint(str(tmp_path / "model.pt"), tmp_path / "new", 64)
    assert not (tmp_path / "new").exists()


def test_what_is_no_plain_data_is_named_once(tmp_path: Path) -> None:
    held = {"wpe.weight": torch.randn(8, 4), "numbers": ("MT19937", np.arange(3), 4),
            "kind": torch.float32, "list": [1, {"a": 2}]}  # fmt: skip
    torch.save(held, tmp_path / "w.pt")
    done = extend_checkpoint(str(tmp_path / "w.pt"), tmp_path / "new", 12)
    new = torch.load(tmp_path / "new" / "w.pt", weights_only=True)
    assert set(new) == {"wpe.weight", "list"}
    maker = np.arange(3).__reduce__()[0]  # type: ignore[index]
    array = f"{maker.__module__}.{maker.__name__}"
    assert [line for line in done.changed if "left out" in line] == [
        f"w.pt: numbers left out: a tuple with {array} is no plain data",
        "w.pt: kind left out: torch.float32 is no plain data",
    ]


def test_nothing_in_a_pickle_is_run(tmp_path: Path) -> None:
    """An object that would write a file, were it built; it is neither built nor passed on."""
    target = tmp_path / "written"

    class Attack:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path.touch, (target,))

    held = {"model": {"wpe.weight": torch.randn(8, 4)}, "config": {"x": Attack(), "block_size": 8}}
    torch.save(held, tmp_path / "w.pt")
    done = extend_checkpoint(str(tmp_path / "w.pt"), tmp_path / "new", 16)
    assert not target.exists()
    assert "config.x left out" in json.dumps(done.changed)
    content = torch.load(tmp_path / "new" / "w.pt", weights_only=True)
    assert content["config"] == {"block_size": 16}
