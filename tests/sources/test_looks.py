"""Models without a table and without a config.json: what the names of their tensors say."""

from __future__ import annotations

import pytest

from posviz import sources
from posviz.sources import layouts, looks, schemes
from posviz.sources.formats import Entry

LLAMA = ["model.embed_tokens.weight", "model.norm.weight", "lm_head.weight"] + [
    f"model.layers.{layer}.{name}.weight"
    for layer in range(2)
    for name in (
        "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj",
        "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj", "input_layernorm",
        "post_attention_layernorm",
    )
]  # fmt: skip

FAMILIES = {  # as the released files name them: scheme, words of the sentence, names
    "llama": ("rotary", "LLaMA", LLAMA),
    "qwen3": ("rotary", "Qwen", [*LLAMA, "model.layers.0.self_attn.q_norm.weight"]),
    "mixtral": ("rotary", "Mistral", [
        "model.layers.0.self_attn.q_proj.weight",
        "model.layers.0.block_sparse_moe.experts.7.w1.weight",
        "model.layers.0.block_sparse_moe.gate.weight"]),
    "phi-3": ("rotary", "LLaMA", [
        "model.layers.0.self_attn.qkv_proj.weight", "model.layers.0.mlp.gate_up_proj.weight"]),
    "llama of Meta": ("rotary", "Meta", [
        "layers.0.attention.wq.weight", "layers.0.feed_forward.w1.weight"]),
    "phi-2": ("rotary", "Phi", [
        "model.layers.0.self_attn.q_proj.weight", "model.layers.0.self_attn.dense.weight",
        "model.layers.0.mlp.fc1.weight"]),
    "starcoder2": ("rotary", "StarCoder2", [
        "model.layers.0.self_attn.q_proj.weight", "model.layers.0.mlp.c_fc.weight"]),
    "deepseek": ("rotary", "DeepSeek", [
        "model.layers.0.self_attn.kv_a_proj_with_mqa.weight"]),
    "pythia": ("rotary", "GPT-NeoX", [
        "gpt_neox.embed_in.weight", "gpt_neox.layers.0.attention.query_key_value.weight",
        "gpt_neox.layers.0.attention.bias", "gpt_neox.layers.0.mlp.dense_h_to_4h.weight"]),
    "gpt-j": ("rotary", "GPT-J", [
        "transformer.h.0.attn.q_proj.weight", "transformer.h.0.mlp.fc_in.weight"]),
    "modernbert": ("rotary", "ModernBERT", [
        "model.layers.0.attn.Wqkv.weight", "model.layers.0.mlp.Wi.weight"]),
    "bloom": ("alibi", "BLOOM", [
        "word_embeddings.weight", "word_embeddings_layernorm.weight",
        "h.0.self_attention.query_key_value.weight", "h.0.mlp.dense_h_to_4h.weight"]),
    "mpt": ("alibi", "MPT", [
        "transformer.wte.weight", "transformer.blocks.0.attn.Wqkv.weight",
        "transformer.blocks.0.ffn.up_proj.weight"]),
    "jais": ("alibi", "Jais", [
        "transformer.h.0.attn.c_attn.weight", "transformer.h.0.mlp.c_fc.weight",
        "transformer.h.0.mlp.c_fc2.weight"]),
    "t5": ("relative", "T5", [
        "shared.weight", "encoder.block.0.layer.0.SelfAttention.q.weight",
        "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
        "encoder.block.0.layer.1.DenseReluDense.wi.weight"]),
    "second shard of a t5": ("relative", "T5", [
        "decoder.block.9.layer.0.SelfAttention.q.weight",
        "decoder.block.9.layer.1.EncDecAttention.q.weight"]),
    "llama of keras-hub": ("rotary", "LLaMA", [
        "layers/llama_transformer_decoder_1/_feedforward_gate_dense/vars/0",
        "layers/reversible_embedding/vars/0"]),
    "qwen of keras-hub": ("rotary", "Qwen", [
        "layers/qwen3_5_moe_transformer_decoder/_self_attention_layer/_query_dense/vars/0"]),
    "gemma of keras-hub": ("rotary", "Gemma", [
        "layers/gemma3n_text_decoder_block/attention/query_einsum/vars/0"]),
    "bloom of keras-hub": ("alibi", "BLOOM", [
        "layers/bloom_decoder/_mlp_intermediate_dense/vars/0"]),
    "t5 of keras-hub": ("relative", "T5", [
        "layers/t5_transformer_layer_3/self_attention/key_projector/vars/0"]),
    "deberta of keras-hub": ("relative", "DeBERTa", [
        "layers/disentangled_attention_encoder/_self_attention_layer/_key_dense/vars/1",
        "layers/relative_embedding/vars/0"]),
    "mamba": ("none", "state space", [
        "backbone.embeddings.weight", "backbone.layers.0.mixer.A_log",
        "backbone.layers.0.mixer.in_proj.weight", "backbone.layers.0.mixer.conv1d.weight"]),
    "rwkv": ("none", "recurrent", ["emb.weight", "blocks.0.att.time_decay"]),
    "resnet": ("none", "convolutions", [
        "conv1.weight", "layer1.0.conv1.weight", "layer2.0.downsample.0.weight"]),
    "falcon": ("unknown", "rotary (RoPE), or has ALiBi where its config says alibi = true", [
        "transformer.word_embeddings.weight", "transformer.h.0.mlp.dense_h_to_4h.weight",
        "transformer.h.0.self_attention.query_key_value.weight"]),
    "baichuan": ("unknown", "ALiBi", ["model.layers.0.self_attn.W_pack.weight"]),
    "jamba": ("unknown", "attention", [
        "model.layers.0.mamba.A_log", "model.layers.4.self_attn.q_proj.weight",
        "model.layers.0.feed_forward.gate_proj.weight"]),
    "second shard of a gpt-2": ("unknown", "a table named wpe, which is not here", [
        "transformer.h.9.attn.c_attn.weight", "transformer.h.9.mlp.c_fc.weight"]),
    "second shard of a bert": ("unknown", "a table named position_embeddings, which is not here", [
        "bert.encoder.layer.9.attention.self.query.weight",
        "bert.encoder.layer.9.attention.output.dense.weight"]),
    "second shard of an opt": ("unknown", "a table named embed_positions, which is not here", [
        "model.decoder.layers.9.self_attn.q_proj.weight", "model.decoder.layers.9.fc1.weight"]),
}  # fmt: skip


