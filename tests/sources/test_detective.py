"""Which tensor is the table: the public reports of cases.tsv, each with its right answer."""

from __future__ import annotations

import numpy as np
import pytest

from posviz import sources
from posviz.analysis.references import random_normal, sinusoidal
from posviz.errors import NoTableError, SourceError, TableError
from posviz.sources import layouts, ownnames, suspects


@pytest.fixture
def opened(model_folder):
    """A function (arrays, config, dtype) that writes a model folder and opens it."""

    def opened(arrays, config=None, *, dtype="F32"):
        return sources.open(str(model_folder(arrays, config, dtype=dtype)))

    return opened


def only(checkpoint):
    assert len(checkpoint.tables) == 1
    return checkpoint.tables[0]


def test_f01_token_table_head_and_mask_are_not_offered(opened, rows):
    mask = np.tril(np.ones((1, 1, 1024, 1024), np.uint8))
    arrays = {
        "transformer.wte.weight": rows(5000, 32),
        "transformer.wpe.weight": rows(1024, 32),
        "transformer.h.0.attn.bias": mask,
        "transformer.h.0.attn.masked_bias": np.float32(-1e4).reshape(()),
        "lm_head.weight": rows(5000, 32),
    }
    found = opened(arrays, {"model_type": "gpt2", "n_positions": 1024})
    table = only(found)
    assert (table.parameter, table.n_positions, table.d_model) == (
        "transformer.wpe.weight", 1024, 32
    )  # fmt: skip
    assert table.default
    assert found.warnings == ()
    assert len(found.entries) == 5
    assert table.reason == (
        "transformer.wpe is where gpt2 keeps its positions; 1,024 positions in a sequence; its "
        "numbers follow no fixed sinusoid, so they were learned."
    )


def test_f02_a_stored_index_buffer_changes_nothing(opened, rows):
    table = rows(512, 16)
    plain = opened({"embeddings.position_embeddings.weight": table})
    ids = np.arange(512, dtype=np.int64)[None]
    both = opened({"embeddings.position_ids": ids, "embeddings.position_embeddings.weight": table})
    assert only(both).parameter == only(plain).parameter
    assert both.table().fingerprint == plain.table().fingerprint


def test_f03_opt_bart_and_blenderbot_count_their_own_way(opened, rows):
    opt = opened(
        {"model.decoder.embed_positions.weight": rows(2050, 16)},
        {"model_type": "opt", "max_position_embeddings": 2048},
    )
    assert (only(opt).n_positions, only(opt).row_offset) == (2048, 2)
    assert np.array_equal(opt.table().weights[0], opt.table().raw[2])
    pair = {
        f"model.{side}.embed_positions.weight": rows(1026, 16) for side in ("encoder", "decoder")
    }
    bart = opened(pair, {"model_type": "bart", "max_position_embeddings": 1024})
    assert [table.label for table in bart.tables] == [
        "encoder.embed_positions", "decoder.embed_positions"
    ]  # fmt: skip
    assert {(t.n_positions, t.row_offset) for t in bart.tables} == {(1024, 2)}
    same = {name: rows(128, 16) for name in pair}
    blenderbot = opened(same, {"model_type": "blenderbot", "max_position_embeddings": 128})
    assert {(t.n_positions, t.row_offset) for t in blenderbot.tables} == {(128, 0)}
    assert opt.warnings == bart.warnings == blenderbot.warnings == ()


def test_f04_roberta_has_two_rows_before_its_first_position(opened, rows):
    table = rows(514, 16)
    table[1] = 0
    found = opened(
        {"roberta.embeddings.position_embeddings.weight": table},
        {"model_type": "roberta", "pad_token_id": 1, "max_position_embeddings": 514},
        dtype="F16",
    )
    assert (only(found).n_positions, only(found).row_offset, only(found).dtype) == (512, 2, "F16")
    assert found.warnings == ()  # the padding row is no untrained position
    assert found.table().raw.shape == (514, 16)
    assert found.table().n_positions == 512


