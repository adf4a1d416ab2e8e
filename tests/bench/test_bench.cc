// SPDX-License-Identifier: MIT
//
// What the benchmark computes of its samples, the ids that it makes, and its open loop under an invented clock.
#include "serve/open_loop.h"
#include "shapes/ids.h"
#include "timing/statistics.h"

#include <cstdio>
#include <cstdlib>

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
    test_open_loop();
    std::puts("bench: all good");
}
