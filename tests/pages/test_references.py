"""What a person types for a table: one sentence for what cannot be opened, and only what may be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save, save_file
from streamlit.testing.v1 import AppTest

from posviz import sources

ROWS = np.random.default_rng(0).normal(size=(64, 8)).astype(np.float32)

Visit = Callable[..., AppTest]
Said = Callable[[AppTest], str]


@pytest.mark.parametrize(
    "ref",
    ["~nobody_here/x", "/proc", "/dev/zero", "run:/etc", "run:../..", "hub:", "hub:a/b/c",
     "demo:..", "random:1x", "x" * 5000, "a\tb", "upload:gone.npy", "sinusoidal:0x4",
     "\u202eevil"],
)  # fmt: skip
def test_whatever_is_typed_is_one_sentence_and_the_page_goes_on(visit: Visit, ref: str) -> None:
    app = visit("checkpoint.py", table=ref)
    assert not app.exception
    assert len(app.error) == 1
    assert app.error[0].value.replace("\\", "").endswith("Still showing demo:gpt-mini.")


def test_a_refusal_names_the_file_once(visit: Visit, tmp_path: Path) -> None:
    bad = ROWS.copy()
    bad[3] = np.nan
    np.save(tmp_path / "nan.npy", bad)
    (tmp_path / "cut.safetensors").write_bytes(save({"wpe": ROWS})[:-8])
    save_file({"fc.weight": ROWS}, tmp_path / "none.safetensors")
    for name in ("nan.npy", "cut.safetensors"):
        app = (
            visit("checkpoint.py", table=str(tmp_path / name))
            .switch_page("pages/overview.py")
            .run()
        )
        sentence = app.error[0].value.replace("\\", "")
        assert sentence.count(name.partition(".")[0]) == 1, sentence


def test_paths_are_kept_to_the_folder_of_the_operator(
    visit: Visit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("open", "closed"):
        (tmp_path / folder).mkdir()
        np.save(tmp_path / folder / "t.npy", ROWS)
    monkeypatch.setenv("POSVIZ_LOCAL_PATHS", str(tmp_path / "open"))
    assert not visit("checkpoint.py", table="t.npy").error
    for ref in ("../closed/t.npy", str(tmp_path / "closed" / "t.npy")):
        assert "lies outside" in visit("checkpoint.py", table=ref).error[0].value
    monkeypatch.setenv("POSVIZ_LOCAL_PATHS", "off")
    assert (
        "cannot be opened here"
        in visit("checkpoint.py", table=str(tmp_path / "open" / "t.npy")).error[0].value
    )


def test_a_file_that_changes_is_read_again(
    visit: Visit, said: Said, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the operator's folder too, whose paths do not start where the server was started."""
    monkeypatch.setenv("POSVIZ_LOCAL_PATHS", str(tmp_path))
    np.save(tmp_path / "t.npy", ROWS)
    app = visit("checkpoint.py", table="t.npy")
    np.save(tmp_path / "t.npy", ROWS[:32])
    app.run()
    assert "32 positions × 8" in said(app)


def test_memory_that_does_not_suffice_is_one_sentence(
    visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = sources.open

    def exhausted(ref: str, **rights: object) -> object:
        if ref == "random:9x9":
            raise MemoryError
        return real(ref, **rights)  # type: ignore[arg-type]

    monkeypatch.setattr(sources, "open", exhausted)
    app = visit(table="random:9x9")
    assert not app.exception
    assert "random:9x9 does not fit into the memory" in app.error[0].value.replace("\\", "")
