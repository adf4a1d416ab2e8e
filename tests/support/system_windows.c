/* SPDX-License-Identifier: MIT */
/* The implementation of system.h for Windows on x86-64. */
#include "system.h"

#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>
#include <xmmintrin.h>

static void demand(bool holds)
{
    if (!holds)
        abort();
}

size_t page_bytes(void)
{
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    return info.dwPageSize;
}

void *pages_reserve(size_t bytes)
{
    void *pages = VirtualAlloc(NULL, bytes, MEM_RESERVE, PAGE_NOACCESS);
    demand(pages != NULL);
    return pages;
}

void pages_open(void *at, size_t bytes)
{
    demand(bytes == 0 || VirtualAlloc(at, bytes, MEM_COMMIT, PAGE_READWRITE) != NULL);
}

void pages_release(void *reserved, size_t bytes)
{
    (void)bytes;
    demand(VirtualFree(reserved, 0, MEM_RELEASE));
}

void *memory_shared(size_t bytes)
{
    void *memory = calloc(1, bytes); /* only this process */
    demand(memory != NULL);
    return memory;
}

void variable_set(const char *name, const char *value)
{
    /* The C library can't set an empty value: it removes the variable. */
    demand(_putenv_s(name, value == NULL ? "" : value) == 0);
}

bool run_processes(int processes, bool (*work)(void *arg), void (*watch)(void *arg, bool died), void *arg)
{
    (void)watch;
    if (processes != 1)
        printf("Windows does not fork: one process instead of %d\n", processes);
    return work(arg);
}

bool errors_are_watched(void)
{
    return _isatty(2);
}

/* Takes the function and the end of the stack as the ABI passes them. */
void switch_stack_and_call(void (*function)(void), void *end);
__asm__(".text\n"
        "switch_stack_and_call:\n"
        "    pushq %rbp\n"
        "    movq %rsp, %rbp\n"
        "    movq %rdx, %rsp\n"
        "    subq $32, %rsp\n" /* shadow space for the callee */
        "    call *%rcx\n"
        "    movq %rbp, %rsp\n"
        "    popq %rbp\n"
        "    ret\n");

/* Not a fiber, because the system chooses its stack size. Nothing that runs here unwinds or grows the stack. */
void call_on_stack(unsigned char *begin, const unsigned char *end, void (*function)(void))
{
    (void)begin;
    switch_stack_and_call(function, (void *)((uintptr_t)end / 16 * 16));
}

bool interrupt_after(unsigned microseconds, void (*handler)(int))
{
    (void)microseconds;
    (void)handler;
    return false;
}

bool traps_enable(void)
{
    _MM_SET_EXCEPTION_STATE(0);
    _MM_SET_EXCEPTION_MASK(0);
    return true;
}

bool traps_are_enabled(void)
{
    return _MM_GET_EXCEPTION_MASK() == 0;
}

void traps_disable(void)
{
    _MM_SET_EXCEPTION_MASK(_MM_MASK_MASK);
}