@pytest.mark.parametrize("flag", [True, False])
def test_f07_distilbert_shows_the_file_not_the_formula(opened, flag):
    table = sinusoidal(512, 768) + random_normal(512, 768, seed=3, std=0.1)
    found = opened(
        {"distilbert.embeddings.position_embeddings.weight": table},
        {"model_type": "distilbert", "sinusoidal_pos_embds": flag},
    )
    assert found.scheme == "learned"
    assert np.array_equal(found.table().raw, table)


def test_f08_clip_keeps_a_text_and_an_image_table_apart(opened, rows):
    arrays = {
        "text_model.embeddings.position_embedding.weight": rows(77, 16),
        "vision_model.embeddings.position_embedding.weight": rows(50, 16),
    }
    for config in ({"model_type": "clip"}, None):
        text, vision = opened(arrays, config).tables
        assert (text.n_positions, text.grid, text.prefix_rows) == (77, None, 0)
        assert (vision.n_positions, vision.grid, vision.prefix_rows) == (50, (7, 7), 1)


@pytest.mark.parametrize(
    ("length", "prefix", "side"), [(198, 2, 14), (578, 2, 24), (1370, 1, 37), (201, 5, 14)]
)
def test_f10_rows_before_the_grid(opened, rows, length, prefix, side):
    found = opened({"pos_embed": rows(1, length, 16)})
    table = only(found)
    assert (table.prefix_rows, table.grid, table.n_positions) == (prefix, (side, side), length)
    assert found.table().prefix_rows == prefix


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


def test_f15_position_convolutions_and_bias_tables_are_not_offered(opened, rows):
    arrays = {
        "wav2vec2.encoder.pos_conv_embed.conv.weight_g": rows(1, 1, 128),
        "wav2vec2.encoder.pos_conv_embed.conv.weight_v": rows(768, 48, 12),
        "wav2vec2.encoder.pos_conv_embed.conv.parametrizations.weight.original0": rows(1, 1, 128),
        "wav2vec2.encoder.pos_conv_embed.conv.parametrizations.weight.original1": rows(76, 48, 12),
        "layers.0.blocks.0.attn.relative_position_bias_table": rows(169, 3),
        "layers.0.blocks.0.attn.relative_position_index": np.zeros((49, 49), np.int64),
    }
    assert opened(arrays).tables == ()


def test_f17_a_grid_stored_as_four_axes_is_read_row_by_row(opened):
    cells = np.add.outer(100 * np.arange(14), np.arange(14)).astype(np.float32)
    stored = np.broadcast_to(cells[None, :, :, None], (1, 14, 14, 384))
    found = opened({"pos_embed": stored})
    table = only(found)
    assert (table.grid, table.prefix_rows, table.n_positions) == ((14, 14), 0, 196)
    assert np.all(found.table().weights[15] == 101)


WORD = "taken for the position table because its name speaks of positions."


@pytest.mark.parametrize(
    "name",
    [
        "positions.weight", "pos.weight", "module.embeddings.pos.weight", "posenc", "pos_table",
        "encoder.learnedPos", "PositionEmbedding.weight", "positional_encoding.weight", "pe",
        "positional_encoding.pos_table", "emb_pos.weight", "seq_pos_emb.weight", "posEmb.weight",
        "token_position_embedding.weight", "transformer.abs_pos_emb.emb.weight", "net.pe.weight",
        "layers/position_encoding/embeddings:0", "_orig_mod.pos_layer.weight",
    ],
)  # fmt: skip
def test_a_table_of_somebodys_own_module_opens_with_a_word(opened, rows, name):
    table = rows(64, 16)
    found = opened({"tokens.weight": rows(99, 16), name: table, "head.weight": rows(99, 16)})
    assert np.array_equal(found.table().weights, table)
    assert only(found).parameter == name
    assert "a name that speaks of positions, though no known architecture" in only(found).reason
    assert [WORD in warning for warning in found.warnings] == [True]


def test_a_word_in_every_layer_ends_somewhere(opened, rows):
    arrays = {f"layers.{index}.position.weight": rows(2, 2) for index in range(600)}
    assert len(opened(arrays).tables) == suspects.MOST_SUSPECTS


