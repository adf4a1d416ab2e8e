// SPDX-License-Identifier: MIT
//
// The operations on tables of 16-bit and quantised types, and their limits: loops that read the bytes of a row and
// write as many floats as it has columns.
#include "operations/operations.h"

template <inlay_element_type type> static void read_quantised(const Fixture &f, inlay_layer_spec &spec)
{
    spec.tokens = &f.quantised[type].tokens;
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

// Returns the name of a type in those of operations, where float16 is f16.
static std::string name_of(inlay_element_type type)
{
    const std::string name = inlay_element_type_name(type, 0);
    const std::size_t at = name.find("float");
    return at == std::string::npos ? name : name.substr(0, at + 1) + name.substr(at + 5);
}

// Returns the type whose limits are those of a type: another one whose tables have as many bytes, or the type itself.
static constexpr inlay_element_type limit_of(inlay_element_type type)
{
    switch (type) {
    case INLAY_BF16:
        return INLAY_F16;
    case INLAY_I8_INVERSE:
    case INLAY_E4M3:
        return INLAY_I8;
    case INLAY_U4_GROUPED_FLAT:
        return INLAY_U4_GROUPED;
    case INLAY_U8_GROUPED:
        return INLAY_I8_GROUPED;
    case INLAY_IQ4_NL:
    case INLAY_NVFP4:
    case INLAY_Q4_K:
        return INLAY_Q4_0;
    case INLAY_Q5_K:
        return INLAY_Q5_0;
    default:
        return type;
    }
}

// Adds the layer over a table of each type from that one on, and its limits.
template <inlay_element_type type> static void add_compact(std::vector<Operation> &all)
{
    const std::string expand = "expand_" + name_of(limit_of(type)), streams = "streams_" + name_of(limit_of(type));
    const Modes &modes = prefetching_modes(); // no cache holds these outputs
    all.push_back({Role::kernel, "embed_" + name_of(type), compact, same_stores, 1, in_modes(expand, modes),
                   in_modes(streams, modes), reuse(embed), read_quantised<type>});
    if constexpr (limit_of(type) == type) {
        add_limits(all, expand, compact, 0, 1, modes, codes<type>);
        add_limits(all, streams, compact, 0, 1, modes, positioned_codes<type>);
    }
    if constexpr (type + 1 < INLAY_ELEMENT_TYPES)
        add_compact<static_cast<inlay_element_type>(type + 1)>(all);
}

void add_compact_operations(std::vector<Operation> &all)
{
    add_compact<INLAY_F16>(all);
}

template <inlay_element_type type>
static void gather_small(const Fixture &f, float *out, const inlay_executor *executor)
{
    const inlay_table &tokens = f.quantised[type].tokens;
    require(inlay_gather(&tokens, f.next_ids(), INLAY_ID_I32, f.rows, 1, out, tokens.dim * sizeof(float), executor,
                         nullptr));
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
template <inlay_element_type type> static void add_small(std::vector<Operation> &all, unsigned passes)
{
    static constexpr bool scaled = type == INLAY_I8;
    const std::string name = name_of(type), rows = "rows_" + name, streams = "rows_scales_" + name;
    all.push_back({Role::kernel, "small_" + name, small, 0, passes, in_modes(rows, all_modes()),
                   scaled ? in_modes(streams, all_modes()) : std::vector<std::string>(), reuse(gather_small<type>)});
    add_limits(all, rows, small, 0, passes, all_modes(), small_codes<type>);
    if (scaled)
        add_limits(all, streams, small, 0, passes, all_modes(), small_scaled_codes<type>);
}

void add_small_operations(std::vector<Operation> &all)
{
    add_small<INLAY_F32>(all, 2);
    add_small<INLAY_I8>(all, 5);
    add_small<INLAY_U8_ROWWISE>(all, 5);
    add_small<INLAY_U4_ROWWISE>(all, 9);
}
