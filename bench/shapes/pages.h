// SPDX-License-Identifier: MIT
//
// One kind of memory for every contender of a shape: whole huge pages, where the system has them, unless the shape asks
// for small ones. Everything that is read or written while the clock runs comes from here, the memory of the library's
// handles included; otherwise a contender could win or lose by the size of its pages.
#pragma once

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

enum PageSize : bool { huge_pages = false, small_pages = true };

// Returns memory in pages of that size, or null where there is not enough.
void *allocate_pages(std::size_t bytes, PageSize size = huge_pages);

// Returns [n] uninitialised elements; throws std::bad_alloc.
template <class T> Pages<T> make_pages(std::size_t n, PageSize size = huge_pages)
{
    void *memory = allocate_pages(n * sizeof(T), size);
    if (!memory)
        throw std::bad_alloc();
    return Pages<T>(static_cast<T *>(memory));
}

// The same memory for handles of the library.
extern const inlay_allocator pages_allocator;

// Memory that the system provides and takes back afterwards: each of its pages is touched for the first time.
class FreshPages
{
  public:
    FreshPages(std::size_t bytes, PageSize size); // throws std::bad_alloc
    ~FreshPages();
    FreshPages(const FreshPages &) = delete;
    FreshPages &operator=(const FreshPages &) = delete;

    float *begin() const
    {
        return begin_;
    }

  private:
    std::size_t mapped_bytes_;
    void *mapping_;
    float *begin_;
};

// Returns the memory of this machine, or its address space if that is smaller.
std::size_t all_memory();

// Returns how much memory is free or can be freed at once; half of all memory where the system does not say.
std::size_t free_memory();