def test_the_sinusoid_of_a_tutorial_is_told_by_its_numbers(opened, rows):
    buffer = sinusoidal(100, 32)[:, None].astype(np.float32)  # (L, 1, d), as PyTorch's own has it
    arrays = {"embedding.weight": rows(99, 32), "pos_encoder.pe": buffer}
    found = opened(arrays)
    assert (only(found).kind, found.scheme, found.warnings) == ("sinusoidal", "sinusoidal", ())
    assert found.table().weights.shape == (100, 32)


def test_a_name_of_the_catalogue_or_a_known_model_leaves_words_no_say(opened, rows):
    arrays = {"wpe.weight": rows(64, 16), "positions.weight": rows(32, 16)}
    assert only(opened(arrays)).parameter == "wpe.weight"
    arrays = {"model.embed_tokens.weight": rows(99, 16), "pos.weight": rows(32, 16)}
    assert opened(arrays, {"model_type": "llama"}).tables == ()


@pytest.mark.parametrize(
    "name",
    [
        "pos_tag.weight", "post_norm.weight", "pose_head.weight", "position_ids", "pos_weight",
        "rel_pos.weight", "composer.weight", "h.0.attn.pos_emb.weight", "pos_conv.weight",
        "positive.weight", "query_pos.weight", "pos_proj.weight", "pos_drop.weight", "pe.proj",
        "pos_bias", "optimizer.state.pos.weight", "rotary.pos", "x" * 500 + "pos",
    ],
)  # fmt: skip
def test_words_that_only_sound_like_positions_are_none(name):
    assert not ownnames.speaks_of_positions(name)


def test_names_that_are_no_table_speak_of_none():
    cases = (layouts.CATALOGUE / "name_cases.tsv").read_text().splitlines()
    names = {case.split("\t")[1] for case in cases if case.startswith("-")}
    # Only its numbers tell that this one is a sinusoid.
    assert {n for n in names if ownnames.speaks_of_positions(n)} == {"positional_encoder.pe"}


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


def test_channels_before_the_grid_are_turned(opened, rows):
    stored = rows(1, 96, 7, 7)
    found = opened({"pos_embed": stored})
    assert (only(found).grid, only(found).d_model) == ((7, 7), 96)
    assert np.array_equal(found.table().weights[7 * 2 + 3], stored[0, :, 2, 3])


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


def test_f22_the_file_wins_over_the_config_and_both_are_named(opened, rows):
    found = opened(
        {"embeddings.position_embeddings.weight": rows(512, 16)},
        {"model_type": "bert", "max_position_embeddings": 128},
    )
    assert only(found).n_positions == 512
    assert found.warnings == (
        "The file holds 512 positions, while its config says max_position_embeddings = 128. The "
        "table is shown as stored.",
    )


def test_l11_prefixes_of_training_code_change_neither_label_nor_numbers(opened, rows):
    table = rows(16, 8)
    seen = set()
    for prefix in ("", "_orig_mod.", "module.", "module._orig_mod.", "_orig_mod.module."):
        found = opened({f"{prefix}transformer.wpe.weight": table})
        seen.add((only(found).label, found.table().fingerprint))
        assert only(found).parameter == f"{prefix}transformer.wpe.weight"
    assert len(seen) == 1


def test_stored_sinusoid_is_told_from_the_learned_table_beside_it(opened, rows):
    fixed = sinusoidal(1500, 64)
    halves = np.concatenate([fixed[:, 0::2], fixed[:, 1::2]], axis=1)
    arrays = {
        "model.encoder.embed_positions.weight": halves,
        "model.decoder.embed_positions.weight": rows(448, 64),
    }
    found = opened(arrays, {"model_type": "whisper", "max_target_positions": 448})
    assert [(t.label, t.kind) for t in found.tables] == [
        ("decoder.embed_positions", "learned"), ("encoder.embed_positions", "sinusoidal")
    ]  # fmt: skip
    assert found.scheme == "learned"
    alone = opened({"model.encoder.embed_positions.weight": halves}, {"model_type": "whisper"})
    assert alone.scheme == "sinusoidal"
    assert alone.table().kind == "sinusoidal"


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


