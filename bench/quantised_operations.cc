// SPDX-License-Identifier: MIT
//
// The operations on tables of 16-bit and quantised types, and their limits: loops that read the bytes of a row and
// write as many floats as it has columns.
#include "operations.h"

template <inlay_element_type type>
static void embed_quantised(const Fixture &f, const inlay_executor *executor, std::size_t calls)
{
    repeat(calls,
           [&] { require(inlay_forward(f.quantised[type].caching, &f.batch, f.out, f.row_bytes, executor, nullptr)); });
}

// The three passes over an int8 table, the quantised type whose plain loop is fastest.
static void three_passes_i8(const Fixture &f, const inlay_executor *, std::size_t calls)
{
    const std::size_t dim = f.shape.dim;
    const auto *table = static_cast<const std::int8_t *>(f.quantised[INLAY_I8].tokens.data);
    const auto *scales = static_cast<const float *>(f.quantised[INLAY_I8].tokens.scales);
    repeat(calls, [&] {
        for (std::size_t i = 0; i < f.rows; i++) {
            const std::int8_t *row = table + static_cast<std::size_t>(f.ids[i]) * dim;
            const float step = scales[f.ids[i]];
            float *out = f.out + i * dim;
            for (std::size_t column = 0; column < dim; column++)
                out[column] = row[column] * step;
        }
        limit_loops().scale(f.out, f.rows * dim, f.scale);
        const std::size_t sequence = f.shape.seq * dim;
        for (std::size_t b = 0; b < f.shape.batch; b++)
            limit_loops().add(f.out + b * sequence, f.out + b * sequence, f.learned, sequence);
    });
}

// The rows of a quantised table, without what lies in other arrays.
template <inlay_element_type type> static BareRows codes(const Fixture &f)
{
    const inlay_table &tokens = f.quantised[type].tokens;
    return {f.out, tokens.dim, f.rows, f.ids, static_cast<const unsigned char *>(tokens.data), tokens.stride_bytes};
}

// The same with their scales. Zero points, of 4 bits for a group of columns, are left out.
template <inlay_element_type type> static BareRows scaled_codes(const Fixture &f)
{
    BareRows rows = codes<type>(f);
    const inlay_table &tokens = f.quantised[type].tokens;
    rows.scales = static_cast<const unsigned char *>(tokens.scales);
    rows.scale_bytes = scale_bytes(tokens.type, tokens.dim);
    return rows;
}

// The same with position rows.
template <inlay_element_type type> static BareRows positioned_codes(const Fixture &f)
{
    BareRows rows = scaled_codes<type>(f);
    rows.ids = f.tiled.ids.data();
    rows.places = f.tiled.places.data();
    rows.positions = f.learned;
    return rows;
}

// Adds the layer over a table of that type, and its limits; types whose tables have the same bytes share them.
template <inlay_element_type type>
static void add_compact(std::vector<Operation> &all, const std::string &name, const std::string &limit)
{
    const std::string expand = "expand_" + limit, streams = "streams_" + limit;
    const Modes &modes = prefetching_modes(); // no cache holds these outputs
    all.push_back({Role::kernel, "embed_" + name, compact, fused, 1, in_modes(expand, modes), in_modes(streams, modes),
                   embed_quantised<type>});
    if (name != limit)
        return;
    add_limits(all, expand, compact, 0, 1, modes, codes<type>);
    add_limits(all, streams, compact, 0, 1, modes, positioned_codes<type>);
}

void add_compact_operations(std::vector<Operation> &all)
{
    all.push_back({Role::limit, "three_passes_i8", compact, 0, 1, {}, {}, three_passes_i8});
    add_compact<INLAY_F16>(all, "f16", "f16");
    add_compact<INLAY_BF16>(all, "bf16", "f16");
    add_compact<INLAY_I8>(all, "i8", "i8");
    add_compact<INLAY_I8_INVERSE>(all, "i8_inverse", "i8");
    add_compact<INLAY_U8_ROWWISE>(all, "u8_rowwise", "u8_rowwise");
    add_compact<INLAY_U4_ROWWISE>(all, "u4_rowwise", "u4_rowwise");
    add_compact<INLAY_U4_GROUPED>(all, "u4_grouped", "u4_grouped");
    add_compact<INLAY_Q8_0>(all, "q8_0", "q8_0");
    add_compact<INLAY_Q4_0>(all, "q4_0", "q4_0");
    add_compact<INLAY_U4_GROUPED_FLAT>(all, "u4_grouped_flat", "u4_grouped");
    add_compact<INLAY_E4M3>(all, "e4m3", "i8");
    add_compact<INLAY_E4M3_E8M0>(all, "e4m3_e8m0", "e4m3_e8m0");
    add_compact<INLAY_Q4_1>(all, "q4_1", "q4_1");
    add_compact<INLAY_Q5_0>(all, "q5_0", "q5_0");
    add_compact<INLAY_Q5_1>(all, "q5_1", "q5_1");
    add_compact<INLAY_IQ4_NL>(all, "iq4_nl", "q4_0");
    add_compact<INLAY_MXFP4>(all, "mxfp4", "mxfp4");
    add_compact<INLAY_NVFP4>(all, "nvfp4", "q4_0");
    add_compact<INLAY_Q3_K>(all, "q3_k", "q3_k");
    add_compact<INLAY_Q4_K>(all, "q4_k", "q4_0");
    add_compact<INLAY_Q5_K>(all, "q5_k", "q5_0");
    add_compact<INLAY_Q6_K>(all, "q6_k", "q6_k");
}

template <inlay_element_type type>
static void gather_small(const Fixture &f, const inlay_executor *executor, std::size_t calls)
{
    const inlay_table &tokens = f.quantised[type].tokens;
    repeat(calls, [&] {
        require(inlay_gather(&tokens, f.next_ids(), INLAY_ID_I32, f.rows, 1, f.out, tokens.dim * sizeof(float),
                             executor, nullptr));
    });
}

template <inlay_element_type type> static BareRows small_codes(const Fixture &f)
{
    BareRows rows = codes<type>(f);
    rows.ids = f.next_ids();
    return rows;
}

template <inlay_element_type type> static BareRows small_scaled_codes(const Fixture &f)
{
    BareRows rows = scaled_codes<type>(f);
    rows.ids = f.next_ids();
    return rows;
}

// Adds the gather of short rows of that type, and its limits. `passes` counts codes read and floats written.
template <inlay_element_type type>
static void add_small(std::vector<Operation> &all, const std::string &name, unsigned passes)
{
    static constexpr bool scaled = type == INLAY_I8;
    const std::string rows = "rows_" + name, streams = "rows_scales_" + name;
    all.push_back({Role::kernel, "small_" + name, small, 0, passes, in_modes(rows, all_modes()),
                   scaled ? in_modes(streams, all_modes()) : std::vector<std::string>(), gather_small<type>});
    add_limits(all, rows, small, 0, passes, all_modes(), small_codes<type>);
    if (scaled)
        add_limits(all, streams, small, 0, passes, all_modes(), small_scaled_codes<type>);
}

void add_small_operations(std::vector<Operation> &all)
{
    add_small<INLAY_F32>(all, "f32", 2);
    add_small<INLAY_I8>(all, "i8", 5);
    add_small<INLAY_U8_ROWWISE>(all, "u8_rowwise", 5);
    add_small<INLAY_U4_ROWWISE>(all, "u4_rowwise", 9);
}
