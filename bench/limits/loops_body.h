// SPDX-License-Identifier: MIT
//
// The bare loops, over operations that the including file defines: the type Line of 64 bytes; load(), store(),
// stream(), add(), multiply() and broadcast() for it; Sums, a line in double; zero_sums(), widen(), add(), add_square()
// and total() for it; fence(), called after non-temporal stores; WORD, the attributes of these functions; and TARGET,
// the attributes of a loop. Included once by each loops*.cc.
//
// Non-temporal stores only write whole cache lines, whatever the register width. A line that is written partly with
// non-temporal and partly with ordinary stores goes to memory twice: unaligned rows took twice as long.

static constexpr std::size_t line_bytes = 64;
static constexpr std::size_t line = line_bytes / sizeof(float);

// Returns how many floats precede the next cache line, at most n.
static std::size_t before_line(const float *out, std::size_t n)
{
    return std::min(n, (0 - reinterpret_cast<std::uintptr_t>(out)) % line_bytes / sizeof *out);
}

static constexpr std::size_t max_block_bytes = 128 << 10;

static const unsigned char *row_of(const BareRows &all, std::size_t i)
{
    return all.table + static_cast<std::size_t>(all.ids[i]) * all.stride;
}

static const unsigned char *scales_of(const BareRows &all, std::size_t i)
{
    return all.scales + static_cast<std::size_t>(all.ids[i]) * all.scale_bytes;
}

// Inlined: gcc considers a function that only prefetches to be pure, and removes calls to it.
WORD static void prefetch_lines(const unsigned char *bytes, std::size_t n)
{
    const unsigned char *at = bytes - reinterpret_cast<std::uintptr_t>(bytes) % line_bytes;
    for (; at < bytes + n; at += line_bytes)
        __builtin_prefetch(at, 0, 2); // to L2
}

WORD static void prefetch_row(const BareRows &all, std::size_t i)
{
    if (all.scales)
        prefetch_lines(scales_of(all, i), all.scale_bytes);
    prefetch_lines(row_of(all, i), all.stride);
}

// Returns the 64 bytes at offset `at` of a row of `stride` bytes, or its last 64 bytes if fewer follow.
static const unsigned char *line_of(const unsigned char *row, std::size_t stride, std::size_t at)
{
    return row + std::min(at, stride < line_bytes ? 0 : stride - line_bytes);
}

// Returns the sum of a row's scales, to be added to the row.
WORD static Line read_scales(const BareRows &all, std::size_t i)
{
    const unsigned char *scales = scales_of(all, i);
    float first;
    std::memcpy(&first, scales, sizeof first);
    Line sum = broadcast(first);
    for (std::size_t at = 0; at + line_bytes <= all.scale_bytes; at += line_bytes)
        sum = add(sum, load(scales + at));
    return sum;
}

// The terms of an output row: how many rows are added to the table's, if its scales are, and the norm of the sum.
template <int count, bool with_scales, Norm of_sum> struct Terms {
    static constexpr int addends = count;
    static constexpr bool scaled = with_scales;
    static constexpr Norm norm = of_sum;
};

// Internal linkage: each including file has its own Line.
namespace
{
// The lines of the sum of a token's rows; for a norm, also of its statistics.
template <class Terms> struct SumLines {
    const unsigned char *row;
    std::size_t stride;
    const float *position, *segment;
    Line scales;
    Sums values, squares;

    // Returns the line at column `to`. Its bytes of the table's row start at `at`.
    WORD Line make(std::size_t to, std::size_t at)
    {
        Line made = load(line_of(row, stride, at));
        if constexpr (Terms::scaled)
            made = add(made, scales);
        if constexpr (Terms::addends > 0)
            made = add(made, load(position + to));
        if constexpr (Terms::addends > 1)
            made = add(made, load(segment + to));
        if constexpr (Terms::norm == Norm::layer)
            values = add(values, widen(made));
        if constexpr (Terms::norm != Norm::none)
            squares = add_square(squares, widen(made));
        return made;
    }
};

// The lines of a normalized row.
template <Norm norm> struct NormLines {
    const float *row, *gamma, *beta;
    float minus_high, minus_low, factor; // the mean is high + low

    WORD Line make(std::size_t to, std::size_t)
    {
        Line made = load(row + to);
        if constexpr (norm == Norm::layer)
            made = add(add(made, broadcast(minus_high)), broadcast(minus_low));
        made = multiply(multiply(made, broadcast(factor)), load(gamma + to));
        if constexpr (norm == Norm::layer)
            made = add(made, load(beta + to));
        return made;
    }
};
} // namespace

