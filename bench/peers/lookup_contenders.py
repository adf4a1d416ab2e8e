# SPDX-License-Identifier: MIT
"""Lookups as users of each framework write them: the hash as in the models' own code, and gathers that dequantize.

A peer has hashes and gathers. hashes(fixture) yields names and functions from the index of a call to row ids.
gathers(fixture) yields names, modes and functions from row ids [tokens, columns] to outputs. For n-gram lookups, a
gather is combined with the hash of the same name, or with the last hash if there is none.
"""
import functools

import numpy

import contenders
import layer
import torch_hashes
from fixture import ALLOCATED, NEW, REUSED, Contender
from lookups import BLOCK, e4m3_values


class Peer:
    def contenders(self, fixture):
        stage, step = fixture.shape.stage, fixture.step
        hashes = dict(self.hashes(fixture)) if stage != "rows" else {}
        if stage == "hash":
            for name, rows_of in hashes.items():
                yield Contender(name, ALLOCATED, of_next(step, rows_of), self.array)
            return
        given = self.given(fixture.row_ids)
        for name, mode, gather in self.gathers(fixture):
            rows_of = given.__getitem__ if stage == "rows" else hashes.get(name) or list(hashes.values())[-1]
            yield Contender(name, mode, of_next(step, rows_of, gather), self.array)


def of_next(step, rows_of, gather=None):
    """Returns a call that finds the rows of the next tokens and gathers them."""
    return (lambda: gather(rows_of(step()))) if gather else lambda: rows_of(step())