def entries(names):
    return [Entry(name, (4, 4), "F32", 64, "m") for name in names]


@pytest.mark.parametrize("wrapper", ["", "module._orig_mod.", "base_model.model."])
@pytest.mark.parametrize("family", FAMILIES)
def test_names_say_what_a_model_uses_instead(family, wrapper):
    scheme, words, names = FAMILIES[family]
    found, message = schemes.explain(entries(wrapper + name for name in names), None)
    assert found == scheme
    assert words in message
    assert message.startswith("No position table")


def test_what_rests_on_names_alone_says_so(model_folder, rows):
    arrays = {name: rows(4, 4) for name in LLAMA}
    alone = sources.open(str(model_folder(arrays)))
    assert (alone.scheme, alone.tables) == ("rotary", ())
    assert alone.message == (
        "No position table is stored: the tensors are named as in LLaMA, Mistral, Qwen and Gemma. "
        "Queries and keys are turned by their position instead (rotary embeddings, RoPE). Only the "
        "names say so, as no config.json was read: add the model's to be sure."
    )
    foreign = sources.open(str(model_folder(arrays, {"model_type": "mine"}, name="foreign")))
    assert foreign.message.endswith("Only the names say so: its config does not tell.")
    known = sources.open(str(model_folder(arrays, {"model_type": "llama"}, name="known")))
    assert "Only the names" not in known.message


