"""What is said of a model: a table that is odd, unread or missing, and what it has instead."""

from __future__ import annotations

import numpy as np
import pytest

from posviz.errors import NoTableError, SourceError, TableError


@pytest.mark.parametrize(
    ("arrays", "config", "scheme", "words"),
    [
        (
            {"encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight": (32, 8)},
            None, "relative", "32 × 8",
        ),
        (
            {"model.layers.0.self_attn.rotary_emb.inv_freq": (64,),
             "model.embed_tokens.weight": (100, 16)},
            None, "rotary", "RoPE",
        ),
        (
            {"word_embeddings.weight": (100, 16), "word_embeddings_layernorm.weight": (16,),
             "h.0.self_attention.query_key_value.weight": (48, 16)},
            None, "alibi", "ALiBi",
        ),
        ({"model.embed_tokens.weight": (100, 16)}, {"model_type": "llama"}, "rotary", "llama"),
        ({"x.weight": (100, 16)}, {"rope_theta": 10000.0}, "rotary", "config"),
        ({"x.weight": (9, 16)}, {"model_type": "falcon", "alibi": True}, "alibi", "ALiBi"),
        ({"x.weight": (9, 16)}, {"model_type": "mpt", "attn_config": {"alibi": True}}, "alibi",
         "A"),
        ({"x.weight": (9, 16)}, {"model_type": "wav2vec2"}, "convolutional", "convolution"),
        ({"x.weight": (9, 16)}, {"model_type": "esm", "position_embedding_type": "rotary"},
         "rotary", "RoPE"),
    ],
)  # fmt: skip
def test_f14_a_model_without_a_table_says_what_it_uses(opened, rows, arrays, config, scheme, words):
    found = opened({name: rows(*shape) for name, shape in arrays.items()}, config)
    assert found.tables == ()
    assert found.scheme == scheme
    assert words in found.message
    with pytest.raises(NoTableError) as caught:
        found.table()
    assert caught.value.scheme == scheme


def test_a_table_in_whole_numbers_is_said_to_be_one(opened, rows):
    ints = (100 * rows(64, 16)).astype(np.int64)
    found = opened({"wte.weight": rows(99, 16), "wpe.weight": ints}, {"model_type": "gpt2"})
    assert (found.tables, found.message) == (
        (),
        "wpe.weight is I64 of shape 64 × 16; a position table holds real numbers (F32, F16, BF16 "
        "and the like). Save it as one of those, or take another one.",
    )
    lone = opened({"counts": ints})
    assert "Its one tensor, counts, is I64 of shape 64 × 16: no real numbers" in lone.message


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ((1, 16), "1 × 16; a position table has a row for each of several positions."),
        ((0, 16), "0 × 16; a position table has a row for each of several positions."),
        ((1024,), "1024; a position table has two axes, positions and dimensions."),
        ((2, 3, 4, 5), "2 × 3 × 4 × 5; a position table has two axes, positions and dimensions."),
    ],
)
def test_a_table_by_its_name_that_is_none_by_its_axes_is_said_to_be_that(opened, rows, shape, said):
    found = opened({"wte.weight": rows(99, 16), "wpe.weight": rows(*shape)})
    assert found.tables == ()
    assert found.message == f"wpe.weight is F32 of shape {said} Take another one."


def test_f18_nothing_recognised_lists_what_could_be_opened_by_hand(opened, rows):
    found = opened({"fc1.weight": rows(64, 32), "fc2.weight": rows(10, 64)})
    assert found.message == (
        "No position table was found: no tensor has a name that such tables carry. Tensors with "
        "two axes: fc1.weight (64 × 32), fc2.weight (10 × 64). Name one to open it by hand."
    )
    table = found.table("fc1.weight")
    assert (table.n_positions, table.d_model) == (64, 32)
    assert found.candidate("fc1.weight").reason == (
        "fc1 was named by hand; nothing in its name says position table; 64 positions in a "
        "sequence."
    )


def test_f22_the_file_wins_over_the_config_and_both_are_named(opened, only, rows):
    found = opened(
        {"embeddings.position_embeddings.weight": rows(512, 16)},
        {"model_type": "bert", "max_position_embeddings": 128},
    )
    assert only(found).n_positions == 512
    assert found.warnings == (
        "The file holds 512 positions, while its config says max_position_embeddings = 128. The "
        "table is shown as stored.",
    )