def test_row_and_column_tables_become_one(opened, rows):
    row, column = rows(5, 4), rows(6, 4)
    names = [f"backbone.1.{axis}_embed.weight" for axis in ("row", "col")]
    found = opened(dict(zip(names, (row, column), strict=True)), {"model_type": "detr"})
    table = only(found)
    assert (table.parameter, table.combine, table.grid) == ("+".join(names), "concat", (5, 6))
    assert (table.n_positions, table.d_model) == (30, 8)
    cell = found.table().weights[2 * 6 + 3]
    assert np.array_equal(cell, np.concatenate([column[3], row[2]]))  # x first, then y


def test_added_axes_are_summed(opened, rows):
    row, column = rows(5, 4), rows(6, 4)
    found = opened(
        {
            "visual.row_position_embeddings.weight": row,
            "visual.col_position_embeddings.weight": column,
        }
    )
    assert only(found).combine == "sum"
    assert np.array_equal(found.table().weights[2 * 6 + 3], row[2] + column[3])


def test_reformer_folds_one_sequence_into_two_tensors(opened, rows):
    first, second = rows(8, 1, 3), rows(1, 16, 5)
    name = "reformer.embeddings.position_embeddings.weights."
    found = opened({f"{name}0": first, f"{name}1": second}, {"model_type": "reformer"})
    table = only(found)
    assert (table.combine, table.grid, table.n_positions, table.d_model) == ("concat", None, 128, 8)
    position = 3 * 16 + 7
    assert np.array_equal(
        found.table().weights[position], np.concatenate([first[3, 0], second[0, 7]])
    )


def test_axes_too_long_to_combine_are_listed_one_by_one(opened, rows):
    arrays = {f"vision.{axis}_embedder.weight": rows(4096, 64) for axis in ("row", "column")}
    tables = opened(arrays).tables
    assert [t.combine for t in tables] == [None, None]
    assert "one axis of a pair" in tables[0].reason


def test_stacked_tables_open_one_at_a_time(opened, rows):
    stored = rows(2, 32, 8)
    found = opened(
        {"patch_embedder.position_embedding_table": stored}, {"model_type": "gemma4_vision"}
    )
    name = only(found).parameter
    assert np.array_equal(found.table().weights, stored[0])
    assert np.array_equal(found.table(f"{name}[1]").weights, stored[1])
    with pytest.raises(SourceError, match="holds no part 2"):
        found.table(f"{name}[2]")


def test_trailing_and_leading_special_rows(opened, rows):
    yolos = opened(
        {"embeddings.position_embeddings": rows(1, 1 + 4 * 6 + 10, 8)},
        {
            "model_type": "yolos",
            "image_size": [64, 96],
            "patch_size": 16,
            "num_detection_tokens": 10,
        },
    )
    assert (only(yolos).prefix_rows, only(yolos).grid, only(yolos).suffix_rows) == (1, (4, 6), 10)
    llama = opened(
        {"vision_model.positional_embedding_vlm": rows(26, 8)},
        {"model_type": "llama4_vision_model"},
    )
    assert (only(llama).prefix_rows, only(llama).grid, only(llama).suffix_rows) == (0, (5, 5), 1)


def test_vision_tower_of_a_rotary_language_model_says_both(opened, rows):
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


def test_the_part_of_a_composite_model_gives_the_offset(opened, rows):
    config = {
        "model_type": "encoder-decoder",
        "encoder": {"model_type": "bert"},
        "decoder": {"model_type": "roberta", "pad_token_id": 1},
    }
    arrays = {
        "encoder.embeddings.position_embeddings.weight": rows(66, 8),
        "decoder.roberta.embeddings.position_embeddings.weight": rows(66, 8),
    }
    offsets = {t.label.split(".")[0]: t.row_offset for t in opened(arrays, config).tables}
    assert offsets == {"encoder": 0, "decoder": 2}


