// SPDX-License-Identifier: MIT
//
// Memory of one kind for every contender: whole huge pages, where the system gives them.
// All that is read or written while the clock runs comes from here, also what the library's handles hold;
// a contender with memory of its own would win or lose by the size of its pages.
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

// Null where there is no memory.
void *allocate_pages(std::size_t bytes);

// [n], uninitialised; throws std::bad_alloc.
template <class T> Pages<T> make_pages(std::size_t n)
{
    void *memory = allocate_pages(n * sizeof(T));
    if (!memory)
        throw std::bad_alloc();
    return Pages<T>(static_cast<T *>(memory));
}

// The same for handles of the library.
extern const inlay_allocator pages_allocator;

// Half of what this machine has, or of what its pointers reach.
std::size_t spare_memory();

#endif