def test_a_tensor_that_gives_the_scheme_away_is_named_before_the_names_of_all(model_folder, rows):
    name = "model.layers.0.self_attn.rotary_emb.inv_freq"
    found = sources.open(str(model_folder({**{n: rows(4, 4) for n in LLAMA}, name: rows(64)})))
    assert found.message == (
        f"No position table: {name} (64) shows that this model has none. Queries and keys are "
        "turned by their position instead (rotary embeddings, RoPE). Its tensors are named as in "
        "LLaMA, Mistral, Qwen and Gemma."
    )


GPT2 = ["transformer.wte.weight", "h.0.attn.c_attn.weight", "h.0.mlp.c_fc.weight"]


@pytest.mark.parametrize(
    ("config", "scheme", "setting"),
    [
        ({"n_head": 12, "n_embd": 768, "alibi": True}, "alibi", "alibi = true"),
        ({"model_type": "gpt2", "use_alibi": True}, "alibi", "use_alibi = true"),
        ({"model_type": "gpt2", "alibi": 1}, "alibi", "alibi = true"),
        ({"n_head": 12, "attn_config": {"alibi": True}}, "alibi", "attn_config.alibi = true"),
        ({"attn_config": {"alibi": False, "rope": True}}, "rotary", "attn_config.rope = true"),
        ({"position_embedding_type": "ALiBi"}, "alibi", "position_embedding_type = ALiBi"),
        ({"position_encoding_type": "rotary"}, "rotary", "position_encoding_type = rotary"),
        ({"pos_emb": "rope"}, "rotary", "pos_emb = rope"),
        ({"model_type": "gpt2", "position_embedding_type": "t5"}, "relative", "= t5"),
        ({"model_type": "bert", "position_embedding_type": "relative_key"}, "relative", "_key"),
        ({"position_encoding_type": "none"}, "none", "position_encoding_type = none"),
        ({"text_config": {"model_type": "gpt2", "alibi": True}}, "alibi", "alibi = true"),
        ({"learned_pos_emb": False}, "unknown", "learned_pos_emb = false"),
        ({"use_position_embeddings": False}, "unknown", "use_position_embeddings = false"),
    ],
)  # fmt: skip
def test_a_setting_that_switches_the_table_off_is_told_with_what_stands_in(config, scheme, setting):
    found, message = schemes.explain(entries(GPT2), config)
    assert found == scheme
    assert f"{setting}. " in message
    assert "wpe" not in message


def test_a_table_switched_off_by_alibi_is_told_from_one_that_is_missing(model_folder, rows):
    arrays, config = {name: rows(4, 4) for name in GPT2}, {"n_head": 2, "n_embd": 4, "alibi": True}
    assert sources.open(str(model_folder(arrays, config))).message == (
        "No position table: this model has none, its config says alibi = true. Attention scores "
        "carry a fixed penalty by distance instead (ALiBi)."
    )
    off = {"learned_pos_emb": False}
    assert sources.open(str(model_folder(arrays, off, name="off"))).message.startswith(
        "No position table: this model has none, its config says learned_pos_emb = false. What it "
        "uses instead, if anything, neither the config nor a tensor tells."
    )


@pytest.mark.parametrize(
    "config",
    [
        {"alibi": False},
        {"alibi": None},
        {"attn_config": {"alibi": False}},
        {"position_embedding_type": "absolute"},
        {"position_embedding_type": "learned"},
        {"learned_pos_emb": True},
        {"alibi_bias_max": 8},
    ],
)
def test_a_setting_that_leaves_the_table_on_says_nothing(config):
    assert looks.switch((config,)) is None
    assert "wpe" in schemes.explain(entries(GPT2), config)[1]


@pytest.mark.parametrize("key", ["rope", "use_rotary", "rotary_emb_fraction"])
def test_settings_of_rotary_code_bases_speak_where_there_is_no_table(key):
    assert schemes.explain(entries(GPT2), {"model_type": "gpt2", key: 1})[0] == "rotary"


