/* SPDX-License-Identifier: MIT */
/**
 * @file base.h
 * What every part of inlay uses: version, status and fault, the ISA in use, allocator, huge pages and executor. Start
 * with inlay.h, which also states the conventions that hold for every function.
 */
#ifndef INLAY_BASE_H
#define INLAY_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Version ---------------------------------------------------------------------------------------------------- */

#define INLAY_VERSION_MAJOR 0 /**< of the version of these headers, by semver.org */
#define INLAY_VERSION_MINOR 1 /**< before 1.0 a new one may change the API */
#define INLAY_VERSION_PATCH 0 /**< a new one corrects mistakes */

/** Marks a function that the shared library exports. On Windows the linker lists the exports of a DLL instead: a mark
   would make every program that contains the static library export these functions, and none of its own. */
#ifdef _WIN32
#define INLAY_API
#else
#define INLAY_API __attribute__((visibility("default")))
#endif

/** Returns the version of the library that runs, as "major.minor.patch". */
INLAY_API const char *inlay_version(void);

/* ---- Errors ----------------------------------------------------------------------------------------------------- */

/** The result of a call. Zero is success. */
typedef enum inlay_status {
    INLAY_OK = 0,         /**< the call did what it says */
    INLAY_ERROR_NULL,     /**< a required pointer is null */
    INLAY_ERROR_SHAPE,    /**< dim is 0, too large, or odd where it must be even; or two dims that must agree differ */
    INLAY_ERROR_STRIDE,   /**< stride_bytes is smaller than one row */
    INLAY_ERROR_OVERFLOW, /**< the bytes of an array do not fit in the address space */
    INLAY_ERROR_OVERLAP,  /**< an output overlaps an input or another output */
    INLAY_ERROR_ID, /**< an id is negative or not below the rows of its table, or of its vocabulary; inlay_fault says
                         which */
    INLAY_ERROR_POSITION,  /**< a position is negative, >= 2^31 or past the table of positions; or a real-valued one is
                                NaN or has a magnitude >= 2^31; inlay_fault says which, where the function takes one */
    INLAY_ERROR_BASE,      /**< base is not a number in [1, 1e30] */
    INLAY_ERROR_OPTION,    /**< a struct size, enum value or reserved field that this version does not know, a number
                                outside the range that its field states, or two fields that exclude each other */
    INLAY_ERROR_NO_MEMORY, /**< the allocator returned null */
    INLAY_ERROR_OFFSETS, /**< offsets do not begin at 0, decrease, or do not end at the number of tokens; or a sequence
                              is longer than the length that it is padded to; inlay_fault says where */
    INLAY_ERROR_SEGMENT, /**< a segment id is negative or not below the rows of its table; inlay_fault says which */
    INLAY_ERROR_HISTORY, /**< a history of n-grams is longer than N - 1, one of its ids is negative or not below the
                              vocabulary, or more tokens are accepted than a sequence has; inlay_fault says where */
} inlay_status;

/** Returns an English sentence for a status. It is never null, also for values outside the enum. */
INLAY_API const char *inlay_status_string(inlay_status status);

/**
 * The place of the first bad id, position, segment id or offset. A function writes it only when it returns
 * INLAY_ERROR_ID, INLAY_ERROR_POSITION, INLAY_ERROR_SEGMENT, INLAY_ERROR_OFFSETS or INLAY_ERROR_HISTORY.
 */
typedef struct inlay_fault {
    size_t sequence; /**< index of the sequence in the batch; 0 for operations without a batch */
    size_t token;    /**< index of the token in that sequence, of the id in its history, or of the element in a list
                          [n]. 0 for an offset, the length of a history and a number of accepted tokens */
    int64_t value;   /**< the value found there; 0 for a real-valued position */
} inlay_fault;

/* ---- Names ------------------------------------------------------------------------------------------------------ */

/** Returns 1 if two names are equal, else 0; 0 also if one is null. The case of ASCII letters, '-' and '_' are ignored:
    "Q4-K" equals "q4_k". The command and the Python package compare names of types and options
    by it. */
INLAY_API int inlay_name_equal(const char *a, const char *b);

/* ---- The ISA in use --------------------------------------------------------------------------------------------- */

/**
 * Chooses the kernels and asks the CPU for its kind and caches (inlay_tuning_default()) now instead of in the first
 * call. It chooses the best ISA that the CPU and the operating system run, or the one that the environment variable
 * INLAY_ISA names ("scalar" for example: a name that inlay_isa_at() returns). INLAY_ISA is ignored if it names no ISA
 * that runs here, or if the process is privileged (secure_getenv; Windows has no set-user-ID programs). The environment
 * is read once per process.
 */
INLAY_API void inlay_init(void);

/** Returns the name of the ISA whose kernels run: "avx512", "avx2", "neon", "portable" or "scalar". */
INLAY_API const char *inlay_isa(void);

/**
 * Returns the name of an ISA that is compiled into this library. Index 0 is the best; the last is always "scalar"; past
 * the end the result is null.
 *
 * @param index  from 0 on
 * @param runs   null, or where to write 1 if that ISA runs on this CPU and operating system and 0 if it does not
 */
