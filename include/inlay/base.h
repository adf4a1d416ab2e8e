/* SPDX-License-Identifier: MIT */
/**
 * @file base.h
 * Shared declarations: version, status and fault, ISA selection, allocator, huge pages and executor. Start with
 * inlay.h, which also documents the conventions that every function follows.
 */
#ifndef INLAY_BASE_H
#define INLAY_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Version ---------------------------------------------------------------------------------------------------- */

#define INLAY_VERSION_MAJOR 0 /**< version of these headers (semver.org) */
#define INLAY_VERSION_MINOR 1 /**< before 1.0, a new minor version may change the API */
#define INLAY_VERSION_PATCH 0 /**< bug fixes only */

/** Marks functions that the shared library exports. Empty on Windows, where the linker gets a list of exports: with
   dllexport, every program that links the static library would also export these functions. */
#ifdef _WIN32
#define INLAY_API
#else
#define INLAY_API __attribute__((visibility("default")))
#endif

/** Returns the version of the library at run time, as "major.minor.patch". */
INLAY_API const char *inlay_version(void);

/* ---- Errors ----------------------------------------------------------------------------------------------------- */

/** The result of a call. Zero is success. */
typedef enum inlay_status {
    INLAY_OK = 0,          /**< success */
    INLAY_ERROR_NULL,      /**< a required pointer is null */
    INLAY_ERROR_SHAPE,     /**< dim is 0, too large, or odd where it must be even; or two dims that must be equal
                                differ */
    INLAY_ERROR_STRIDE,    /**< stride_bytes is smaller than one row */
    INLAY_ERROR_OVERFLOW,  /**< the size of an array does not fit in the address space */
    INLAY_ERROR_OVERLAP,   /**< an output overlaps an input or another output */
    INLAY_ERROR_ID,        /**< token id out of range; see inlay_fault */
    INLAY_ERROR_POSITION,  /**< position out of range: negative, >= 2^31, past the position table, or a real number
                                that is NaN or has a magnitude >= 2^31; see inlay_fault, if the function takes one */
    INLAY_ERROR_BASE,      /**< base is not a number in [1, 1e30] */
    INLAY_ERROR_OPTION,    /**< unknown struct size or enum value, nonzero reserved field, field out of its documented
                                range, or two fields that exclude each other */
    INLAY_ERROR_NO_MEMORY, /**< the allocator returned null */
    INLAY_ERROR_OFFSETS, /**< offsets do not start at 0, decrease, or do not end at the number of tokens; or a sequence
                              is longer than its padded length; see inlay_fault */
    INLAY_ERROR_SEGMENT, /**< segment id out of range; see inlay_fault */
    INLAY_ERROR_HISTORY, /**< an n-gram history is longer than N - 1 or contains an id out of range, or the number of
                              accepted tokens exceeds the length of a sequence; see inlay_fault */
} inlay_status;

/** Returns an English sentence for a status. Never null, even for values outside the enum. */
INLAY_API const char *inlay_status_string(inlay_status status);

/**
 * Why a call failed. `field` and `reason` are static strings, set by every argument error. Print them as "field:
 * reason", e.g. "gamma: needs a norm". The other fields locate the first bad id, position, segment id or offset. They
 * are set only with INLAY_ERROR_ID, INLAY_ERROR_POSITION, INLAY_ERROR_SEGMENT, INLAY_ERROR_OFFSETS or
 * INLAY_ERROR_HISTORY.
 */
typedef struct inlay_fault {
    const char *field;  /**< the invalid argument, or the invalid field of a struct */
    const char *reason; /**< the rule that it violates, or inlay_status_string() */
    size_t sequence;    /**< index of the sequence in the batch; 0 for operations without a batch */
    size_t token;  /**< index of the token in its sequence, of the id in its history, or of the element in a list [n];
                        0 for offsets, history lengths and numbers of accepted tokens */
    int64_t value; /**< the offending value; 0 for a real-valued position */
} inlay_fault;

/* ---- Names ------------------------------------------------------------------------------------------------------ */

/** Returns 1 if two names are equal, ignoring ASCII case, '-' and '_': "Q4-K" equals "q4_k". Returns 0 otherwise, or
    if either name is null. The command and the Python package compare names of types and options this way. */
INLAY_API int inlay_name_equal(const char *a, const char *b);

/* ---- The ISA in use --------------------------------------------------------------------------------------------- */

/**
 * Selects the kernels and detects the CPU and its caches (see inlay_tuning_default()). Calling it is optional:
 * otherwise the first call that needs this information does the same. The default is the best ISA that the CPU and the
 * operating system support. The environment variable INLAY_ISA selects another ISA by name, e.g. "scalar";
 * inlay_isa_at() lists the names. INLAY_ISA is ignored if that ISA cannot run here or if the process is privileged
 * (secure_getenv; Windows has no set-user-ID programs). The environment is read once per process.
 */
INLAY_API void inlay_init(void);

/** Returns the name of the ISA in use: "avx512", "avx2", "neon", "portable" or "scalar". */
INLAY_API const char *inlay_isa(void);

