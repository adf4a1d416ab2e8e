/* SPDX-License-Identifier: MIT */
/*
 * Flush-to-zero, for the tests and `inlay selftest`: hosts can set it, and it must not change any result.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Sets the control bits that flush subnormal results and operands to zero, if supported. */
static inline void set_flush(bool flush)
{
#if defined(__x86_64__)
    const unsigned mxcsr = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(flush ? mxcsr | 0x8040 : mxcsr & ~0x8040u);
#elif defined(__aarch64__)
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    fpcr = flush ? fpcr | UINT64_C(1) << 24 : fpcr & ~(UINT64_C(1) << 24);
    __asm__ volatile("msr fpcr, %0" ::"r"(fpcr));
#else
    (void)flush;
#endif
}
