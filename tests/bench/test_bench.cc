// SPDX-License-Identifier: MIT
//
// What the benchmark computes of its samples, the ids that it makes, its bare loops with a norm, and its open loop
// under an invented clock.
#include "limits/loops.h"
#include "serve/open_loop.h"
#include "shapes/ids.h"
#include "timing/statistics.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <inlay/inlay.h>

namespace
{
void expect(bool holds, const char *what)
{
    if (holds)
        return;
    std::fprintf(stderr, "not so: %s\n", what);
    std::exit(1);
}

bool near(double a, double b)
{
    return std::abs(a - b) <= 1e-9 * std::abs(b);
}

void test_statistics()
{
    expect(median({3, 1, 2}) == 2 && median({4, 1, 2, 3}) == 2.5, "the median of an even number is a mean");
    std::vector<double> thousand;
    for (int i = 1000; i > 0; i--)
        thousand.push_back(i);
    expect(percentile(thousand, 0.5) == 500 && percentile(thousand, 0.99) == 990, "the 990th of 1000 is p99");
    expect(percentile(thousand, 0.999) == 999 && percentile(thousand, 1) == 1000, "p99.9 leaves one above it");
    expect(percentile({1, 2, 3}, 0.5) == 2, "a share between two values takes the larger one");
    expect(percentile({7}, 0.001) == 7 && percentile({7}, 0.999) == 7, "a single value is every percentile");
    const std::vector<double> ratios = ratios_of({2, 6, 3}, {1, 4, 3});
    expect(mean(ratios) == 1.5 && maximum(ratios) == 2 && minimum(ratios) == 1, "ratios are of the same rounds");
}

void test_equal_sizes()
{
    expect(near(equal_at({{400, 2}, {100, 0.5}}), 200), "halfway between the logarithms");
    expect(near(equal_at({{1, 0.5}, {2, 1.5}, {100, 0.5}, {400, 2}}), 200), "from the last crossing on");
    expect(equal_at({{1, 1.1}, {2, 3}}) == 0 && std::isinf(equal_at({{1, 2}, {2, 0.9}})), "at all sizes, at none");
}

void test_ids()
{
    const std::size_t n = 200000, vocab = 1000;
    for (const Ids kind : {Ids::uniform, Ids::zipf}) {
        const auto ids = make_ids(kind, vocab, n);
        expect(ids == make_ids(kind, vocab, n), "ids are the same in every run");
        std::vector<std::size_t> count(vocab);
        for (const std::int32_t id : ids)
            count.at(static_cast<std::size_t>(id))++;
        // Of 1000 ids the harmonic number is 7.485: id 0 has 1 / 7.485 of all, id 9 a tenth of that.
        const double of_first = static_cast<double>(count[0]) / n, of_tenth = static_cast<double>(count[9]) / n;
        const double first = kind == Ids::zipf ? 1 / 7.485 : 1e-3, tenth = kind == Ids::zipf ? 0.1 / 7.485 : 1e-3;
        expect(std::abs(of_first / first - 1) < 0.25 && std::abs(of_tenth / tenth - 1) < 0.25, "how often ids come");
        expect(count[vocab - 1] > 0, "the last id comes too");
    }
    const auto words = hash_words("Free, as free\n\tas (free) GPL-3", 1u << 30);
    expect(words.size() == 11, "words, and characters between them that are no space");
    expect(words[3] == words[6] && words[2] == words[4] && words[0] != words[3], "equal words have equal ids");
    // FNV-1a of "a", as its authors give it.
    expect(hash_words("a", std::size_t{1} << 31)[0] == static_cast<std::int32_t>(0xe40c292c & 0x7fffffff), "FNV-1a");
    if (has_text()) {
        const auto text = make_ids(Ids::text, 50000, 100000);
        expect(text.size() == 100000 && *std::max_element(text.begin(), text.end()) < 50000, "ids of a text");
        expect(std::find(text.begin() + 1, text.end(), text[0]) != text.end(), "the text comes again");
    }
}

// A small encoder: 7 rows, so that a group of rows between sum and norm is not full.
constexpr std::size_t encoder_dim = 96, encoder_rows = 7;

struct Encoder {
    alignas(64) float table[5 * encoder_dim], positions[encoder_rows * encoder_dim], segments[2 * encoder_dim];
    alignas(64) float gamma[encoder_dim], beta[encoder_dim];
    const std::int32_t ids[encoder_rows] = {4, 0, 2, 2, 1, 3, 0}, segment_ids[encoder_rows] = {0, 0, 1, 0, 1, 1, 1};

    Encoder()
    {
        const auto fill = [](float *x, std::size_t n, float frequency) {
            for (std::size_t i = 0; i < n; i++)
                x[i] = std::sin(frequency * static_cast<float>(i)) + 0.5f;
        };
        fill(table, std::size(table), 1.7f);
        fill(positions, std::size(positions), 0.9f);
        fill(segments, std::size(segments), 2.3f);
        fill(gamma, encoder_dim, 0.3f);
        fill(beta, encoder_dim, 3.1f);
    }

