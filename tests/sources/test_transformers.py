"""Models as transformers itself builds them: names and shapes from the meta device.

The truth is a survey that was read by hand, not by rules (data/has_table.tsv).
"""

from __future__ import annotations

import csv
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

from posviz.sources import detective, layouts, schemes, suspects
from posviz.sources.formats import Entry

transformers = pytest.importorskip("transformers")
torch = pytest.importorskip("torch")

SIXTY = [
    "albert", "align", "altclip", "audio-spectrogram-transformer", "bart", "bert",
    "bert-generation", "big_bird", "biogpt", "blenderbot", "blip", "bloom", "bridgetower",
    "camembert", "canine", "chinese_clip", "clip", "convbert", "data2vec-text", "deberta",
    "decision_transformer", "deit", "dinov2", "distilbert", "dpt", "electra", "ernie", "falcon",
    "flaubert", "flava", "fnet", "gpt2", "gpt_bigcode", "gpt_neo", "gptj", "hiera", "imagegpt",
    "layoutlm", "layoutlmv3", "lilt", "llama", "longformer", "luke", "marian", "mbart", "mpnet",
    "nystromformer", "openai-gpt", "opt", "prophetnet", "reformer", "rembert", "roberta",
    "roformer", "siglip", "t5", "vilt", "vit", "whisper", "xlm-roberta",
]  # fmt: skip

_LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers",
           "decoder_layers", "num_encoder_layers", "num_decoder_layers")  # fmt: skip
_AUTO = (
    "MODEL_FOR_PRETRAINING_MAPPING", "MODEL_MAPPING", "MODEL_FOR_CAUSAL_LM_MAPPING",
    "MODEL_FOR_MASKED_LM_MAPPING", "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING",
    "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING", "MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING",
    "MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING", "MODEL_FOR_BACKBONE_MAPPING",
    "MODEL_FOR_TEXT_ENCODING_MAPPING", "MODEL_FOR_OBJECT_DETECTION_MAPPING",
)  # fmt: skip
_DTYPES = {"torch.float32": "F32", "torch.float16": "F16", "torch.bfloat16": "BF16"}


def surveyed() -> dict[str, list[str]]:
    """Learned tables by model type, without the name of the outermost module."""
    path = Path(__file__).parent / "data" / "has_table.tsv"
    with path.open(encoding="utf-8") as lines:
        found = list(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]
    return {
        line[0]: re.findall(r"(\S+?)\([\d,]+\)", line[1] if len(line) > 1 else "") for line in found
    }


SURVEY = surveyed()


def built(model_type: str):
    """(state of the model's own class, its config) on the meta device, or None."""
    from transformers.models.auto import modeling_auto

    config_class = transformers.CONFIG_MAPPING[model_type]
    for name in _AUTO:
        mapping = getattr(modeling_auto, name, None)
        if mapping is None or config_class not in mapping:
            continue
        try:
            classes = mapping[config_class]
        except ValueError:  # a class that this release names and does not have
            continue
        model_class = classes[0] if isinstance(classes, (tuple, list)) else classes
        for shorten in (True, False):
            try:
                config = config_class()
                stated = config.to_dict()
                for key in _LAYERS if shorten else ():
                    if type(getattr(config, key, None)) is int:
                        setattr(config, key, 1)
                with warnings.catch_warnings(), torch.device("meta"):
                    warnings.simplefilter("ignore")
                    return model_class(config).state_dict(), stated
            except Exception:
                continue
    return None


def same_tensor(stated: str, found: str) -> bool:
    """Whether two names differ only by the outermost modules."""
    return stated == found or stated.endswith(f".{found}") or found.endswith(f".{stated}")


def catalogued(model_type: str) -> list[str]:
    """Endings of the other tables the catalogue knows for this type: fixed, box, auxiliary."""
    return [
        line["name"]
        for line in layouts.read_catalogue("tables.tsv")
        if model_type in line["types"].split(",") and line["kind"] != "rotary"
    ]


def judged(model_type: str) -> tuple[int, int, int] | None:
    """Tables found and right, missed, and found wrongly."""
    model = built(model_type)
    if model is None:
        return None
    state, config = model
    entries = [
        Entry(name, tuple(t.shape), _DTYPES.get(str(t.dtype), "I64"), t.nbytes, "m")
        for name, t in state.items()
    ]
    found = {e.name for suspect in suspects.find(entries, config) for e in suspect.parts}
    truth = {
        name
        for name, tensor in state.items()
        if tensor.numel()  # yolos keeps a table a layer but the last, and is built with one
        and any(same_tensor(known, name) for known in SURVEY.get(model_type, ()))
    }
    others = [re.compile(rf"(?:^|\.)(?:{pattern})$") for pattern in catalogued(model_type)]
    wrong = {name for name in found - truth if not any(pattern.search(name) for pattern in others)}
    return len(truth & found), len(truth - found), len(wrong)


