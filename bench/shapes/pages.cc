// SPDX-License-Identifier: MIT
//
// Pages from aligned_alloc, which free() needs no size for, or from mmap, with advice to use huge pages or to avoid
// them. Nothing here writes to them: the caller decides when the system provides the memory.
#include "shapes/pages.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

// The huge page of x86-64, and of aarch64 with 4 KiB pages.
static constexpr std::size_t huge_page = std::size_t{1} << 21;

static std::size_t whole_pages(std::size_t bytes)
{
    return (bytes + huge_page - 1) / huge_page * huge_page;
}

// Only advice: without huge pages in the system, every contender gets small ones.
static void advise(void *memory, std::size_t bytes, PageSize size)
{
    madvise(memory, bytes, size == huge_pages ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

FreshPages::FreshPages(std::size_t bytes, PageSize size)
    : mapped_bytes_(whole_pages(bytes) + huge_page),
      mapping_(mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
{
    if (mapping_ == MAP_FAILED)
        throw std::bad_alloc();
    begin_ = reinterpret_cast<float *>(whole_pages(reinterpret_cast<std::uintptr_t>(mapping_)));
    advise(begin_, whole_pages(bytes), size);
}

FreshPages::~FreshPages()
{
    munmap(mapping_, mapped_bytes_);
}

void *allocate_pages(std::size_t bytes, PageSize size)
{
    const std::size_t whole = whole_pages(bytes);
    void *memory = std::aligned_alloc(huge_page, whole);
    if (memory)
        advise(memory, whole, size);
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
