"""A tensor that a person opens by hand: in the address as every table, and let go of again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file
from streamlit.testing.v1 import AppTest

ROWS = np.random.default_rng(0).normal(size=(64, 8)).astype(np.float32)
TOKENS = "wte.weight"
FILES = {
    "two": {"encoder.wpe.weight": ROWS, "decoder.wpe.weight": ROWS, TOKENS: ROWS[:40]},
    "one": {"wpe.weight": ROWS, TOKENS: ROWS[:40]},
    "none": {"model.layers.0.self_attn.q_proj.weight": ROWS, TOKENS: ROWS[:40]},
}
OPEN = f"**{TOKENS}.** It was opened by hand, as 40 positions."

Visit = Callable[..., AppTest]


def said(app: AppTest) -> str:
    assert not app.exception
    assert not app.error
    return "\n".join(str(part.value) for part in app.markdown).replace("\\", "")


@pytest.fixture(params=FILES)
def file(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    path = tmp_path / f"{request.param}.safetensors"
    save_file(FILES[request.param], path)
    return str(path)


def test_what_is_opened_by_hand_stands_in_the_address_and_the_address_opens_it(
    visit: Visit, file: str
) -> None:
    app = visit("checkpoint.py", table=file)
    app.selectbox(key="by_hand_here").select(TOKENS).run()
    assert OPEN in said(app)
    assert app.query_params["parameter"] == TOKENS
    linked = visit("checkpoint.py", table=file, parameter=TOKENS)
    assert OPEN in said(linked)
    assert OPEN in said(linked.run()), "also when the page runs again"
    assert linked.query_params["parameter"] == TOKENS


def test_one_click_goes_back_to_the_tables_of_the_file(visit: Visit, tmp_path: Path) -> None:
    path = tmp_path / "two.safetensors"
    save_file(FILES["two"], path)
    app = visit("checkpoint.py", table=str(path), parameter=TOKENS)
    menu = app.selectbox(key="parameter")
    assert menu.options == ["encoder.wpe.weight", "decoder.wpe.weight", TOKENS]
    menu.select("decoder.wpe.weight").run()
    assert "**decoder.wpe.weight.**" in said(app)


def test_a_tensor_of_a_file_without_tables_is_let_go_of(visit: Visit, tmp_path: Path) -> None:
    path = tmp_path / "none.safetensors"
    save_file(FILES["none"], path)
    app = visit("checkpoint.py", table=str(path), parameter=TOKENS)
    app.selectbox(key="parameter").set_value(None).run()
    assert "**none.safetensors.** No position table" in said(app)
