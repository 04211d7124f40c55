"""The catalogue as data: names that are position tables and names that are not."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posviz.sources import layouts

CASES = [
    line.split("\t")
    for line in (layouts.CATALOGUE / "name_cases.tsv").read_text(encoding="utf-8").splitlines()
]
TABLES = list(layouts.read_catalogue("tables.tsv"))


def test_there_are_114_name_cases():
    assert len(CASES) == 114


@pytest.mark.parametrize(("polarity", "name"), CASES)
def test_name_case(polarity, name):
    assert (layouts.rule(name) is not None) == (polarity == "+")


@pytest.mark.parametrize("known", layouts._rules(), ids=lambda known: known.label)
@given(data=st.data())
def test_every_name_of_a_rule_holds_its_letters(known, data):
    name = data.draw(st.from_regex(layouts._compiled(known.pattern)))
    assert known.letters in name.lower()
    assert any(letters in name.lower() for letters in layouts._all_letters())


@pytest.mark.parametrize(
    "line",
    [
        line
        for line in TABLES
        if line["kind"] in ("learned", "box")
        and line["types"] not in ("-", "*")
        and not line["example"].startswith("vision tower")
    ],
    ids=lambda line: f"{line['family']}-{line['example']}",
)
def test_every_catalogued_table_is_found_and_knows_its_layout(line):
    name = line["example"]
    assert layouts.rule(name) is not None
    for model_type in line["types"].split(","):
        found = layouts.layout([model_type], name)
        assert found is not None, model_type
        layout = (found.offset, found.prefix, found.suffix, found.grid)
        assert layout == tuple(line[key] for key in ("offset", "prefix", "suffix", "grid"))


def test_every_layout_uses_known_words():
    for line in TABLES:
        assert re.fullmatch(r"0|2|pad\+1(?::\d)?", line["offset"]), line
        assert re.fullmatch(r"\d|\?|[a-z_]+", line["prefix"]), line
        assert line["grid"] in ("-", "hw", "wh", "ft", "thw", "part"), line
        assert line["kind"] in ("learned", "sinusoidal", "box", "auxiliary", "rotary"), line
        re.compile(line["name"])


def test_every_scheme_has_its_sentence():
    from posviz.sources import schemes

    for line in layouts.read_catalogue("no_table.tsv"):
        if line["scheme"] != "unknown":
            assert schemes.instead(line["scheme"]).endswith(".")


def test_a_type_with_a_learned_table_by_default_is_not_said_to_have_none():
    with_table = {t for line in TABLES if "only with" not in line["note"]
                  and line["kind"] == "learned" and not line["note"].startswith("absent when")
                  for t in line["types"].split(",")}  # fmt: skip
    said_none = {
        line["model_type"]
        for line in layouts.read_catalogue("no_table.tsv")
        if line["scheme"] in ("rotary", "alibi")
    }
    assert not with_table & said_none