template <class Terms> WORD static SumLines<Terms> sum_lines(const BareRows &all, std::size_t i)
{
    SumLines<Terms> lines = {row_of(all, i), all.stride, nullptr, nullptr, broadcast(0), zero_sums(), zero_sums()};
    if constexpr (Terms::scaled)
        lines.scales = read_scales(all, i);
    if constexpr (Terms::addends > 0)
        lines.position = all.positions + all.places[i].position * all.dim;
    if constexpr (Terms::addends > 1)
        lines.segment = all.segments + all.places[i].segment * all.dim;
    return lines;
}

template <class Terms>
WORD static NormLines<Terms::norm> norm_lines(const BareRows &all, const float *row, const SumLines<Terms> &sums)
{
    const double n = static_cast<double>(all.dim), mean = total(sums.values) / n;
    const double factor = 1 / std::sqrt(total(sums.squares) / n - mean * mean + static_cast<double>(all.epsilon));
    const float high = static_cast<float>(mean), low = static_cast<float>(mean - static_cast<double>(high));
    return {row, all.gamma, all.beta, -high, -low, static_cast<float>(factor)};
}

// Writes a row, line by line. In line-ahead modes, prefetches one line of `next` per line written.
template <Prefetch prefetch, bool nt, class Lines>
WORD static void write_row(float *out, std::size_t dim, std::size_t step, const unsigned char *next, Lines &lines)
{
    // Floats outside whole lines are written without reading the row there; other lines cover those bytes.
    std::size_t to = nt ? before_line(out, dim) : 0, at = 0;
    std::fill_n(out, to, 1.0f);
    for (; to + line <= dim; to += line, at += step) {
        if constexpr (prefetch == Prefetch::t0_line_ahead)
            __builtin_prefetch(next + at);
        if constexpr (prefetch == Prefetch::t1_line_ahead)
            __builtin_prefetch(next + at, 0, 2);
        const Line made = lines.make(to, at);
        if constexpr (nt)
            stream(out + to, made);
        else
            store(out + to, made);
    }
    if (to < dim && (nt || dim < line))
        std::fill_n(out + to, dim - to, 1.0f);
    else if (to < dim) // the last 16 floats, some of them again
        store(out + dim - line, lines.make(dim - line, at));
}

static float *out_of(const BareRows &all, std::size_t i)
{
    return all.out + (all.places ? all.places[i].out : i) * all.dim;
}

// The most rows between their sum and their norm, and their floats, which stay in L1. Statistics of one row are
// computed while others are moved: 4 rows of 384 floats take 0.86 to 0.92 of the time of single rows. Of 768 floats, 2
// rows are best (Zen 4).
static constexpr std::size_t max_normed_rows = 4, normed_floats = 1536;

template <Prefetch prefetch, bool nt, class Terms>
TARGET static void move_rows(const BareRows &all, std::size_t distance)
{
    [[maybe_unused]] alignas(line_bytes) float sums[Terms::norm == Norm::none ? 1 : max_normed_dim];
    [[maybe_unused]] NormLines<Terms::norm> normed[max_normed_rows];
    [[maybe_unused]] const std::size_t together = std::clamp<std::size_t>(normed_floats / all.dim, 1, max_normed_rows);
    const std::size_t step = all.stride * line / all.dim; // bytes of the table's row per line of output
    if constexpr (prefetch == Prefetch::t1_blocks)
        distance = std::clamp<std::size_t>(max_block_bytes / all.stride, 1, distance);
    [[maybe_unused]] std::size_t prefetched = 0; // rows
    if constexpr (prefetch == Prefetch::t1_ahead)
        for (; prefetched < std::min(distance, all.rows); prefetched++)
            prefetch_row(all, prefetched);
    for (std::size_t i = 0; i < all.rows; i++) {
        const unsigned char *next = nullptr;
        if constexpr (prefetch == Prefetch::t0_line_ahead || prefetch == Prefetch::t1_line_ahead)
            next = row_of(all, i + distance < all.rows ? i + distance : i);
        if constexpr (prefetch == Prefetch::t1_ahead)
            if (prefetched < all.rows)
                prefetch_row(all, prefetched++);
        if constexpr (prefetch == Prefetch::t1_blocks)
            if (i == prefetched)
                for (; prefetched < std::min(i + distance, all.rows); prefetched++)
                    prefetch_row(all, prefetched);
        SumLines<Terms> lines = sum_lines<Terms>(all, i);
        if constexpr (Terms::norm == Norm::none) {
            write_row<prefetch, nt>(out_of(all, i), all.dim, step, next, lines);
        } else {
            const std::size_t k = i % together;
            write_row<prefetch, false>(sums + k * all.dim, all.dim, step, next, lines);
            normed[k] = norm_lines(all, sums + k * all.dim, lines);
            if (k + 1 == together || i + 1 == all.rows)
                for (std::size_t j = 0; j <= k; j++)
                    write_row<Prefetch::none, nt>(out_of(all, i - k + j), all.dim, 0, nullptr, normed[j]);
        }
    }
    if constexpr (nt)
        fence();
}

