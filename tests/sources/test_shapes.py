"""Stored axes as rows of positions: grids, rows around them, pairs, stacks, turned tables."""

from __future__ import annotations

import numpy as np
import pytest

from posviz.errors import SourceError


@pytest.mark.parametrize(
    ("length", "prefix", "side"), [(198, 2, 14), (578, 2, 24), (1370, 1, 37), (201, 5, 14)]
)
def test_f10_rows_before_the_grid(opened, only, rows, length, prefix, side):
    found = opened({"pos_embed": rows(1, length, 16)})
    table = only(found)
    assert (table.prefix_rows, table.grid, table.n_positions) == (prefix, (side, side), length)
    assert found.table().prefix_rows == prefix


def test_f17_a_grid_stored_as_four_axes_is_read_row_by_row(opened, only):
    cells = np.add.outer(100 * np.arange(14), np.arange(14)).astype(np.float32)
    stored = np.broadcast_to(cells[None, :, :, None], (1, 14, 14, 384))
    found = opened({"pos_embed": stored})
    table = only(found)
    assert (table.grid, table.prefix_rows, table.n_positions) == ((14, 14), 0, 196)
    assert np.all(found.table().weights[15] == 101)


def test_channels_before_the_grid_are_turned(opened, only, rows):
    stored = rows(1, 96, 7, 7)
    found = opened({"pos_embed": stored})
    assert (only(found).grid, only(found).d_model) == ((7, 7), 96)
    assert np.array_equal(found.table().weights[7 * 2 + 3], stored[0, :, 2, 3])


def test_row_and_column_tables_become_one(opened, only, rows):
    row, column = rows(5, 4), rows(6, 4)
    names = [f"backbone.1.{axis}_embed.weight" for axis in ("row", "col")]
    found = opened(dict(zip(names, (row, column), strict=True)), {"model_type": "detr"})
    table = only(found)
    assert (table.parameter, table.combine, table.grid) == ("+".join(names), "concat", (5, 6))
    assert (table.n_positions, table.d_model) == (30, 8)
    cell = found.table().weights[2 * 6 + 3]
    assert np.array_equal(cell, np.concatenate([column[3], row[2]]))  # x first, then y


def test_added_axes_are_summed(opened, only, rows):
    row, column = rows(5, 4), rows(6, 4)
    found = opened(
        {
            "visual.row_position_embeddings.weight": row,
            "visual.col_position_embeddings.weight": column,
        }
    )
    assert only(found).combine == "sum"
    assert np.array_equal(found.table().weights[2 * 6 + 3], row[2] + column[3])


def test_reformer_folds_one_sequence_into_two_tensors(opened, only, rows):
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


def test_stacked_tables_open_one_at_a_time(opened, only, rows):
    stored = rows(2, 32, 8)
    found = opened(
        {"patch_embedder.position_embedding_table": stored}, {"model_type": "gemma4_vision"}
    )
    name = only(found).parameter
    assert np.array_equal(found.table().weights, stored[0])
    assert np.array_equal(found.table(f"{name}[1]").weights, stored[1])
    with pytest.raises(SourceError, match="holds no part 2"):
        found.table(f"{name}[2]")


def test_trailing_and_leading_special_rows(opened, only, rows):
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


def test_openai_clip_names_and_the_turned_pool_of_guided_diffusion(opened, only, rows):
    arrays = {"positional_embedding": rows(77, 8), "visual.positional_embedding": rows(50, 8)}
    text, image = opened(arrays).tables
    assert (text.grid, image.grid, image.prefix_rows) == (None, (7, 7), 1)
    stored = rows(16, 65)
    turned = opened({"out.0.positional_embedding": stored})
    assert (only(turned).n_positions, only(turned).d_model) == (65, 16)
    assert (only(turned).prefix_rows, only(turned).grid) == (1, (8, 8))
    assert np.array_equal(turned.table().weights, stored.T)
