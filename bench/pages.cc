// SPDX-License-Identifier: MIT
//
// Pages from aligned_alloc, so that free needs no size, with the advice that turns them into huge ones or keeps them
// small. Nothing here writes to them: the caller decides when the system provides the memory.
#include "pages.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

// The huge page of x86-64, and of aarch64 with pages of 4 KiB.
static constexpr std::size_t huge_page = std::size_t{1} << 21;

void *allocate_pages(std::size_t bytes, PageSize size)
{
    const std::size_t whole = (bytes + huge_page - 1) / huge_page * huge_page;
    void *memory = std::aligned_alloc(huge_page, whole);
    // Only advice: a system without huge pages gives small ones to every contender.
    if (memory)
        madvise(memory, whole, size == huge_pages ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    return memory;
}

static void *allocate_for_handle(void *, std::size_t bytes)
{
    return allocate_pages(bytes);
}

static void release_from_handle(void *, void *memory)
{
    std::free(memory);
}

const inlay_allocator pages_allocator = {nullptr, allocate_for_handle, release_from_handle};

std::size_t all_memory()
{
    const std::uint64_t pages = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES));
    const std::uint64_t bytes = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    return static_cast<std::size_t>(std::min<std::uint64_t>(bytes, SIZE_MAX));
}

std::size_t free_memory()
{
    std::ifstream file("/proc/meminfo");
    std::string name, unit;
    std::uint64_t kib;
    while (file >> name >> kib && std::getline(file, unit))
        if (name == "MemAvailable:")
            return static_cast<std::size_t>(std::min<std::uint64_t>(kib << 10, SIZE_MAX));
    return all_memory() / 2;
}