def claims(model_type: str) -> tuple[str, str] | None:
    """What names alone say a model without a table uses instead, and what its config says."""
    model = built(model_type)
    if model is None:
        return None
    state, config = model
    entries = [Entry(n, tuple(t.shape), "F32", t.nbytes, "m") for n, t in state.items()]
    if suspects.find(entries, config):
        return None
    return schemes.explain(entries, None)[0], schemes.explain(entries, config)[0]


# Both carry relative positions too, in their audio encoder or their backbone.
TWO_SCHEMES = {"neucodec", "xcodec2", "mask2former", "maskformer", "nemotron3_5_asr"}


@pytest.mark.parametrize("model_type", SIXTY)
def test_names_alone_never_claim_another_scheme_than_the_catalogue(model_type):
    by_name, known = claims(model_type) or ("unknown", "")
    assert by_name in ("unknown", known)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_names_alone_agree_with_the_catalogue_over_every_model_type_that_builds():
    found = {name: said for name in transformers.CONFIG_MAPPING if (said := claims(name))}
    wrong = {
        name
        for name, (by_name, known) in found.items()
        if by_name not in ("unknown", known) and known != "unknown"
    }
    told = sum(by_name != "unknown" for by_name, _ in found.values())
    assert wrong <= TWO_SCHEMES, f"of {len(found)} types {told} told by name: {wrong}"
    assert told > 200, f"of {len(found)} types {told} told by name"


@pytest.mark.parametrize("model_type", SIXTY)
def test_every_table_of_a_built_model_is_found_and_nothing_else(model_type):
    counts = judged(model_type)
    assert counts is not None
    right, missed, wrong = counts
    assert (missed, wrong) == (0, 0)
    if SURVEY.get(model_type):
        assert right > 0


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_recall_and_precision_over_every_model_type_that_builds():
    found = [counts for name in transformers.CONFIG_MAPPING if (counts := judged(name)) is not None]
    right, missed, wrong = (sum(column) for column in zip(*found, strict=True))
    figures = f"{len(found)} model types: {right} tables right, {missed} missed, {wrong} wrong"
    assert len(found) > 550, figures
    assert missed == 0, figures
    assert right / (right + wrong) >= 0.997


TEXT = {  # model type -> what its small config needs beyond the shared sizes
    "albert": {"embedding_size": 16}, "bert": {}, "camembert": {}, "data2vec-text": {},
    "distilbert": {"dim": 16, "n_layers": 1, "n_heads": 2, "hidden_dim": 16}, "electra":
    {"embedding_size": 16}, "ernie": {}, "gpt2": {"n_embd": 16, "n_layer": 1, "n_head": 2,
    "n_positions": 40}, "longformer": {"attention_window": [4]}, "mpnet": {},
    "nystromformer": {"num_landmarks": 6, "segment_means_seq_len": 6}, "opt":
    {"ffn_dim": 16, "word_embed_proj_dim": 16}, "roberta": {}, "xlm-roberta": {},
    "bart": {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2,
             "decoder_attention_heads": 2, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16},
    "blenderbot": {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1,
                   "encoder_attention_heads": 2, "decoder_attention_heads": 2,
                   "encoder_ffn_dim": 16, "decoder_ffn_dim": 16},
    "openai-gpt": {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 40},
}  # fmt: skip


@pytest.mark.parametrize("model_type", TEXT)
def test_first_used_row_is_the_first_with_a_gradient(model_type):
    sizes = {
        "vocab_size": 50, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
        "intermediate_size": 16, "max_position_embeddings": 40,
    }  # fmt: skip
    config = transformers.CONFIG_MAPPING[model_type](**{**sizes, **TEXT[model_type]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = transformers.AutoModel.from_config(config)
        tokens = torch.tensor([[5, 6, 7, 8, 9, 10]])
        both = {"decoder_input_ids": tokens} if config.is_encoder_decoder else {}
        model(input_ids=tokens, **both).last_hidden_state.square().sum().backward()
    state = dict(model.named_parameters())
    entries = [Entry(n, tuple(p.shape), "F32", p.nbytes, "m") for n, p in state.items()]
    found = suspects.find(entries, config.to_dict())
    assert found
    case = detective.Case(
        entries, config.to_dict(), lambda entry: state[entry.name].detach().numpy()
    )
    for suspect in found:
        name = suspect.parts[0].name
        gradient = state[name].grad
        assert gradient is not None, name
        used = np.flatnonzero(gradient.abs().sum(dim=1).numpy())
        assert detective.candidate(suspect, case).row_offset == used[0]
        assert len(used) == 6
