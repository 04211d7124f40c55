"""Every family of the catalogue with a learned table, small, at another length in transformers.

The classes and their default settings are those of transformers; only sizes are made small. What a
model cannot be fed here (video, audio of some kinds) is still loaded, without one complaint.
"""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from posviz.errors import SourceError
from posviz.export.checkpoint import write
from posviz.export.plan import plan
from posviz.export.recipe import Recipe
from posviz.sources import Candidate, layouts
from posviz.sources.bundle import Bundle, open_bundle

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

MORE = {"text": 16, "side": 8}  # positions, and patches a side
_MOST_PATCHES, _MOST_READ = 2_500, 2_048  # of what is run, not only loaded
_MOST_PARAMETERS = 400e6
USUAL = (
    "albert", "audio-spectrogram-transformer", "bart", "bert", "camembert", "clip_text_model",
    "deit", "distilbert", "electra", "gpt2", "layoutlm", "luke", "mpnet", "openai-gpt", "opt",
    "reformer", "roberta", "siglip_vision_model", "vit", "whisper", "xlm-roberta", "yolos",
)  # fmt: skip
_SMALL = {
    "hidden_size": 32, "d_model": 32, "n_embd": 32, "dim": 32, "embedding_size": 32,
    "word_embed_proj_dim": 32, "intermediate_size": 64, "ffn_dim": 64, "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64, "hidden_dim": 64, "n_inner": 64, "mlp_dim": 64,
    "num_attention_heads": 2, "n_head": 2, "n_heads": 2, "encoder_attention_heads": 2,
    "decoder_attention_heads": 2, "num_key_value_heads": 2, "vocab_size": 3_000,
}  # fmt: skip
_LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers",
           "decoder_layers", "num_encoder_layers", "num_decoder_layers", "depth")  # fmt: skip
_SPECIAL = ("pad_token_id", "bos_token_id", "eos_token_id", "mask_token_id", "sep_token_id",
            "cls_token_id", "image_token_id", "image_token_index", "decoder_start_token_id",
            "forced_eos_token_id")  # fmt: skip
_OWN: dict[str, dict[str, Any]] = {  # what no rule makes small
    "esm": {"vocab_size": 33, "pad_token_id": 1, "mask_token_id": 32},
    "gpt_neo": {"attention_types": [[["global"], 1]], "attention_layers": ["global"]},
    "layoutlmv3": {"hidden_size": 96, "coordinate_size": 16, "shape_size": 16},
    "reformer": {"attn_layers": ["local"], "axial_pos_embds_dim": [8, 24]},
    "yolos": {"num_hidden_layers": 3},  # a table between two layers each
    "xmod": {"default_language": "en_XX"},
}
_AUTO = (
    "MODEL_MAPPING", "MODEL_FOR_PRETRAINING_MAPPING", "MODEL_FOR_CAUSAL_LM_MAPPING",
    "MODEL_FOR_MASKED_LM_MAPPING", "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING",
    "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING", "MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING",
    "MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING", "MODEL_FOR_BACKBONE_MAPPING",
    "MODEL_FOR_TEXT_ENCODING_MAPPING", "MODEL_FOR_OBJECT_DETECTION_MAPPING",
)  # fmt: skip


def families() -> list[str]:
    """Model types for which the catalogue has a learned table that transformers builds."""
    lines = layouts.read_catalogue("tables.tsv")
    learned = [x for x in lines if x["framework"] == "transformers" and x["kind"] == "learned"]
    return sorted({name for x in learned for name in x["types"].split(",")})


def classes(model_type: str) -> Iterator[tuple[type, type]]:
    """Model and config classes of a type, the model without a head first."""
    from transformers import CONFIG_MAPPING
    from transformers.models.auto import modeling_auto

    config = CONFIG_MAPPING[model_type]
    for name in _AUTO:
        mapping = getattr(modeling_auto, name, {})
        if config in mapping:
            found = mapping[config]
            yield (found[0] if isinstance(found, (tuple, list)) else found), config


