"""Names that merely speak of positions: tables of modules that no catalogue knows."""

from __future__ import annotations

import numpy as np
import pytest

from posviz.analysis.references import sinusoidal
from posviz.sources import layouts, ownnames, suspects

WORD = "taken for the position table because its name speaks of positions."


@pytest.mark.parametrize(
    "name",
    [
        "positions.weight", "pos.weight", "module.embeddings.pos.weight", "posenc", "pos_table",
        "encoder.learnedPos", "PositionEmbedding.weight", "positional_encoding.weight", "pe",
        "positional_encoding.pos_table", "emb_pos.weight", "seq_pos_emb.weight", "posEmb.weight",
        "token_position_embedding.weight", "transformer.abs_pos_emb.emb.weight", "net.pe.weight",
        "layers/position_encoding/embeddings:0", "_orig_mod.pos_layer.weight",
        "layers/pe/vars/0", "encoder.my_position_table.weight",
    ],
)  # fmt: skip
def test_a_table_of_somebodys_own_module_opens_with_a_word(opened, only, rows, name):
    table = rows(64, 16)
    found = opened({"tokens.weight": rows(99, 16), name: table, "head.weight": rows(99, 16)})
    assert np.array_equal(found.table().weights, table)
    assert only(found).parameter == name
    assert "a name that speaks of positions, though no known architecture" in only(found).reason
    assert [WORD in warning for warning in found.warnings] == [True]


def test_a_word_in_every_layer_ends_somewhere(opened, rows):
    arrays = {f"layers.{index}.position.weight": rows(2, 2) for index in range(600)}
    assert len(opened(arrays).tables) == suspects.MOST_SUSPECTS


def test_the_sinusoid_of_a_tutorial_is_told_by_its_numbers(opened, only, rows):
    buffer = sinusoidal(100, 32)[:, None].astype(np.float32)  # (L, 1, d), as PyTorch's own has it
    arrays = {"embedding.weight": rows(99, 32), "pos_encoder.pe": buffer}
    found = opened(arrays)
    assert (only(found).kind, found.scheme, found.warnings) == ("sinusoidal", "sinusoidal", ())
    assert found.table().weights.shape == (100, 32)


def test_a_name_of_the_catalogue_or_a_known_model_leaves_words_no_say(opened, only, rows):
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
        "net.pe.0.weight",
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
