"""Colours: unique, legible, and swapped one for one."""

from __future__ import annotations

import json
from dataclasses import asdict

import plotly.graph_objects as go
import pytest

from posviz.figures import theme
from posviz.figures.theme import DARK, LIGHT, PALETTES, POSITION, Tokens

TOKENS = {"light": LIGHT, "dark": DARK}


@pytest.mark.parametrize("tokens", TOKENS.values(), ids=TOKENS.keys())
def test_every_token_has_a_colour_of_its_own(tokens: Tokens) -> None:
    colours = list(asdict(tokens).values())
    assert len(set(colours)) == len(colours)
    assert all(len(c) == 7 and c == c.lower() and int(c[1:], 16) >= 0 for c in colours)


def test_the_position_scale_is_no_token_so_that_no_theme_changes_it() -> None:
    shades = set(theme.position_colours([i / 4095 for i in range(4096)]))
    assert not shades & set(asdict(LIGHT).values())


@pytest.mark.parametrize("tokens", TOKENS.values(), ids=TOKENS.keys())
@pytest.mark.parametrize("ground", ["ground", "card"])
@pytest.mark.parametrize("text", ["ink", "ink_soft", "accent"])
def test_text_reaches_aa_contrast(tokens: Tokens, text: str, ground: str) -> None:
    assert theme.contrast(getattr(tokens, text), getattr(tokens, ground)) >= 4.5


@pytest.mark.parametrize("tokens", TOKENS.values(), ids=TOKENS.keys())
@pytest.mark.parametrize("line", ["null", "accent"])
def test_lines_reach_the_contrast_of_graphics(tokens: Tokens, line: str) -> None:
    assert min(theme.contrast(getattr(tokens, line), g) for g in (tokens.ground, tokens.card)) >= 3


def test_contrast_of_black_and_white_is_the_greatest_there_is() -> None:
    assert theme.contrast("#000000", "#ffffff") == pytest.approx(21)
    assert theme.contrast("#777777", "#777777") == pytest.approx(1)
    # #767676 is the well-known darkest grey... that still passes AA on white: 4.54.
    assert theme.contrast("#ffffff", "#767676") == pytest.approx(4.54, abs=0.01)


def test_position_brightens_from_first_to_last() -> None:
    bright = [theme.contrast(c, "#000000") for c in theme.position_colours([0, 0.2, 0.4, 0.6, 0.8])]
    assert bright == sorted(bright)
    assert theme.position_colours([0, 1]) == [POSITION[0], POSITION[-1]]


def test_zero_of_the_diverging_palette_is_the_ground_itself() -> None:
    assert theme.contrast(LIGHT.zero, LIGHT.ground) == pytest.approx(1, abs=0.01)
    assert theme.contrast(DARK.zero, DARK.card) == pytest.approx(1, abs=0.01)
    assert PALETTES["diverging"][2] == LIGHT.zero


def test_a_dark_figure_differs_in_token_colours_only() -> None:
    figure = theme.blank(title={"text": "kept", "font": {"color": LIGHT.ink}})
    figure.add_scatter(
        x=[1, 2], y=[3, 4], line={"color": LIGHT.accent}, marker={"color": ["#123456", LIGHT.null]}
    )
    dark = theme.themed(figure, DARK)
    assert dark.data[0].line.color == DARK.accent
    assert dark.data[0].marker.color == ("#123456", DARK.null)
    assert dark.layout.title.font.color == DARK.ink
    assert dark.layout.title.text == "kept"
    assert dark.layout.template.layout.font.color == DARK.ink
    assert figure.data[0].line.color == LIGHT.accent

    def back(value: object) -> object:
        """The same replacement the other way round, written independently."""
        text = json.dumps(value)
        for name, colour in asdict(DARK).items():
            text = text.replace(f'"{colour}"', f'"{getattr(LIGHT, name)}"')
        return json.loads(text)

    assert back(json.loads(dark.to_json())) == json.loads(figure.to_json())


def test_themed_in_the_light_tokens_changes_nothing() -> None:
    figure = theme.blank().add_scatter(x=[1], y=[2], line={"color": LIGHT.accent})
    assert theme.themed(figure, LIGHT) == figure


def test_figures_are_calm() -> None:
    layout = theme.blank().layout
    base = layout.template.layout
    assert base.paper_bgcolor == base.plot_bgcolor == "rgba(0,0,0,0)"
    assert base.showlegend is False
    assert base.xaxis.gridcolor == LIGHT.hairline
    assert base.xaxis.showline is base.xaxis.zeroline is False
    assert base.scene.xaxis.showbackground is False
    assert layout.uirevision


def test_palettes_use_tokens_only_so_that_they_can_be_swapped() -> None:
    for colours in PALETTES.values():
        assert set(colours) <= set(theme.swap(DARK))
        assert theme.colourscale(colours)[0] == (0.0, colours[0])
        assert theme.colourscale(colours)[-1] == (1.0, colours[-1])


def test_every_light_figure_can_be_built_without_plotly_io_defaults() -> None:
    assert theme.blank().layout.template.layout.colorway[0] == LIGHT.accent
    assert isinstance(theme.blank(), go.Figure)
