#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Breaks a copy of the library on purpose, once for each line below, and demands that some test goes red.

    mutate.py SOURCE_DIR [WORD...]

Only mutations whose description holds one of the words are tried, where words are given. A mutation that no test sees is
a hole in the tests: the exit status is 1, as it is where a mutation no longer fits the source.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

# What is broken, the file, the text that must occur there once, and what takes its place.
MUTATIONS = [
    ("an id of 32 bits equal to rows is accepted", "src/validate.c", "(ids, type, i) >= limit_32", "(ids, type, i) > limit_32"),
    ("an id of 64 bits equal to rows is accepted", "src/validate.c", "bad_64 |= (uint64_t)inlay_id_at(ids, type, i) >= limit;", "bad_64 |= (uint64_t)inlay_id_at(ids, type, i) > limit;"),
    ("ids are not read again as they become pointers", "src/resolve.h", "id < work->tokens->rows ? (size_t)id : 0", "(size_t)id"),
    ("the tail of a row is dropped", "src/simd/embed.h", "if (at < bytes) {", "if (0) {"),
    ("the head of a streamed row is dropped", "src/simd/embed.h", "if (head > 0)", "if (0)"),
    ("the tail of a streamed row is dropped", "src/simd/embed.h", "if (end < columns) {", "if (0) {"),
    ("vectors between lines and tail are dropped", "src/simd/embed.h", "    for (; at + VEC_BYTES <= bytes; at += VEC_BYTES)\n        vec_store(", "    for (; 0; at += VEC_BYTES)\n        vec_store("),
    ("a narrow line repeats its first span", "src/simd/embed.h", "span_load(row + i * SPAN_BYTES)", "span_load(row)"),
    ("tokens that stay for the next kernel call are lost", "src/embed.c", "    tokens->count = staying;", "    tokens->count = 0;"),
    ("of tokens that stay the first rows are kept", "src/embed.c", "memcpy(tokens->rows, tokens->rows + tile.count, bytes);", "memcpy(tokens->rows, tokens->rows, 0);"),
    ("the tail is one column long too many", "src/simd/embed.h", "n = (bytes - at) / sizeof(float);", "n = (bytes - at) / sizeof(float); n += n < VEC_LEN - 1;"),
    ("the cosine has the wrong sign (exact)", "src/sinusoid.c", "phase.quadrant = (phase.quadrant + cosine) % 4;", "phase.quadrant = (phase.quadrant + 3 * cosine) % 4;"),
    ("the cosine has the wrong sign (SIMD)", "src/simd/sinusoid.h", "vec_double_fms(x.cos, by.cos", "vec_double_fma(x.cos, by.cos"),
    ("the bound of the rounding test is 0", "src/simd/sinusoid.h", "unit = 2 * 1.01 * 0x1p-53,", "unit = 0,"),
    ("anchors stand every 10^6 rows, under the bound of 128", "src/generator.c", "generator->since_anchor += (unsigned)tile.rows;", "generator->since_anchor = (unsigned)((uint32_t)position % 1000000 ? 1 : INLAY_ANCHOR_ROWS);"),
    ("leaps are one row short", "src/sinusoid.c", "prepare_turns(made, INLAY_ANCHOR_ROWS,", "prepare_turns(made, INLAY_ANCHOR_ROWS - 1,"),
    ("leaps turn the first columns of all", "src/generator.c", "sinusoid->sin_leap + generator->first", "sinusoid->sin_leap"),
    ("series end too early where angles are small", "src/exact.c", "((n - first) / 2 + 1) >= 207", "((n - first) / 2 + 1) >= 20"),
    ("marked entries are not computed exactly", "src/generator.c", "                mend(generator, &tile);", "                {}"),
    ("marks of cosines are lost", "src/simd/sinusoid.h", "(sines | cosines << INLAY_PAIR_GROUP)", "(sines | 0 * cosines)"),
    ("one vector of sines of two is not tested", "src/simd/sinusoid.h", "    doubt = sinusoid_doubt(doubt, sin.high, sin.bound + VEC_DOUBLES);\n", ""),
    ("the state turns backwards", "src/simd/sinusoid.h", "vec_double_fma(x.sin, by.cos, ", "vec_double_fms(x.sin, by.cos, "),
    ("a cosine past the last digit counts as 1", "src/sinusoid.c", "if (x.mantissa != 0 && !stands_still(sinusoid, pair) &&", "if (0 && !stands_still(sinusoid, pair) &&"),
    ("casting loses the sign of -0", "src/rounding.c", "        return (uint16_t)sign; /* less than half", "        return 0; /* less than half"),
    ("a recipe's constant is one unit off", "src/recipe.c", "double step = -log_f64(spec->base) / intervals(spec, 1);", "double step = -log_f64(spec->base) / intervals(spec, 1) * (1 + 0x1p-52);"),
    ("16-bit types are rounded twice", "src/simd/sinusoid.h", "vec_round_f16(vec_from_doubles_odd(low, high))", "vec_round_f16(vec_from_doubles(low, high))"),
    ("bfloat16 is rounded twice", "src/simd/sinusoid.h", "vec_round_bf16(vec_from_doubles_odd(low, high))", "vec_round_bf16(vec_from_doubles(low, high))"),
    ("lists are turned as if their positions followed each other", "src/generator.c", "bool turns = positions.list == NULL && sinusoid->angles == NULL;", "bool turns = sinusoid->angles == NULL;"),
    ("rotary tables are made in the host's environment", "src/rows.c", "    struct inlay_fpenv host = inlay_fpenv_enter();\n    all->fill(&some);", "    struct inlay_fpenv host = {0};\n    if (all->sin == NULL) host = inlay_fpenv_enter();\n    all->fill(&some);\n    if (all->sin != NULL) return;"),
    ("lists take more stack", "src/rows.c", "    size_t bad = inlay_first_bad_position(", "    volatile char large[80000]; large[0] = 0; (void)large[0];\n    size_t bad = inlay_first_bad_position("),
    ("a position is not looked at again as it is used", "src/validate.c", "    if (!valid)\n        return 0;", "    (void)valid;"),
    ("sequences begin where the first one does", "src/resolve.h", "inlay_load_once((uint64_t)inlay_id_at(work->starts, INLAY_ID_I64, b))", "inlay_load_once((uint64_t)inlay_id_at(work->starts, INLAY_ID_I64, 0))"),
    ("parts overlap by a token", "src/embed.c", "part.s_end = share(grid->whole.s_end, grid->across_positions, i + 1);", "part.s_end = share(grid->whole.s_end, grid->across_positions, i + 1) - (i == 1);"),
    ("entries in doubt lose their token", "src/generator.c", "    if (tile->tokens != NULL)\n        put_sum(", "    if (0)\n        put_sum("),
    ("the amplitude is left out", "src/simd/sinusoid.h", "vec_double_store(state->cos + i, vec_double_mul(here.cos, amplitude));", "vec_double_store(state->cos + i, here.cos);"),
    ("the amplitude of a recipe is left out", "src/generator.c", "if (scale != 1)", "if (0)"),
    ("the sign of a position is lost", "src/exact.c", "        phase.negative = !phase.negative;", "        {}"),
    ("fractions of a position are lost", "src/exact.c", "    if (x.exponent == 0)\n        return;", "    return;"),
    ("angles of float32 are computed in float64", "src/recipe.c", "angles[i] = (float)position * (float)factors[i];", "angles[i] = position * factors[i];"),
    ("the last column of an odd dim is not written", "src/generator.c", "    if (placement->last)", "    if (0)"),
    ("the last frequency is 1 / base where it is not", "src/sinusoid.c", "half > spec->shift ? half - spec->shift : 1", "half > 1 ? half - 1 : 1"),
    ("a frequency above 2^31 is accepted", "src/sinusoid.c", "inlay_double_in(spec->inv_freq[i], 0, 0x1p31)", "inlay_double_in(spec->inv_freq[i], 0, 0x1p32)"),
    ("a position that is no number is accepted", "src/validate.c", "        if (!valid)\n            return i;", "        (void)valid;"),
    ("rows that begin off a line are streamed all the same", "src/generator.c", "stream && direct, NULL);", "stream, NULL);"),
    ("batch and seq are swapped in the token's index", "src/embed.c", ".first = sequence.first + block->s,", ".first = block->s * work->sequences + b,"),
    ("ids are not read again as they become pointers, those without rules", "src/embed.c", "data + (id < count ? (size_t)id : 0) * stride_bytes", "data + (size_t)id * stride_bytes"),
    ("of sequences of one token each only the first is embedded", "src/embed.c", "run.count = single ? together : count;", "run.count = count;"),
    ("sequences of one token each at one position each take the next", "src/embed.c", "            run.position_stride_bytes = 0;\n", ""),
    ("sequences of one token each ignore their start", "src/embed.c", "run.position += (row <= rows - count ? row : 0) * run.position_stride_bytes;", "run.position += (single ? 0 : row <= rows - count ? row : 0) * run.position_stride_bytes;"),
    ("sequences of one token each take the starts of the first ones", "src/embed.c", "run.starts = work->starts + b;", "run.starts = work->starts;"),
    ("starts of one token each are not read again as they become pointers", "src/embed.c", "i = row < work->positions->rows ? (size_t)row : 0;", "i = (size_t)row;"),
    ("rows from beyond L2 are those to come", "src/simd/embed.h", "embed_cached(row, position, out, tile.columns, tile.scale, terms, asks", "embed_cached(next, position, out, tile.columns, tile.scale, terms, asks"),
    ("positions ignore the start", "src/embed.c", "size_t row = inlay_start_of(work, b, sequence.count) + block->s;", "size_t row = block->s;"),
    ("computed positions ignore the start", "src/embed.c", "+ part->s)};\n    size_t bytes = at_most(", "+ 0)};\n    size_t bytes = at_most("),
    ("added positions ignore the start", "src/embed.c", "+ part->s)};\n    struct inlay_generator generator;\n    const unsigned char *rows[", "+ 0)};\n    struct inlay_generator generator;\n    const unsigned char *rows["),
    ("the product and the sum are fused", "src/avx2/vec.h", "return _mm256_add_ps(a, b);", "return _mm256_fmadd_ps(a, _mm256_set1_ps(1.0000001f), b);"),
    ("phases keep 96 bits", "src/exact.c", "        turns[i] = inlay_mul_add(frequency->limb[i], x.mantissa, 0, &carry);",
     "        turns[i] = i > 2 ? 0 : inlay_mul_add(i == 2 ? frequency->limb[i] & 0xffffffff00000000 : frequency->limb[i], x.mantissa, 0, &carry);"),
    ("halves round up instead of to even", "src/rounding.c", "bool tie = rest == half && !leading.inexact;", "bool tie = false;"),
    ("rounding truncates", "src/rounding.c", "+ kept + (above ||", "+ kept + (0 && above ||"),
    ("the last cosine of an odd dim is written", "src/sinusoid.c", ".cosines = pairs - (incomplete && !cos_first),", ".cosines = pairs,"),
    ("the last sine of an odd dim is written behind the cosines", "src/sinusoid.c", ".sines = pairs - (incomplete && cos_first),", ".sines = pairs,"),
    ("layouts are swapped", "src/generator.c", ".interleaved = placement->interleaved,", ".interleaved = !placement->interleaved,"),
    ("the host's rounding mode reaches the kernels", "src/fpenv.h", "        _mm_setcsr(control);", "        (void)0;"),
    ("the host's control word is not restored", "src/fpenv.h", "        _mm_setcsr(host.mxcsr);", "        (void)host;"),
    ("a position equal to the limit is accepted", "src/validate.c", "n <= limit - first)", "n <= limit - first + 1)"),
    ("a negative position is accepted", "src/validate.c", "if (first <= limit && n", "if (n"),
    ("an output one byte into an input is accepted", "src/validate.h", "a.begin < b.end && b.begin < a.end", "a.begin < b.end && b.begin + 1 < a.end"),
    ("a stride one byte short is accepted", "src/validate.c", "if (stride_bytes < row_bytes)", "if (stride_bytes + 1 < row_bytes)"),
    ("the bytes of an array may wrap", "src/validate.c", "if (__builtin_mul_overflow(rows - 1, stride_bytes, &bytes) || __builtin_add_overflow(bytes, row_bytes, &bytes))",
     "bytes = (rows - 1) * stride_bytes + row_bytes; if (0)"),
    ("what a later version appended is ignored", "src/validate.c", "return appended == 0;", "return true;"),
    ("an ISA that does not run is chosen", "src/dispatch.c", "if (!runs)\n            continue;", "(void)runs;"),
    ("INLAY_ISA is ignored", "src/dispatch.c", "if (wanted != NULL && strcmp(wanted, kernels->name) == 0)", "if (0)"),
    ("a hot call allocates", "src/embed.c", "struct inlay_fpenv host = inlay_fpenv_enter();", "struct inlay_fpenv host = inlay_fpenv_enter(); extern void *malloc(size_t); extern void free(void *); void *volatile leak = malloc(8); free(leak);"),
    ("streamed stores are not fenced", "src/embed.c", "        inlay_store_fence();", "        (void)0;"),
    ("a streamed table is not fenced", "src/rows.c", "        inlay_store_fence();", "        (void)0;"),
    ("an allocator without functions is called", "src/memory.c", "chosen->allocate != NULL && chosen->release != NULL ?", "1 ?"),
    ("a layer believes the size of a later view", "src/layer.c", "    known.size = sizeof known;", "    known.dim++;"),
    ("lanes are added in another order", "src/simd/norm.h", "sums[k] = vec_double_add(sums[k], sums[k + half]);", "sums[k] = vec_double_add(sums[k], sums[2 * half - 1 - k]);"),
    ("the last columns all go to the first lane", "src/simd/norm.h", "            lanes[lane] += last[lane];", "            lanes[0] += last[lane];"),
    ("the last columns are not added up", "src/simd/norm.h", "    size_t left = columns - column;\n    for (size_t i = 0; i < left; i++) {\n        last[i] =", "    size_t left = 0;\n    for (size_t i = 0; i < left; i++) {\n        last[i] ="),
    ("epsilon is dropped", "src/simd/norm.h", "1 / vec_double_sqrt_one(variance + (double)epsilon)", "1 / vec_double_sqrt_one(variance)"),
    ("gamma is dropped", "src/simd/norm.h", "        x = vec_double_mul(x, gamma);", "        {}"),
    ("beta is dropped", "src/simd/norm.h", "        x = vec_double_add(x, beta);", "        {}"),
    ("the mean stays in", "src/simd/norm.h", "        x = vec_double_sub(x, vec_double_set1(row->mean));", "        {}"),
    ("a variance whose digits cancel is taken as it is", "src/simd/norm.h", "if (variance < mean * mean * INLAY_NORM_CANCELLED)", "if (variance < 0)"),
    ("rows share the first one's factor", "src/simd/norm.h", "norm_value(from, &row[i], low_gamma, low_beta, terms)", "norm_value(from, &row[0], low_gamma, low_beta, terms)"),
    ("pieces of long rows begin within a block", "src/stages.c", "BUFFER_FLOATS / group->count / COLUMN_STEP * COLUMN_STEP", "BUFFER_FLOATS / group->count"),
    ("the segment comes behind the position all the same", "src/stages.c", "    if (work->segments_first)\n        sum_segments_first(group, has_terms ? terms : NULL);\n    else\n        sum_tokens", "    sum_tokens"),
    ("roots are cut off, not rounded", "src/scalar/kernels.c", "    root += rest > root; /* beyond (root + 1/2)^2 */", "    {}"),
    ("scalar adds in one lane", "src/scalar/kernels.c", "lane[column % 16] = lane[column % 16] + term;", "lane[0] = lane[0] + term;"),
    ("NaN is lost in bfloat16", "src/simd/cast.h", "return vec_round_bf16_any(x);", "return vec_round_bf16(x);"),
    ("NaN is lost in scalar's 16-bit types", "src/scalar/kernels.c", "infinity | quiet | fraction", "infinity | fraction"),
    ("a cast has no tail", "src/simd/cast.h", "    if (column < columns) {", "    if (0) {"),
    ("a streamed cast has no head", "src/simd/cast.h", "    if (head > 0)", "    if (0)"),
    ("a streamed cast has no tail", "src/simd/cast.h", "    if (end < columns)", "    if (0)"),
    ("Philox has nine rounds", "src/random.c", "PHILOX_ROUNDS = 10,", "PHILOX_ROUNDS = 9,"),
    ("the threshold of dropout is off by one", "src/random.c", "words[i] >= threshold", "words[i] > threshold"),
    ("the threshold of dropout is rounded down", "src/random.c", "return kept + (rest > half || (rest == half && kept % 2 == 1));", "(void)rest, (void)half; return kept;"),
    ("dropout does not scale what it keeps", "src/random.c", "? x * factor : 0;", "? x + 0 * factor : 0;"),
    ("the upper half of a block's number is lost", "src/random.c", "(uint32_t)((block + i) >> 32)", "0"),
    ("random tables are made in the host's environment", "src/random.c", "    struct inlay_fpenv host = inlay_fpenv_enter();\n    fill(&table);\n    inlay_fpenv_leave(host);", "    fill(&table);"),
    ("a part of a random table begins anew", "src/random.c", "(uint64_t)spec->first_row * table->dim", "0 * table->dim"),
    ("the row of zeros is random", "src/random.c", "zero ? 0 : (float)", "(float)"),
    ("quantiles are those of one tail", "src/random.c", "return below < above ? -size : size;", "return -size;"),
    ("truncation is not", "src/random.c", "if (spec->kind != INLAY_RANDOM_TRUNCATED_NORMAL)\n        return spread;", "return spread;"),
    ("an ISA's object calls libm", "src/avx2/kernels.c", "    embed_tile(tile);", "    extern double exp(double); volatile double x = exp(tile->scale); (void)x; embed_tile(tile);"),
    ("the upper half of a byte comes first", "src/avx2/vec.h", "_mm_unpacklo_epi8(bytes, _mm_srli_epi16(bytes, 4))", "_mm_unpacklo_epi8(_mm_srli_epi16(bytes, 4), bytes)"),
    ("the halves of a ggml block are swapped", "src/simd/stored.h", "within < 16 ? vec_load_low_u4(from) : vec_load_high_u4(from)", "within >= 16 ? vec_load_low_u4(from) : vec_load_high_u4(from)"),
    ("groups without zeros have 7 as theirs", "src/simd/stored.h", ".shift = vec_set1(-8)", ".shift = vec_set1(-7)"),
    ("zeros of odd groups are those of even ones", "src/simd/stored.h", ">> group % 2 * 4 & 15", "& 15"),
    ("the bias is dropped", "src/simd/stored.h", "terms.bias = vec_set1(stored_float(row->scales + 4));", "terms.bias = vec_set1(0);"),
    ("a float16 bias is read where the scale is", "src/simd/stored.h", "terms.bias = vec_set1_f16(row->scales + 2);", "terms.bias = vec_set1_f16(row->scales);"),
    ("an inverse scale is used as it is", "src/simd/stored.h", "vec_set1(1 / stored_float(row->scales))", "vec_set1(stored_float(row->scales))"),
    ("all blocks have the scale of the first group", "src/simd/stored.h", "size_t group = block * STORED_BLOCK >> __builtin_ctzl(row->group);", "size_t group = 0 * block;"),
    ("the last columns of a stored row are dropped", "src/simd/stored.h", "    if (within < left)", "    if (0)"),
    ("the last columns of a stored row are read as a whole vector", "src/simd/stored.h", "stored_load(type, copy, within)", "stored_load(type, from - bytes, within)"),
    ("a stored row that begins off a line loses its head", "src/simd/stored.h", "    if (first && lead > 0) {", "    if (first && lead > 0 && (at = STORED_LINE) == 0) {"),
    ("what does not fill a line is lost between chunks", "src/simd/stored.h", "        memcpy(lines, lines + end, lead);", "        (void)end;"),
    ("bfloat16 is read as float16", "src/avx512/vec.h", "_mm512_slli_epi32(wide, 16)", "_mm512_slli_epi32(wide, 13)"),
    ("scalar reads int8 as uint8", "src/scalar/kernels.c", "byte < 128 ? (int)byte", "byte < 255 ? (int)byte"),
    ("subnormal float16 are halved (scalar)", "src/scalar/kernels.c", "exponent > 0 ? exponent : 1", "exponent"),
    ("a float16 overflows to NaN", "src/quantize.c", "magnitude > infinite ?", "magnitude > beyond ?"),
    ("rows of zeros have the scale 0", "src/quantize.c", "range == 0 ? 1 : step < least_step", "step < least_step && range != 0"),
    ("4-bit numbers are chosen by a bias that is not stored", "src/quantize.c", "double bias = half_value(bias_half)", "double bias = range.least"),
    ("ties of Q8_0 go to even", "src/quantize.c", "(double)(int)((double)scaled + (scaled < 0 ? -0.5 : 0.5))", "nearest((double)scaled)"),
    ("numbers wrap where they exceed 4 bits", "src/quantize.c", "(unsigned char)clamped((double)(scaled + 8.5f), 0, 15)", "(unsigned char)(scaled + 8.5f)"),
    ("what no type holds is stored", "src/quantize.c", "    if (!within_limit(from, limit_of(to->type)))", "    if (0)"),
    ("scales may lie over the elements they belong to", "src/quantize.c", "inlay_extents_overlap(written.data, written.scales)", "0"),
    ("the largest error is the last one", "src/quantize.c", "largest = error > largest ? error : largest;", "largest = error;"),
    ("a kernel's symbol is exported", "src/avx2/kernels.c", "static void embed_f32_avx2", "void embed_f32_avx2(const struct inlay_embed_tile *); void embed_f32_avx2"),
    ("the id before padding is padding", "src/resolve.h", "id == (uint64_t)work->padding_id", "id + 1 == (uint64_t)work->padding_id"),
    ("ids are clamped to the row before the last", "src/resolve.h", "(int64_t)id < 0 ? 0 : vocab - 1", "(int64_t)id < 0 ? 0 : vocab - 1 - (vocab > 1)"),
    ("ids to skip are written", "src/resolve.h", "            return INLAY_SKIPPED;", "            return INLAY_BARE;"),
    ("the substitute is row 0", "src/resolve.h", "id = (uint64_t)work->substitute_id;", "id = 0;"),
    ("a shard has one row more", "src/resolve.h", "if (id >= tokens->rows && (tokens->vocab", "if (id > tokens->rows && (tokens->vocab"),
    ("every shard writes padding", "src/resolve.h", "(tokens->vocab > 0 || !zeros)", "!zeros"),
    ("rows of other shards are 0", "src/stages.c", "const float outside = -0.0f;", "const float outside = 0.0f;"),
    ("offsets may begin anywhere", "src/layer.c", "b == 0 ? offset == 0", "b == 0 ? offset <= batch->length"),
    ("a sequence may be a token longer than its room", "src/layer.c", "offset - before <= batch->padded_length", "offset - before <= batch->padded_length + 1"),
    ("positions that nobody takes must exist", "src/layer.c", "if (taken && !good)", "if (!good)"),
    ("positions that nobody takes are taken in turn", "src/layer.c", "    work->apart = true;\n", ""),
    ("padding is numbered", "src/resolve.h", "            return numbers->start - 1;", "            return numbers->counted++, numbers->start - 1;"),
    ("positions past a table take the row before its last", "src/stages.c", "(size_t)limit - 1 : 0", "(size_t)limit - 1 - (limit > 1) : 0"),
    ("rows of tokens behind the last are asked for", "src/stages.c", "left < most ? left : most);", "most);"),
    ("positions are computed by the size of a part", "src/embed.c", "sequence.count * work->dim * sizeof(float) >", "(part->s_end - part->s) * work->dim * sizeof(float) >"),
    ("means count rows that are none", "src/stages.c", "1 / (float)pooled", "1 / (float)sequence.count"),
    ("the first of pooled rows is added to 0", "src/stages.c", "if (pooled++ == 0) {", "if (pooled++ == 0 && 0) {"),
    ("segments are not read again as they become rows", "src/stages.c", "segment < work->segments->rows ? (size_t)segment : 0", "(size_t)segment"),
    ("dropout begins anew in each group of tokens", "src/stages.c", "(uint64_t)(group->first + i) * work->dim", "(uint64_t)i * work->dim"),
    ("padding of sequences is not written", "src/embed.c", "            memset(inlay_out_of(work, sequence, b, s), 0, row_bytes);", "            (void)row_bytes;"),
]
SUITES = ["isa", "api", "audit"]


