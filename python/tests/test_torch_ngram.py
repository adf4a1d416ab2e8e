# SPDX-License-Identifier: MIT
"""inlay.torch.NGramEmbedding: eager, compiled, exported, and compared with the one in transformers."""

import copy
import importlib.util
import pickle
import shutil

import ngram_definition as definition
import numpy
import pytest

torch = pytest.importorskip("torch", reason="there is no PyTorch")

# pylint: disable=wrong-import-position
import inlay
import inlay.torch

BACKENDS = ["aot_eager"] + (["inductor"] if shutil.which("g++") else [])
VOCAB, EOS, DIM = 90, 7, 8
FP8 = getattr(torch, "float8_e4m3fn", None)


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def spec(**options):
    return {
        "vocab": VOCAB,
        "length": 3,
        "mix": "xor",
        "columns": [
            {"length": 2, "modulus": 101},
            {"length": 3, "modulus": 103, "offset": 101},
            {"length": 3, "modulus": 30, "vector": 1, "table": 1},
        ],
        "multipliers": [[2**62 + 11, 2**61 + 7, -3], [1, 2, 3]],
        "pad": EOS,
        "resets": EOS,
        **options,
    }


@pytest.fixture
def tables():
    return [torch.randn(204, DIM), torch.randn(30, DIM)]


@pytest.fixture
def ids():
    found = torch.randint(VOCAB, (3, 9))
    found[0, 3] = found[1, 0] = found[1, 4] = found[2, 7] = found[2, 8] = EOS
    return found


def expected(options, tables, ids):
    rows = definition.row_ids({**options, "resets": [EOS]}, ids.tolist())
    gathered = definition.gather(options, [table.float().numpy() for table in tables], rows)
    return torch.from_numpy(gathered).reshape(*ids.shape, -1)


def test_rows(tables, ids):
    module = inlay.torch.NGramEmbedding(inlay.NGram(**spec()), tables)
    y = module(ids)
    assert torch.equal(y, expected(spec(), tables, ids)) and y.dtype == torch.float32
    assert torch.equal(module(ids.int()), y)
    assert torch.equal(module(ids[:, ::2].T.contiguous().T), module(ids[:, ::2].contiguous()))
    total = inlay.torch.NGramEmbedding(inlay.NGram(**spec()), tables, combine="Sum", scale=2.0)
    assert torch.equal(total(ids), 2 * y[..., :DIM] + 2 * y[..., DIM : 2 * DIM] + 2 * y[..., 2 * DIM :])
    with pytest.raises(ValueError, match="^combine is 'mean', not one of concat, sum$"):
        inlay.torch.NGramEmbedding(inlay.NGram(**spec()), tables, combine="mean")
    typed = inlay.NGram(**spec(mix="XOR"))
    assert typed.spec == inlay.NGram(**spec()).spec and torch.equal(inlay.torch.NGramEmbedding(typed, tables)(ids), y)
    assert not list(module.parameters()) and not module.state_dict()
    assert "float32 [204, 8]" in repr(module)


def test_tables_with_a_scale(tables, ids):
    """The NGram's own tables, in eager mode and as tensors of an operator."""
    scaled = [inlay.Table(table, scale=0.3) for table in tables]
    module = inlay.torch.NGramEmbedding(inlay.NGram(**spec(), tables=scaled), scale=0.7)
    factor = float(torch.tensor(0.7) * torch.tensor(0.3))
    y = inlay.torch.NGramEmbedding(inlay.NGram(**spec()), tables, scale=factor)(ids)
    assert torch.equal(module(ids), y)
    assert torch.equal(torch.compile(module, backend="eager", fullgraph=True)(ids), y)
    with pytest.raises(ValueError, match="different scales"):
        inlay.torch.NGramEmbedding(inlay.NGram(**spec()), [scaled[0], *tables[1:]])