@pytest.mark.parametrize(
    ("model_type", "pad", "offset"),
    [("roberta", None, 2), ("xlm-roberta", 1, 2), ("lilt", None, 1), ("prophetnet", 0, 1),
     ("mpnet", 7, 2), ("nystromformer", 0, 2), ("bert", 0, 0), ("electra", 0, 0),
     ("layoutlmv3", 1, 2), ("longformer", 1, 2), ("esm", 1, 2)],
)  # fmt: skip
def test_offset_comes_from_the_family_and_its_padding_token(opened, rows, model_type, pad, offset):
    config = {"model_type": model_type} | ({} if pad is None else {"pad_token_id": pad})
    found = opened({"embeddings.position_embeddings.weight": rows(514, 8)}, config)
    assert found.tables[0].row_offset == offset


def test_luke_counts_its_entities_from_zero(opened, rows):
    arrays = {
        "luke.embeddings.position_embeddings.weight": rows(66, 8),
        "luke.entity_embeddings.position_embeddings.weight": rows(66, 8),
    }
    found = opened(arrays, {"model_type": "luke", "pad_token_id": 1})
    assert {t.label: t.row_offset for t in found.tables} == {
        "luke.embeddings.position_embeddings": 2,
        "luke.entity_embeddings.position_embeddings": 0,
    }


def test_without_a_config_514_rows_alone_prove_no_offset(opened, rows):
    found = opened({"embeddings.position_embeddings.weight": rows(514, 8)})
    assert only(found).row_offset == 0
    table = rows(514, 8)
    table[1] = 0
    padded = opened({"embeddings.position_embeddings.weight": table})
    assert only(padded).row_offset == 2
    assert "row 1 is a padding row of zeros before 512 positions" in only(padded).reason


@pytest.mark.parametrize(
    ("name", "length", "zero", "offset"),
    [
        ("embeddings.position_embeddings.weight", 1002, 1, 2),  # fairseq, another length
        ("encoder.embed_positions.weight", 1002, None, 2),
        ("encoder.embed_positions.weight", 1000, None, 0),
        ("pos_emb.weight", 201, 0, 1),  # nn.Embedding(L + 1, d, padding_idx=0)
        ("positions.weight", 513, 0, 1),
        ("pos_emb.weight", 200, 0, 0),
        ("pos_emb.weight", 203, 1, 0),
        ("pos_emb.weight", 202, None, 0),
        ("anything", 513, 0, 0),  # a lone array
    ],
)
def test_without_a_config_a_padding_row_and_a_round_length_tell_the_offset(
    opened, rows, tmp_path, name, length, zero, offset
):
    table = rows(length, 8)
    if zero is not None:
        table[zero] = 0
    if name == "anything":
        np.save(tmp_path / "a.npy", table)
        found = sources.open(str(tmp_path / "a.npy"))
    else:
        found = opened({name: table, "head.weight": rows(99, 8)})
    assert only(found).row_offset == offset
    assert only(found).n_positions == length - offset