    void embed(Norm norm, bool segmented, float *out) const
    {
        const inlay_table tokens = inlay_table_f32(table, 5, encoder_dim);
        const inlay_table rows = inlay_table_f32(positions, encoder_rows, encoder_dim);
        const inlay_table types = inlay_table_f32(segments, 2, encoder_dim);
        inlay_layer_spec spec = inlay_layer_spec_default(&tokens);
        inlay_batch batch = inlay_batch_i32(ids, 1, encoder_rows, 0);
        spec.positions = &rows;
        if (segmented) {
            spec.segments = &types;
            batch.segment_ids = segment_ids;
            batch.segment_id_type = INLAY_ID_I32;
        }
        spec.norm = norm == Norm::layer ? INLAY_NORM_LAYER : norm == Norm::rms ? INLAY_NORM_RMS : INLAY_NORM_NONE;
        spec.gamma = norm == Norm::none ? nullptr : gamma;
        spec.beta = norm == Norm::layer ? beta : nullptr;
        spec.epsilon = 1e-3f;
        inlay_layer *layer;
        expect(inlay_layer_create(&spec, nullptr, &layer) == INLAY_OK, "the encoder has a layer");
        expect(inlay_forward(layer, &batch, out, encoder_dim * sizeof *out, nullptr, nullptr) == INLAY_OK, "it runs");
        inlay_layer_destroy(layer);
    }

    // Returns the same for a bare loop.
    BareRows bare(Norm norm, bool segmented, const Place *places, float *out) const
    {
        BareRows bare = {out,
                         encoder_dim,
                         encoder_rows,
                         ids,
                         reinterpret_cast<const unsigned char *>(table),
                         encoder_dim * sizeof *out};
        bare.places = places;
        bare.positions = positions;
        bare.segments = segmented ? segments : nullptr;
        bare.norm = norm;
        bare.gamma = gamma;
        bare.beta = beta;
        bare.epsilon = 1e-3f;
        return bare;
    }
};

// The limits of encoders compute the same floats as the library, in every mode.
void test_bare_loops()
{
    static const Encoder encoder;
    alignas(64) float expected[encoder_rows * encoder_dim], out[encoder_rows * encoder_dim];
    Place places[encoder_rows];
    for (std::uint32_t i = 0; i < encoder_rows; i++)
        places[i] = {i, i, static_cast<std::uint32_t>(encoder.segment_ids[i])};
    const Prefetch prefetches[] = {Prefetch::none, Prefetch::t0_line_ahead, Prefetch::t1_line_ahead, Prefetch::t1_ahead,
                                   Prefetch::t1_blocks};
    int runs;
    for (std::size_t isa = 0; const char *name = inlay_isa_at(isa, &runs); isa++)
        for (const Norm norm : {Norm::none, Norm::layer, Norm::rms})
            for (const bool segmented : {false, true}) {
                if (!runs || (norm == Norm::rms && segmented))
                    continue;
                encoder.embed(norm, segmented, expected);
                for (const Prefetch prefetch : prefetches)
                    for (const Stores stores : {Stores::cached, Stores::non_temporal}) {
                        std::fill(std::begin(out), std::end(out), 0.0f);
                        limit_loops_of(name).move(encoder.bare(norm, segmented, places, out), {prefetch, 2, stores});
                        expect(std::equal(std::begin(out), std::end(out), expected),
                               "a bare loop computes what the layer does");
                    }
            }
}

void test_open_loop()
{
    const auto requests = requests_of({0.5, 2}, 2);
    expect(requests.size() == 5 && requests[0].at == 0.25 && requests[2].kind == 1 && requests[3].kind == 0,
           "each kind in its period, from the middle of the first, in the order of time");
    // The clock moves by what a request takes, and by 1/16 when somebody looks.
    double clock = 100;
    std::vector<Latencies> latencies(2);
    run_open_loop(
        {{0, 1}, {0.25, 0}, {5, 0}}, [&] { return clock += 0.0625; },
        [&](std::size_t kind) { clock += kind == 1 ? 1 : 0.125; }, latencies);
    const Latencies &slow = latencies[1], &fast = latencies[0];
    expect(slow.total.size() == 1 && near(slow.work[0], 1.0625) && near(slow.total[0], 1.125), "work, and a look");
    expect(fast.total.size() == 2 && near(fast.work[0], 0.1875), "work alone");
    expect(near(fast.total[0], 1.125 + 0.0625 + 0.1875 - 0.25), "what arrives meanwhile waits until the slow one ends");
    expect(near(fast.total[1], 0.1875), "what arrives later does not");
}

} // namespace

int main()
{
    test_statistics();
    test_equal_sizes();
    test_ids();
    test_bare_loops();
    test_open_loop();
    std::puts("bench: all good");
}
