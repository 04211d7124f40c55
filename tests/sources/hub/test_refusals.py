"""What a Hub refuses, lacks or answers wrongly, one sentence each; and whose token it sees."""

from __future__ import annotations

import json

import numpy as np
import pytest

from posviz import sources
from posviz.errors import SourceError
from posviz.sources import ranges
from posviz.sources.search import search

REPO = "org/gpt2"


def test_unreachable_hub_is_one_sentence(fake_hub, tmp_path):
    fake_hub.silent = True
    with pytest.raises(SourceError) as caught:
        sources.open(f"hub:{REPO}", access=fake_hub.access(tmp_path / "cache"))
    assert str(caught.value) == (
        "The Hub (127.0.0.1) cannot be reached. Check the network; local files and demos open "
        "without it."
    )


def test_server_that_ignores_ranges_is_refused_before_its_body(gpt2_repo, tmp_path):
    hub, _ = gpt2_repo
    hub.ignore_ranges = True
    hub.large = 1 << 30  # served by the Hub itself
    with pytest.raises(SourceError, match=r"ignores byte ranges"):
        sources.open(f"hub:{REPO}", access=hub.access(tmp_path / "cache"))


def test_a_drip_is_not_waited_for(gpt2_repo, tmp_path, monkeypatch):
    hub, _ = gpt2_repo
    monkeypatch.setattr(ranges, "_GRACE", 0)
    monkeypatch.setattr(ranges, "_SLOWEST", 1e15)
    # The table comes in many pieces, the first of them too late.
    with pytest.raises(SourceError, match=r"is too slow: [\d,]+ of [\d,]+ bytes of model"):
        sources.open(f"hub:{REPO}", access=hub.access(tmp_path / "cache"))


@pytest.mark.parametrize(
    "listing",
    [
        b"[]", b"null", b"not json", b"[" * 100_000, b'{"id":5,"sha":7,"siblings":3}',
        b'{"_id":"0","id":"x","sha":"%s","siblings":[{}]}' % (b"0" * 40),
    ],
)  # fmt: skip
def test_a_listing_that_is_none_is_one_sentence(gpt2_repo, tmp_path, listing):
    hub, _ = gpt2_repo
    hub.listing = listing
    access = hub.access(tmp_path / "cache")
    with pytest.raises(SourceError, match="answered with something that is no model listing"):
        sources.open(f"hub:{REPO}", access=access)
    if listing != b"[]":
        with pytest.raises(SourceError, match="answered with something that is no list of models"):
            search("gpt", access)


def test_files_of_a_listing_that_cannot_be_are_passed_over(gpt2_repo, tmp_path):
    hub, _ = gpt2_repo
    names = {"model.safetensors": -5, "../config.json": 9, "a\x1b.bin": 9, "pytorch_model.bin": 1.5}
    siblings = [{"rfilename": name, "size": size} for name, size in names.items()]
    listing = {"_id": "0", "id": REPO, "sha": "0" * 40, "siblings": siblings * 5000}
    hub.listing = json.dumps(listing).encode()
    with pytest.raises(SourceError, match="it holds nothing"):
        sources.open(f"hub:{REPO}", access=hub.access(tmp_path / "cache"))


@pytest.mark.parametrize(
    ("token", "sentence"),
    [
        (
            False,
            "org/gpt2 is gated: it opens only for people who are logged in and were given access. "
            "Ask for access on {url}/org/gpt2 and give a Hub token.",
        ),
        (
            "hf_wrong",
            "org/gpt2 is gated and this token has no access to it yet. Ask for access on "
            "{url}/org/gpt2, then open it again.",
        ),
    ],
)
def test_h01_gated_model_says_what_is_missing(gpt2_repo, tmp_path, token, sentence):
    hub, _ = gpt2_repo
    hub.gated[REPO] = "hf_right"
    with pytest.raises(SourceError) as caught:
        sources.open(f"hub:{REPO}", access=hub.access(tmp_path / "cache", token=token))
    assert str(caught.value) == sentence.format(url=hub.url)
    assert "hf_wrong" not in str(caught.value)