def test_histories_and_offsets(tables, ids):
    module = inlay.torch.NGramEmbedding(inlay.NGram(**spec()), tables)
    y = module(ids)
    history, lengths = module.ngram.history(ids[:, :1])
    assert lengths.dtype == torch.int32 and history.dtype == ids.dtype
    assert torch.equal(module(ids[:, 1:], history=history, history_lengths=lengths), y[:, 1:])
    flat = module(ids.reshape(-1), offsets=torch.tensor([0, 9, 18, 27]))
    assert torch.equal(flat.reshape(y.shape), y)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_types(tables, ids, dtype):
    narrow = [table.to(dtype) for table in tables]
    y = inlay.torch.NGramEmbedding(inlay.NGram(**spec()), narrow)(ids)
    assert y.dtype == dtype and torch.equal(y, expected(spec(), narrow, ids).to(dtype))


@pytest.mark.skipif(FP8 is None, reason="this PyTorch has no float8_e4m3fn")
def test_fp8_tables(tables, ids):
    narrow = [table.to(FP8) for table in tables]
    module = inlay.torch.NGramEmbedding(inlay.NGram(**spec()), narrow, scale=0.5)
    assert module.tables[0].data.data_ptr() == narrow[0].data_ptr()
    y = module(ids)
    assert y.dtype == torch.bfloat16
    assert torch.equal(y, (expected(spec(), narrow, ids) * 0.5).bfloat16())
    exact = inlay.torch.NGramEmbedding(inlay.NGram(**spec()), narrow, dtype=torch.float32)(ids)
    assert torch.equal(exact, expected(spec(), narrow, ids))


@pytest.mark.skipif(not hasattr(torch, "float8_e8m0fnu"), reason="this PyTorch has no float8_e8m0fnu")
def test_tables_with_powers_of_two(ids):
    options = spec(columns=[{"length": 3, "modulus": 41}])
    weight, scales = torch.randn(41, 64).to(FP8), torch.randint(118, 134, (41, 2), dtype=torch.uint8)
    powers = scales.view(torch.float8_e8m0fnu)
    table = inlay.Table(weight, "e4m3_e8m0", scales=powers)
    module = inlay.torch.NGramEmbedding(inlay.NGram(**options), table)
    values = (weight.float().unflatten(-1, (2, 32)) * powers.float()[..., None]).flatten(-2)
    assert torch.equal(module(ids), expected(options, [values], ids).bfloat16())
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(ids), module(ids))


def test_masked_positions(tables, ids):
    module = inlay.torch.NGramEmbedding(inlay.NGram(**spec()), tables, masked_id=EOS)
    mask = torch.ones_like(ids)
    mask[:, :2] = 0
    marked = torch.where(mask.bool(), ids, EOS)
    assert torch.equal(module(ids, attention_mask=mask), module(marked))
    assert torch.equal(module(ids[:, 4:], attention_mask=mask), module(ids[:, 4:]))
    with pytest.raises(ValueError, match="attention_mask requires masked_id"):
        inlay.torch.NGramEmbedding(inlay.NGram(**spec()), tables)(ids, attention_mask=mask)


@pytest.mark.parametrize("backend", BACKENDS)
def test_compiles(tables, ids, backend):
    module = inlay.torch.NGramEmbedding(inlay.NGram(**spec(token_map=torch.arange(VOCAB) * 2)), tables)
    compiled = torch.compile(module, fullgraph=True, backend=backend, dynamic=True)
    for length in (9, 5, 2):
        part = ids[:, :length].contiguous()
        assert torch.equal(compiled(part), module(part))
    history, lengths = module.ngram.history(ids)
    y = compiled(ids, history=history, history_lengths=lengths)
    assert torch.equal(y, module(ids, history=history, history_lengths=lengths))


