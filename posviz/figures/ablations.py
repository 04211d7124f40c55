"""What a model loses by spoilt tables: one line each, from the loss as it is to the new one."""

from __future__ import annotations

from collections.abc import Sequence

from posviz.figures.picture import Picture
from posviz.figures.theme import LIGHT, SMALL_SIZE, blank


def ablation_losses(
    labels: Sequence[str],
    values: Sequence[float],
    *,
    whole: float,
    quantity: str,
    ignorance: tuple[float, str] | None = None,
    name: str = "the model",
) -> Picture:
    """Each spoilt table as a line from the value of the whole one to its own.

    Parameters
    ----------
    labels : sequence of str
        From top to bottom.
    values : sequence of float
        One a label.
    whole : float
        With the table as it is.
    quantity : str
        What the values are, with their unit.
    ignorance : (float, str), optional
        A value to hold the rest against, and its name, such as guessing evenly.
    name : str
        What model it is, for the text alternative.
    """
    marks = [whole, *values] + ([ignorance[0]] if ignorance else [])
    low, high = min(marks), max(marks)
    room = 0.08 * (high - low) or 0.5
    figure = blank(
        margin={"l": 8, "r": 16, "t": 30, "b": 8},
        xaxis={"title": {"text": quantity}, "range": [low - room, high + 1.5 * room]},
        yaxis={
            "range": [len(labels) - 0.5, -0.5],
            "tickvals": list(range(len(labels))),
            "ticktext": list(labels),
            "showgrid": False,
        },
    )
    levels = [(whole, "as it is", LIGHT.ink_soft)]
    if ignorance:
        levels.append((*ignorance, LIGHT.null))
    for value, text, colour in levels:
        at = (value - low) / ((high - low) or 1)  # names near an end grow inwards
        figure.add_scatter(
            x=[value, value], y=[-0.5, len(labels) - 0.5], mode="lines", hoverinfo="skip",
            line={"color": LIGHT.null, "width": 1.4, "dash": "2px,3px"},
        )  # fmt: skip
        figure.add_annotation(
            x=value, y=1, yref="paper", yanchor="bottom", text=f"{text} {value:.3f}",
            xanchor="left" if at < 1 / 3 else "right" if at > 2 / 3 else "center",
            font={"color": colour, "size": SMALL_SIZE},
        )  # fmt: skip
    for row, value in enumerate(values):
        figure.add_scatter(
            x=[whole, value], y=[row, row], mode="lines", hoverinfo="skip",
            line={"color": LIGHT.band, "width": 6},
        )  # fmt: skip
    figure.add_scatter(
        x=list(values), y=list(range(len(values))), mode="markers+text", meta="walk",
        marker={"color": LIGHT.accent, "size": 9}, text=[f"{value:.3f}" for value in values],
        textposition="middle right", textfont={"color": LIGHT.ink, "size": SMALL_SIZE},
        customdata=list(labels), hovertemplate="%{customdata}: %{x:.4f}<extra></extra>",
        cliponaxis=False, name=name,
    )  # fmt: skip
    told = ", ".join(f"{label} {value:.3f}" for label, value in zip(labels, values, strict=True))
    return Picture(
        figure, f"{quantity} of {name} with spoilt tables: {told}; as it is {whole:.3f}."
    )
