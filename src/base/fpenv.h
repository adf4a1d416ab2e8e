/* SPDX-License-Identifier: MIT */
/*
 * The guard of the host's floating-point environment, and the fence behind non-temporal stores: the one place outside
 * the ISA folders with such instructions. Included by the public functions that run kernels.
 *
 * Kernels run in round-to-nearest, without flush-to-zero, all exceptions masked; afterwards the host's control word and
 * its sticky flags are as they were. Guard an *indirect* call, in a function without floating-point operations of its
 * own: a compiler may move an operation past the restoring instruction (gcc 12 did), but not a call that it cannot see.
 */
#ifndef INLAY_FPENV_H
#define INLAY_FPENV_H

#include <stdint.h>

#if defined(__x86_64__)

#include <xmmintrin.h>

struct inlay_fpenv {
    unsigned mxcsr;
};

/* Writing the register costs as much as a row of 512, reading it next to nothing: hosts that run in the default
   environment with all flags raised, as most soon do, pay for no write. */
static inline struct inlay_fpenv inlay_fpenv_enter(void)
{
    const unsigned flags = 0x3f, control = 0x1f80; /* all masked, to nearest, nothing flushed to zero */
    struct inlay_fpenv host = {_mm_getcsr()};
    if ((host.mxcsr & ~flags) != control)
        _mm_setcsr(control);
    return host;
}

static inline void inlay_fpenv_leave(struct inlay_fpenv host)
{
    if (_mm_getcsr() != host.mxcsr)
        _mm_setcsr(host.mxcsr);
}

static inline void inlay_store_fence(void)
{
    _mm_sfence();
}

#elif defined(__aarch64__)

struct inlay_fpenv {
    uint64_t fpcr, fpsr;
};

static inline struct inlay_fpenv inlay_fpenv_enter(void)
{
    struct inlay_fpenv host;
    __asm__ volatile("mrs %0, fpcr" : "=r"(host.fpcr)::"memory");
    __asm__ volatile("mrs %0, fpsr" : "=r"(host.fpsr)::"memory");
    __asm__ volatile("msr fpcr, %0" ::"r"(UINT64_C(0)) : "memory");
    return host;
}

static inline void inlay_fpenv_leave(struct inlay_fpenv host)
{
    __asm__ volatile("msr fpcr, %0" ::"r"(host.fpcr) : "memory");
    __asm__ volatile("msr fpsr, %0" ::"r"(host.fpsr) : "memory");
}

/* No kernel of this architecture stores past the caches. */
static inline void inlay_store_fence(void)
{
}

#elif defined(__arm__)

struct inlay_fpenv {
    uint32_t fpscr;
};

static inline struct inlay_fpenv inlay_fpenv_enter(void)
{
    struct inlay_fpenv host;
    __asm__ volatile("vmrs %0, fpscr" : "=r"(host.fpscr)::"memory");
    __asm__ volatile("vmsr fpscr, %0" ::"r"(0) : "memory");
    return host;
}

static inline void inlay_fpenv_leave(struct inlay_fpenv host)
{
    __asm__ volatile("vmsr fpscr, %0" ::"r"(host.fpscr) : "memory");
}

static inline void inlay_store_fence(void)
{
}

#else
#error "inlay knows x86-64, aarch64 and armhf: say here how this architecture saves its floating-point environment"
#endif

#endif