def test_exports(tables, ids):
    module = inlay.torch.NGramEmbedding(inlay.NGram(**spec()), tables)
    program = torch.export.export(module, (ids,), dynamic_shapes=({1: torch.export.Dim("length")},))
    for length in (9, 4):
        assert torch.equal(program.module()(ids[:, :length]), module(ids[:, :length]))


def test_operator(tables, ids):
    module = inlay.torch.NGramEmbedding(inlay.NGram(**spec()), tables)
    arguments = (ids, None, None, None, *module._tensors, *module._hash, 1.0, 0, torch.float32)
    torch.library.opcheck(torch.ops.inlay.ngram.default, arguments)
    assert torch.equal(torch.ops.inlay.ngram(*arguments), module(ids))


def test_tables_that_are_no_tensors_break_graphs(tables, ids):
    arrays = [table.numpy() for table in tables]
    module = inlay.torch.NGramEmbedding(inlay.NGram(**spec()), [inlay.quantize(array, "i8") for array in arrays])
    compiled = torch.compile(module, backend="aot_eager")
    assert torch.equal(compiled(ids), module(ids)) and module(ids).dtype == torch.bfloat16


def test_tables_in_extents(tables, ids):
    parts = inlay.Table.from_extents([tables[0][:50], tables[0][50:150], tables[0][150:]])
    module = inlay.torch.NGramEmbedding(inlay.NGram(**spec()), [parts, tables[1]])
    assert torch.equal(module(ids), expected(spec(), tables, ids))


def test_copies(tables, ids):
    module = inlay.torch.NGramEmbedding(inlay.NGram(**spec()), tables)
    for same in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert torch.equal(same(ids), module(ids))


def test_bad_ids(tables, ids):
    module = inlay.torch.NGramEmbedding(inlay.NGram(**spec()), tables)
    ids[1, 2] = VOCAB
    with pytest.raises(IndexError, match=r"id 90 at \[1, 2\] is not in \[0, 90\)"):
        module(ids)


# ---- Qwen4Exp of transformers


@pytest.fixture(params=[2, 3, 4])
def qwen(request):
    if importlib.util.find_spec("transformers") is None:
        pytest.skip("there is no transformers")
    modeling = pytest.importorskip(
        "transformers.models.qwen4_exp.modeling_qwen4_exp", reason="this transformers has no qwen4_exp"
    )
    configuration = importlib.import_module("transformers.models.qwen4_exp.configuration_qwen4_exp")
    config = configuration.Qwen4ExpTextConfig(
        vocab_size=VOCAB,
        ngram_size=request.param,
        heads_per_ngram=4,
        ngram_vocab_size_base=500,
        eos_token_id=EOS,
        num_hidden_layers=2,
        layer_types=["linear_attention", "indexed_attention"],
        ple_layer_ids=[1],
        ple_embed_dim=64 * (request.param - 1),
    )
    module = modeling.Qwen4ExpTextNGramEmbedding(config, 16 * 4 * (request.param - 1), 0, 1)
    caches = [importlib.import_module("transformers.cache_utils").DynamicCache(config=config) for _ in range(2)]
    return module, *caches


def same_state(one, other):
    states = [cache.get_conv_state(0, state_idx=2) for cache in (one, other)]
    return torch.equal(*states)


def draw(length):
    return torch.where(torch.rand(3, length) < 0.2, EOS, torch.randint(VOCAB, (3, length)))


def test_replaces_that_of_transformers(qwen):
    module, theirs, ours = qwen
    replaced = inlay.torch.NGramEmbedding.from_qwen4_exp(module)
    for length in (1, 5, 1, 1, 12, 2):
        ids = draw(length)
        assert torch.equal(replaced(ids, None), module(ids, None))
        assert torch.equal(replaced(ids, ours), module(ids, theirs))
        assert same_state(ours, theirs)
    ids = draw(4)
    assert torch.equal(replaced(ids, theirs), module(ids, ours))  # with the other module's cache


