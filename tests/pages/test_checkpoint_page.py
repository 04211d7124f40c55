"""The Checkpoint page and the picker: what a person may open, upload or mistype."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save, save_file
from streamlit.testing.v1 import AppTest

PROJECT = Path(__file__).resolve().parents[2]
ROWS = np.random.default_rng(0).normal(size=(64, 8)).astype(np.float32)
BYTES = "application/octet-stream"


def run(**query: str) -> AppTest:
    """The Checkpoint page, as its address with this query would open it."""
    app = AppTest.from_file(str(PROJECT / "app.py"), default_timeout=90)
    for name, value in query.items():
        app.query_params[name] = value
    app.run()
    return app.switch_page("pages/checkpoint.py").run()


def upload(app: AppTest, *files: tuple[str, bytes]) -> AppTest:
    """What a visitor drops on the uploader, all at once."""
    uploader = app.file_uploader[0]
    for name, content in files:
        uploader.upload(name, content, BYTES)
    uploader.run()
    assert not app.exception
    return app


def said(app: AppTest) -> str:
    parts = (*app.markdown, *app.caption, *app.warning, *app.error, *app.title)
    return "\n".join(str(part.value) for part in parts).replace("\\", "")


def npy(rows: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, rows)
    return stream.getvalue()


@pytest.mark.parametrize(
    "ref",
    ["~nobody_here/x", "/proc", "/dev/zero", "run:/etc", "run:../..", "hub:", "hub:a/b/c",
     "demo:..", "random:1x", "x" * 5000, "a\tb", "upload:gone.npy", "sinusoidal:0x4",
     "\u202eevil"],
)  # fmt: skip
def test_whatever_is_typed_is_one_sentence_and_the_page_goes_on(ref: str) -> None:
    app = run(table=ref)
    assert not app.exception
    assert len(app.error) == 1
    assert app.error[0].value.replace("\\", "").endswith("Still showing demo:gpt-mini.")


def test_a_refusal_names_the_file_once(tmp_path: Path) -> None:
    bad = ROWS.copy()
    bad[3] = np.nan
    np.save(tmp_path / "nan.npy", bad)
    (tmp_path / "cut.safetensors").write_bytes(save({"wpe": ROWS})[:-8])
    save_file({"fc.weight": ROWS}, tmp_path / "none.safetensors")
    for name in ("nan.npy", "cut.safetensors"):
        app = run(table=str(tmp_path / name)).switch_page("pages/overview.py").run()
        sentence = app.error[0].value.replace("\\", "")
        assert sentence.count(name.partition(".")[0]) == 1, sentence


BY_HAND = "Open a tensor by hand"


def test_a_file_without_a_table_is_explained_once_with_one_box_of_its_tensors(
    tmp_path: Path,
) -> None:
    tensors = {f"model.layers.0.{name}.weight": ROWS for name in ("self_attn.q_proj",
                                                                  "mlp.gate_proj")}  # fmt: skip
    save_file(tensors, tmp_path / "llama.safetensors")
    app = run(table=str(tmp_path / "llama.safetensors"))
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


def test_the_answer_is_of_the_table_that_was_picked(tmp_path: Path) -> None:
    save_file(
        {"encoder.wpe.weight": ROWS, "decoder.wpe.weight": ROWS}, tmp_path / "two.safetensors"
    )
    assert "**encoder.wpe.weight.**" in said(run(table=str(tmp_path / "two.safetensors")))
    text = said(run(table=str(tmp_path / "two.safetensors"), parameter="decoder.wpe.weight"))
    assert "**decoder.wpe.weight.**" in text
    assert "Picked of 2." in text


def with_a_hole() -> dict[str, np.ndarray]:
    """A model whose first table has a NaN in row 3, and whose second is whole."""
    broken = ROWS.copy()
    broken[3, 4] = np.nan
    return {"encoder.wpe.weight": broken, "decoder.wpe.weight": ROWS}


def test_a_table_that_cannot_be_shown_hides_nothing_else_in_its_file(tmp_path: Path) -> None:
    save_file(with_a_hole(), tmp_path / "hole.safetensors")
    app = run(table=str(tmp_path / "hole.safetensors"))
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


def test_of_an_upload_whose_best_table_cannot_be_shown_the_others_are_kept() -> None:
    app = upload(run(), ("hole.safetensors", save(with_a_hole())))
    assert "row 3 of 64 holds NaN" in said(app)
    app.selectbox(key="by_hand_here").select("decoder.wpe.weight").run()
    assert not app.exception
    assert "**decoder.wpe.weight.**" in said(app)
    assert "larger than float32 holds" in said(upload(app, ("t.csv", b"1,2\n3,1e300\n")))


def test_warnings_of_a_file_without_a_table_are_its_own(tmp_path: Path) -> None:
    files = [f"model-0000{number}-of-00002.safetensors" for number in (1, 2)]
    save_file({"a.weight": ROWS}, tmp_path / files[0])
    index = {"weight_map": {"a.weight": files[0], "b.weight": files[1]}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    app = run(table=str(tmp_path))
    assert not app.error
    assert "names 2 files, of which 1 is missing" in app.warning[0].value


def test_every_tensor_is_listed_and_the_filter_finds_some(tmp_path: Path) -> None:
    tensors = {f"h.{i}.mlp.weight": ROWS for i in range(230)} | {"wpe.weight": ROWS}
    save_file(tensors, tmp_path / "many.safetensors")
    app = run(table=str(tmp_path / "many.safetensors"))
    assert "200 of 231 shown" in said(app)
    app.text_input(key="tensor").set_value("mlp 229").run()
    assert "h.229.mlp.weight" in said(app)
    assert "h.228.mlp.weight" not in said(app)
    app.text_input(key="tensor").set_value("nothing like it").run()
    assert "No name holds" in said(app)


def test_the_file_of_a_tensor_is_told_where_there_are_several(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    save_file({"a.weight": ROWS, "wpe.weight": ROWS}, tmp_path / "one" / "model.safetensors")
    text = said(run(table=str(tmp_path / "one")))
    assert "| name | shape | type | bytes |\n" in text
    assert "All in model.safetensors." in text
    assert text.index("| wpe.weight ◂ |") < text.index("| a.weight |"), "position tables first"
    files = [f"model-0000{number}-of-00002.safetensors" for number in (1, 2)]
    for file, name in zip(files, ("a.weight", "wpe.weight"), strict=True):
        save_file({name: ROWS}, tmp_path / file)
    text = said(run(table=str(tmp_path)))
    assert "| wpe.weight ◂ | 64\u00a0×\u00a08 | F32 | 2.05 kB | 2 of 2 |" in text
    assert "All in" not in text


def test_settings_of_any_depth_and_kind_are_shown_or_passed_over(tmp_path: Path) -> None:
    save_file({"wpe.weight": ROWS}, tmp_path / "model.safetensors")
    deep = "{" * 0 + '{"a":' * 900 + "1" + "}" * 900
    odd = {
        "model_type": "gpt2",
        "n_positions": 10**4000,
        "architectures": ["\udfff\x1b[2J", "x" * 100_000],
        "rope_scaling": None,
    }
    for text in (deep, json.dumps(odd)):
        (tmp_path / "config.json").write_text(text)
        app = run(table=str(tmp_path / "model.safetensors"), expert="true")
        assert not app.exception
        assert not app.error
        assert len(said(app)) < 20_000


def test_one_table_and_one_tensor_are_counted_as_one(tmp_path: Path) -> None:
    np.save(tmp_path / "one.npy", ROWS)
    text = said(run(table=str(tmp_path / "one.npy")))
    assert "among 1 tensor\n" in text + "\n"
    assert "position table found" in text


def test_what_was_read_is_never_more_than_there_is(tmp_path: Path) -> None:
    save_file({"wpe.weight": ROWS[:2]}, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "gpt2", "n_positions": 2}))
    whole = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert f"of {whole} bytes" in said(run(table=str(tmp_path / "model.safetensors")))


@pytest.mark.parametrize("name", ["MODEL.SAFETENSORS", "model.Safetensors", "model", "a.pth.tar"])
def test_u03_upper_case_endings_are_taken(name: str) -> None:
    app = upload(run(), (name, save({"wpe.weight": ROWS})))
    assert not app.error
    assert f"upload:{name}" in said(app)


def test_u03_upper_case_endings_of_pytorch_are_taken() -> None:
    torch = pytest.importorskip("torch")
    stream = io.BytesIO()
    torch.save({"wpe.weight": torch.from_numpy(ROWS)}, stream)
    for name in ("model.BIN", "Model.Pt"):
        app = upload(run(), (name, stream.getvalue()))
        assert not app.error
        assert f"upload:{name}" in said(app)


@pytest.mark.parametrize(
    ("dtype", "cell", "value"),
    [
        ("BF16", bytes.fromhex("ab3e"), 0.333984375),
        ("F16", bytes.fromhex("5535"), 0.333251953125),
        ("F8_E4M3", b"\x38", 1.0),
    ],
)
def test_l23_every_view_works_on_a_table_of_small_floats(
    dtype: str, cell: bytes, value: float, tmp_path: Path
) -> None:
    data = cell * 64 * 8
    entry = {"dtype": dtype, "shape": [64, 8], "data_offsets": [0, len(data)]}
    header = json.dumps({"wpe.weight": entry}).encode()
    path = tmp_path / "small.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + data)
    app = run(table=str(path))
    assert (app.session_state["_open"].table.weights == value).all()
    for page in ("overview", "curve", "similarity", "spectrum", "dimensions", "interpolation"):
        app.switch_page(f"pages/{page}.py").run()
        assert not app.exception, page
        assert not app.error, page


def test_a_config_alone_says_what_is_missing() -> None:
    app = upload(run(), ("config.json", b'{"model_type": "llama"}'))
    assert app.error[0].value.replace("\\", "") == (
        "config.json says how a model is set up and holds no numbers of its own. Add the weights: "
        "model.safetensors, pytorch_model.bin or another checkpoint file. Still showing "
        "demo:gpt-mini."
    )


def test_the_server_lets_go_of_uploaded_files(monkeypatch: pytest.MonkeyPatch) -> None:
    from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager

    gone: list[str] = []

    def remove_file(_: object, session_id: str, file_id: str) -> None:
        gone.append(file_id)

    monkeypatch.setattr(MemoryUploadedFileManager, "remove_file", remove_file)
    app = upload(run(), ("a.npy", npy(ROWS)), ("config.json", b"{}"))
    assert "upload:a.npy" in said(app)
    assert len(set(gone)) == 2


def test_an_upload_that_memory_has_no_room_for_stays_while_it_is_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("POSVIZ_TABLE_MEMORY", "0")
    app = upload(run(), ("two.safetensors", save({"a.wpe": ROWS, "b.wpe": ROWS[:9]})))
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
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("POSVIZ_TABLE_MEMORY", "0")
    app = upload(run(), ("none.safetensors", save({"fc.weight": ROWS})))
    app.selectbox(key="by_hand_here").select("fc.weight").run()
    assert not app.exception
    assert "**fc.weight.**" in said(app)


def test_two_models_at_once_say_which_is_open() -> None:
    app = upload(run(), ("a.safetensors", save({"wpe.weight": ROWS})), ("b.npy", npy(ROWS[:9])))
    assert "a.safetensors is open. Uploaded with it and not open: b.npy." in said(app)
    again = upload(run(), ("a.npy", npy(ROWS)), ("a.npy", npy(ROWS[:9])))
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
    name: str, content: bytes, words: str
) -> None:
    app = upload(run(), (name, content))
    sentence = app.error[0].value.replace("\\", "")
    assert words in sentence
    assert not sentence.startswith(f"{name.partition('.')[0]}: {name}"), "its name once"
    assert said(app)


def test_an_adapter_alone_is_named_and_its_tensors_listed() -> None:
    app = upload(run(), ("lora.safetensors", save({"h.0.lora_A.weight": ROWS})))
    assert not app.error
    assert "lora.safetensors holds only an adapter" in said(app)
    assert "h.0.lora_A.weight" in said(app)


def test_paths_are_kept_to_the_folder_of_the_operator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("open", "closed"):
        (tmp_path / folder).mkdir()
        np.save(tmp_path / folder / "t.npy", ROWS)
    monkeypatch.setenv("POSVIZ_LOCAL_PATHS", str(tmp_path / "open"))
    assert not run(table="t.npy").error
    for ref in ("../closed/t.npy", str(tmp_path / "closed" / "t.npy")):
        assert "lies outside" in run(table=ref).error[0].value
    monkeypatch.setenv("POSVIZ_LOCAL_PATHS", "off")
    assert "cannot be opened here" in run(table=str(tmp_path / "open" / "t.npy")).error[0].value


def test_weights_that_lie_beside_the_open_ones_are_a_quiet_word(tmp_path: Path) -> None:
    folder = tmp_path / "gpt"
    folder.mkdir()
    save_file({"wpe.weight": ROWS}, folder / "model.safetensors")
    (folder / "pytorch_model.bin").write_bytes(b"never read")
    app = run(table=str(folder))
    note = "model.safetensors is open; pytorch_model.bin is there too, unread."
    assert [note in str(caption.value).replace("\\", "") for caption in app.caption].count(
        True
    ) == 1
    assert not app.warning
    elsewhere = app.switch_page("pages/overview.py").run()
    assert "pytorch_model" not in said(elsewhere)


def test_a_file_that_changes_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the operator's folder too, whose paths do not start where the server was started."""
    monkeypatch.setenv("POSVIZ_LOCAL_PATHS", str(tmp_path))
    np.save(tmp_path / "t.npy", ROWS)
    app = run(table="t.npy")
    np.save(tmp_path / "t.npy", ROWS[:32])
    app.run()
    assert "32 positions × 8" in said(app)


def test_memory_that_does_not_suffice_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    from posviz import sources

    real = sources.open

    def exhausted(ref: str, **rights: object) -> object:
        if ref == "random:9x9":
            raise MemoryError
        return real(ref, **rights)  # type: ignore[arg-type]

    monkeypatch.setattr(sources, "open", exhausted)
    app = AppTest.from_file(str(PROJECT / "app.py"), default_timeout=90)
    app.query_params["table"] = "random:9x9"
    app.run()
    assert not app.exception
    assert "random:9x9 does not fit into the memory" in app.error[0].value.replace("\\", "")
