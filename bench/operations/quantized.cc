// SPDX-License-Identifier: MIT
//
// The operations on tables of 16-bit and quantized types, and their limits: loops that read a row's bytes and write as
// many floats as it has columns. They don't read zero points, which take 4 bits per group of columns.
#include "operations/operations.h"

// The rows of a quantized table, without scales in separate arrays.
static BareRows codes(const Fixture &f, inlay_element_type type)
{
    const inlay_table &tokens = f.quantized[type].tokens;
    return {f.out, tokens.dim, f.rows, f.ids, static_cast<const unsigned char *>(tokens.data), tokens.stride_bytes};
}

// The same rows, with their scales.
static BareRows scaled_codes(const Fixture &f, inlay_element_type type)
{
    BareRows rows = codes(f, type);
    rows.scales = static_cast<const unsigned char *>(f.quantized[type].tokens.scales);
    rows.scale_bytes = scale_bytes(type, rows.dim);
    return rows;
}

// The same rows and scales, with position rows.
static BareRows positioned_codes(const Fixture &f, inlay_element_type type)
{
    BareRows rows = scaled_codes(f, type);
    rows.ids = f.tiled.ids.data();
    rows.places = f.tiled.places.data();
    rows.positions = f.learned;
    return rows;
}

// Returns a type's name in operation names, where float16 is f16.
static std::string name_of(inlay_element_type type)
{
    const std::string name = inlay_element_type_name(type, 0);
    const std::size_t at = name.find("float");
    return at == std::string::npos ? name : name.substr(0, at + 1) + name.substr(at + 5);
}

static inlay_element_type type_of(int index)
{
    return static_cast<inlay_element_type>(index);
}

// Returns the type whose limits also apply to `type`: the first one with as many bytes of rows and scales.
static inlay_element_type limit_of(inlay_element_type type)
{
    static constexpr std::size_t dim = 256;
    const auto as_many = [type](inlay_element_type other) {
        return inlay_table_row_bytes(other, dim) == inlay_table_row_bytes(type, dim) &&
               scale_bytes(other, dim) == scale_bytes(type, dim);
    };
    int first = INLAY_F16;
    while (!as_many(type_of(first)))
        first++;
    return type_of(first);
}

void add_compact_operations(std::vector<Operation> &all)
{
    const Modes &modes = prefetching_modes(); // no cache holds these outputs
    for (int i = INLAY_F16; i < INLAY_ELEMENT_TYPES; i++) {
        const inlay_element_type type = type_of(i);
        const std::string expand = "expand_" + name_of(limit_of(type)), streams = "streams_" + name_of(limit_of(type));
        all.push_back({Role::kernel, "embed_" + name_of(type), compact, same_stores, 1, in_modes(expand, modes),
                       in_modes(streams, modes), reuse(embed),
                       [type](const Fixture &f, inlay_layer_spec &spec) { spec.tokens = &f.quantized[type].tokens; }});
        if (limit_of(type) != type)
            continue;
        add_limits(all, expand, compact, 0, 1, modes, [type](const Fixture &f) { return codes(f, type); });
        add_limits(all, streams, compact, 0, 1, modes, [type](const Fixture &f) { return positioned_codes(f, type); });
    }
}

// Adds the gather of short rows of a type, and its limits. `passes` counts codes read and floats written.
static void add_small(std::vector<Operation> &all, inlay_element_type type, unsigned passes)
{
    const bool scaled = type == INLAY_I8;
    const std::string name = name_of(type), rows = "rows_" + name, streams = "rows_scales_" + name;
    const auto gather = [type](const Fixture &f, float *out, const inlay_executor *executor) {
        const inlay_table &tokens = f.quantized[type].tokens;
        require(inlay_gather(&tokens, f.next_ids(), INLAY_ID_I32, f.rows, 1, out, tokens.dim * sizeof(float), executor,
                             nullptr));
    };
    const auto limit = [type](const Fixture &f, bool with_scales) {
        BareRows bare = with_scales ? scaled_codes(f, type) : codes(f, type);
        bare.ids = f.next_ids();
        return bare;
    };
    all.push_back({Role::kernel, "small_" + name, small, 0, passes, in_modes(rows, all_modes()),
                   scaled ? in_modes(streams, all_modes()) : std::vector<std::string>(), reuse(gather)});
    add_limits(all, rows, small, 0, passes, all_modes(), [limit](const Fixture &f) { return limit(f, false); });
    if (scaled)
        add_limits(all, streams, small, 0, passes, all_modes(), [limit](const Fixture &f) { return limit(f, true); });
}

void add_small_operations(std::vector<Operation> &all)
{
    add_small(all, INLAY_F32, 2);
    add_small(all, INLAY_I8, 5);
    add_small(all, INLAY_U8_ROWWISE, 5);
    add_small(all, INLAY_U4_ROWWISE, 9);
}
