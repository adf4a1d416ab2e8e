/* SPDX-License-Identifier: MIT */
/* Identification and caches of an x86-64 CPU. */
#pragma once

#ifdef __x86_64__
#include <cpuid.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct inlay_cpuid {
    uint32_t eax, ebx, ecx, edx;
};

/* Reads a leaf of CPUID. Returns false, and leaves zeros, if the CPU has no such leaf. */
static inline bool inlay_cpuid(uint32_t leaf, uint32_t subleaf, struct inlay_cpuid *found)
{
    memset(found, 0, sizeof *found);
    const bool exists = __get_cpuid_count(leaf, subleaf, &found->eax, &found->ebx, &found->ecx, &found->edx) != 0;
    /* Use edx: otherwise clang 14 gives its register to ebx too, and a loop over subleaves loses its count. */
    __asm__ volatile("" : : "r"(found->edx));
    return exists;
}
#endif