@pytest.mark.parametrize(
    ("model_type", "setting", "off"),
    [
        ("bert", {"position_embedding_type": "relative_key_query"}, True),
        ("esm", {"position_embedding_type": "rotary"}, True),
        ("deberta", {"position_biased_input": False}, True),
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


def test_rotary_lookup_of_roformer_is_no_table(opened, rows):
    found = opened(
        {"roformer.encoder.embed_positions.weight": rows(64, 8)}, {"model_type": "roformer"}
    )
    assert found.tables == ()
    assert found.scheme == "rotary"


def test_dead_and_auxiliary_tables_come_last(opened, rows):
    arrays = {"encoder.wpe.weight": rows(64, 8), "embed_timestep.weight": rows(32, 8)}
    found = opened(arrays, {"model_type": "decision_transformer"})
    assert found.tables[0].parameter == "embed_timestep.weight"
    assert "only row 0 of wpe is ever used" in found.tables[1].reason


def test_layout_boxes_come_after_the_sequence(opened, rows):
    arrays = {f"embeddings.{axis}_position_embeddings.weight": rows(1024, 8) for axis in "xyhw"}
    arrays["embeddings.position_embeddings.weight"] = rows(512, 8)
    found = opened(arrays, {"model_type": "layoutlm"})
    assert found.tables[0].label == "embeddings.position_embeddings"
    assert len(found.tables) == 5


def test_averaged_copy_comes_second_and_is_named(opened, rows):
    arrays = {"model_ema.module.wpe.weight": rows(16, 8), "model.wpe.weight": rows(16, 8)}
    found = opened(arrays)
    assert [t.parameter for t in found.tables] == [
        "model.wpe.weight", "model_ema.module.wpe.weight"
    ]  # fmt: skip
    assert "averaged copy" in found.tables[1].reason
    assert found.table().name.endswith("wpe")
    assert found.table("model_ema.module.wpe.weight").name.endswith("model_ema.module.wpe")


def test_openai_clip_names_and_the_turned_pool_of_guided_diffusion(opened, rows):
    arrays = {"positional_embedding": rows(77, 8), "visual.positional_embedding": rows(50, 8)}
    text, image = opened(arrays).tables
    assert (text.grid, image.grid, image.prefix_rows) == (None, (7, 7), 1)
    stored = rows(16, 65)
    turned = opened({"out.0.positional_embedding": stored})
    assert (only(turned).n_positions, only(turned).d_model) == (65, 16)
    assert (only(turned).prefix_rows, only(turned).grid) == (1, (8, 8))
    assert np.array_equal(turned.table().weights, stored.T)


def test_unknown_parameter_names_the_choices(opened, rows):
    found = opened({"wpe.weight": rows(16, 8), "ln.weight": rows(8)})
    with pytest.raises(SourceError) as caught:
        found.table("wpe2")
    assert str(caught.value) == (
        "model holds no tensor named wpe2. Its position tables: wpe.weight."
    )
    with pytest.raises(SourceError, match="has two axes, positions and dimensions"):
        found.table("ln.weight")


def test_any_tensor_can_be_read(opened, rows):
    bias = rows(8)
    found = opened({"wpe.weight": rows(16, 8), "ln.weight": bias})
    assert np.array_equal(found.read("ln.weight"), bias)
    with pytest.raises(SourceError, match="holds no tensor named x"):
        found.read("x")


def test_a_saved_table_opens_with_its_layout(tmp_path, rows):
    from posviz.export.arrays import save_table
    from posviz.table import PositionTable, Provenance

    raw = rows(2 + 1 + 12 + 1, 8)
    table = PositionTable(
        raw, name="t", provenance=Provenance("derived", "x"), kind="sinusoidal", row_offset=2,
        grid=(3, 4), prefix_rows=1, suffix_rows=1,
    )  # fmt: skip
    path = tmp_path / "saved.safetensors"
    save_table(table, path)
    again = sources.load(str(path))
    assert again.fingerprint == table.fingerprint
    assert again.kind == "sinusoidal"


def test_snapshots_of_training_open_at_the_last(opened, rows):
    found = opened({f"step-{step:06d}": rows(8, 4) for step in (0, 50, 1000)})
    assert found.tables[0].parameter == "step-001000"
    assert len(found.tables) == 3


def test_l14_flat_parameters_of_fsdp_are_named(opened, rows):
    found = opened({"student.backbone._fsdp_wrapped_module._flat_param": rows(100_000)})
    assert found.tables == ()
    assert found.message == (
        "The file holds FSDP flat parameters, in which no tensor keeps its shape. Export a full "
        "state dict and open that."
    )


def test_thousands_of_tables_are_neither_read_nor_listed_one_by_one(opened, rows, bounded):
    table = rows(2, 2)
    found = opened({f"h.{index}.wpe.weight": table for index in range(5000)})
    assert len(found.tables) == 512
    assert len(found.entries) == 5000


def test_a_tensor_named_by_hand_is_judged_by_its_numbers(opened, rows):
    found = opened({"wpe.weight": rows(16, 8), "table": sinusoidal(64, 8)})
    assert found.table("table").kind == "sinusoidal"
    assert found.table("wpe.weight").kind == "learned"


def test_names_that_look_like_endless_snapshots_do_no_harm(opened, rows):
    found = opened({f"step-{'9' * 900}": rows(4, 4), "wpe.weight": rows(16, 8)})
    assert only(found).parameter == "wpe.weight"