INLAY_API const char *inlay_isa_at(size_t index, int *runs);

/* ---- Memory ----------------------------------------------------------------------------------------------------- */

/**
 * The source of memory for handles. Only the functions named create and destroy use it; create copies it into the
 * handle. Where a function takes a pointer to an allocator, null means malloc and free.
 */
typedef struct inlay_allocator {
    void *ctx; /**< passed to both functions; valid until the last handle made with it is destroyed */
    /** Returns memory aligned as malloc's is, or null. Must not be null itself. */
    void *(*allocate)(void *ctx, size_t bytes);
    /** Releases memory. It is never called with null. Must not be null itself. */
    void (*release)(void *ctx, void *memory);
} inlay_allocator;

/* ---- Huge pages ------------------------------------------------------------------------------------------------- */

/*
 * The operating system provides a page when it is first written, which takes several times as long as computing the
 * data. Also, rows gathered at random from a large table wait for the translation of their addresses. Huge pages make
 * both faster; memory that is reused needs no new pages at all. docs/performance.md has figures and says how a server
 * holds its memory:
 *
 *     size_t huge = inlay_huge_pages_bytes(), unit = bytes >= huge / 2 ? huge : 64;
 *     size_t whole = (bytes + unit - 1) / unit * unit;                 // whole huge pages, at the address of one
 *     void *out = NULL;
 *     if (posix_memalign(&out, unit, whole) == 0)
 *         inlay_huge_pages_advise(out, whole, NULL);                   // before the first write; then reuse it
 *
 * The functions that take memory act on the huge pages that lie wholly inside [data, data + bytes). Memory before the
 * first and after the last of them keeps its pages, since others may use it; a range without a whole huge page is left
 * as it is. They never read or write the memory and never change its contents.
 *
 * Huge pages change nothing but speed, so their absence is no error. Where the system has none, has them turned off or
 * refuses them for this kind of memory, the functions do nothing and return INLAY_OK. So they do on Windows, which
 * takes no such advice. Errors are of the arguments alone: INLAY_ERROR_NULL if data is null and bytes is not 0,
 * INLAY_ERROR_OVERFLOW if the range does not fit in the address space.
 */

/**
 * Returns the bytes of a huge page, a power of two. It is 2 MiB on x86-64. On aarch64 it is 2 MiB with pages of 4 KiB,
 * 32 MiB with pages of 16 KiB (Raspberry Pi 5, Asahi) and 512 MiB with pages of 64 KiB. The size is read once from
 * /sys/kernel/mm/transparent_hugepage/hpage_pmd_size of Linux; without that file it follows from the size of pages.
 * 0 on Windows. A size does not mean that the system has huge pages.
 */
INLAY_API size_t inlay_huge_pages_bytes(void);

/**
 * Advises the system to provide memory as huge pages (madvise, MADV_HUGEPAGE). Memory that was touched before keeps its
 * small pages until the system merges them in the background, so call this after allocating or mapping and before the
 * first write or read. The advice lasts until the memory is unmapped. Takes some microseconds.
 *
 * @param data           memory of the caller's, of a table or an output; may be null if bytes is 0
 * @param bytes          its size, >= 0
 * @param advised_bytes  null, or where to write for how many bytes the system accepted the advice: those of all whole
 *                       huge pages, or 0. Accepted advice is no promise: the pages can still be small where the system
 *                       finds no free huge page, or where its setting is "never"
 */
INLAY_API inlay_status inlay_huge_pages_advise(const void *data, size_t bytes, size_t *advised_bytes);

/**
 * Moves memory that is already in use to huge pages (madvise, MADV_COLLAPSE of Linux 6.1 and later): a table, for
 * example, that was loaded before anybody gave advice. The system copies each huge page, some hundred MB a second, and
 * stops other threads that touch the page meanwhile. Memory that was never touched is not moved: advise it instead.
 *
 * @param data        memory of the caller's; may be null if bytes is 0
 * @param bytes       its size, >= 0
 * @param huge_bytes  null, or where to write for how many bytes of the range the system confirms that they lie in huge
 *                    pages now: 0 where it cannot move any, even if they lie there already
 */
INLAY_API inlay_status inlay_huge_pages_collapse(const void *data, size_t bytes, size_t *huge_bytes);

/* ---- Threads ---------------------------------------------------------------------------------------------------- */

/**
 * A thread pool of the caller's that runs the parts of a call. Functions that run in parts take a pointer to one; null
 * means that the calling thread does all the work. The result has the same bits for every executor. The folder
 * examples/executors has adapters for pthreadpool, OpenMP and a C++17 pool.
 */
typedef struct inlay_executor {
    void *ctx; /**< passed to run */
    /** Calls task(arg, i) once for each i in [0, count), in any order and on any threads, and returns after all of
       these calls have returned. */
    void (*run)(void *ctx, size_t count, void (*task)(void *arg, size_t index), void *arg);
    size_t threads; /**< number of calls of task that run at the same time, >= 1; decides how many parts a call has */
} inlay_executor;

#ifdef __cplusplus
}
#endif

#endif
