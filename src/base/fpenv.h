/* SPDX-License-Identifier: MIT */
/*
 * Guards the caller's floating-point environment, and fences non-temporal stores. No other file outside the ISA folders
 * has such instructions.
 *
 * Kernels run with round-to-nearest, without flush-to-zero and with all exceptions masked. Afterwards the caller's
 * control word and sticky flags are restored. The guarded code must be an *indirect* call, in a function without
 * floating-point operations of its own: a compiler may move an operation past the restoring instruction (gcc 12 did),
 * but not a call to an unknown target.
 */
#pragma once

#include <stdint.h>

/* The caller's control register, and its sticky flags if they have a separate register. */
struct inlay_fpenv {
    uintptr_t control, flags;
};

#if defined(__x86_64__)

#include <xmmintrin.h>

/* Writing the register takes as long as a row of 512 floats; reading it is nearly free. So it is written only if it
   changes, which is never if the caller has the default environment and all sticky flags are raised, as they soon are.
 */
static inline struct inlay_fpenv inlay_fpenv_enter(void)
{
    const unsigned flags = 0x3f, control = 0x1f80; /* all exceptions masked, round to nearest, no flush to zero */
    struct inlay_fpenv host = {_mm_getcsr(), 0};
    if ((host.control & ~flags) != control)
        _mm_setcsr(control);
    return host;
}

static inline void inlay_fpenv_leave(struct inlay_fpenv host)
{
    if (_mm_getcsr() != host.control)
        _mm_setcsr((unsigned)host.control);
}

#elif defined(__aarch64__)

static inline struct inlay_fpenv inlay_fpenv_enter(void)
{
    struct inlay_fpenv host;
    __asm__ volatile("mrs %0, fpcr" : "=r"(host.control)::"memory");
    __asm__ volatile("mrs %0, fpsr" : "=r"(host.flags)::"memory");
    __asm__ volatile("msr fpcr, %0" ::"r"(UINT64_C(0)) : "memory");
    return host;
}

static inline void inlay_fpenv_leave(struct inlay_fpenv host)
{
    __asm__ volatile("msr fpcr, %0" ::"r"(host.control) : "memory");
    __asm__ volatile("msr fpsr, %0" ::"r"(host.flags) : "memory");
}

#elif defined(__arm__)

static inline struct inlay_fpenv inlay_fpenv_enter(void)
{
    struct inlay_fpenv host = {0, 0};
    __asm__ volatile("vmrs %0, fpscr" : "=r"(host.control)::"memory");
    __asm__ volatile("vmsr fpscr, %0" ::"r"(0) : "memory");
    return host;
}

static inline void inlay_fpenv_leave(struct inlay_fpenv host)
{
    __asm__ volatile("vmsr fpscr, %0" ::"r"(host.control) : "memory");
}

#elif defined(__riscv)

/* Round to nearest. RISC-V has no traps and no flush-to-zero mode. */
static inline struct inlay_fpenv inlay_fpenv_enter(void)
{
    struct inlay_fpenv host = {0, 0};
    __asm__ volatile("fscsr %0, %1" : "=r"(host.control) : "r"(0UL) : "memory");
    return host;
}

static inline void inlay_fpenv_leave(struct inlay_fpenv host)
{
    __asm__ volatile("fscsr %0" ::"r"(host.control) : "memory");
}

#else
#error "inlay knows x86-64, aarch64, armhf and riscv64: add how this architecture saves its floating-point environment"
#endif

/* Only x86-64 kernels use non-temporal stores. */
static inline void inlay_store_fence(void)
{
#ifdef __x86_64__
    _mm_sfence();
#endif
}