class NumPy(Peer, contenders.NumPy):
    plain, tuned = "NumPy", "NumPy, tuned"
    about = {
        plain: (False, "hash in int64; table[ids], ml_dtypes' types converted by astype() and multiplied"),
        tuned: (False, "the same hash; take(), and FP8's products, or its values, from a table of 256"),
    }

    def __init__(self, threads):
        import ml_dtypes

        super().__init__(threads)
        self.bfloat16, self.float8 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn

    array, given = staticmethod(numpy.asarray), staticmethod(list)

    def hashes(self, fixture):
        made = fixture.hash
        length, numbers = made.family.length, numpy.arange(fixture.shape.seq + made.family.length - 1)
        split = [made.moduli[made.lengths == n] for n in range(2, length + 1)]

        def rows_of(i):
            ids = numpy.concatenate((fixture.histories[i][0], fixture.ids[i][0]))
            words = ids if made.token_map is None else made.token_map.take(ids)
            if made.resets:
                ends = numpy.maximum.accumulate(numpy.where(ids == made.pad, numbers, -1))
            mixed, parts, most = words[length - 1 :] * made.multipliers[0], [], len(ids)
            for s in range(1, length):
                word = words[length - 1 - s : most - s]
                if made.resets:
                    valid = ends[length - 2 : most - 1] < numbers[length - 1 - s : most - s]
                    word = numpy.where(valid, word, made.pad)
                mixed = mixed ^ word * made.multipliers[s]
                parts.append(mixed[:, None] % split[s - 1])
            return numpy.concatenate(parts, 1) + made.offsets

        yield self.plain, rows_of

    def gathers(self, fixture):
        shape, table, out = fixture.shape, fixture.table, fixture.out
        bfloat16, wanted = self.bfloat16, self.bfloat16 if shape.out == "bfloat16" else numpy.float32
        if shape.combine == "sum":
            typed = table.view(bfloat16)
            yield self.plain, ALLOCATED, lambda ids: typed[ids].astype(numpy.float32).sum(1).astype(bfloat16)
        elif shape.type == "bfloat16":
            typed, each = table.view(bfloat16), out.reshape(shape.seq, shape.family.columns, shape.dim)
            yield self.plain, ALLOCATED, lambda ids: typed[ids]
            yield self.tuned, ALLOCATED, lambda ids: table.take(ids, 0, None, "clip")
            yield self.tuned, REUSED, lambda ids: table.take(ids, 0, each, "clip")
        elif shape.type == "e4m3":
            typed, scale = table.view(self.float8), numpy.float32(fixture.scale)
            products = (e4m3_values() * scale).astype(wanted).view(fixture.out_dtype)
            each = out.reshape(shape.seq, shape.family.columns, shape.dim)

            def tuned(ids, into=None):
                return products.take(table.take(ids, 0, None, "clip"), None, into, "clip")

            yield self.plain, ALLOCATED, lambda ids: (typed[ids].astype("f4") * scale).astype(wanted, copy=False)
            yield self.tuned, ALLOCATED, tuned
            yield self.tuned, REUSED, functools.partial(tuned, into=each)
        else:
            typed, scales, values = table.view(self.float8), fixture.scales, e4m3_values()
            powers = numpy.exp2(numpy.arange(256, dtype=numpy.float32) - 127)
            blocks = (shape.seq, shape.family.columns, shape.dim // BLOCK, BLOCK)

            def plain(ids):
                rows = typed[ids].astype(numpy.float32).reshape(blocks)
                return (rows * powers[scales[ids]][..., None]).astype(bfloat16)

            def tuned(ids):
                rows = values.take(table.take(ids, 0, None, "clip")).reshape(blocks)
                rows *= powers.take(scales.take(ids, 0, None, "clip"))[..., None]
                return rows.astype(bfloat16)

            yield self.plain, ALLOCATED, plain
            yield self.tuned, ALLOCATED, tuned


class PyTorch(Peer, contenders.PyTorch):
    plain, tuned = "PyTorch eager", "PyTorch eager, tuned"
    about = {
        plain: (
            False,
            "the hash as transformers (Qwen4Exp) and sglang (Engram) write it; F.embedding, or F.embedding_bag for "
            "sums; FP8 rows .to(dtype) * scale, or as sglang multiplies E8M0",
        ),
        tuned: (False, "the hash with each id mapped and each window cut once; index_select, then mul_ or out="),
    }

    def array(self, output):
        """NumPy has no bfloat16: returns its bits."""
        return (output.view(self.torch.uint16) if output.dtype == self.torch.bfloat16 else output).numpy()

    def given(self, arrays):
        return [self.torch.from_numpy(array) for array in arrays]

    def hashes(self, fixture):
        ids, histories = self.given(fixture.ids), self.given(fixture.histories)
        write = torch_hashes.engram if fixture.hash.family.mapped else torch_hashes.qwen
        as_model, tuned = write(self.torch, fixture.hash), torch_hashes.tuned(self.torch, fixture.hash)
        yield self.plain, lambda i: as_model(ids[i], histories[i])
        yield self.tuned, lambda i: tuned(ids[i], histories[i])

    def gathers(self, fixture):
        torch, shape, functional = self.torch, fixture.shape, self.torch.nn.functional
        dtype = getattr(torch, shape.out)
        table, out = torch.from_numpy(fixture.table), torch.from_numpy(fixture.out).view(dtype)
        table = table.view(torch.bfloat16 if shape.type == "bfloat16" else torch.float8_e4m3fn)
        each, scale = out.view(-1, shape.dim), fixture.scale
        if shape.combine == "sum":

            def summed(ids):
                return table.index_select(0, ids.view(-1)).view(*ids.shape, -1).sum(1)

            yield self.plain, ALLOCATED, lambda ids: functional.embedding_bag(ids, table, mode="sum")
            yield self.tuned, ALLOCATED, summed
        elif shape.type == "bfloat16":

            def reused(ids):
                torch.index_select(table, 0, ids.view(-1), out=each)
                return out

            yield self.plain, ALLOCATED, lambda ids: functional.embedding(ids, table).flatten(-2)
            yield self.tuned, ALLOCATED, lambda ids: table.index_select(0, ids.view(-1)).view(ids.shape[0], -1)
            yield self.tuned, REUSED, reused
        elif shape.type == "e4m3":

            def reused(ids):
                each.copy_(table.index_select(0, ids.view(-1))).mul_(scale)
                return out

            yield self.plain, ALLOCATED, lambda ids: (functional.embedding(ids, table).to(dtype) * scale).flatten(-2)
            yield self.tuned, ALLOCATED, lambda ids: table.index_select(0, ids.view(-1)).to(dtype).mul_(scale)
            yield self.tuned, REUSED, reused
        else:
            scales = torch.from_numpy(fixture.scales).view(torch.float8_e8m0fnu)
            blocks = each.view(-1, shape.dim // BLOCK, BLOCK)

            def plain(ids):
                rows = functional.embedding(ids, table).float().unflatten(-1, (-1, BLOCK))
                return (rows * functional.embedding(ids, scales).float().unsqueeze(-1)).flatten(-3).to(dtype)

            def parts(ids):
                flat = ids.view(-1)
                rows = table.index_select(0, flat).to(dtype).view(-1, shape.dim // BLOCK, BLOCK)
                return rows, scales.index_select(0, flat).to(dtype).unsqueeze(-1)

            def tuned(ids):  # bfloat16 holds both factors exactly
                rows, powers = parts(ids)
                return rows.mul_(powers)

            def reused(ids):
                torch.mul(*parts(ids), out=blocks)
                return out

            yield self.plain, ALLOCATED, plain
            yield self.tuned, ALLOCATED, tuned
            yield self.tuned, REUSED, reused


class Fbgemm(PyTorch):
    plain = "FBGEMM"
    about = {
        plain: (
            False,
            "int_nbit_split_embedding_codegen_lookup_function without pooling: E4M3 rows in the type of the output; "
            "then mul_ by the scale, a second pass. It has no tables of bfloat16 and no E8M0. The hash is PyTorch's",
        )
    }

    def __init__(self, threads):
        import fbgemm_gpu
        from fbgemm_gpu.split_embedding_configs import SparseType
        from fbgemm_gpu.split_table_batched_embeddings_ops_common import EmbeddingLocation, PoolingMode

        super().__init__(threads)
        self.types, self.host, self.unpooled = SparseType, EmbeddingLocation.HOST.value, PoolingMode.NONE.value
        self.version = f"FBGEMM {fbgemm_gpu.__version__}"

    def hashes(self, fixture):
        if fixture.shape.stage == "lookup":  # it has no hash of its own
            yield self.plain, dict(super().hashes(fixture))[self.tuned]

    def gathers(self, fixture):
        shape, torch = fixture.shape, self.torch
        if shape.type != "e4m3":
            return
        call = functools.partial(
            torch.ops.fbgemm.int_nbit_split_embedding_codegen_lookup_function,
            torch.from_numpy(fixture.table).view(-1),
            torch.empty(0, dtype=torch.uint8),
            torch.tensor([self.host], dtype=torch.int32),
            torch.zeros(1, dtype=torch.int64),
            torch.tensor([self.types.FP8.as_int()], dtype=torch.uint8),
            torch.tensor([0, shape.dim], dtype=torch.int32),
            shape.dim,
            *(0, 0, 0, 0, 0),
            pooling_mode=self.unpooled,
            indice_weights=None,
            output_dtype=(self.types.BF16 if shape.out == "bfloat16" else self.types.FP32).as_int(),
            row_alignment=1,
            max_float8_D=shape.dim,
            fp8_exponent_bits=4,
            fp8_exponent_bias=7,
        )
        offsets, scale = torch.tensor([0, shape.seq * shape.family.columns]), fixture.scale
        yield self.plain, ALLOCATED, lambda ids: call(indices=ids.view(-1), offsets=offsets).mul_(scale)


class Inlay(layer.Package):
    """inlay's package: NGram, and for given row ids a Layer, or an NGram of length 1."""

    layer, ngram = "inlay, Layer", "inlay, NGram"

    def contenders(self, fixture):
        """Each function takes an output or None, so both modes have the same call."""
        shape, ids, histories, step = fixture.shape, fixture.ids, fixture.histories, fixture.step
        if shape.stage == "hash":
            hashed = self.hash(fixture.hash)

            def rows_of(i):
                return hashed.ids(ids[i], history=histories[i])

            yield Contender(self.ngram, NEW, of_next(step, rows_of), numpy.asarray)
            return
        table, out = self.table(fixture), fixture.out
        if shape.out == "bfloat16":
            import ml_dtypes

            out = out.view(ml_dtypes.bfloat16)
        gather = self.gathers_of_rows(fixture, table) if shape.stage == "rows" else self.lookups(fixture, table)
        for name, embed, size in gather:
            into = out.reshape(size)
            yield Contender(name, NEW, functools.partial(embed, None), numpy.asarray)
            yield Contender(name, REUSED, functools.partial(embed, into), numpy.asarray)

    def gathers_of_rows(self, fixture, table):
        shape, given, step = fixture.shape, fixture.row_ids, fixture.step
        each = (shape.seq, shape.family.columns, shape.dim)
        pooling = {"pooling": "sum"} if shape.combine == "sum" else {}
        rows = self.inlay.Layer(table, scale=fixture.scale, dtype=shape.out, **pooling)
        yield self.layer, lambda out: rows(given[step()], out), shape.output if pooling else each
        if not pooling:
            count = len(fixture.table)
            column = {"length": 1, "modulus": count}
            same = self.inlay.NGram(count, 1, "xor", columns=[column], multipliers=[1])  # a row id is its id
            options = {"scale": fixture.scale, "dtype": shape.out}
            yield self.ngram, lambda out: same(given[step()], table, out=out, **options), each

    def lookups(self, fixture, table):
        shape, ids, histories, step = fixture.shape, fixture.ids, fixture.histories, fixture.step
        hashed = self.hash(fixture.hash)
        options = {"scale": fixture.scale, "dtype": shape.out, "combine": shape.combine}

        def embed(out):
            i = step()
            return hashed(ids[i], table, history=histories[i], out=out, **options)

        yield self.ngram, embed, (1, *shape.output)

    def hash(self, made):
        columns = {"length": made.lengths, "modulus": made.moduli, "offset": made.offsets}
        return self.inlay.NGram(
            made.family.vocab,
            made.family.length,
            "xor",
            columns=columns,
            multipliers=made.multipliers,
            pad=made.pad,
            token_map=None if made.token_map is None else made.token_map.astype(numpy.int32),
            resets=made.resets,
        )

    def table(self, fixture):
        scales = {} if fixture.scales is None else {"scales": fixture.scales}
        return self.inlay.Table(fixture.table, fixture.shape.type, **scales)


PEERS = [NumPy, PyTorch, Fbgemm]
ABSENT = ["torchao is missing: its releases for this PyTorch have no embedding on CPUs"]
