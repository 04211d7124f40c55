"""Orders and results as JSON, for the way to a worker process and back."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

import numpy as np

from posviz.model.drift import Drift
from posviz.model.loss import LossByPosition
from posviz.model.measuring import Begun, Curve, Measured

_KINDS: dict[str, type[Curve]] = {"loss": LossByPosition, "drift": Drift}


def packed(event: Begun | Measured) -> dict[str, Any]:
    """An event as plain values; arrays become lists, and NaN stays NaN between our processes."""
    if isinstance(event, Begun):
        return {"event": "begun", **asdict(event)}
    return {
        "event": "measured",
        "method": event.method,
        "short": _packed(event.short),
        "long": None if event.long is None else _packed(event.long),
    }


def unpacked(values: dict[str, Any]) -> Begun | Measured:
    """The event that :func:`packed` made these values of."""
    values = dict(values)
    if values.pop("event") == "begun":
        return Begun(**values)
    long = values["long"]
    return Measured(
        values["method"], _unpacked(values["short"]), None if long is None else _unpacked(long)
    )


def _packed(curve: Curve) -> dict[str, Any]:
    kind = next(name for name, made in _KINDS.items() if isinstance(curve, made))
    values = {field.name: getattr(curve, field.name) for field in fields(curve)}
    return {"kind": kind} | {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in values.items()
    }


def _unpacked(values: dict[str, Any]) -> Curve:
    own: dict[str, Any] = {
        name: np.array(value) if isinstance(value, list) else value
        for name, value in values.items()
        if name != "kind"
    }
    return _KINDS[values["kind"]](**own)
