"""The inside of a Hub model: its tokenizer and a few rows and heads travel, the rest does not."""

from __future__ import annotations

import json

import numpy as np
import pytest

from posviz.errors import ModelError
from posviz.model.attention import split_scores
from posviz.model.embedding import parts
from posviz.model.opening import open_weights
from posviz.model.tokens import open_tokenizer

D, H, V, L = 768, 12, 4000, 64


@pytest.fixture
def arrays(rows):
    """GPT-2's first block at its real width, beside a token table of twelve megabytes."""
    return {
        "wte.weight": rows(V, D),
        "wpe.weight": rows(L, D),
        "h.0.ln_1.weight": rows(D),
        "h.0.ln_1.bias": rows(D),
        "h.0.attn.c_attn.weight": rows(D, 3 * D),
        "h.0.attn.c_attn.bias": rows(3 * D),
    }


@pytest.fixture
def hub(fake_hub, model_folder, arrays):
    config = {"model_type": "gpt2", "n_positions": L, "n_head": H, "n_embd": D}
    folder = model_folder(arrays, config)
    (folder / "vocab.json").write_text(json.dumps({"a": 0, "b": 1, "ab": 2}))
    (folder / "merges.txt").write_text("#version: 0.2\na b\n")
    fake_hub.repos["org/gpt2"] = folder
    return fake_hub, folder


def test_a_few_rows_travel_and_the_same_numbers_come_out(hub, tmp_path):
    fake, folder = hub
    remote = open_weights("hub:org/gpt2", access=fake.access(tmp_path / "cache"))
    local = open_weights(str(folder))
    before = remote.checkpoint.bytes_read
    found, known = parts(remote, [7, 3000]), parts(local, [7, 3000])
    np.testing.assert_array_equal(found.normed, known.normed)
    # A request brings a block of 64 KiB at least; the table alone has 12 MB.
    assert remote.checkpoint.bytes_read - before <= 4 * (64 << 10)
    read = [split_scores(text, weights.head(0, 5), causal=True).total
            for text, weights in ((found, remote), (known, local))]  # fmt: skip
    np.testing.assert_array_equal(*read)


def test_a_layer_is_read_once_and_comes_from_the_cache_again(hub, tmp_path):
    fake, _ = hub
    weights = open_weights("hub:org/gpt2", access=fake.access(tmp_path / "cache"))
    before, sent = weights.checkpoint.requests, weights.checkpoint.bytes_read
    heads = weights.heads(0)
    assert len(heads) == H
    assert weights.checkpoint.requests - before <= 2
    assert weights.checkpoint.bytes_read - sent <= D * 3 * D * 4 + 2 * (64 << 10)
    before = weights.checkpoint.requests
    np.testing.assert_array_equal(weights.head(0, 5).query, heads[5].query)
    assert weights.checkpoint.requests == before


def test_the_tokenizer_travels_too(hub, tmp_path):
    fake, _ = hub
    weights = open_weights("hub:org/gpt2", access=fake.access(tmp_path / "cache"))
    assert open_tokenizer(weights).read("abb").tokens == (2, 1)


def test_running_it_is_another_matter(hub, tmp_path):
    """Rows travel by themselves; a whole model only when somebody asks for it."""
    from posviz.model.loading import open_model

    fake, _ = hub
    with pytest.raises(ModelError, match="only the table has been read"):
        open_model("hub:org/gpt2", access=fake.access(tmp_path / "cache"))