template <Prefetch prefetch, bool nt> static void move_streams(const BareRows &all, std::size_t distance)
{
    if (all.norm == Norm::layer && all.segments)
        move_rows<prefetch, nt, Terms<2, false, Norm::layer>>(all, distance);
    else if (all.norm == Norm::layer)
        move_rows<prefetch, nt, Terms<1, false, Norm::layer>>(all, distance);
    else if (all.norm == Norm::rms)
        move_rows<prefetch, nt, Terms<1, false, Norm::rms>>(all, distance);
    else if (all.segments)
        move_rows<prefetch, nt, Terms<2, false, Norm::none>>(all, distance);
    else if (all.positions && all.scales)
        move_rows<prefetch, nt, Terms<1, true, Norm::none>>(all, distance);
    else if (all.positions)
        move_rows<prefetch, nt, Terms<1, false, Norm::none>>(all, distance);
    else if (all.scales)
        move_rows<prefetch, nt, Terms<0, true, Norm::none>>(all, distance);
    else
        move_rows<prefetch, nt, Terms<0, false, Norm::none>>(all, distance);
}

template <bool nt> static void move_with(const BareRows &all, Prefetch prefetch, std::size_t distance)
{
    switch (prefetch) {
    case Prefetch::none:
        return move_streams<Prefetch::none, nt>(all, distance);
    case Prefetch::t0_line_ahead:
        return move_streams<Prefetch::t0_line_ahead, nt>(all, distance);
    case Prefetch::t1_line_ahead:
        return move_streams<Prefetch::t1_line_ahead, nt>(all, distance);
    case Prefetch::t1_ahead:
        return move_streams<Prefetch::t1_ahead, nt>(all, distance);
    case Prefetch::t1_blocks:
        return move_streams<Prefetch::t1_blocks, nt>(all, distance);
    }
}

static void move(const BareRows &all, Mode mode)
{
    if (mode.stores == Stores::non_temporal)
        return move_with<true>(all, mode.prefetch, mode.rows);
    move_with<false>(all, mode.prefetch, mode.rows);
}

TARGET static void scale(float *x, std::size_t n, float factor)
{
    std::size_t i = 0;
    for (; i + 4 * line <= n; i += 4 * line) { // unrolled: in L1 the loop overhead would be the limit
        store(x + i, multiply(load(x + i), broadcast(factor)));
        store(x + i + line, multiply(load(x + i + line), broadcast(factor)));
        store(x + i + 2 * line, multiply(load(x + i + 2 * line), broadcast(factor)));
        store(x + i + 3 * line, multiply(load(x + i + 3 * line), broadcast(factor)));
    }
    for (; i + line <= n; i += line)
        store(x + i, multiply(load(x + i), broadcast(factor)));
    for (; i < n; i++)
        x[i] *= factor;
}

TARGET static void add_floats(float *out, const float *x, const float *y, std::size_t n)
{
    std::size_t i = 0;
    for (; i + line <= n; i += line)
        store(out + i, add(load(x + i), load(y + i)));
    for (; i < n; i++)
        out[i] = x[i] + y[i];
}

TARGET static float sum(const float *x, std::size_t n)
{
    // Enough partial sums to hide the latency of an addition while reading from L2. The hardware prefetches sequential
    // reads.
    static constexpr std::size_t sums = 4;
    Line partial[sums] = {broadcast(0), broadcast(0), broadcast(0), broadcast(0)};
    std::size_t i = 0;
    for (; i + sums * line <= n; i += sums * line)
        for (std::size_t j = 0; j < sums; j++)
            partial[j] = add(partial[j], load(x + i + j * line));
    float floats[line], total = 0;
    for (std::size_t j = 1; j < sums; j++)
        partial[0] = add(partial[0], partial[j]);
    store(floats, partial[0]);
    for (const float each : floats)
        total += each;
    for (; i < n; i++)
        total += x[i];
    return total;
}

TARGET static void scale_nt(float *x, std::size_t n, float factor)
{
    const std::size_t head = before_line(x, n);
    for (std::size_t i = 0; i < head; i++)
        x[i] *= factor;
    std::size_t i = head;
    for (; i + line <= n; i += line)
        stream(x + i, multiply(load(x + i), broadcast(factor)));
    for (; i < n; i++)
        x[i] *= factor;
    fence();
}

TARGET static void fill_nt(float *out, std::size_t n)
{
    std::size_t i = before_line(out, n);
    std::fill_n(out, i, 1.0f);
    for (; i + line <= n; i += line)
        stream(out + i, broadcast(1));
    std::fill_n(out + i, n - i, 1.0f);
    fence();
}