/**
 * Returns the name of an ISA that this library was compiled for, or null if `index` is past the end. Index 0 is the
 * best ISA; the last one is always "scalar".
 *
 * @param index  zero-based
 * @param runs   null, or set to 1 if this CPU and operating system support the ISA, else to 0
 */
INLAY_API const char *inlay_isa_at(size_t index, int *runs);

/* ---- Memory ----------------------------------------------------------------------------------------------------- */

/**
 * Allocates memory for handles. Only the create and destroy functions use it, and create copies the struct into the
 * handle. A null allocator means malloc and free.
 */
typedef struct inlay_allocator {
    void *ctx; /**< passed to both functions; must stay valid until the last handle made with it is destroyed */
    /** Returns memory aligned as malloc's is, or null. Required. */
    void *(*allocate)(void *ctx, size_t bytes);
    /** Releases memory. Never called with null. Required. */
    void (*release)(void *ctx, void *memory);
} inlay_allocator;

/* ---- Huge pages ------------------------------------------------------------------------------------------------- */

/*
 * The operating system provides a page when it is first written, which takes several times as long as computing the
 * data. Reading random rows of a large table also takes time for address translation. Huge pages make both faster, and
 * reused memory needs no new pages at all. docs/performance.md has measurements and advice for servers. To allocate an
 * output:
 *
 *     size_t huge = inlay_huge_pages_bytes(), unit = bytes >= huge / 2 ? huge : 64;
 *     size_t whole = (bytes + unit - 1) / unit * unit;                 // whole huge pages, at the address of one
 *     void *out = NULL;
 *     if (posix_memalign(&out, unit, whole) == 0)
 *         inlay_huge_pages_advise(out, whole, NULL);                   // before the first write; then reuse it
 *
 * The functions below act only on huge pages entirely inside [data, data + bytes). They leave partial huge pages at
 * either end unchanged, since other data may share them. They never read or write the memory itself.
 *
 * Huge pages affect only speed, so a lack of them is not an error. If the system does not support huge pages, has them
 * turned off, or refuses them for this kind of memory, the functions do nothing and return INLAY_OK. They never do
 * anything on Windows. The only errors are argument errors: INLAY_ERROR_NULL if data is null and bytes is not 0, and
 * INLAY_ERROR_OVERFLOW if the range does not fit in the address space.
 */

/**
 * Returns the size of a huge page in bytes, a power of two; 0 on Windows. It is 2 MiB on x86-64. On aarch64 it is 2 MiB
 * with 4 KiB pages, 32 MiB with 16 KiB pages (Raspberry Pi 5, Asahi) and 512 MiB with 64 KiB pages. Linux reports it in
 * /sys/kernel/mm/transparent_hugepage/hpage_pmd_size, which is read once. Without that file, the size is derived from
 * the page size. A nonzero size does not mean that huge pages are available.
 */
INLAY_API size_t inlay_huge_pages_bytes(void);

/**
 * Advises the system to use huge pages (madvise, MADV_HUGEPAGE). Call it after you allocate or map the memory and
 * before the first read or write. Memory that was already touched keeps its small pages until the system merges them in
 * the background. The advice lasts until the memory is unmapped. Takes a few microseconds.
 *
 * @param data           your memory, for a table or an output; may be null if bytes is 0
 * @param bytes          its size, >= 0
 * @param advised_bytes  null, or set to the number of bytes for which the system accepted the advice: all whole huge
 *                       pages, or 0. Accepted advice is no guarantee. Pages stay small if no huge page is free or if
 *                       the system's setting is "never"
 */
INLAY_API inlay_status inlay_huge_pages_advise(const void *data, size_t bytes, size_t *advised_bytes);

/**
 * Moves memory that is already in use to huge pages (madvise, MADV_COLLAPSE in Linux 6.1 and later), e.g. a table that
 * was loaded without advice. The system copies each huge page, at a few hundred MB/s, and meanwhile blocks other
 * threads that touch it. Memory that was never touched does not move: use inlay_huge_pages_advise() instead.
 *
 * @param data        your memory; may be null if bytes is 0
 * @param bytes       its size, >= 0
 * @param huge_bytes  null, or set to the number of bytes that the system confirms are now in huge pages; 0 if it cannot
 *                    move any, even if they are in huge pages already
 */
INLAY_API inlay_status inlay_huge_pages_collapse(const void *data, size_t bytes, size_t *huge_bytes);

/* ---- Threads ---------------------------------------------------------------------------------------------------- */

/**
 * Your thread pool. A call with an executor is split into parts, and the pool runs them. A null executor runs
 * everything on the calling thread. Results are bit-identical for every executor. The folder examples/executors has
 * adapters for pthreadpool, OpenMP and a C++17 pool.
 */
typedef struct inlay_executor {
    void *ctx; /**< passed to run */
    /** Calls task(arg, i) exactly once for each i in [0, count), in any order and on any threads, and returns when all
       calls have returned. */
    void (*run)(void *ctx, size_t count, void (*task)(void *arg, size_t index), void *arg);
    size_t threads; /**< number of tasks that can run at the same time, >= 1; determines the number of parts */
} inlay_executor;

#ifdef __cplusplus
}
#endif

#endif