def test_token_goes_to_the_hub_only_and_nothing_is_kept(gpt2_repo, tmp_path):
    hub, expected = gpt2_repo
    hub.gated[REPO] = "hf_right"
    cache = tmp_path / "cache"
    table = sources.load(f"hub:{REPO}", access=hub.access(cache, token="hf_right"))
    assert np.array_equal(table.weights, expected)
    assert {r.server for r in hub.log if r.authorised} == {"hub"}
    assert not list(cache.rglob("*"))


@pytest.mark.parametrize("token", ["hf_é", "hf_a b", "hf_a\nX-Header: b", "‘hf_a’"])
def test_what_cannot_be_a_token_is_said_and_not_sent(gpt2_repo, tmp_path, token):
    hub, _ = gpt2_repo
    with pytest.raises(SourceError, match="holds characters that no token has") as caught:
        sources.open(f"hub:{REPO}", access=hub.access(tmp_path / "cache", token=token))
    assert token not in str(caught.value)
    assert hub.log == []


def test_saved_token_is_not_sent(gpt2_repo, tmp_path, monkeypatch):
    hub, _ = gpt2_repo
    monkeypatch.setenv("HF_TOKEN", "hf_of_the_operator")
    sources.load(f"hub:{REPO}", access=hub.access(tmp_path / "cache"))
    assert not any(r.authorised for r in hub.log)


@pytest.mark.parametrize(
    ("ref", "sentence"),
    [
        (
            "hub:org/nothing",
            "There is no model org/nothing on the Hub, or it is private. Check the spelling, or "
            "give a token that may read it.",
        ),
        (
            "hub:org/gpt2@v9",
            "org/gpt2 has no revision v9. Give a branch, tag or commit that its page lists, or "
            "leave it out.",
        ),
        (
            "hub:../etc/passwd",
            "../etc/passwd cannot be the id of a Hub model; write hub:OWNER/NAME, as in the "
            "address of the model's page.",
        ),
    ],
)
def test_h01_what_is_not_there_is_named(gpt2_repo, tmp_path, ref, sentence):
    hub, _ = gpt2_repo
    with pytest.raises(SourceError) as caught:
        sources.open(ref, access=hub.access(tmp_path / "cache"))
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        (
            404,
            "There is no model org/gpt2 on the Hub, or it is private. Check the spelling, or give "
            "a token that may read it.",
        ),
        (429, "The Hub asks to wait: too many requests. Try again in a minute."),
        (500, "The Hub answered 500 for org/gpt2. Try again later."),
    ],
    ids=["404", "429", "500"],
)
def test_every_other_answer_is_one_sentence(gpt2_repo, tmp_path, status, sentence):
    hub, _ = gpt2_repo
    hub.answer = status
    with pytest.raises(SourceError) as caught:
        sources.open(f"hub:{REPO}", access=hub.access(tmp_path / "cache"))
    assert str(caught.value) == sentence


def test_answer_for_another_range_is_refused(gpt2_repo, tmp_path):
    hub, _ = gpt2_repo
    hub.shift = 1
    with pytest.raises(SourceError, match=r"sent another part of \w+\.\w+ than was asked for"):
        sources.open(f"hub:{REPO}", access=hub.access(tmp_path / "cache"))


def test_hostile_header_from_the_hub_is_refused_like_a_local_one(fake_hub, tmp_path):
    folder = tmp_path / "bad"
    folder.mkdir()
    text = json.dumps({"wpe": {"dtype": "F32", "shape": [4, 4], "data_offsets": [0, 32]}}).encode()
    content = len(text).to_bytes(8, "little") + text + bytes(20_000)
    (folder / "model.safetensors").write_bytes(content)
    fake_hub.repos["org/bad"] = folder
    with pytest.raises(SourceError, match=r"wpe is F32 of shape \[4, 4\], not 32 bytes"):
        sources.open("hub:org/bad", access=fake_hub.access(tmp_path / "cache"))


def test_a_damaged_config_on_the_hub_hides_no_weights(gpt2_repo, tmp_path):
    hub, expected = gpt2_repo
    (hub.repos[REPO] / "config.json").write_text("{bad")
    found = sources.open(f"hub:{REPO}", access=hub.access(tmp_path / "cache"))
    assert np.array_equal(found.table().weights, expected)
    (said,) = found.warnings
    assert said.startswith("config.json is damaged: it is not valid JSON.")