def test_flax_names_the_same_layers_with_strokes():
    names = [name.replace(".", "/").replace("/weight", "/kernel") for name in LLAMA]
    assert schemes.explain(entries(names), None)[0] == "rotary"


@pytest.mark.parametrize(
    "names",
    [
        ["fc1.weight", "fc2.weight"],
        ["model.layers.0.self_attn.q_proj.weight"],
        ["europe.weight", "tropes.weight", "a.query.weight"],
        ["base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight",
         "base_model.model.model.layers.0.mlp.gate_proj.lora_A.weight"],
        [],
    ],
)  # fmt: skip
def test_too_little_makes_no_claim(names):
    assert schemes.explain(entries(names), None)[0] == "unknown"


def test_the_catalogue_says_where_a_type_decides_nothing():
    scheme, message = schemes.explain(entries(["x"]), {"model_type": "baichuan", "rope_theta": 1e4})
    assert scheme == "unknown"
    assert message == (
        "No position table is stored. Of baichuan models it is known: the smaller one is rotary, "
        "the larger one has ALiBi."
    )


def test_settings_of_a_gguf_file_say_it_where_its_architecture_is_unknown():
    for setting, scheme in (
        ({"rope.freq_base": 1e6}, "rotary"), ({"attention.max_alibi_bias": 8.0}, "alibi"),
        ({"attention.relative_buckets_count": 32}, "relative"), ({"rope_theta": None}, "unknown"),
    ):  # fmt: skip
        config = {"model_type": "brand-new", **setting}
        assert schemes.explain(entries(["blk.0.attn_q.weight"]), config)[0] == scheme


def test_every_look_and_sign_is_of_a_known_scheme():
    for file in ("looks.tsv", "signs.tsv"):
        for line in layouts.read_catalogue(file):
            assert None not in line.values()
            assert line["scheme"] == "unknown" or schemes.instead(line["scheme"]), line
            if line["scheme"] == "unknown":
                assert line.get("note", "-") != "-" or line.get("of") == "switch", line


def test_a_hundred_thousand_long_names_cost_little(bounded):
    names = [f"{'layers.0.self_attn.q_proj' * 39}.{i}" for i in range(100_000)]
    assert bounded(lambda: looks.look(entries(names))) is None


KERAS = {
    "LlamaBackbone": ("rotary", "layers/llama_transformer_decoder/_gate_dense/vars/0"),
    "Qwen3MoeBackbone": ("rotary", "layers/qwen3_moe_transformer_decoder/_query_dense/vars/0"),
    "T5GemmaBackbone": ("rotary", "layers/t5_gemma_encoder_layer/attention/query/vars/0"),
    "FalconBackbone": ("alibi", "layers/falcon_transformer_decoder/dense/vars/0"),
    "T5Backbone": ("relative", "layers/t5_transformer_layer/key_projector/vars/0"),
    "XLNetBackbone": ("relative", "layers/xl_net_encoder/dense/vars/0"),
}


@pytest.mark.parametrize("library", ["keras_hub", "keras_nlp"])
@pytest.mark.parametrize("name", KERAS)
def test_a_config_of_keras_hub_tells_the_scheme_by_its_class(name, library):
    scheme, tensor = KERAS[name]
    config = {"module": f"{library}.src", "class_name": name, "config": {"num_layers": 2}}
    found, message = schemes.explain(entries([tensor]), config)
    assert found == scheme
    assert message.startswith(
        f"No position table: this model has none, its config says class_name = {name}. "
    )
    registered = {"registered_name": f"{library}>{name}"}
    found, message = schemes.explain(entries([tensor]), registered)
    assert (found, f"registered_name = {library}>{name}. " in message) == (scheme, True)


@pytest.mark.parametrize("name", ["GPT2Backbone", "BertBackbone", "PaliGemmaBackbone", "Llama"])
def test_a_config_of_keras_hub_with_a_table_is_no_switch(name):
    assert looks.switch([{"class_name": name, "registered_name": f"keras_hub>{name}"}]) is None
