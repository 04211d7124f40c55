"""Parts of tensors: the same numbers as the whole, and not a byte more than they take."""

from __future__ import annotations

import numpy as np
import pytest

from posviz import sources
from posviz.errors import SourceError
from posviz.sources.parts import gather

SHAPE = (40_000, 24)  # well beyond what a reader takes in one gulp


@pytest.fixture(params=["safetensors", "pt", "legacy", "npy", "folder"])
def stored(request, tmp_path, rows, write_safetensors):
    """The same tensor in files that know parts and in one that does not, with its values."""
    values = rows(*SHAPE)
    path = tmp_path / f"model.{request.param}"
    if request.param == "safetensors":
        write_safetensors(path, {"wte.weight": values, "bias": rows(9)})
    elif request.param == "folder":
        path = tmp_path / "model"
        write_safetensors(path / "model.safetensors", {"wte.weight": values, "bias": rows(9)})
    elif request.param == "npy":
        np.save(path, values)
    else:
        torch = pytest.importorskip("torch")
        path = path.with_suffix(".pt")
        zipped = request.param == "pt"
        torch.save({"wte.weight": torch.from_numpy(values)}, path,
                   _use_new_zipfile_serialization=zipped)  # fmt: skip
    found = sources.open(str(path))
    return found, found.entries[0].name, values


@pytest.mark.parametrize("span", [(0, 1), (17, 17), (5, 93), (39_990, 40_000), (0, 40_000)])
@pytest.mark.parametrize("columns", [None, (0, 24), (3, 9), (23, 24)])
def test_a_part_is_that_part_of_the_whole(stored, span, columns):
    found, name, values = stored
    expected = values[slice(*span)] if columns is None else values[slice(*span), slice(*columns)]
    part = found.read_part(name, span, columns)
    assert part.dtype == np.float32
    np.testing.assert_array_equal(part, expected)


@pytest.mark.parametrize("zipped", [True, False])
def test_only_the_bytes_of_the_part_are_read(tmp_path, rows, write_safetensors, zipped):
    if zipped:
        torch = pytest.importorskip("torch")
        path = tmp_path / "m.pt"
        torch.save({"wte.weight": torch.from_numpy(rows(*SHAPE))}, path)
        directory = 8 + 22  # a member's own header stands before its numbers
    else:
        path = write_safetensors(tmp_path / "m.safetensors", {"wte.weight": rows(*SHAPE)})
        directory = 0
    found = sources.open(str(path))
    before = found.bytes_read
    found.read_part("wte.weight", (100, 103))
    assert found.bytes_read - before == 3 * 24 * 4 + directory
    before = found.bytes_read
    found.read_part("wte.weight", (200, 203), (8, 12))
    assert found.bytes_read - before == 3 * 4 * 4
    before = found.bytes_read
    found.read_part("wte.weight", (100, 103), (8, 12))
    assert found.bytes_read == before, "a byte counts once"


def test_stored_types_and_views_come_out_as_float32(tmp_path):
    torch = pytest.importorskip("torch")
    base = torch.randn(6, 8, generator=torch.Generator().manual_seed(1))
    value = {"bf16": base.bfloat16(), "turned": base.T, "later": base[2:], "f8": base.bool()}
    torch.save(value, tmp_path / "m.pt")
    found = sources.open(str(tmp_path / "m.pt"))
    for name, tensor in value.items():
        np.testing.assert_array_equal(found.read_part(name, (1, 4)), tensor[1:4].float())
        np.testing.assert_array_equal(
            found.read_part(name, (1, 4), (2, 5)), tensor[1:4, 2:5].float()
        )


@pytest.mark.parametrize(
    ("rows_", "columns", "asked"),
    [((0, 41_000), None, "rows 0 to 40,999"), ((-1, 2), None, "rows -1 to 1"),
     ((3, 2), None, "rows 3 to 1"), ((0, 2), (20, 25), "rows 0 to 1 and columns 20 to 24")],
)  # fmt: skip
def test_a_part_that_is_not_there_is_refused(stored, rows_, columns, asked):
    found, name, _ = stored
    with pytest.raises(SourceError) as refusal:
        found.read_part(name, rows_, columns)
    assert str(refusal.value) == (
        f"{name} has the shape 40000 × 24; {asked} were asked for. Ask for a part that is in it."
    )


def test_columns_of_a_vector_and_unknown_names_are_refused(tmp_path, rows, write_safetensors):
    found = sources.open(str(write_safetensors(tmp_path / "m.safetensors", {"bias": rows(9)})))
    np.testing.assert_array_equal(found.read_part("bias", (2, 5)), found.read("bias")[2:5])
    with pytest.raises(SourceError, match="bias has the shape 9"):
        found.read_part("bias", (0, 1), (0, 1))
    with pytest.raises(SourceError, match="holds no tensor named wte"):
        found.read_part("wte", (0, 1))


def test_rows_are_gathered_in_the_order_asked_for(rows):
    table, asked = rows(50, 3), []

    def read(span):
        asked.append(span)
        return table[slice(*span)]

    wanted = np.array([7, 3, 4, 7, 49, 5])
    np.testing.assert_array_equal(gather(read, wanted), table[wanted])
    assert asked == [(3, 6), (7, 8), (49, 50)], "neighbours together, repeats once"


def test_a_file_beside_the_weights_is_read_and_others_are_not(tmp_path, rows, write_safetensors):
    folder = tmp_path / "model"
    path = write_safetensors(folder / "model.safetensors", {"wpe.weight": rows(8, 4)})
    (folder / "tokenizer.json").write_bytes(b"{}")
    (tmp_path / "secret.json").write_bytes(b"no")
    for ref in (folder, path):
        found = sources.open(str(ref))
        assert found.beside("tokenizer.json") == b"{}"
        assert found.beside("vocab.txt") is None
        assert found.beside("../secret.json") is None
    upload = sources.open_upload(
        {"m.safetensors": path.read_bytes(), "tokenizer.json": b"{}", "config.json": b"{}"}
    )
    assert upload.beside("tokenizer.json") == b"{}"
    assert sources.open("random:8x4").beside("tokenizer.json") is None