def run(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)


def red_tests(build):
    """The tests that fail, or None where it does not even compile."""
    if run(["ninja", "-C", build]).returncode != 0:
        return None
    run(["meson", "test", "-C", build, "--no-rebuild", "--quiet", *(f"--suite={s}" for s in SUITES)])
    with open(f"{build}/meson-logs/testlog.json", encoding="utf-8") as log:
        results = [json.loads(line) for line in log]
    return [r["name"].split(" / ")[-1] for r in results if r["result"] not in ("OK", "SKIP", "EXPECTEDFAIL")]


def main():
    source, words = os.path.abspath(sys.argv[1]), sys.argv[2:]
    chosen = [m for m in MUTATIONS if not words or any(w in m[0] for w in words)]
    unseen = 0
    with tempfile.TemporaryDirectory() as folder:
        copy, build = os.path.join(folder, "inlay"), os.path.join(folder, "build")
        shutil.copytree(source, copy, ignore=shutil.ignore_patterns("build*", ".git"))
        setup = run(["meson", "setup", build, copy, "-Dtool=disabled", "-Dbench=disabled", "-Dtests=enabled"])
        if setup.returncode != 0 or red_tests(build) != []:
            sys.exit("the library as it is does not pass its tests\n" + setup.stdout)
        for what, name, before, after in chosen:
            path = os.path.join(copy, name)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            if text.count(before) != 1:
                print(f"NO LONGER FITS  {what}: {name} has {text.count(before)} of it", flush=True)
                unseen += 1
                continue
            with open(path, "w", encoding="utf-8") as file:
                file.write(text.replace(before, after))
            red = red_tests(build)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            unseen += not red
            seen = "DOES NOT COMPILE" if red is None else ", ".join(red) or "NOT SEEN"
            print(f"{what}: {seen}", flush=True)
    print(f"{len(chosen) - unseen} passed, {unseen} failed, 0 skipped")
    sys.exit(unseen != 0)


main()