def shrunk(config: Any, *, narrow: bool) -> Any:
    """The settings with one layer, and small in every size that the class lets be small."""
    for name in getattr(config, "sub_configs", None) or {}:
        if hasattr(getattr(config, name, None), "to_dict"):
            shrunk(getattr(config, name), narrow=narrow)
    if getattr(config, "layer_types", None):
        config.layer_types = config.layer_types[:1]
    layers = {} if getattr(config, "stage_names", None) else dict.fromkeys(_LAYERS, 1)
    for name, value in (layers | (_SMALL if narrow else {})).items():
        if type(getattr(config, name, None)) is int and getattr(config, name) > value:
            with suppress(NotImplementedError):  # a sum of two others
                setattr(config, name, value)
    vocabulary = getattr(config, "vocab_size", None)
    for name in _SPECIAL if type(vocabulary) is int else ():
        if type(getattr(config, name, None)) is int and getattr(config, name) >= vocabulary:
            setattr(config, name, 5)
    for name, value in _OWN.get(getattr(config, "model_type", ""), {}).items() if narrow else ():
        setattr(config, name, copy.deepcopy(value))
    return config


def small(model_type: str, folder: Path) -> Any:
    """A small model of a type, saved in `folder` and loaded from it again."""
    from transformers import CONFIG_MAPPING

    if model_type not in CONFIG_MAPPING:
        pytest.skip(f"this release of transformers has no {model_type}")
    why = "it has no class of its own to load it with"
    for narrow in (True, False):
        for kind, config in classes(model_type):
            try:
                with torch.device("meta"):
                    made = kind(shrunk(config(), narrow=narrow))
                if sum(weights.numel() for weights in made.parameters()) > _MOST_PARAMETERS:
                    continue
                torch.manual_seed(0)
                model = kind(shrunk(config(), narrow=narrow)).eval()
                with torch.no_grad():  # those of zeros would hide what is kept
                    for name, weights in model.named_parameters():
                        if layouts.rule(name) is not None:
                            weights.normal_(std=0.1)
                model.save_pretrained(folder)
                again, said = kind.from_pretrained(folder, output_loading_info=True)
                assert not any(said.values()), "it does not load what it has saved"
                return again.eval()
            except Exception as err:  # whatever the class wants that is not given here
                why = f"{type(err).__name__}: {err}"
    pytest.skip(f"{model_type} is not built: {why[:200]}")


def fed(model: Any, *, text: int, image: tuple[int, int] | None, beside: int) -> dict[str, Any]:
    """Inputs that a model of any kind may take: so many symbols, a picture, as much audio."""
    wanted = inspect.signature(model.forward).parameters
    config = model.config
    numbers = torch.Generator().manual_seed(0)
    vocabulary = getattr(config.get_text_config(), "vocab_size", None) or 100
    ids = torch.randint(10, min(vocabulary, 100), (1, text), generator=numbers)
    inputs: dict[str, Any] = {}
    if "input_ids" in wanted:
        inputs["input_ids"] = ids
    if "decoder_input_ids" in wanted and config.is_encoder_decoder:
        inputs["decoder_input_ids"] = ids[:, :beside]
    if "bbox" in wanted:
        inputs["bbox"] = torch.zeros(1, text, 4, dtype=torch.long)
    if "pixel_values" in wanted and image is not None:
        inputs["pixel_values"] = torch.randn(1, 3, *image, generator=numbers)
    if hasattr(config, "max_source_positions") and "input_features" in wanted:
        frames = 2 * config.max_source_positions
        inputs["input_features"] = torch.zeros(1, config.num_mel_bins, frames)
    if hasattr(config, "time_stride") and "input_values" in wanted:
        inputs["input_values"] = torch.zeros(1, config.max_length, config.num_mel_bins)
    return inputs


def ran(model: Any, **sizes: Any) -> list[np.ndarray]:
    """Every number that comes out."""
    torch.manual_seed(0)
    with torch.no_grad():
        result = model(**fed(model, **sizes))
    found: list[np.ndarray] = []

    def gather(value: Any) -> None:
        if torch.is_tensor(value) and value.dtype.is_floating_point:
            found.append(value.numpy())
        for part in value if isinstance(value, (tuple, list)) else ():
            gather(part)

    gather(result.to_tuple())
    return found


