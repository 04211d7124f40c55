"""The Checkpoint page: which table was found and why, what else lies in the file, what was read."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest
import torch
from safetensors.numpy import save, save_file
from streamlit.testing.v1 import AppTest

ROWS = np.random.default_rng(0).normal(size=(64, 8)).astype(np.float32)

Visit = Callable[..., AppTest]
Upload = Callable[..., AppTest]
Said = Callable[[AppTest], str]


BY_HAND = "Open a tensor by hand"


def test_a_file_without_a_table_is_explained_once_with_one_box_of_its_tensors(
    visit: Visit, said: Said, tmp_path: Path
) -> None:
    tensors = {f"model.layers.0.{name}.weight": ROWS for name in ("self_attn.q_proj",
                                                                  "mlp.gate_proj")}  # fmt: skip
    save_file(tensors, tmp_path / "llama.safetensors")
    app = visit("checkpoint.py", table=str(tmp_path / "llama.safetensors"))
    assert not app.error
    text = said(app)
    for words in ("rotary embeddings", "**llama.safetensors.**", "still show demo:gpt-mini"):
        assert text.count(words) == 1, words
    assert [box.label for box in app.selectbox].count(BY_HAND) == 1
    elsewhere = app.switch_page("pages/spectrum.py").run()
    assert "rotary embeddings" in elsewhere.error[0].value
    assert [box.label for box in elsewhere.selectbox].count(BY_HAND) == 1
    back = elsewhere.switch_page("pages/checkpoint.py").run()
    back.selectbox(key="by_hand_here").select("model.layers.0.mlp.gate_proj.weight").run()
    assert not back.exception
    text = said(back)
    assert "model.layers.0.mlp.gate_proj.weight.** It was opened by hand, as 64 positions." in text
    assert text.count("rotary embeddings") == 1
    assert "still show" not in text


def test_the_answer_is_of_the_table_that_was_picked(
    visit: Visit, said: Said, tmp_path: Path
) -> None:
    save_file(
        {"encoder.wpe.weight": ROWS, "decoder.wpe.weight": ROWS}, tmp_path / "two.safetensors"
    )
    assert "**encoder.wpe.weight.**" in said(
        visit("checkpoint.py", table=str(tmp_path / "two.safetensors"))
    )
    text = said(
        visit(
            "checkpoint.py", table=str(tmp_path / "two.safetensors"), parameter="decoder.wpe.weight"
        )
    )
    assert "**decoder.wpe.weight.**" in text
    assert "Picked of 2." in text


def with_a_hole() -> dict[str, np.ndarray]:
    """A model whose first table has a NaN in row 3, and whose second is whole."""
    broken = ROWS.copy()
    broken[3, 4] = np.nan
    return {"encoder.wpe.weight": broken, "decoder.wpe.weight": ROWS}


def test_a_table_that_cannot_be_shown_hides_nothing_else_in_its_file(
    visit: Visit, said: Said, tmp_path: Path
) -> None:
    save_file(with_a_hole(), tmp_path / "hole.safetensors")
    app = visit("checkpoint.py", table=str(tmp_path / "hole.safetensors"))
    assert not app.error
    text = said(app)
    for words in ("**hole.safetensors.** Every value", "row 3 of 64 holds NaN",
                  "**encoder.wpe.weight**", "still show demo:gpt-mini"):  # fmt: skip
        assert text.count(words) == 1, words
    elsewhere = app.switch_page("pages/spectrum.py").run()
    assert "row 3 of 64 holds NaN" in elsewhere.error[0].value
    elsewhere.selectbox(key="by_hand").select("decoder.wpe.weight").run()
    assert not elsewhere.error
    assert "decoder.wpe" in said(elsewhere)


def test_a_table_that_cannot_be_read_hides_nothing_else_in_its_file(
    visit: Visit, upload: Upload, said: Said
) -> None:
    packed = Path(__file__).parents[1] / "sources" / "data" / "lzf.h5"
    uploaded = upload(visit("checkpoint.py"), ("lzf.h5", packed.read_bytes()))
    for app in (visit("checkpoint.py", table=str(packed)), uploaded):
        assert not app.error
        text = said(app)
        assert "lzf.h5.** wpe in lzf.h5 is compressed with LZF, which is not read." in text
        assert "**wpe**. " in text


def test_a_table_that_is_not_all_there_is_said_to_be_damaged(
    visit: Visit, said: Said, tmp_path: Path
) -> None:
    torch.save({"wpe.weight": torch.from_numpy(ROWS)}, tmp_path / "whole.bin")
    with ZipFile(tmp_path / "whole.bin") as whole, ZipFile(tmp_path / "part.bin", "w") as part:
        for member in whole.namelist():
            if not member.endswith("data/0"):
                part.writestr(member, whole.read(member))
    text = said(visit("checkpoint.py", table=str(tmp_path / "part.bin")))
    assert "**part.bin.** part.bin is damaged: the archive lacks data/0." in text


def test_of_an_upload_whose_best_table_cannot_be_shown_the_others_are_kept(
    visit: Visit, upload: Upload, said: Said
) -> None:
    app = upload(visit("checkpoint.py"), ("hole.safetensors", save(with_a_hole())))
    assert "row 3 of 64 holds NaN" in said(app)
    app.selectbox(key="by_hand_here").select("decoder.wpe.weight").run()
    assert not app.exception
    assert "**decoder.wpe.weight.**" in said(app)
    assert "larger than float32 holds" in said(upload(app, ("t.csv", b"1,2\n3,1e300\n")))


def test_warnings_of_a_file_without_a_table_are_its_own(visit: Visit, tmp_path: Path) -> None:
    files = [f"model-0000{number}-of-00002.safetensors" for number in (1, 2)]
    save_file({"a.weight": ROWS}, tmp_path / files[0])
    index = {"weight_map": {"a.weight": files[0], "b.weight": files[1]}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    app = visit("checkpoint.py", table=str(tmp_path))
    assert not app.error
    assert "names 2 files, of which 1 is missing" in app.warning[0].value


def test_every_tensor_is_listed_and_the_filter_finds_some(
    visit: Visit, said: Said, tmp_path: Path
) -> None:
    tensors = {f"h.{i}.mlp.weight": ROWS for i in range(230)} | {"wpe.weight": ROWS}
    save_file(tensors, tmp_path / "many.safetensors")
    app = visit("checkpoint.py", table=str(tmp_path / "many.safetensors"))
    assert "200 of 231 shown" in said(app)
    app.text_input(key="tensor").set_value("mlp 229").run()
    assert "h.229.mlp.weight" in said(app)
    assert "h.228.mlp.weight" not in said(app)
    app.text_input(key="tensor").set_value("nothing like it").run()
    assert "No name holds" in said(app)


def test_the_file_of_a_tensor_is_told_where_there_are_several(
    visit: Visit, said: Said, tmp_path: Path
) -> None:
    (tmp_path / "one").mkdir()
    save_file({"a.weight": ROWS, "wpe.weight": ROWS}, tmp_path / "one" / "model.safetensors")
    text = said(visit("checkpoint.py", table=str(tmp_path / "one")))
    assert "| name | shape | type | bytes |\n" in text
    assert "All in model.safetensors." in text
    assert text.index("| wpe.weight ◂ |") < text.index("| a.weight |"), "position tables first"
    files = [f"model-0000{number}-of-00002.safetensors" for number in (1, 2)]
    for file, name in zip(files, ("a.weight", "wpe.weight"), strict=True):
        save_file({name: ROWS}, tmp_path / file)
    text = said(visit("checkpoint.py", table=str(tmp_path)))
    assert "| wpe.weight ◂ | 64\u00a0×\u00a08 | F32 | 2.05 kB | 2 of 2 |" in text
    assert "All in" not in text


def test_settings_of_any_depth_and_kind_are_shown_or_passed_over(
    visit: Visit, said: Said, tmp_path: Path
) -> None:
    save_file({"wpe.weight": ROWS}, tmp_path / "model.safetensors")
    deep = '{"a":' * 900 + "1" + "}" * 900
    odd = {
        "model_type": "gpt2",
        "n_positions": 10**4000,
        "architectures": ["\udfff\x1b[2J", "x" * 100_000],
        "rope_scaling": None,
    }
    for text in (deep, json.dumps(odd)):
        (tmp_path / "config.json").write_text(text)
        app = visit("checkpoint.py", table=str(tmp_path / "model.safetensors"), expert="true")
        assert not app.exception
        assert not app.error
        assert len(said(app)) < 20_000


def test_one_table_and_one_tensor_are_counted_as_one(
    visit: Visit, said: Said, tmp_path: Path
) -> None:
    np.save(tmp_path / "one.npy", ROWS)
    text = said(visit("checkpoint.py", table=str(tmp_path / "one.npy")))
    assert "among 1 tensor\n" in text + "\n"
    assert "position table found" in text


def test_what_was_read_is_never_more_than_there_is(
    visit: Visit, said: Said, tmp_path: Path
) -> None:
    save_file({"wpe.weight": ROWS[:2]}, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "gpt2", "n_positions": 2}))
    whole = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert f"of {whole} bytes" in said(
        visit("checkpoint.py", table=str(tmp_path / "model.safetensors"))
    )


@pytest.mark.parametrize(
    ("dtype", "cell", "value"),
    [
        ("BF16", bytes.fromhex("ab3e"), 0.333984375),
        ("F16", bytes.fromhex("5535"), 0.333251953125),
        ("F8_E4M3", b"\x38", 1.0),
    ],
)
def test_l23_every_view_works_on_a_table_of_small_floats(
    visit: Visit, dtype: str, cell: bytes, value: float, tmp_path: Path
) -> None:
    data = cell * 64 * 8
    entry = {"dtype": dtype, "shape": [64, 8], "data_offsets": [0, len(data)]}
    header = json.dumps({"wpe.weight": entry}).encode()
    path = tmp_path / "small.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + data)
    app = visit("checkpoint.py", table=str(path))
    assert (app.session_state["_open"].table.weights == value).all()
    for page in ("overview", "curve", "similarity", "spectrum", "dimensions", "interpolation"):
        app.switch_page(f"pages/{page}.py").run()
        assert not app.exception, page
        assert not app.error, page


def test_weights_that_lie_beside_the_open_ones_are_a_quiet_word(
    visit: Visit, said: Said, tmp_path: Path
) -> None:
    folder = tmp_path / "gpt"
    folder.mkdir()
    save_file({"wpe.weight": ROWS}, folder / "model.safetensors")
    (folder / "pytorch_model.bin").write_bytes(b"never read")
    app = visit("checkpoint.py", table=str(folder))
    note = "model.safetensors is open; pytorch_model.bin is there too, unread."
    assert [note in str(caption.value).replace("\\", "") for caption in app.caption].count(
        True
    ) == 1
    assert not app.warning
    elsewhere = app.switch_page("pages/overview.py").run()
    assert "pytorch_model" not in said(elsewhere)


def test_why_the_only_table_cannot_be_read_is_said_once(
    visit: Visit, said: Said, tmp_path: Path
) -> None:
    name = b"position_embd.weight"
    head = b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + struct.pack("<Q", len(name)) + name
    head += struct.pack("<IQQIQ", 2, 256, 4, 16, 0)  # two axes of 256 and 4, in IQ2_XXS
    (tmp_path / "m.gguf").write_bytes(head.ljust(-(-len(head) // 32) * 32, b"\0") + bytes(66 * 4))
    app = visit("checkpoint.py", table=str(tmp_path / "m.gguf"))
    assert said(app).count("quantised as IQ2") == 1
    elsewhere = app.switch_page("pages/spectrum.py").run()
    assert "quantised as IQ2" in elsewhere.error[0].value
