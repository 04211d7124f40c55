"""References: generated tables, demos, presets, and what opening one may not import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import posviz
from posviz import sources
from posviz.errors import SourceError
from posviz.sources import demos


def test_sinusoidal_reference_is_the_formula():
    table = posviz.load("sinusoidal:64x32")
    position, pair = 5, 3
    angle = position / 10000 ** (2 * pair / 32)
    assert table.weights[position, 2 * pair] == pytest.approx(np.sin(angle), abs=1e-6)
    assert table.weights[position, 2 * pair + 1] == pytest.approx(np.cos(angle), abs=1e-6)
    np.testing.assert_allclose(np.linalg.norm(table.weights, axis=1), 4, rtol=1e-6)
    assert (table.kind, table.provenance.line()) == ("sinusoidal", "sinusoidal:64x32 · F32")


def test_random_reference_is_the_stated_generator():
    expected = np.random.default_rng(0).normal(0, 0.02, (64, 32)).astype(np.float32)
    for ref in ("random:64x32", "random:64x32:0"):
        assert np.array_equal(posviz.load(ref).weights, expected)
    other = np.random.default_rng(7).normal(0, 0.02, (64, 32)).astype(np.float32)
    assert np.array_equal(posviz.load("random:64x32:7").weights, other)
    assert posviz.load("random:64x32").kind == "random"


@pytest.mark.parametrize(
    "ref",
    ["sinusoidal:", "sinusoidal:64", "sinusoidal:0x8", "sinusoidal:8x8:1", "random:8",
     "random:8x8:x", "random:-1x8", "random:999999999x999999999", "random:8x8:1:2", "random:٣x٣"],
)  # fmt: skip
def test_generated_references_that_make_no_table(ref, bounded):
    with pytest.raises(SourceError) as caught:
        bounded(lambda: sources.open(ref))
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize("name", demos.names())
def test_every_demo_opens_with_one_learned_table(name):
    found = sources.open(f"demo:{name}")
    assert found.source == "demo"
    assert len(found.tables) == 1
    assert found.scheme == "learned"
    assert found.warnings == ()


def test_unknown_demo_names_those_there_are():
    with pytest.raises(SourceError) as caught:
        sources.open("demo:none")
    assert str(caught.value) == (
        f"There is no demo called none. The demos are: "
        f"{', '.join(f'demo:{name}' for name in demos.names())}."
    )


def test_presets_of_the_command_line_are_there():
    for name in ("gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl", "bert-base-uncased",
                 "bert-base-cased", "bert-large-uncased", "roberta-base", "openai-gpt",
                 "distilbert-base-uncased", "facebook/opt-125m"):  # fmt: skip
        assert sources.PRESETS[name].name == name
        assert sources.PRESETS[name].ref.count("/") == 1


def test_misspelt_preset_is_suggested():
    with pytest.raises(SourceError, match=r"Did you mean gpt2\?"):
        sources.open("gtp2")
    with pytest.raises(SourceError, match="opens as hub:org/model"):
        sources.open("org/model")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("https://huggingface.co/openai-community/gpt2", "hub:openai-community/gpt2"),
        ("https://huggingface.co/openai-community/gpt2/", "hub:openai-community/gpt2"),
        ("http://hf.co/gpt2", "hub:gpt2"),
        ("huggingface.co/a/b.c/tree/v1.0", "hub:a/b.c@v1.0"),
        ("https://huggingface.co/a/b/blob/main/model.safetensors", "hub:a/b@main"),
        ("https://www.huggingface.co/a/b?library=transformers#top", "hub:a/b"),
        ("hub:https://huggingface.co/a/b", "hub:a/b"),
        ("HUB: a/b ", "hub:a/b"),
        ("Demo:gpt-mini", "demo:gpt-mini"),
        ("https://huggingface.co/datasets/a/b", "https://huggingface.co/datasets/a/b"),
        ("./huggingface.co/a/b", "./huggingface.co/a/b"),
        (" C:/models/a ", "C:/models/a"),
    ],
)
def test_the_address_of_a_models_page_names_the_model(written, meant):
    assert sources.plain(written) == meant


@pytest.mark.parametrize(
    ("ref", "words"),
    [
        ("https://example.org/model.bin", "is an address, and only models of the Hub are fetched"),
        ("openai-community/gpt2", "A Hub model of that name opens as hub:openai-community/gpt2."),
        ("GPT2", "Did you mean gpt2?"),
        ("x:org/model", "no other reference. The menu"),
    ],
)
def test_what_a_reference_may_have_meant_is_said(ref, words):
    with pytest.raises(SourceError) as caught:
        sources.open(ref)
    assert words in str(caught.value)


def test_every_source_has_an_example_of_its_own_prefix():
    for prefix, source in sources.SOURCES.items():
        assert source.example.startswith(f"{prefix}:")


def test_every_format_says_its_endings():
    for form in sources.FORMATS.values():
        assert form.label
        assert all(ending == ending.lower() and ending.startswith(".") for ending in form.endings)


HEAVY = {"torch", "transformers", "sklearn", "scipy", "huggingface_hub", "streamlit", "plotly",
         "h5py", "gguf", "pandas"}  # fmt: skip


def printed(code: str) -> str:
    """What a process of its own prints, which has imported nothing yet."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120,
        cwd=str(sources.layouts.CATALOGUE.parents[2]),
    )  # fmt: skip
    return done.stdout


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads Linux's own account")
def test_opening_a_file_imports_nothing_heavy_and_stays_small(tmp_path, write_safetensors, rows):
    """A fresh process, as the benchmark has it: 120 MiB resident with the table open."""
    arrays = {"transformer.wte.weight": rows(50257, 768), "transformer.wpe.weight": rows(1024, 768)}
    path = write_safetensors(tmp_path / "model.safetensors", arrays)
    code = (
        "import pathlib, sys, posviz\n"
        f"table = posviz.load({str(path)!r})\n"
        "assert table.weights.shape == (1024, 768)\n"
        "print(*sys.modules)\n"
        "status = pathlib.Path('/proc/self/status').read_text()\n"
        "print(int(status.split('VmHWM:')[1].split()[0]) // 1024)\n"
    )
    modules, resident = printed(code).splitlines()
    assert not HEAVY & set(modules.split())
    assert int(resident) < 120


def test_hub_references_ask_for_huggingface_hub_alone(tmp_path):
    code = (
        "import pathlib, sys\nfrom posviz import sources\n"
        f"access = sources.Access(offline=True, cache=pathlib.Path({str(tmp_path)!r}))\n"
        "try: sources.open('hub:org/none', access=access)\n"
        "except sources.checkpoint.SourceError: pass\n"
        "print(*sys.modules)\n"
    )
    assert HEAVY & set(printed(code).split()) == {"huggingface_hub"}


@pytest.mark.parametrize("ref", ["x" * 3000, "a/" * 2000, "one " * 900])
def test_an_endless_reference_is_not_repeated_whole(ref):
    for access in (sources.Access(), sources.Access(local_paths=False)):
        with pytest.raises(SourceError) as refused:
            sources.load(ref, access=access)
        assert len(str(refused.value)) < 300


def test_control_characters_of_a_reference_are_spelled_out(tmp_path):
    for rights in ({}, {"local_paths": False}, {"local_root": tmp_path}):
        with pytest.raises(SourceError) as refused:
            sources.load("../a\x1b[31m", access=sources.Access(**rights))
        assert str(refused.value).isprintable()
