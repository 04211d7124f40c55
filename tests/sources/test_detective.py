"""Which tensor is the table: the public reports of cases.tsv, each with its right answer."""

from __future__ import annotations

import numpy as np
import pytest

from posviz import sources
from posviz.analysis.references import random_normal, sinusoidal
from posviz.errors import SourceError


def test_f01_token_table_head_and_mask_are_not_offered(opened, only, rows):
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


def test_f02_a_stored_index_buffer_changes_nothing(opened, only, rows):
    table = rows(512, 16)
    plain = opened({"embeddings.position_embeddings.weight": table})
    ids = np.arange(512, dtype=np.int64)[None]
    both = opened({"embeddings.position_ids": ids, "embeddings.position_embeddings.weight": table})
    assert only(both).parameter == only(plain).parameter
    assert both.table().fingerprint == plain.table().fingerprint


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


def test_l11_prefixes_of_training_code_change_neither_label_nor_numbers(opened, only, rows):
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


def test_thousands_of_tables_are_neither_read_nor_listed_one_by_one(opened, rows, bounded):
    table = rows(2, 2)
    found = opened({f"h.{index}.wpe.weight": table for index in range(5000)})
    assert len(found.tables) == 512
    assert len(found.entries) == 5000


def test_a_tensor_named_by_hand_is_judged_by_its_numbers(opened, rows):
    found = opened({"wpe.weight": rows(16, 8), "table": sinusoidal(64, 8)})
    assert found.table("table").kind == "sinusoidal"
    assert found.table("wpe.weight").kind == "learned"


def test_names_that_look_like_endless_snapshots_do_no_harm(opened, only, rows):
    found = opened({f"step-{'9' * 900}": rows(4, 4), "wpe.weight": rows(16, 8)})
    assert only(found).parameter == "wpe.weight"


def test_a_name_that_only_begins_like_a_snapshots_is_ranked_like_any_other(opened, rows):
    found = opened({"step-one.wpe.weight": rows(16, 8), "step-000005": rows(4, 8)})
    assert {table.parameter for table in found.tables} == {"step-one.wpe.weight", "step-000005"}


def test_names_that_differ_by_a_number_are_listed_as_one_counts(opened, rows):
    names = [f"tower{number}.wpe.weight" for number in (1, 10, 11, 2)]
    found = opened({"b.wpe.weight": rows(16, 8), "a.wpe.weight": rows(16, 8),
                    **{name: rows(16, 8) for name in names}})  # fmt: skip
    listed = [table.parameter for table in found.tables]
    assert [name for name in listed if name in names] == [names[0], names[3], *names[1:3]]
    assert sorted(listed) == sorted(["a.wpe.weight", "b.wpe.weight", *names])
