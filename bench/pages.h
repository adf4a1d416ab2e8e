// SPDX-License-Identifier: MIT
//
// One kind of memory for every contender: whole huge pages, where the system has them. Everything that is read or
// written while the clock runs comes from here, the memory of the library's handles included; otherwise a contender
// could win or lose by the size of its pages.
#ifndef INLAY_BENCH_PAGES_H
#define INLAY_BENCH_PAGES_H

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

#include <inlay/inlay.h>

struct FreePages {
    void operator()(void *memory) const
    {
        std::free(memory);
    }
};

template <class T> using Pages = std::unique_ptr<T[], FreePages>;

// Returns null where there is not enough memory.
void *allocate_pages(std::size_t bytes);

// Returns [n] uninitialised elements; throws std::bad_alloc.
template <class T> Pages<T> make_pages(std::size_t n)
{
    void *memory = allocate_pages(n * sizeof(T));
    if (!memory)
        throw std::bad_alloc();
    return Pages<T>(static_cast<T *>(memory));
}

// The same memory for handles of the library.
extern const inlay_allocator pages_allocator;

// Returns half of the memory of this machine, or of its address space if that is smaller.
std::size_t spare_memory();

#endif
