"""Names that people give to position tables in models of their own.

The catalogue knows how architectures name theirs. A module that somebody wrote for themselves
says ``pos_encoder.pe``, ``positions.weight`` or ``learnedPos``: words that speak of positions and
of nothing else. They decide only where no name of the catalogue does.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from posviz.sources import suspects
from posviz.sources.names import unwrapped

if TYPE_CHECKING:
    from collections.abc import Iterable

    from posviz.sources.configs import Config
    from posviz.sources.formats.tensors import Entry
    from posviz.sources.suspects import Suspect

_MOST_LETTERS = 60  # of a word; longer ones are no names that people give

_BEFORE = (
    "learned|learnable|trainable|fixed|sinusoidal|sin|absolute|abs|add|input|seq|sequence|token|"
    "my|own|custom|tok|word|char|text|source|src|target|tgt|encoder|enc|decoder|dec|patch|image|img|cls|"
    "embeddings?|embed|emb"
)
_AFTER = (
    "embeddings?|embed(?:ding)?er|embeds?|embd|embs?|encodings?|encoder|encod|encs?|tables?|layer|"
    "params?|vectors?|vecs?|matrix|lookup|lut|codes?"
)
_SPEAKS = re.compile(
    rf"(?:(?:{_BEFORE})(?=.*pos))*(?:positional|positions?|posit|pos)(?:{_AFTER})*\d?|pe"
)
# What is left away at the end of a path: how frameworks and people call the numbers themselves.
_LEAVES = {"weight", "weights", "embedding", "embeddings", "embed", "emb", "lut", "table", "vars",
           "value", "param", "params", "pe", "P", "pos_table", "0"}  # fmt: skip
_MOST_KINDS = 20_000  # of names, those that differ in the numbers of layers counted once
_DIGITS = str.maketrans("23456789", "11111111")  # 0 says something of its own
_DEEPEST = 8  # words of a path that are looked at, from its end
_OTHER = re.compile(
    r"(?:^|[._/])(?:rel|relative|rope|rotary|alibi|conv|bias|ids|mask|optimizer|exp_avg|attn|"
    r"attention|self_attn)(?:[._/\d]|$)",
    re.IGNORECASE,
)


def speaks_of_positions(name: str) -> bool:
    """Whether a tensor's own name, whatever the case and the underscores, says position table."""
    lower = name.lower()
    if ("pos" not in lower and "pe" not in lower) or lower.startswith("opt"):
        return False  # most names of a large model
    words = re.split(r"[./]", unwrapped(name).removesuffix(":0"))[-_DEEPEST:]
    if _OTHER.search(".".join(words)):
        return False
    ends = 2 if words[-2:] == ["vars", "0"] else int(words[-1] in ("weight", "weights"))
    itself = words[-1 - ends] if len(words) > ends else words[-1]
    while len(words) > 1 and words[-1] in _LEAVES:
        words.pop()
    return _says(words[-1]) or _says(itself)  # pos_encoder of pos_encoder.pe, pe of net.pe


def _says(word: str) -> bool:
    word = re.sub(r"[_-]", "", word).lower()
    return len(word) <= _MOST_LETTERS and _SPEAKS.fullmatch(word) is not None


def find(entries: Iterable[Entry], config: Config | None) -> list[Suspect]:
    """Tensors of two axes that are named so, each as a suspect."""
    found: list[Suspect] = []
    speaks: dict[tuple[str, str], bool] = {}  # layers are named one like the next
    for entry in entries:
        if len(found) == suspects.MOST_SUSPECTS:
            break
        if len([length for length in entry.shape or () if length > 1]) != 2:
            continue
        start = max(entry.name.rfind("."), entry.name.rfind("/"))
        kind = entry.name[:start].translate(_DIGITS), entry.name[start:]
        if kind not in speaks:
            if len(speaks) == _MOST_KINDS:
                break
            speaks[kind] = speaks_of_positions(entry.name)
        if speaks[kind]:
            suspect = suspects.examine(entry, config)
            if suspect is not None:
                found.append(suspect)
    return found


def warning(label: str) -> str:
    """The sentence that says on what the choice rests."""
    return (
        f"No known architecture calls its table {label}; it was taken for the position table "
        f"because its name speaks of positions. If it is none, open another tensor by hand."
    )
