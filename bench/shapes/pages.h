// SPDX-License-Identifier: MIT
//
// The same kind of memory for every contender of a shape: whole huge pages if the system has them, unless the shape
// asks for small ones. All memory that is accessed while timing comes from here, including the library's handles.
// Otherwise page size could decide which contender wins.
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

// Returns memory in pages of that size, or null on failure.
void *allocate_pages(std::size_t bytes, PageSize size = huge_pages);

// Returns [n] uninitialized elements; throws std::bad_alloc.
template <class T> Pages<T> make_pages(std::size_t n, PageSize size = huge_pages)
{
    void *memory = allocate_pages(n * sizeof(T), size);
    if (!memory)
        throw std::bad_alloc();
    return Pages<T>(static_cast<T *>(memory));
}

// The same memory, for handles of the library.
extern const inlay_allocator pages_allocator;

// Memory that the system provides and takes back: each of its pages is touched for the first time.
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

// Returns the memory of this machine, or its address space if smaller.
std::size_t all_memory();

// Returns the memory that is free or can be freed at once; half of all memory if unknown.
std::size_t free_memory();
