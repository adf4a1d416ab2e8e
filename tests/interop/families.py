#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Opens a small random model of every text configuration of transformers, and compares its layer with the model.

    families.py [--write | --keys] [MODEL_TYPE...]

The models of a text configuration take input_ids and have a vocabulary. Models with image or audio inputs are called with
ids alone, and have a row if inlay opens them. Every type in file/models/models.c must be compared. Each model is made small,
saved by save_pretrained() and opened by inlay.open() without options. The layer must return the input of the first block,
bit by bit. After a norm, it must be within 4 ULP (of the row's largest absolute value) of the norm in float64. Sinusoids of
fairseq are within 4e-6, because PyTorch's expf isn't always correctly rounded. A layer that is not complete must return a
tensor that the model computes before its first block. Batches with padding have its attention mask. Names of tensors with
a wrapper's prefix must give the same layer. A token table under the name of the head only must give the layer of the model
that transformers loads, or an error.

Each model that runs is also converted in place by inlay.torch.convert(), with no output too small for inlay. The input of
its first block must have the same bits as before. A converted norm is within 4 ULP as above, and tensors computed from it
within 1e-5. After restore(), the classes of its modules and the bits are the original ones.

--keys removes each key of each config.json of a listed type in turn, and sets keys that inlay reads to null. The layer must
then match the model that transformers loads, or inlay must report an error. If transformers loads no model from these
tensors, nothing is compared.

Each result is a row of docs/families.md: --write writes the table, otherwise it is compared. The exit status is 1 for a
wrong layer or converted model, a different table, a listed type that is not compared, or if fewer than 90 % of the models
are equal.
"""
import argparse
import collections
import contextlib
import importlib
import inspect
import json
import math
import os
import pathlib
import re
import signal
import sys
import tempfile
import unittest.mock
import warnings

os.environ["HF_HUB_OFFLINE"] = "1"  # no network access
os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"
warnings.simplefilter("ignore")

import numpy  # noqa: E402
import safetensors.torch  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
from torch.overrides import TorchFunctionMode  # noqa: E402
from torch.utils import _pytree  # noqa: E402
from transformers.models.auto import configuration_auto, modeling_auto  # noqa: E402

import inlay  # noqa: E402
import inlay.torch  # noqa: E402
from inlay.torch import conversion, encoders, rotations  # noqa: E402

VOCAB, SEQUENCES, LENGTH, PAD = 120, 3, 16, 1
MAX_PARAMETERS, MAX_SECONDS, MAX_SECONDS_OF_KEYS = 1.2e8, 60, 600
ULPS = 4
SINUSOIDS = 4e-6  # of recipes whose frequencies are PyTorch's expf
AFTER_NORM = 1e-5  # of a row's largest value, where a norm is not the last step
MIN_EQUAL = 0.9
DOCS = pathlib.Path(__file__).parents[2] / "docs/families.md"
NOT_MADE = "no small model"
BEGIN, END = "<!-- families -->\n", "<!-- end of families -->\n"
FAMILIES = pathlib.Path(__file__).parents[2] / "file/models/models.c"
MAPPINGS = (
    modeling_auto.MODEL_MAPPING,
    modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING,
    modeling_auto.MODEL_FOR_MASKED_LM_MAPPING,
    modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING,
    modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING,
    modeling_auto.MODEL_FOR_ZERO_SHOT_OBJECT_DETECTION_MAPPING,
)
# Models and parts of models without a class in MAPPINGS: the module of transformers.models and the class.
CLASSES = {
    "aimv2_text_model": ("aimv2", "Aimv2TextModel"),
    "align_text_model": ("align", "AlignTextModel"),
    "altclip_text_model": ("altclip", "AltCLIPTextModel"),
    "blip_text_model": ("blip", "BlipTextModel"),
    "bridgetower_text_model": ("bridgetower", "BridgeTowerTextModel"),
    "chinese_clip_text_model": ("chinese_clip", "ChineseCLIPTextModel"),
    "clap_text_model": ("clap", "ClapTextModel"),
    "clipseg_text_model": ("clipseg", "CLIPSegTextModel"),
    "colmodernvbert": ("colmodernvbert", "ColModernVBertForRetrieval"),
    "colpali": ("colpali", "ColPaliForRetrieval"),
    "colqwen2": ("colqwen2", "ColQwen2ForRetrieval"),
    "flava_text_model": ("flava", "FlavaTextModel"),
    "groupvit_text_model": ("groupvit", "GroupViTTextModel"),
    "kosmos_2_5_text_model": ("kosmos2_5", "Kosmos2_5TextModel"),
    "layoutlmv2": ("layoutlmv2", "LayoutLMv2Embeddings"),  # whose model needs detectron2
    "metaclip_2_text_model": ("metaclip_2", "MetaClip2TextModel"),
    "owlv2_text_model": ("owlv2", "Owlv2TextModel"),
    "owlvit_text_model": ("owlvit", "OwlViTTextModel"),
    "shieldgemma2": ("shieldgemma2", "ShieldGemma2ForImageClassification"),
    "siglip2_text_model": ("siglip2", "Siglip2TextModel"),
    "siglip_text_model": ("siglip", "SiglipTextModel"),
    "videoprism_text_model": ("videoprism", "VideoPrismTextModel"),
    "voxtral_realtime_text": ("voxtral_realtime", "VoxtralRealtimeTextModel"),
    "xclip_text_model": ("x_clip", "XCLIPTextModel"),
}
# Listed types of other libraries, compared by files_python.py.
OTHERS_COMPARE = ("model2vec",)

# ---- Small models

# Sizes by names of settings: the first pattern that matches. Attempts leave out the last ones.
VOCABULARIES = r"(.*_)?vocab_size(_per_layer_input)?"
LAYERS = r"(num_hidden|n|num|num_encoder|num_decoder|encoder|decoder|n_encoder|n_decoder)_layers?|depth"
POSITIONS = r"(max_position_embeddings|n_positions|n_ctx|max_seq_len|max_encoder_position_embeddings|max_source_positions|max_target_positions|max_decoder_position_embeddings)"
HIDDEN = r"hidden_size|d_model|n_embd|dim|embed_dim|word_embed_proj_dim|embedding_size|emb_dim|dim_model"
KEY_HEADS = r"num_key_value_heads|num_kv_heads"
HEADS = r"(.*_)?num_attention_heads|n_heads?|num_heads|num_(en|de)coder_attention_heads|(en|de)coder_attention_heads"
HEAD_DIM = r"head_dim|d_kv|d_head|attention_head_size|global_head_dim"
SIZES = [
    (VOCABULARIES, VOCAB),
    (LAYERS, 2),
    (r"pad_token_id|pad_index", PAD),
    (r"bos_token_id|bos_index", 0),
    (r"(decoder_start|eos|sep|cls|unk|mask|.*)_token_id|(eos|unk|mask)_index", 2),
    (POSITIONS, 64),
    (HIDDEN, 80),
    (r"(moe_|shared_expert_|.*)intermediate_size(_mlp)?|n_inner|d_ff|(.*_)?ffn_dim|hidden_dim|ffn_hidden_size", 32),
    (KEY_HEADS, 2),
    (HEADS, 4),
    (r"(.*_)?num_(local_|routed_)?experts|n_routed_experts|moe_num_experts", 4),
    (r"num_experts_per_tok(en)?|moe_k|moe_topk|top_k_experts", 2),
    (r"n_group|topk_group", 1),
    (HEAD_DIM, 16),
]
# Settings whose defaults would hide that they are read.
OTHERS = [
    (r"embedding_multiplier|embedding_scale|scale_emb", float, 3.7),
    (r"scale_embedding|rescale_embeddings|mup_enabled", bool, True),
    (r"(layer_|rms_)?norm_eps|layer_norm_epsilon", float, 1e-3),
]
# Of what sees and hears.
PART_SIZES = [(LAYERS, 2), (r"intermediate_size", 32)]
SMALL_PART_SIZES = [*PART_SIZES, (r"hidden_size|embed_dim", 64), (r"num_heads|num_attention_heads", 4)]
# The number of patterns of each attempt, and how many layers it has.
ATTEMPTS = ((len(SIZES), 2), (len(SIZES) - 1, 2), (len(SIZES), 4), (9, 2), (6, 2), (2, 2))

# Settings that get a size although they have none by default, at first and later.
NONE_TOO = r"(pad|bos|eos)_token_id|head_dim"
NONE_AND_HEADS = NONE_TOO + r"|num_key_value_heads|.*experts|.*_dim|.*_rank|.*_size"

# Settings that the sizes above don't reach.
SPECIAL = {
    "gpt_neo": {"attention_types": [[["global"], 2]]},
    "bamba": {"mamba_n_heads": 4, "mamba_d_head": 40},
    "cohere_compass_text": {
        "num_hidden_layers": 2, "layer_types": ["sliding_attention", "full_attention"],
        "rope_parameters": {
            kind: {"rope_type": "default", "rope_theta": 1e4} for kind in ("sliding_attention", "full_attention")
        },
    },  # fmt: skip
    "cpmant": {"prompt_length": 0},
    "dbrx": {"attn_config": {"kv_n_heads": 2, "rope_theta": 1e4}},
    "dots1": {"n_shared_experts": 1, "n_routed_experts": 4, "num_experts_per_tok": 2},
    "gemma3n_text": {
        "num_hidden_layers": 3, "layer_types": ["full_attention"] * 3, "activation_sparsity_pattern": [0.0] * 3,
        "intermediate_size": [32] * 3, "num_kv_shared_layers": 1, "laurel_rank": 4, "hidden_size_per_layer_input": 16,
    },  # fmt: skip
    "glm4v_text": {"hidden_size": 256},
    "glm_image_text": {"hidden_size": 256},
    "glm_ocr_text": {"hidden_size": 256, "head_dim": 64},
    "glm4v_moe_text": {"head_dim": 128},
    "granitemoehybrid": {"mamba_n_heads": 4, "mamba_d_head": 40},
    "hunyuan_vl_text": {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 2, 2, 2]}},
    "longcat_flash": {"expert_ffn_hidden_size": 32, "zero_expert_num": 2, "ffn_hidden_size": 32},
    "mamba2": {"num_heads": 10, "head_dim": 16},
    "xmod": {"default_language": "en_XX"},
    "lfm2_moe": {"layer_types": ["full_attention", "conv"]},
    "neomme": {"layer_types": ["full_attention", "full_attention"]},
    "pegasus_x": {"block_size": LENGTH},
    "qwen2_5_vl_text": {"hidden_size": 512},
    "qwen2_vl_text": {"hidden_size": 512},
    "led": {"attention_window": 16, "max_encoder_position_embeddings": 64},
    "longformer": {"attention_window": 16},
}

# Models that multiply the input layer by the attention mask, and those in which from_pretrained() sets the row of padding
# to zeros: the layer has the row of the file.
MASKED = ("xlm", "flaubert", "chinese_clip", "chinese_clip_text_model", "deberta", "deberta-v2", "esm", "funnel", "youtu")

# Arguments that models of documents and images require.
def other_inputs(sequences, length):
    return {
        "bbox": torch.zeros(sequences, length, 4, dtype=torch.long),
        "visual_feats": torch.zeros(sequences, 1, 2048),
        "use_cache": False,
        "t_cond": torch.zeros(sequences, 1, 80),
        "visual_pos": torch.zeros(sequences, 1, 4),
    }


def default_of(config_class):
    """Returns the settings of a default configuration."""
    return config_class().to_dict()


def small(config_class, patterns, layers, model_type, sizes=SIZES, special=SPECIAL):
    """Returns a configuration with the first of these sizes, and with the defaults of everything else."""
    options, default = {}, default_of(config_class)
    many = next((default[key] for key in ("num_hidden_layers", "n_layer", "num_layers") if key in default), None)
    may_be_none = NONE_TOO if patterns == len(sizes) and layers == 2 else NONE_AND_HEADS
    for key, value in default.items():
        is_size = isinstance(value, int) and not isinstance(value, bool)
        for pattern, kind, other in OTHERS:
            if re.fullmatch(pattern, key) and type(value) is kind:
                options[key] = other
        if isinstance(value, (list, tuple)) and many is not None and len(value) == many > layers:
            options[key] = type(value)(value[:layers])
        if not is_size and not re.fullmatch(may_be_none, key):
            continue
        for pattern, size in sizes[:patterns]:
            if re.fullmatch(pattern, key):
                if key.endswith("_token_id") and isinstance(value, int) and 0 <= value < VOCAB and key != "pad_token_id":
                    size = value
                if key == "num_key_value_heads" and may_be_none != NONE_TOO:
                    size = 4
                options[key] = layers if pattern == LAYERS else size
                break
    options.update(small_parts(config_class, patterns, layers))
    options.update(special.get(model_type, {}))
    return config_class(**options)


def small_parts(config_class, patterns, layers):
    """Returns the configurations of a model's parts: small ones of texts, the rest with few layers. None if no part is
    a text."""
    options, whole = {}, config_class()
    for name in getattr(config_class, "sub_configs", None) or {}:
        part = getattr(whole, name, None)
        if isinstance(part, transformers.PretrainedConfig):
            is_text = has_vocabulary(part.to_dict())
            sizes = SIZES if is_text else PART_SIZES if (patterns, layers) == ATTEMPTS[0] else SMALL_PART_SIZES
            options[name] = small(type(part), patterns, layers, part.model_type, sizes)
    return options if has_vocabulary({name: part.to_dict() for name, part in options.items()}) else {}


def has_vocabulary(settings):
    """Returns whether a configuration or a part of it has a vocabulary."""
    return "vocab_size" in settings or any(has_vocabulary(part) for part in settings.values() if isinstance(part, dict))


def randomize(model):
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.is_floating_point():
                parameter.normal_(1 if parameter.dim() == 1 else 0, 0.3)


class TooLarge(Exception):
    """A model that an attempt did not make small."""


@contextlib.contextmanager
def without_other_libraries():
    """Puts nothing in place of a part that needs a library of pictures, which ids never reach."""
    from_config = transformers.AutoModel.from_config

    def part(config, **options):
        try:
            return from_config(config, **options)
        except ImportError:
            return torch.nn.Identity()

    with unittest.mock.patch.object(transformers.AutoModel, "from_config", part):
        yield


@without_other_libraries()
def made(config_class, model_class, attempt, model_type, folder):
    """Returns a model as it is loaded from the checkpoint in `folder` that was saved of it."""
    config = small(config_class, *attempt, model_type)
    with torch.device("meta"):
        parameters = sum(p.numel() for p in model_class(config).parameters())
    if parameters > MAX_PARAMETERS:
        raise TooLarge(f"{parameters / 1e9:.1f}e9 parameters")
    torch.manual_seed(0)
    model = model_class(config)
    randomize(model)
    model.save_pretrained(folder)
    return model_class.from_pretrained(folder, dtype=torch.float32).eval()


def save_module(config_class, module_class, model_type, folder):
    """Saves the embedding module of a model that cannot be made."""
    config = small(config_class, *ATTEMPTS[0], model_type)
    config.save_pretrained(folder)
    module = {f"embeddings.{name}": tensor for name, tensor in module_class(config).state_dict().items()}
    safetensors.torch.save_file(module, pathlib.Path(folder) / "model.safetensors")


# ---- Running a model


class Arrived(Exception):
    """The first block was called."""


class Recorder(TorchFunctionMode):
    """Notes every tensor [sequences, length, dim] on the way to the first block."""

    def __init__(self, shape):
        super().__init__()
        self.shape, self.tensors = shape, []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor) and result.is_floating_point() and tuple(result.shape[:2]) == self.shape:
            with torch._C.DisableTorchFunction():
                self.tensors.append(result.detach().clone())
        return result


def first_float(arguments, named, shape):
    """Returns the first argument that is the vectors of a batch, or None: [sequences, length, ...], also with the first
    two or the last two dimensions exchanged."""
    first = [named[key] for key in ("hidden_states", "inputs", "x") if key in named]
    for value in (*arguments, *first, *named.values()):
        if isinstance(value, torch.Tensor) and value.is_floating_point() and value.dim() > 2:
            # VideoPrism appends a token.
            for vectors in (value, value.transpose(0, 1), value.transpose(1, 2), value[:, :-1]):
                if tuple(vectors.shape[:2]) == shape:
                    return vectors.detach().clone()
    return None


def blocks_of(model):
    """Yields the blocks of all lists of blocks in a model."""
    for module in model.modules():
        if isinstance(module, torch.nn.ModuleList):
            # A Linear is a step before the first block, as in Gemma 3n.
            yield from (block for block in module if not isinstance(block, torch.nn.Linear))


def followed(model, call, shape, records=True):
    """Calls a model up to its first block. Returns what that receives, all tensors before it if it records them, and the
    norm that makes it, else the last one, with its input and its output."""
    arrived, norms, hooks = [], [], []

    def noted(forward):
        def note(*arguments, **named):
            vectors = first_float(arguments, named, shape)
            if vectors is not None:
                arrived.append(vectors)
                raise Arrived
            return forward(*arguments, **named)

        return note

    def note_norm(module, arguments, result):
        result = result[0] if isinstance(result, tuple) else result
        if isinstance(result, torch.Tensor) and tuple(result.shape[:2]) == shape and arguments:
            norms.append((module, arguments[0].detach().clone(), result.detach().clone()))

    blocks = list(blocks_of(model))
    for block in blocks:  # not by hooks: SqueezeBERT calls forward() itself
        block.forward = noted(block.forward)
    for module in model.modules():
        if records and "norm" in type(module).__name__.lower():
            hooks.append(module.register_forward_hook(note_norm))
    recorder = Recorder(shape) if records else contextlib.nullcontext()
    try:
        with torch.no_grad(), recorder:
            call()
    except Arrived:
        pass
    finally:
        for hook in hooks:
            hook.remove()
        for block in blocks:
            del block.forward
    if not arrived:
        raise RuntimeError("no block receives vectors of the batch")
    norms = [norm for norm in norms if norm[1].shape == norm[2].shape]
    last = [norm for norm in norms if torch.equal(norm[2], arrived[0])] or norms
    return arrived[0], recorder.tensors if records else [], last[-1] if last else None


def sides_of(model, sequences=SEQUENCES, length=LENGTH):
    """Returns the parts of a model that embed ids: name for inlay, module to call, and other arguments."""
    text = getattr(model, "text_model", getattr(model.base_model, "text_model", None))
    if text is None and "qformer_config" in model.config.to_dict():
        text = getattr(model, "language_model", None)
    inputs = {"pixel_values", "pixel_values_videos", "input_features", "input_values"}
    if text is not None and inputs & {*inspect.signature(model.forward).parameters}:
        return [(None, text, {})]
    if not getattr(model.config, "is_encoder_decoder", False):
        known = inspect.signature(model.forward).parameters
        any_name = any(one.kind == one.VAR_KEYWORD for one in known.values())
        needs = {"use_cache": False} if any_name else {}
        needs.update({name: given for name, given in other_inputs(sequences, length).items() if name in known})
        is_half = default_of(type(model.config)).get("is_encoder_decoder", False)
        return [("decoder" if is_half else None, model, needs)]
    config = getattr(model.get_encoder(), "config", model.config)
    states = torch.zeros(sequences, length, config.hidden_size)
    masks = ("encoder_padding_mask", "decoder_padding_mask", "decoder_causal_mask")
    decoder = model.get_decoder()
    decoder = decoder.decoder if hasattr(decoder, "encoder") else decoder  # Florence-2 returns both
    known = inspect.signature(decoder.forward).parameters
    needs = {"encoder_hidden_states": states, **{name: None for name in masks if name in known}}
    return [(None, model.get_encoder(), {}), ("decoder", decoder, needs)]


# ---- Comparison


def ulps_apart(ours, exact):
    """Returns the largest difference in ULP of the row's largest absolute value."""
    largest = exact.abs().amax(-1, keepdim=True).float().numpy()
    ulp = torch.from_numpy(numpy.spacing(largest)).double()
    return float(((ours.double() - exact).abs() / ulp).max())


def exact_norm(module, vectors):
    """Returns a norm in float64."""
    x = vectors.double()
    epsilon = next(
        (getattr(module, name) for name in ("eps", "variance_epsilon", "epsilon", "norm_eps") if hasattr(module, name)), 0
    )
    epsilon = float(numpy.float32(epsilon))
    if getattr(module, "bias", None) is not None or "layer" in type(module).__name__.lower():
        x = x - x.mean(-1, keepdim=True)
    x = x / torch.sqrt((x * x).mean(-1, keepdim=True) + epsilon)
    weight, bias = getattr(module, "weight", None), getattr(module, "bias", None)
    x = x if weight is None else x * weight.detach().double()
    return x if bias is None else x + bias.detach().double()


def verdict(layer, ours, theirs, tensors, norm):
    """Returns how equal a layer and a model are, or None if the layer is wrong."""
    if torch.equal(ours, theirs):
        return "the same bits"
    if layer.remaining_ops and layer.remaining_ops[0][0] == "unknown":
        return None  # nothing may follow an assumed layer
    if layer.complete and norm is not None and torch.equal(norm[2], theirs):
        apart = ulps_apart(ours, exact_norm(*norm[:2]))
        return f"norm within {math.ceil(apart * 2) / 2:g} ULP" if apart <= ULPS else None
    if layer.complete and "sinusoids, recipe fairseq" in layer.report:
        return "sinusoids within 4e-6" if float((ours - theirs).abs().max()) <= SINUSOIDS else None
    if not layer.complete and any(torch.equal(ours, tensor) for tensor in tensors):
        return "the same bits"
    if not layer.complete and norm is not None and ulps_apart(ours, exact_norm(*norm[:2])) <= ULPS:
        return "norm"
    return None


def batches():
    """Yields a name, ids without and with padding on both sides, and their attention mask."""
    rng = numpy.random.default_rng(1)
    ids = torch.from_numpy(rng.integers(5, VOCAB - 2, size=(SEQUENCES, LENGTH)))
    yield "whole", ids, torch.ones_like(ids)
    padded = ids.clone()
    padded[0, :4] = PAD
    padded[1, 9:] = PAD
    yield "padded", padded, (padded != PAD).long()


def contents_of(report):
    """Returns the terms of a layer in a few words."""
    lines = dict(line.split(": ", 1) for line in report.splitlines())
    positions = lines.get("positions")
    words = ["rows"]
    if "scale" in lines:
        words[0] += f" * {lines['scale'].split('(')[-1].strip(')').removeprefix('config.')}" if "(" in lines["scale"] else " * sqrt(dim)"
    if positions is not None:
        words.append("sinusoids of " + positions.split()[-1] if "recipe" in positions else "learned positions")
        start = lines["start"].split()[-1]
        words[-1] += (f" from {start}" if start != "0" else "") + (" (padding-aware)" if "padding" in lines else "")
    words += ["segments"] if any(key.startswith("segments") for key in lines) else []
    words += [lines["norm"].split(",")[0]] if "norm" in lines else []
    return ", ".join(words)


class Wrong(Exception):
    """A layer that returns other vectors than the model."""


def compare_batch(layer, part, model_type, call, ids, mask):
    theirs, tensors, norm = followed(part, call, tuple(ids.shape))
    ours = layer(ids)
    everywhere = torch.ones_like(ids, dtype=torch.bool)
    for places in (everywhere, mask.bool()):
        at = [t[places][None] for t in tensors if t.shape == ours.shape]
        of_norm = None if norm is None else (norm[0], norm[1][places][None], norm[2][places][None])
        result = verdict(layer, ours[places][None], theirs[places][None], at, of_norm)
        may_differ = model_type in MASKED or "its row is zeros" in layer.report
        if result is not None or not may_differ:
            return result
    return None


def compare_per_layer(model, file):
    """Compares the per-layer embedding of Gemma 3n and its like, if the model has one."""
    for name, module in model.named_modules():
        if name.endswith("embed_tokens_per_layer"):
            ids = next(batches())[1]
            with torch.no_grad():
                theirs = module(ids).flatten(2)
            if not torch.equal(file.layer(part="per_layer")(ids), theirs):
                raise Wrong("per_layer")


def compare(model, folder, model_type):
    """Returns the family of a checkpoint, what its first layer has, what follows its layers, and how equal they are."""
    follows, results, report = [], [], None
    with inlay.open(folder) as file:
        for part, module, needs in sides_of(model):
            layer = file.layer(part=part)
            report = report or layer.report
            for what, ids, mask in batches():
                call = lambda: module(input_ids=ids, attention_mask=mask, **needs)  # noqa: E731, B023
                result = compare_batch(layer, module, model_type, call, ids, mask)
                if result is None:
                    raise Wrong(f"{part or 'layer'}, {what}: {layer.report.splitlines()}, follows {layer.remaining_ops}")
                results.append(result)
            follows += [step for step, _tensor in layer.remaining_ops if step not in follows]
        compare_per_layer(model, file)
    return layer.report.splitlines()[0].split()[1].strip(","), contents_of(report), follows, max(results, key=len)


# ---- Keys that are left out


def changed_configs(config, report):
    """Yields a key, and a configuration without it, also of the text model, and with null in its place if inlay reads it."""
    for part in (None, "text_config"):
        for key in config if part is None else config.get(part, ()):
            for is_null in (False, True) if f".{key})" in report else (False,):
                changed = json.loads(json.dumps(config))
                within = changed if part is None else changed[part]
                del within[key]
                if is_null:
                    within[key] = None
                yield f"{part}.{key}" if part else key, changed


def outputs_of(model, folder, prefix=None):
    """Returns what inlay's layers of a checkpoint compute, and whether each is complete; None if inlay refuses."""
    try:
        with inlay.open(folder) as file:
            layers = [file.layer(part=part, prefix=prefix) for part, _module, _needs in sides_of(model)]
            return [(layer.complete, layer(ids)) for layer in layers for _what, ids, _mask in batches()]
    except inlay.FileError:
        return None


def is_same_outputs(ours, before):
    return all(one[0] == other[0] and torch.equal(one[1], other[1]) for one, other in zip(ours, before))


def reloaded(model, config, folder):
    """Returns the model that transformers loads with a changed config.json, the same one if no setting differs, or None
    if it refuses or needs other tensors."""
    changed = type(model.config).from_dict(config)
    if changed.to_dict() == type(model.config).from_dict(model.config.to_dict()).to_dict():
        return model
    shapes = {name: tensor.shape for name, tensor in model.state_dict().items()}
    with torch.device("meta"):
        needed = {name: tensor.shape for name, tensor in type(model)(changed).state_dict().items()}
    if any(shapes.get(name) != shape for name, shape in needed.items() if not re.search(r"\.\d", name)):
        return None
    if sum(math.prod(shape) for shape in needed.values()) > MAX_PARAMETERS:
        return None
    with without_other_libraries():
        return type(model).from_pretrained(folder, dtype=torch.float32).eval()


def is_of_blocks(key):
    """Returns whether a key is a size of blocks, which no input layer depends on."""
    sizes = (LAYERS, KEY_HEADS, HEADS, HEAD_DIM, r".*(intermediate_size|ffn_dim|experts.*|_groups?)|layer_types")
    return any(re.fullmatch(size, key.split(".")[-1]) for size in sizes)


def compare_keys(row, model, folder):
    """Compares the layer of each changed config.json with the model that transformers loads of it."""
    path = pathlib.Path(folder) / "config.json"
    config, before = json.loads(path.read_text()), outputs_of(model, folder)
    for key, changed in changed_configs(config, inlay.open(folder).layer().report):
        path.write_text(json.dumps(changed))
        ours = outputs_of(model, folder)
        result = "refused"
        if ours is not None:
            try:
                theirs = model if is_of_blocks(key) else reloaded(model, changed, folder)
                result = "no model"
                if theirs is model:
                    result = "the same" if is_same_outputs(ours, before) else "wrong"
                elif theirs is not None:
                    compare(theirs, folder, row.model_type)
                    result = "the same"
            except Wrong:
                result = "wrong"
            except Exception:  # noqa: BLE001  # transformers makes nothing of it
                result = "no model"
        row.keys[result] += 1
        if result == "wrong":
            row.state, row.result = "wrong", f"without {key}: {type(model).__name__}"
    path.write_text(json.dumps(config))


# ---- Other names of tensors


def compare_names(model, folder, model_type):
    """Compares the layers of a checkpoint with those under the names of wrappers, and with a given prefix. The token table under the name of the head only must be the table that
    transformers loads, of a tied type, or an error."""
    path, before = pathlib.Path(folder) / "model.safetensors", outputs_of(model, folder)
    if before is None or not path.exists():
        return
    tensors = safetensors.torch.load_file(path)
    for wrapper in ("_orig_mod.", "module.module.", "_orig_mod.0.auto_model."):
        safetensors.torch.save_file({wrapper + name: tensor for name, tensor in tensors.items()}, path)
        ours = outputs_of(model, folder)
        if ours is None or not is_same_outputs(ours, before):
            raise Wrong(f"with all names in {wrapper}")
    config_path = pathlib.Path(folder) / "config.json"
    config = json.loads(config_path.read_text())
    compare_prefix(model, folder, tensors, before, config)
    config_path.write_text(json.dumps(config))
    if not type(model).__name__.endswith(("ForCausalLM", "LMHeadModel")):
        return
    table = model.get_input_embeddings().weight.detach()[PAD + 1 :]  # from_pretrained() may change the row of padding
    names = [name for name, tensor in tensors.items() if tensor.dim() == 2 and torch.equal(tensor[PAD + 1 :].float(), table)]
    others = {name: tensor for name, tensor in tensors.items() if name not in (*names, "lm_head.weight")}
    head = tensors[names[0]].clone()
    for is_tied in (True, False):
        config_path.write_text(json.dumps({**config, "tie_word_embeddings": is_tied}))
        for metadata in ({}, {name: "lm_head.weight" for name in names}):
            safetensors.torch.save_file({**others, "lm_head.weight": head}, path, {"format": "pt", **metadata})
            ours = outputs_of(model, folder)
            if (ours is not None) != (is_tied and model_type in listed_tied()):
                raise Wrong(f"only the head, tied: {is_tied}")
            if ours is None:
                continue
            loaded = type(model).from_pretrained(folder, dtype=torch.float32).get_input_embeddings().weight
            if not is_same_outputs(ours, before) or not torch.equal(loaded[PAD + 1 :], table):
                raise Wrong("only the head")


def has_parts(config):
    """Returns whether an object inside config.json may describe a part of the model."""
    technical = ("rope_scaling", "rope_parameters", "quantization_config", "id2label", "label2id", "task_specific_params")
    objects = [value for key, value in config.items() if isinstance(value, dict) and key not in technical]
    arrays = [value for value in config.values() if isinstance(value, list)]
    plain = all({type(x) for x in array} in ({str}, {int}, {float}, {int, float}, set()) for array in arrays)
    return any(objects) or not plain


def compare_prefix(model, folder, tensors, before, config):
    """Compares the layers of a checkpoint with those of a given prefix. inlay must refuse if config.json has parts.
    Other layers have the same outputs, and are never complete."""
    safetensors.torch.save_file({f"llm.{name}": tensor for name, tensor in tensors.items()}, pathlib.Path(folder) / "model.safetensors")
    for place in ("", "llm_config", "text_config"):
        whole = {**config, place: config} if place else config
        (pathlib.Path(folder) / "config.json").write_text(json.dumps(whole))
        ours = outputs_of(model, folder, "llm.")
        if (ours is None) != has_parts(whole):
            raise Wrong(f"with a prefix: {'refused' if ours is None else 'opened although config.json has parts'}")
        if ours is not None and not all(torch.equal(one[1], other[1]) and not one[0] for one, other in zip(ours, before)):
            raise Wrong("with a prefix")


# ---- Converted models


class WrongModel(Exception):
    """A converted model whose first block receives something else, or one that restore() does not give back."""


@contextlib.contextmanager
def computed_layers():
    """Lets inlay compute small outputs of converted models too. Yields the arguments of the layers that it computes."""
    given, embed, verify = [], conversion.embed, encoders.Encoder._verify
    least = conversion.MIN_BYTES, conversion.MIN_BYTES_OF_PAGES

    def record(arguments):
        given.append(arguments)
        return embed(arguments)

    def record_encoder(encoder, module, note):
        verify(encoder, module, note)
        norm = encoder.form.norm is not None
        given.append(conversion.Arguments(None, None, encoder.form.positions, encoder.form.segments, norm=int(norm)))

    conversion.MIN_BYTES, conversion.MIN_BYTES_OF_PAGES, conversion.embed = 0, 0, record
    encoders.Encoder._verify = record_encoder
    try:
        yield given
    finally:
        conversion.embed, encoders.Encoder._verify = embed, verify
        conversion.MIN_BYTES, conversion.MIN_BYTES_OF_PAGES = least


def is_same(ours, theirs, norm, has_norm):
    """Returns whether a converted model's vectors are those of the model, up to the rounding of a norm."""
    if torch.equal(ours, theirs):
        return True
    if not has_norm or norm is None:
        return False
    if torch.equal(norm[2], theirs):
        return ulps_apart(ours, exact_norm(*norm[:2])) <= ULPS
    largest = theirs.abs().amax(-1, keepdim=True)
    return bool(((ours - theirs).abs() <= AFTER_NORM * largest).all())


def compare_converted(model):
    """Converts a model, compares what its first blocks receive, and restores it. Returns the terms and steps that layers
    of inlay computed: the most in a layer, and none if no layer was computed."""
    most = []
    kinds = [type(module) for module in model.modules()]
    for part, module, needs in sides_of(model):
        for what, ids, mask in batches():
            call = lambda: module(input_ids=ids, attention_mask=mask, **needs)  # noqa: E731, B023
            shape = tuple(ids.shape)
            theirs, _tensors, norm = followed(module, call, shape)
            try:
                with computed_layers() as layers:
                    inlay.torch.convert(model)
                    ours = followed(module, call, shape, records=False)[0]
                    inlay.torch.restore(model)
            except Exception as error:  # noqa: BLE001  # the same call has just worked
                raise WrongModel(f"converted, {part or 'model'}, {what}: {type(error).__name__}: {error}") from error
            if not is_same(ours, theirs, norm, any(given.norm for given in layers)):
                difference = float((ours - theirs).abs().max())
                raise WrongModel(f"converted, {part or 'model'}, {what}: differs by {difference:g} after {len(layers)} layers")
            for given in layers:
                steps = ["rows" if given.scale == 1 else "factor"] + ["positions"] * (given.positions is not None)
                steps += ["segments"] * (given.segments is not None) + ["norm"] * (given.norm > 0)
                most = max(most, steps, key=len)
            restored = followed(module, call, shape, records=False)[0]
            if [type(one) for one in model.modules()] != kinds or not torch.equal(restored, theirs):
                raise WrongModel(f"restored, {part or 'model'}, {what}: not as before")
    return most


@contextlib.contextmanager
def rotations_by_inlay():
    """Yields a list with an item for each rotation that inlay computes."""
    found, rotate = [], rotations.Site.rotate

    def record(*given):
        results = rotate(*given)
        found.extend([results] if results is not None else [])
        return results

    with unittest.mock.patch.object(rotations.Site, "rotate", record):
        yield found


def compare_rotations(model):
    """Compares the outputs of a model with those by inlay's rotations, which must be equal. Returns the number of
    rotations, or None if no function was replaced or the model needs more than ids."""
    replaced = [found for found in rotations.convert(model).values() if not found.startswith("skipped")]
    rotations.restore(model)
    count = 0
    for part, module, needs in sides_of(model) if replaced else []:
        for what, ids, mask in batches():
            try:
                theirs = tensors_of(module, input_ids=ids, attention_mask=mask, **needs)
            except Exception:  # noqa: BLE001  # compare_converted() ran only its first block
                return None
            rotations.convert(model)
            with rotations_by_inlay() as found:
                ours = tensors_of(module, input_ids=ids, attention_mask=mask, **needs)
            rotations.restore(model)
            if not all(map(torch.equal, ours, theirs)):
                raise WrongModel(f"rotations, {part or 'model'}, {what}: {len(found)} by inlay, and outputs differ")
            count += len(found)
    return count if replaced else None


def tensors_of(module, **given):
    """Returns the outputs of a model. DiffusionGemma draws random numbers."""
    torch.manual_seed(0)
    return [leaf for leaf in _pytree.tree_leaves(dict(module(**given))) if isinstance(leaf, torch.Tensor)]


# ---- Models


class Row:
    """The result for a model type: family, terms of its layer, remaining operations, and how equal it is or why not."""

    def __init__(self, model_type):
        self.model_type, self.family, self.contents, self.remaining_ops, self.result = model_type, "", "", [], ""
        self.state, self.converted, self.rotations = "not made", None, None
        self.keys = collections.Counter()

    def line(self):
        mark = "\u2713 " if self.state == "equal" else ""
        follows = ", ".join(self.remaining_ops)
        return f"| {self.model_type} | {self.family} | {self.contents} | {follows} | {mark}{self.result} |\n"


def listed():
    """Returns the model types that file/models/models.c lists."""
    text = FAMILIES.read_text(encoding="utf-8")
    types = set()
    for entry in text[text.index("models[] = {") : text.index("enum { MODELS")].split("\n    {")[1:]:
        names = re.search(r"\.types =\s*LIST\(([^)]*)\)", entry)
        types.update(re.findall(r'"([^"]+)"', names.group(1) if names else entry.split(",")[0]))
    return types


def listed_wholes():
    """Returns the types that models.c lists as embedding ids like their text models."""
    text = FAMILIES.read_text(encoding="utf-8")
    return set(re.findall(r'"([^"]+)"', text[text.index("wholes = LIST(") :].split(";")[0]))


def listed_tied():
    """Returns the types that tied.c lists as having a head that is their token table."""
    text = FAMILIES.with_name("tied.c").read_text(encoding="utf-8")
    return set(re.findall(r'"([^"]+)"', text[text.index("tied[] =") :].split(";")[0]))


def is_text(config_class, model_class):
    """Returns whether models of a configuration take ids, and whether they take nothing else."""
    settings = default_of(config_class)
    takes_ids = "input_ids" in inspect.signature(model_class.forward).parameters
    has_parts = any(has_vocabulary(part) for part in settings.values() if isinstance(part, dict))
    is_alone = "vocab_size" in settings or "vocab_size" in getattr(config_class, "attribute_map", {})
    is_alone = is_alone and getattr(model_class, "main_input_name", "") == "input_ids"
    return takes_ids and (is_alone or has_parts), is_alone and not has_parts


def classes_of(model_type):
    """Returns the configuration of a model type, its classes of models, a class once, and whether all take ids alone."""
    config_class, classes, alone = configuration_auto.CONFIG_MAPPING[model_type], [], True
    if model_type in CLASSES:
        module, name = CLASSES[model_type]
        module = importlib.import_module(f"transformers.models.{module}.modeling_{module}")
        return config_class, [getattr(module, name)], True
    for mapping in MAPPINGS:
        if model_type not in mapping._model_mapping:
            continue
        found = mapping[config_class]
        for one in found if isinstance(found, tuple) else (found,):
            takes_ids, takes_no_more = is_text(config_class, one)
            if one not in classes and takes_ids:
                classes.append(one)
                alone = alone and takes_no_more
    return config_class, classes, alone


def examine(row, config_class, model_class, keys):
    """Fills a row by one class of models: by the first attempt at sizes with which it runs. Also changes its keys."""
    row.state = None
    for attempt in ATTEMPTS:
        with tempfile.TemporaryDirectory() as folder:
            try:
                if not issubclass(model_class, transformers.PreTrainedModel):
                    save_module(config_class, model_class, row.model_type, folder)
                    layer = inlay.open(folder).layer()
                    row.state = "wrong" if layer.complete else "not opened"
                    return
                model = made(config_class, model_class, attempt, row.model_type, folder)
                try:
                    found = compare(model, folder, row.model_type)
                    row.family, row.contents, row.remaining_ops, row.result = found
                    row.state = "equal"
                    if keys:
                        signal.alarm(MAX_SECONDS_OF_KEYS)
                        compare_keys(row, model, folder)
                        return
                    try:
                        compare_names(model, folder, row.model_type)
                    except (IndexError, RuntimeError, ValueError) as error:
                        raise Wrong(f"other names: {error}") from error
                except inlay.FileError as error:
                    row.state, row.result = "not opened", str(error).removeprefix(f"{folder}: ")
                row.converted = compare_converted(model)
                with torch.no_grad():
                    row.rotations = compare_rotations(model)
            except inlay.FileError as error:
                row.state, row.result = "not opened", str(error).removeprefix(f"{folder}: ")
            except (Wrong, WrongModel) as error:
                row.state, row.result = "wrong", f"{model_class.__name__}: {error}"
            except Exception as error:  # noqa: BLE001  # whatever a model throws is a reason to try other sizes
                if row.state is not None:
                    return  # it was not opened, and needs more than ids
                row.result = row.result or f"{NOT_MADE}: {type(error).__name__}"
                if isinstance(error, TimeoutError):
                    break
        if row.state is not None:
            return
    row.state = "not made"


KEY_RESULTS = ("the same", "refused", "no model", "wrong")
STATES = ("equal", "not made", "not opened", "wrong")


def look_at(model_type, keys=False):
    """Returns the row of a model type, by the worst of its classes, or None if it is no text model."""

    def too_long(*_arguments):
        raise TimeoutError(f"more than {MAX_SECONDS} s")

    signal.signal(signal.SIGALRM, too_long)
    row = Row(model_type)
    try:
        config_class, classes, is_alone = classes_of(model_type)
    except Exception as error:  # noqa: BLE001
        row.result = f"{NOT_MADE}: {type(error).__name__}"
        return row
    rows = []
    for model_class in classes[:1] if keys else classes:
        one = Row(model_type)
        signal.alarm(MAX_SECONDS)
        examine(one, config_class, model_class, keys)
        signal.alarm(0)
        rows.append(one)
    ran = [one for one in rows if one.state != "not made"]
    worst = max(ran or rows, key=lambda one: STATES.index(one.state), default=None)
    if ran and not is_alone and worst.state != "wrong":
        worst = ran[0]  # further classes of multimodal models may need more than ids, and may not be opened
    return worst if is_alone or worst is None or worst.state in ("equal", "wrong") or model_type in listed() else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true", help="write docs/families.md")
    parser.add_argument("--keys", action="store_true", help="take each key out of config.json")
    parser.add_argument("model_types", nargs="*")
    options = parser.parse_args()
    torch.set_num_threads(1)
    transformers.utils.logging.set_verbosity(50)
    rows, keys = [], collections.Counter()
    everything = listed() - set(OTHERS_COMPARE) if options.keys else {*configuration_auto.CONFIG_MAPPING_NAMES, *CLASSES}
    for model_type in options.model_types or sorted(everything):
        row = look_at(model_type, options.keys)
        if row is not None:
            rows.append(row)
            keys.update(row.keys)
            print(f"{row.model_type:<28} {row.state:<11} {row.family:<12} {row.result} {row.remaining_ops} {row.converted}", flush=True)
    counts = {state: sum(row.state == state for row in rows) for state in STATES}
    tried = len(rows) - counts["not made"]
    summary = (
        f"{len(rows)} text configurations of transformers {transformers.__version__}: {counts['equal']} of the {tried} that "
        f"run are equal ({sum(row.state == 'equal' and not row.remaining_ops for row in rows)} up to the first block), "
        f"{counts['not opened']} are not opened, {counts['wrong']} are wrong, "
        f"{counts['not made']} could not be made or run"
    )
    print(summary)
    if options.keys:
        print(f"keys left out or null: {keys.total()}, " + ", ".join(f"{keys[one]} {one}" for one in KEY_RESULTS))
        return 1 if keys["wrong"] > 0 or counts["wrong"] > 0 else 0
    converted = [row.converted for row in rows if row.state != "wrong" and row.converted is not None]
    equal = {row.model_type for row in rows if row.state == "equal"}
    known = {row.model_type for row in rows} & (listed() | listed_wholes())
    print(f"types that inlay knows: {len(known)}, {len(known & equal)} of them equal")
    print(
        f"inlay.torch.convert(): the first blocks of {len(converted)} models receive the same, "
        f"{sum(len(steps) > 1 for steps in converted)} by layers of more than rows, {converted.count(['factor'])} by rows "
        f"times a factor, {converted.count(['rows'])} by rows alone, {converted.count([])} without inlay"
    )
    rotated = [row.rotations for row in rows if row.state != "wrong" and row.rotations is not None]
    print(f"outputs of {len(rotated)} models are equal with rotations by inlay, which {sum(map(bool, rotated))} call")
    missing = set() if options.model_types else (listed() | listed_wholes()) - equal - set(OTHERS_COMPARE)
    for model_type in sorted(missing):
        print(f"file/models/models.c lists {model_type}, which was not compared")
    broken = bool(missing) or counts["wrong"] > 0 or counts["equal"] < MIN_EQUAL * tried or tried < MIN_EQUAL * len(rows)
    if not options.model_types:
        broken = not keep(rows, summary, options.write) or broken
    if broken:
        print("BROKEN: wrong layers, fewer equal or made than promised, or another table than that of docs/families.md")
    return 1 if broken else 0


def keep(rows, summary, write):
    """Writes the table of docs/families.md, or returns whether it is this one. Rows of models that could not be made or
    run, there or here, are not compared: they depend on PyTorch and on how fast the machine is."""
    text = DOCS.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    old, after = rest.split(END)
    head = "| `model_type` | family | layer | remaining steps | vs. the model |\n|---|---|---|---|---|\n"
    new = f"{summary}.\n\n{head}{''.join(row.line() for row in rows)}"
    if write:
        DOCS.write_text(before + BEGIN + new + END + after, encoding="utf-8")
        return True
    kept = {line.split("|")[1].strip(): line for line in old.splitlines(keepends=True) if line.startswith("| ")}
    kept.pop("`model_type`", None)
    not_made = {name for name, line in kept.items() if f"| {NOT_MADE}" in line}
    not_made |= {row.model_type for row in rows if row.state == "not made"}
    here = {row.model_type: row.line() for row in rows}
    differing = [name for name in {**kept, **here} if name not in not_made and kept.get(name) != here.get(name)]
    for name in differing:
        print(f"docs/families.md has another row of {name}")
    return not differing


if __name__ == "__main__":
    sys.exit(main())