def test_a_table_of_zeros_is_said_and_does_not_open_first(opened, rows):
    arrays = {"model.wpe.weight": np.zeros((16, 8), np.float32), "ema.wpe.weight": rows(16, 8)}
    found = opened(arrays)
    assert found.tables[0].parameter == "ema.wpe.weight"
    alone = opened({"model.wpe.weight": np.zeros((16, 8), np.float32)})
    assert alone.warnings == ("Every row of wpe is zero: it was never trained.",)


def test_untrained_positions_are_named(opened, rows):
    table = rows(16, 8)
    table[12:14] = 0
    found = opened({"wpe.weight": table})
    assert found.warnings == (
        "Rows 12, 13 of wpe (counted as positions) are zero in every dimension: probably never "
        "trained.",
    )


def test_values_that_are_not_finite_are_said_before_the_table_is_asked_for(opened, rows):
    table = rows(16, 8)
    table[3, 1] = np.nan
    found = opened({"wpe.weight": table})
    assert found.warnings == ("Row 3 of wpe holds NaN.",)
    with pytest.raises(TableError, match="row 3 of 16"):
        found.table()


def test_vision_tower_of_a_rotary_language_model_says_both(opened, only, rows):
    config = {
        "model_type": "llava",
        "text_config": {"model_type": "llama"},
        "vision_config": {"model_type": "clip_vision_model", "image_size": 336, "patch_size": 14},
    }
    found = opened(
        {"model.vision_tower.embeddings.position_embedding.weight": rows(577, 8)}, config
    )
    assert only(found).grid == (24, 24)
    assert found.warnings == (
        "This table belongs to the vision tower; the language model has none. Queries and keys "
        "are turned by their position instead (rotary embeddings, RoPE).",
    )


@pytest.mark.parametrize(
    ("model_type", "setting", "off"),
    [
        ("bert", {"position_embedding_type": "relative_key_query"}, True),
        ("esm", {"position_embedding_type": "rotary"}, True),
        ("deberta", {"position_biased_input": False}, True),
        ("bert", {"alibi": True}, True),
        ("bert", {"alibi": False}, False),
        ("bert", {"position_embedding_type": "absolute"}, False),
        ("deberta", {"position_biased_input": True}, False),
    ],
)
def test_a_table_that_the_config_switches_off_is_said_to_be_unread(
    opened, rows, model_type, setting, off
):
    arrays = {"embeddings.position_embeddings.weight": rows(66, 8)}
    found = opened(arrays, {"model_type": model_type, "pad_token_id": 1, **setting})
    said = [warning for warning in found.warnings if "does not read this table" in warning]
    assert len(said) == off
    assert all(next(iter(setting)) in warning for warning in said)
    assert len(found.tables) == 1


def test_unknown_parameter_names_the_choices(opened, rows):
    found = opened({"wpe.weight": rows(16, 8), "ln.weight": rows(8)})
    with pytest.raises(SourceError) as caught:
        found.table("wpe2")
    assert str(caught.value) == (
        "model holds no tensor named wpe2. Its position tables: wpe.weight."
    )
    with pytest.raises(SourceError, match="has two axes, positions and dimensions"):
        found.table("ln.weight")


def test_l14_flat_parameters_of_fsdp_are_named(opened, rows):
    found = opened({"student.backbone._fsdp_wrapped_module._flat_param": rows(100_000)})
    assert found.tables == ()
    assert found.message == (
        "The file holds FSDP flat parameters, in which no tensor keeps its shape. Export a full "
        "state dict and open that."
    )


@pytest.mark.parametrize("row", [1.0, np.arange(8, dtype=np.float32)], ids=["value", "columns"])
def test_rows_that_are_all_the_same_are_said(opened, row):
    found = opened({"wpe.weight": np.zeros((16, 8), np.float32) + row})
    assert found.warnings == ("Every row of wpe is the same: positions cannot be told apart.",)


def test_blocks_of_equal_rows_are_said_as_positions(opened, rows):
    table = rows(514, 8)
    table[1] = 0
    table[300:] = table[299]
    found = opened({"embeddings.position_embeddings.weight": table}, {"model_type": "roberta"})
    assert found.table().row_offset == 2
    assert found.warnings == (
        "In embeddings.position_embeddings rows 297 to 511 are the same row (counted as "
        "positions): positions with equal rows cannot be told apart.",
    )
    block = rows(64, 8)
    assert opened({"wpe.weight": np.tile(block, (2, 1))}).warnings == (
        "In wpe rows 64 to 127 repeat rows 0 to 63 (counted as positions): positions with equal "
        "rows cannot be told apart.",
    )
