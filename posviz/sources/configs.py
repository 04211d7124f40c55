"""Questions to a config.json, whose parts (text, vision, encoder, decoder) nest.

A tensor's dotted name says which part it belongs to: ``text_model.embeddings…`` is governed
by ``text_config``, ``decoder.model…`` by ``decoder``.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from posviz.errors import DamagedError, SourceError
from posviz.sources import layouts
from posviz.sources.formats import jsons
from posviz.sources.formats.tensors import damaged

if TYPE_CHECKING:
    from posviz.sources.folders import FileSet
    from posviz.sources.readers import Reader

Config = Mapping[str, object]

_WITHOUT = (  # said of a config.json that tells nothing, behind what is wrong with it
    "It was not read: names, shapes and numbers alone decided which tables there are and which row "
    "of each is the first."
)
_LIMIT = 8 << 20
_LONGEST_TYPE = 200
_MOST_COUNT = 1 << 40
_MOST_WORDS = 32  # of a tensor's path that are looked for in a config
_MOST_SETTINGS = 1_000  # of a config that are looked through for its parts
_MOST_PARTS = 64
_KIN = (  # words that name the same part in tensor names and in configs
    {"text", "language", "llm", "lm", "thinker"},
    {"vision", "visual", "image", "img", "vit", "video"},
    {"audio", "speech", "sound"},
)


def read_config(reader: Reader, *, limit: int = _LIMIT) -> dict[str, Any]:
    """A config.json, or another JSON file of at most `limit` bytes, checked to be an object.

    Raises
    ------
    DamagedError
        Larger than any config, or not a JSON object.
    SourceError
        The file cannot be read.
    """
    if reader.size > limit:
        raise DamagedError(
            f"{reader.name} has {reader.size:,} bytes; a config.json is far smaller. Put the "
            f"model's own there."
        )
    most = jsons.MOST_MARKS if limit == _LIMIT else limit  # a vocabulary has many values
    config = jsons.parse(reader.read_at(0, reader.size), reader.name, most_marks=most)
    if not isinstance(config, dict):
        raise damaged(reader.name, "it is not a JSON object")
    return config


def config_of(files: FileSet, name: str) -> tuple[dict[str, Any] | None, tuple[str, ...]]:
    """A config beside weights, or None and the sentence about one that cannot be read.

    Raises
    ------
    SourceError
        The network failed, which says nothing of the file.
    """
    try:
        return read_config(files.open(name)), ()
    except SourceError as err:  # damaged, a pipe, or a link that leaves the folder
        if files.remote and not isinstance(err, DamagedError):
            raise
        return None, (f"{err} {_WITHOUT}",)


def model_type(config: Config | None) -> str | None:
    """The ``model_type`` of a config, if it has one."""
    found = (config or {}).get("model_type")
    if isinstance(found, str) and 0 < len(found) <= _LONGEST_TYPE and found.isprintable():
        return found
    return None


def chain(config: Config | None, name: str) -> tuple[Config, ...]:
    """The configs that govern a tensor, the closest first, the whole config last."""
    if not config:
        return ()
    found = [config]
    parts = _parts(config)
    for word in tower_words(name) if parts else ():
        part = _part(parts, word.lower())
        if part is not None:
            found.insert(0, part)
            parts = _parts(part)
    return tuple(found)


def types(configs: tuple[Config, ...], name: str) -> tuple[str, ...]:
    """The model types to ask the catalogue about, closest first.

    Where no config says, a word of the tensor's name that is itself a model type does
    (``model.roberta.embeddings…`` in a training checkpoint).
    """
    known = tuple(found for config in configs if (found := model_type(config)))
    if known:
        return known
    words = [word for token in tower_words(name) for word in (token, token.replace("_", "-"))]
    return tuple(word for word in words if layouts.is_known(word))


def value(configs: tuple[Config, ...], key: str) -> object:
    """A config value by key, from the closest part that has it."""
    return next((config[key] for config in configs if config.get(key) is not None), None)


def count(configs: tuple[Config, ...], *keys: str) -> int | None:
    """The first of several keys that holds a positive whole number."""
    for key in keys:
        found = value(configs, key)
        if type(found) is int and 0 < found < _MOST_COUNT:
            return found
    return None


def tower(name: str, types: tuple[str, ...] = ()) -> str | None:
    """``text``, ``vision`` or ``audio``, where the name or the model type says which.

    Words of the name decide, the last that speaks; then the closest model type.
    """
    spoken = [part for word in tower_words(name) if (part := _kin(word)) is not None]
    if name.startswith(("v.", "a.")):  # GGUF's vision and audio towers
        return "vision" if name[0] == "v" else "audio"
    if spoken:
        return ("text", "vision", "audio")[spoken[-1]]
    parts = [_kin(word) for word in types[:1]]
    return ("text", "vision", "audio")[parts[0]] if parts and parts[0] is not None else None


def tower_words(name: str) -> list[str]:
    """The words of a tensor's path, without its own name."""
    return name.replace("/", ".").split(".")[:-1][-_MOST_WORDS:]


def _kin(word: str) -> int | None:
    pieces = set(word.lower().replace("-", "_").split("_"))
    return next((index for index, kin in enumerate(_KIN) if kin & pieces), None)


def _parts(config: Config) -> list[tuple[str, int | None, Config]]:
    """The configs inside a config: what each is of, the kin of that word, and the part."""
    found: list[tuple[str, int | None, Config]] = []
    for key, part in islice(config.items(), _MOST_SETTINGS):
        if isinstance(part, dict) and len(found) < _MOST_PARTS:
            stem = key.removesuffix("_config").lower()
            found.append((stem, _kin(stem), part))
    return found


def _part(parts: list[tuple[str, int | None, Config]], word: str) -> Config | None:
    kin = _kin(word)
    for stem, _, part in parts:  # image_config before image_codebook_config
        if word in (stem, f"{stem}_model"):
            return part
    for stem, of, part in parts:
        if (of is not None and of == kin) or word.startswith(f"{stem}_"):
            return part
    return None
