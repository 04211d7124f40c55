"""What a visitor drops on the uploader: taken, explained, kept while shown, and let go of."""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np
import pytest
import streamlit as st
from safetensors.numpy import save
from streamlit.testing.v1 import AppTest

ROWS = np.random.default_rng(0).normal(size=(64, 8)).astype(np.float32)

Visit = Callable[..., AppTest]
Upload = Callable[..., AppTest]
Said = Callable[[AppTest], str]

BERT_BASE = 440  # MB in F32


def npy(rows: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, rows)
    return stream.getvalue()


def test_the_limit_fits_real_models_and_stands_beside_the_uploader(
    visit: Visit, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = int(st.get_option("server.maxUploadSize"))
    assert most >= BERT_BASE
    assert f"up to {most:,} MB" in said(visit())
    monkeypatch.setattr(st, "get_option", {"server.maxUploadSize": 2048}.__getitem__)
    assert "up to 2,048 MB" in said(visit()), "as the operator set it"


@pytest.mark.parametrize("name", ["MODEL.SAFETENSORS", "model.Safetensors", "model", "a.pth.tar"])
def test_u03_upper_case_endings_are_taken(
    visit: Visit, upload: Upload, said: Said, name: str
) -> None:
    app = upload(visit("checkpoint.py"), (name, save({"wpe.weight": ROWS})))
    assert not app.error
    assert f"upload:{name}" in said(app)


def test_u03_upper_case_endings_of_pytorch_are_taken(
    visit: Visit, upload: Upload, said: Said
) -> None:
    torch = pytest.importorskip("torch")
    stream = io.BytesIO()
    torch.save({"wpe.weight": torch.from_numpy(ROWS)}, stream)
    for name in ("model.BIN", "Model.Pt"):
        app = upload(visit("checkpoint.py"), (name, stream.getvalue()))
        assert not app.error
        assert f"upload:{name}" in said(app)


def test_a_config_alone_says_what_is_missing(visit: Visit, upload: Upload) -> None:
    app = upload(visit("checkpoint.py"), ("config.json", b'{"model_type": "llama"}'))
    assert app.error[0].value.replace("\\", "") == (
        "config.json says how a model is set up and holds no numbers of its own. Add the weights: "
        "model.safetensors, pytorch_model.bin or another checkpoint file. Still showing "
        "demo:gpt-mini."
    )


def test_the_server_lets_go_of_uploaded_files(
    visit: Visit, upload: Upload, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager

    gone: list[str] = []

    def remove_file(_: object, session_id: str, file_id: str) -> None:
        gone.append(file_id)

    monkeypatch.setattr(MemoryUploadedFileManager, "remove_file", remove_file)
    app = upload(visit("checkpoint.py"), ("a.npy", npy(ROWS)), ("config.json", b"{}"))
    assert "upload:a.npy" in said(app)
    assert len(set(gone)) == 2


def test_an_upload_that_memory_has_no_room_for_stays_while_it_is_shown(
    visit: Visit, upload: Upload, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSVIZ_TABLE_MEMORY", "0")
    app = upload(
        visit("checkpoint.py"), ("two.safetensors", save({"a.wpe": ROWS, "b.wpe": ROWS[:9]}))
    )
    for page in ("overview", "checkpoint"):
        app.switch_page(f"pages/{page}.py").run()
        assert "64 positions × 8" in said(app)
        assert not app.error
    app.selectbox(key="parameter").select("b.wpe").run()  # the other table of the open file
    assert "9 positions × 8" in said(app)
    app.selectbox(key="table").select("demo:bert-mini").run()
    app.selectbox(key="table").select("upload:two.safetensors").run()
    assert app.error[0].value.replace("\\", "") == (
        "upload:two.safetensors had to be let go: this server keeps 0 MB of tables for all its "
        "visitors, and others were opened since. Upload the file again. Still showing "
        "demo:bert-mini."
    )
    upload(app, ("two.safetensors", save({"a.wpe": ROWS, "b.wpe": ROWS[:9]})))
    assert not app.error
    assert "64 positions × 8" in said(app)


def test_tensors_of_an_upload_without_a_table_stay_while_they_are_offered(
    visit: Visit, upload: Upload, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSVIZ_TABLE_MEMORY", "0")
    app = upload(visit("checkpoint.py"), ("none.safetensors", save({"fc.weight": ROWS})))
    app.selectbox(key="by_hand_here").select("fc.weight").run()
    assert not app.exception
    assert "**fc.weight.**" in said(app)


def test_two_models_at_once_say_which_is_open(visit: Visit, upload: Upload, said: Said) -> None:
    app = upload(
        visit("checkpoint.py"),
        ("a.safetensors", save({"wpe.weight": ROWS})),
        ("b.npy", npy(ROWS[:9])),
    )
    assert "a.safetensors is open. Uploaded with it and not open: b.npy." in said(app)
    again = upload(visit("checkpoint.py"), ("a.npy", npy(ROWS)), ("a.npy", npy(ROWS[:9])))
    assert "not open: a.npy." in said(again)
    assert "a (2).npy is open." in said(again)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("model.pt", b"\x80\x04cos\nsystem\nX\x04\x00\x00\x00true\x85R.", "a bare Python pickle"),
        ("model.safetensors", b"version https://git-lfs.github.com/spec/v1\nsize 5\n", "Git LFS"),
        ("t.csv", b"1,2\n3,word\n", "line 2, column 2"),
        ("model.onnx", b"\x08\x07\x12\x07pytorch", "an ONNX graph"),
        ("flax_model.msgpack", b"\x81\xa6params\x80", "Flax weights"),
        ("model.zip", b"PK\x03\x04", "incomplete"),
        ("weights", b"MZ\x90\x00\x03", "is not a checkpoint that is read here"),
    ],
)
def test_uploads_that_are_no_checkpoints_are_explained(
    visit: Visit, upload: Upload, name: str, content: bytes, words: str
) -> None:
    app = upload(visit("checkpoint.py"), (name, content))
    sentence = app.error[0].value.replace("\\", "")
    assert words in sentence
    assert not sentence.startswith(f"{name.partition('.')[0]}: {name}"), "its name once"
    assert sentence.endswith("Still showing demo:gpt-mini.")


def test_an_adapter_alone_is_named_and_its_tensors_listed(
    visit: Visit, upload: Upload, said: Said
) -> None:
    app = upload(visit("checkpoint.py"), ("lora.safetensors", save({"h.0.lora_A.weight": ROWS})))
    assert not app.error
    assert "lora.safetensors holds only an adapter" in said(app)
    assert "h.0.lora_A.weight" in said(app)