def picture(config: Any) -> tuple[int, int] | None:
    """Height and width of what a model sees, where a key says so."""
    for part in (config, getattr(config, "vision_config", None)):
        size = getattr(part, "image_size", None) or getattr(part, "input_size", None)
        if type(size) is int:
            return size, size
        if isinstance(size, (tuple, list)) and len(size) == 2:
            return size[0], size[1]
    return None


def longer(table: Candidate, method: str) -> Recipe:
    if table.grid is not None:
        height, width = (side + MORE["side"] for side in table.grid)
        return Recipe(grid_size=(height, width), method=method)
    more = MORE["text"]
    if table.combine:  # of a folded axis whole rows are added
        more = 64
    return Recipe(length=table.n_positions + more, method=method)


def extended(bundle: Bundle, model: Any, table: Candidate, method: str, out: Path) -> Any:
    """The model at its new length, loaded by transformers without one complaint."""
    write(bundle, plan(bundle, longer(table, method), parameter=table.parameter), out)
    new, said = type(model).from_pretrained(out, output_loading_info=True)
    assert {name: found for name, found in said.items() if found} == {}
    return new.eval()


def checked(bundle: Bundle, model: Any, table: Candidate, tmp_path: Path) -> str:
    """Extend one table in every way that it can be, and say what was seen."""
    length = min(table.n_positions, _MOST_READ) if table.grid is None else 8
    sizes: dict[str, Any] = {"text": length, "beside": length, "image": picture(model.config)}
    refusals: list[str] = []
    new: dict[str, Any] = {}
    for method in ("linear",) if table.grid is not None else ("linear", "tile"):
        try:
            new[method] = extended(bundle, model, table, method, tmp_path / method)
        except SourceError as err:
            refusals.append(str(err))
    if not new:
        assert all("ave the table alone" in sentence for sentence in refusals)
        return f"refused: {refusals[0]}"
    if table.grid is not None and table.grid[0] * table.grid[1] > _MOST_PATCHES:
        return "loads"
    try:
        before = ran(model, **sizes)
    except Exception:  # what this model wants is not known here
        return "loads"
    for one in new.values():
        more = 0 if table.grid is not None else longer(table, "tile").length - table.n_positions  # type: ignore[operator]
        decoder = "decoder" in table.parameter.split(".layers")[0]
        if decoder and getattr(one.config, "is_encoder_decoder", False):
            grown = {"text": length, "beside": length}
            after = ran(one, **grown, image=picture(one.config))
            tokens = torch.zeros(1, length + more, dtype=torch.long)
            with torch.no_grad():
                one.get_decoder()(input_ids=tokens)
        else:
            after = ran(one, text=length + more, beside=length, image=picture(one.config))
        assert all(np.isfinite(part).any() for part in after)
    if "tile" in new:  # an appending method: what was there is as it was
        again = ran(new["tile"], **sizes)
        assert len(again) == len(before)
        for one, other in zip(before, again, strict=True):
            np.testing.assert_array_equal(one, other)
        return "runs, and outputs at the old length are equal"
    return "runs"


def check(model_type: str, tmp_path: Path, record: Callable[[str, object], None]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes that are on their way out
        model = small(model_type, tmp_path / "old")
        bundle = open_bundle(str(tmp_path / "old"))
        assert bundle.checkpoint.tables or model_type not in USUAL
        for number, table in enumerate(bundle.checkpoint.tables[:6]):
            place = tmp_path / str(number)
            place.mkdir()
            record(table.parameter, checked(bundle, model, table, place))


@pytest.mark.parametrize("model_type", USUAL)
def test_a_usual_family_loads_and_runs_at_its_new_length(
    model_type: str, tmp_path: Path, transformers: Any
) -> None:
    seen: dict[str, object] = {}
    check(model_type, tmp_path, seen.__setitem__)
    assert not [said for said in seen.values() if str(said).startswith("refused")]
    assert any(str(said).startswith("runs") for said in seen.values())


@pytest.mark.slow
@pytest.mark.parametrize("model_type", sorted(set(families()) - set(USUAL)))
def test_every_family_loads_or_is_refused_in_a_sentence(
    model_type: str,
    tmp_path: Path,
    transformers: Any,
    record_property: Callable[[str, object], None],
) -> None:
    check(model_type, tmp_path, record_property)
