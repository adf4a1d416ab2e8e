// SPDX-License-Identifier: MIT
//
// The layers of BERT-like encoders: learned positions, segments, positions by token, norms. Layers without a norm are
// compared with the plain layer on the same ISA, and with loops that read as many rows. Layers with a norm are compared
// with loops for the registers of that ISA, which also compute the norm. Stores are fixed, except for embed_norm.
#include "operations/operations.h"

static constexpr float epsilon = 1e-12f; // of BERT

static void learn_positions(const Fixture &f, inlay_layer_spec &spec)
{
    spec.sinusoid = nullptr;
    spec.cached_positions = 0;
    spec.scale = 1;
    spec.positions = &f.positions;
}

static void make_plain(const Fixture &f, inlay_layer_spec &spec)
{
    learn_positions(f, spec);
    store_alike(f, spec);
}

// As in transformers.
static void add_segments(const Fixture &f, inlay_layer_spec &spec)
{
    make_plain(f, spec);
    spec.segments = &f.segments;
    spec.segments_first = 1;
}

static Change normalized(const Change &change, inlay_norm norm)
{
    return [change, norm](const Fixture &f, inlay_layer_spec &spec) {
        change(f, spec);
        spec.norm = norm;
        spec.epsilon = epsilon;
        spec.gamma = f.learned; // any row of finite numbers
        spec.beta = norm == INLAY_NORM_LAYER ? f.learned : nullptr;
    };
}

static void count_tokens(const Fixture &f, inlay_layer_spec &spec)
{
    make_plain(f, spec);
    spec.position_mode = INLAY_POSITION_MODE_PADDING_AWARE;
    spec.padding_id = padding_id;
    spec.zero_rows = INLAY_ZERO_ROWS_TABLE;
}

static void embed_segments(const Fixture &f, float *out, const inlay_executor *executor)
{
    inlay_batch batch = f.batch;
    batch.segment_ids = f.segment_ids.data();
    batch.segment_id_type = INLAY_ID_I32;
    require(inlay_forward(f.layer, &batch, out, f.row_bytes, executor, nullptr));
}

static void embed_position_ids(const Fixture &f, float *out, const inlay_executor *executor)
{
    inlay_batch batch = f.batch;
    batch.position_ids = f.position_ids.data();
    batch.position_id_type = INLAY_ID_I32;
    require(inlay_forward(f.layer, &batch, out, f.row_bytes, executor, nullptr));
}

// The rows of a call with segments or a norm.
static BareCall streams_with(bool with_segments, Norm norm)
{
    return [=](const Fixture &f) {
        BareRows rows = streams_of(f);
        rows.segments = with_segments ? static_cast<const float *>(f.segments.data) : nullptr;
        rows.norm = norm;
        rows.gamma = rows.beta = f.learned;
        rows.epsilon = epsilon;
        return rows;
    };
}

void add_encoder_operations(std::vector<Operation> &all)
{
    static constexpr unsigned traits = parallel | same_stores;
    const auto names = [](const char *limit) { return in_modes(limit, all_modes()); };
    const std::vector<std::string> plain = {"learned"};
    const Change norm = normalized(learn_positions, INLAY_NORM_LAYER), rms = normalized(make_plain, INLAY_NORM_RMS);
    const Change encode = normalized(add_segments, INLAY_NORM_LAYER);
    const std::initializer_list<Operation> operations = {
        {Role::kernel, "embed_norm", prompts, same_stores, 2, names("norm_streams"), {}, reuse(embed), norm},
        {Role::kernel, "encoder", encoding, traits, 2, names("norm_segments"), {}, reuse(embed_segments), encode},
        {Role::kernel, "rms_norm", encoding, traits, 2, names("rms_streams"), {}, reuse(embed), rms},
        {Role::kernel, "segments", encoding, traits, 2, plain, names("streams_segments"), reuse(embed_segments),
         add_segments},
        {Role::kernel, "position_ids", encoding, traits, 2, plain, names("streams"), reuse(embed_position_ids),
         make_plain},
        {Role::kernel, "padding_aware", encoding, traits, 2, plain, names("streams"), reuse(embed), count_tokens},
        {Role::limit, "learned", encoding, per_isa, 2, {}, {}, reuse(embed), make_plain},
    };
    all.insert(all.end(), operations);
    const auto limits = [&](const char *name, unsigned series, unsigned of_isa, bool with_segments, Norm norm) {
        add_limits(all, name, series, of_isa, 2, all_modes(), streams_with(with_segments, norm));
    };
    limits("streams_segments", encoding, 0, true, Norm::none);
    limits("norm_streams", prompts, per_isa, false, Norm::layer);
    limits("norm_segments", encoding, per_isa, true, Norm::layer);
    limits("rms_streams", encoding, per_isa, false, Norm::rms);
}
