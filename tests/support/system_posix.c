/* SPDX-License-Identifier: MIT */
/* The POSIX implementation of system.h. */
#define _GNU_SOURCE /* feenableexcept, MAP_NORESERVE */
#include "system.h"

#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static void demand(bool holds)
{
    if (!holds)
        abort();
}

size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

void *pages_reserve(size_t bytes)
{
    void *pages = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    demand(pages != MAP_FAILED);
    return pages;
}

void pages_open(void *at, size_t bytes)
{
    /* Emulators fail to protect zero bytes. */
    demand(bytes == 0 || mprotect(at, bytes, PROT_READ | PROT_WRITE) == 0);
}

void pages_release(void *reserved, size_t bytes)
{
    munmap(reserved, bytes);
}

void *memory_shared(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    demand(memory != MAP_FAILED);
    return memory;
}

void variable_set(const char *name, const char *value)
{
    demand((value == NULL ? unsetenv(name) : setenv(name, value, 1)) == 0);
}

bool run_processes(int processes, bool (*work)(void *arg), void (*watch)(void *arg, bool died), void *arg)
{
    bool well = true;
    fflush(stdout);
    for (int i = 0; i < processes; i++) {
        pid_t child = fork();
        if (child < 0)
            return false;
        if (child == 0)
            exit(work(arg) ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    for (int left = processes; left > 0;) {
        int status;
        pid_t ended = waitpid(-1, &status, WNOHANG);
        if (ended > 0) {
            left--;
            well = well && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;
            if (WIFSIGNALED(status))
                watch(arg, true);
        } else if (ended < 0) {
            return false;
        } else {
            usleep(50000);
            watch(arg, false);
        }
    }
    return well;
}

bool errors_are_watched(void)
{
    return isatty(STDERR_FILENO);
}

static void *call(void *function)
{
    void (*called)(void);
    memcpy(&called, function, sizeof called);
    called();
    return NULL;
}

/* Uses a thread, which reserves some KiB at the end of its stack: not every C library has makecontext(). */
void call_on_stack(unsigned char *begin, const unsigned char *end, void (*function)(void))
{
    pthread_attr_t attributes;
    pthread_t thread;
    demand(pthread_attr_init(&attributes) == 0);
    demand(pthread_attr_setstack(&attributes, begin, (size_t)(end - begin)) == 0);
    demand(pthread_create(&thread, &attributes, call, &function) == 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
}

bool interrupt_after(unsigned microseconds, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    struct itimerval once = {{0, 0}, {0, (suseconds_t)microseconds}};
    demand(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &once, NULL) == 0);
    return true;
}

/* Not every C library has functions for this. */
#if defined(__x86_64__)
enum { MXCSR_MASKS = 0x1f80 };

bool traps_enable(void)
{
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() & ~(unsigned)MXCSR_MASKS);
    return true;
}

bool traps_are_enabled(void)
{
    return (__builtin_ia32_stmxcsr() & MXCSR_MASKS) == 0;
}

void traps_disable(void)
{
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | MXCSR_MASKS);
}
#elif defined(__GLIBC__)
bool traps_enable(void)
{
    return feenableexcept(FE_ALL_EXCEPT) != -1;
}

bool traps_are_enabled(void)
{
    return fegetexcept() == FE_ALL_EXCEPT;
}

void traps_disable(void)
{
    fedisableexcept(FE_ALL_EXCEPT);
}
#else
bool traps_enable(void)
{
    return false;
}

bool traps_are_enabled(void)
{
    return false;
}

void traps_disable(void)
{
}
#endif
