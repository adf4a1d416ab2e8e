// SPDX-License-Identifier: MIT
//
// Every page is written before it is timed: untouched pages all map to the same zero page.
#include "shapes/table_memory.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

void fill_floats(float *x, std::size_t n)
{
    for (std::size_t i = 0; i < n; i++) // a multiplicative hash, which vectorizes: tables have gigabytes
        x[i] = static_cast<float>(static_cast<std::int32_t>(static_cast<std::uint32_t>(i) * 2654435761u)) * 0x1p-31f;
}

struct Memory {
    PageSize size{};
    std::size_t bytes{};
    Pages<unsigned char> pages{};
};

// Replaces memory that is too small or in other pages. Returns true if it did, so the memory has to be filled.
static bool replaced(Memory &held, PageSize size, std::size_t bytes)
{
    if (held.pages && held.size == size && held.bytes >= bytes)
        return false;
    held.pages.reset(); // before allocating the new memory
    held.pages = make_pages<unsigned char>(bytes, size);
    held.size = size;
    held.bytes = bytes;
    return true;
}

const void *table_memory(PageSize size, std::size_t bytes)
{
    static Memory held;
    if (replaced(held, size, bytes)) {
        fill_floats(reinterpret_cast<float *>(held.pages.get()), bytes / sizeof(float));
        // Clearing the lowest bits leaves no E4M3 NaN, which real tables don't have.
        for (std::size_t at = 0; at < bytes; at++)
            held.pages[at] &= 0xfe;
    }
    return held.pages.get();
}

const void *scale_memory(PageSize size, std::size_t bytes)
{
    // Each byte is a power of two from 2^-15 to 2^-5, as in FP8 tables. Four of them are the float 3e29: its products
    // with int8 don't overflow.
    static constexpr unsigned char exponents[] = {0x78, 0x79, 0x7a, 0x70};
    static Memory held;
    if (replaced(held, size, bytes))
        for (std::size_t at = 0; at < bytes; at++)
            held.pages[at] = exponents[at % sizeof exponents];
    return held.pages.get();
}
