"""Which stored row is position 0: by family, padding token, padding row and length."""

from __future__ import annotations

import numpy as np
import pytest

from posviz import sources


def test_f03_opt_bart_and_blenderbot_count_their_own_way(opened, only, rows):
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


def test_f04_roberta_has_two_rows_before_its_first_position(opened, only, rows):
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


def test_without_a_config_514_rows_alone_prove_no_offset(opened, only, rows):
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
    opened, only, rows, tmp_path, name, length, zero, offset
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