def test_rolls_back_as_that_of_transformers(qwen):
    module, theirs, ours = qwen
    replaced = inlay.torch.NGramEmbedding.from_qwen4_exp(module)
    for cache in (theirs, ours):
        cache.layers[0].activate_past_recording()
    for lengths, removed in (((6,), 2), ((5,), 4), ((1, 7), 6), ((4,), 0)):
        for length in lengths:  # the second one follows a state with more ids than needed
            ids = draw(length)
            assert torch.equal(replaced(ids, ours), module(ids, theirs))
            for cache in (theirs, ours):
                for other in (0, 1):  # the layer's other states
                    cache.update_conv_state(torch.zeros(3, 2, length), 0, state_idx=other, conv_kernel_size=2)
        for cache in (theirs, ours):
            cache.layers[0].crop(-removed)
        assert same_state(ours, theirs)


def test_bfloat16_and_fp8_tables_of_transformers(qwen):
    module, _, _ = qwen
    ids = draw(20)
    module.bfloat16()
    module.layer_multipliers = module.layer_multipliers.long()
    assert torch.equal(inlay.torch.NGramEmbedding.from_qwen4_exp(module)(ids), module(ids, None))
    table = module.ngram_embedding.weight.detach().to(FP8)
    ours = inlay.torch.NGramEmbedding.from_qwen4_exp(module, table=table, scale=0.25)
    module.ngram_embedding.weight.data = (table.float() * 0.25).bfloat16()
    assert torch.equal(ours(ids), module(ids, None))


# ---- Static embeddings


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_static_embeddings_of_model2vec(dtype):
    class StaticModel:  # the fields of model2vec.StaticModel
        embedding = (20 * torch.randn(20, 12)).numpy().astype(dtype)
        token_mapping = torch.randint(20, (50,)).numpy()
        weights = torch.rand(50).double().numpy()
        normalize = True

    ids, offsets = torch.randint(50, (15,)), torch.tensor([0, 6, 6, 14])
    module = inlay.torch.StaticEmbedding.from_model2vec(StaticModel)
    y = module(ids, offsets)
    bounds = [*offsets.tolist(), 15]
    for text, (begin, end) in enumerate(zip(bounds, bounds[1:])):
        part = ids[begin:end].numpy()
        rows = StaticModel.embedding[StaticModel.token_mapping[part]] * StaticModel.weights[part, None]
        mean = rows.mean(0) if len(rows) else numpy.zeros(12)
        numpy.testing.assert_allclose(y[text], mean / (numpy.linalg.norm(mean) + 1e-32), atol=1e-6)
    assert torch.equal(pickle.loads(pickle.dumps(module))(ids, offsets), y)


def test_static_embeddings_of_sentence_transformers():
    bag = torch.nn.EmbeddingBag(50, 12)
    ids, offsets = torch.randint(50, (15,)), torch.tensor([0, 6, 14])
    torch.testing.assert_close(inlay.torch.StaticEmbedding(bag.weight)(ids, offsets), bag(ids, offsets).detach())


def test_gradients_are_an_error_and_not_left_out(tables, ids):
    trained = [table.requires_grad_() for table in tables]
    module = inlay.torch.NGramEmbedding(inlay.NGram.from_spec(spec()), trained)
    rows = module(ids)
    with torch.no_grad():
        assert torch.equal(rows, module(ids)) and module(ids).grad_fn is None
    with pytest.raises(NotImplementedError, match="computes no gradients.*requires_grad_"):
        (rows * torch.ones(rows.shape, requires_grad=True)).sum().backward()
    for table in trained:
        table.requires_grad_(False)
    assert module(ids).grad_fn is None


def test_frozen_tables_are_no_error_in_training(tables, ids):
    factor = torch.ones(1, requires_grad=True)
    module = inlay.torch.NGramEmbedding(inlay.NGram.from_spec(spec()), tables)
    (module(ids) * factor).sum().backward()
    assert factor.grad is not None
