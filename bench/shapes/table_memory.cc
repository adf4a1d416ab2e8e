// SPDX-License-Identifier: MIT
//
// Every page is written before it is timed: pages that were never written all map to the same page of zeros.
#include "shapes/table_memory.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

void fill_floats(float *x, std::size_t n)
{
    for (std::size_t i = 0; i < n; i++) // a multiplicative hash, which vectorises: tables have GiB
        x[i] = static_cast<float>(static_cast<std::int32_t>(static_cast<std::uint32_t>(i) * 2654435761u)) * 0x1p-31f;
}

struct Memory {
    PageSize size{};
    std::size_t bytes{};
    Pages<unsigned char> pages{};
};

// Returns whether the memory has to be filled, after replacing what is too small or in other pages.
static bool replaced(Memory &held, PageSize size, std::size_t bytes)
{
    if (held.pages && held.size == size && held.bytes >= bytes)
        return false;
    held.pages.reset(); // before the new memory is allocated
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
        // Without their lowest bits no byte is the NaN of E4M3, which tables of that type do not have.
        for (std::size_t at = 0; at < bytes; at++)
            held.pages[at] &= 0xfe;
    }
    return held.pages.get();
}

const void *scale_memory(PageSize size, std::size_t bytes)
{
    // Each is a power of two between 2^-15 and 2^-5, as FP8 tables have them, and four are a float whose products with
    // int8 do not overflow, 3e29.
    static constexpr unsigned char exponents[] = {0x78, 0x79, 0x7a, 0x70};
    static Memory held;
    if (replaced(held, size, bytes))
        for (std::size_t at = 0; at < bytes; at++)
            held.pages[at] = exponents[at % sizeof exponents];
    return held.pages.get();
}
