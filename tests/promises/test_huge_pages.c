/* SPDX-License-Identifier: MIT */
/*
 * Advice about huge pages: the pages it affects, and that they become huge, from /proc/self/smaps. Tests check first if
 * the system supports a feature, without the library, and are skipped visibly if not.
 */
#define _GNU_SOURCE /* MADV_HUGEPAGE, MAP_ANONYMOUS */
#include "errors/errors.h"

#include "base/huge_pages.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { COLLAPSE = 25, PAGES = 4 }; /* MADV_COLLAPSE; the huge pages of a region */

/* The size of a huge page reported by the kernel, or 0 if it has none. */
static size_t huge;

/* PAGES huge pages of address space, aligned to a huge page, with mapped pages around them. */
static unsigned char *region;

static void *map_region(void)
{
    const size_t bytes = (PAGES + 3) * huge;
    unsigned char *mapped =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ck_assert_ptr_ne(mapped, MAP_FAILED);
    return mapped + huge + -(uintptr_t)mapped % huge;
}

/* Reads a line of an address's mapping, starting with its name; "" if there is none. */
static void read_smaps(const void *address, const char *name, char *line, int room)
{
    FILE *file = fopen("/proc/self/smaps", "r");
    uintptr_t begin, end;
    bool found = false;
    while (file != NULL && fgets(line, room, file) != NULL) {
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &begin, &end) == 2)
            found = begin <= (uintptr_t)address && (uintptr_t)address < end;
        else if (found && strncmp(line, name, strlen(name)) == 0) {
            fclose(file);
            return;
        }
    }
    if (file != NULL)
        fclose(file);
    line[0] = '\0';
}

/* Returns the bytes of an address's mapping in huge pages. */
static size_t bytes_in_huge_pages(const void *address)
{
    char line[256];
    read_smaps(address, "AnonHugePages:", line, sizeof line);
    return 1024 * (size_t)strtoull(line + strcspn(line, "0123456789"), NULL, 10);
}

/* Returns true if an address's mapping has huge pages advised. */
static bool is_advised(const void *address)
{
    char line[256];
    read_smaps(address, "VmFlags:", line, sizeof line);
    return strstr(line, " hg") != NULL;
}

static void touch(unsigned char *begin, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 4096)
        begin[i] = (unsigned char)(i / 4096 + i / huge);
}

/* Returns true if memory is unchanged since touch(). */
static bool is_touched(const unsigned char *begin, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 4096)
        if (begin[i] != (unsigned char)(i / 4096 + i / huge))
            return false;
    return true;
}

static void find_region(void)
{
    FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "r");
    if (file == NULL || fscanf(file, "%zu", &huge) != 1)
        huge = 0;
    if (file != NULL)
        fclose(file);
    make_fixture();
    if (huge > 0)
        region = map_region();
}

/* Returns true if the system supports the feature under test, tried directly on a separate region; prints a message if
   not. */
static bool system_can(int advice, bool touched_first)
{
    if (huge > 0) {
        unsigned char *probe = map_region();
        if (touched_first) {
            madvise(probe, huge, MADV_NOHUGEPAGE);
            touch(probe, huge);
            madvise(probe, huge, MADV_HUGEPAGE);
        }
        const bool accepted = madvise(probe, huge, advice) == 0;
        touch(probe, huge);
        if (accepted && bytes_in_huge_pages(probe) == huge)
            return true;
    }
    printf("skipped a test of huge pages: this system gives none%s\n", touched_first ? " to memory in use" : "");
    return false;
}

START_TEST(sizes_are_those_that_the_system_states)
{
    enum { KIB = 1024, MIB = 1024 * KIB };
    static const struct {
        const char *text;
        size_t page, wanted;
    } systems[] = {
        {"2097152\n", 4 * KIB, 2 * MIB},
        {"33554432\n", 16 * KIB, 32 * MIB},
        {"536870912\n", 64 * KIB, 512 * MIB},
        {"2097152", 64 * KIB, 2 * MIB}, /* POWER */
        {NULL, 4 * KIB, 2 * MIB},
        {NULL, 16 * KIB, 32 * MIB},
        {NULL, 64 * KIB, 512 * MIB},
        {"", 16 * KIB, 32 * MIB},
        {"0\n", 4 * KIB, 2 * MIB},
        {"4096\n", 4 * KIB, 2 * MIB},
        {"2097153\n", 4 * KIB, 2 * MIB},
        {"33554432 kB\n", 4 * KIB, 2 * MIB},
        {"18446744073711648768\n", 4 * KIB, 2 * MIB}, /* 2^64 + 2^21 */
        {"-2097152\n", 16 * KIB, 32 * MIB},
    };
    for (size_t i = 0; i < sizeof systems / sizeof *systems; i++) {
        const size_t found = inlay_huge_pages_bytes_of(systems[i].text, systems[i].page);
        EXPECT(found == systems[i].wanted, "system %zu: %zu, not %zu", i, found, systems[i].wanted);
    }
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = inlay_huge_pages_bytes();
    EXPECT(bytes == (huge > 0 ? huge : page / 8 * page), "%zu bytes, not %zu", bytes, huge);
    EXPECT(inlay_huge_pages_bytes() == bytes, "another size the second time");
}
END_TEST

/* Simulates systems with pages of 16 or 64 KiB and huge pages of 32 and 512 MiB: smaller ranges get no advice. */
START_TEST(other_sizes_are_advised_as_a_whole)
{
    if (!system_can(MADV_HUGEPAGE, false))
        return;
    for (size_t larger = (size_t)32 << 20; larger <= (size_t)512 << 20; larger *= 16) {
        const size_t bytes = 3 * larger;
        unsigned char *mapped =
            mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        ck_assert_ptr_ne(mapped, MAP_FAILED);
        unsigned char *first = mapped + -(uintptr_t)mapped % larger;
        size_t count = 77;
        atomic_store(&inlay_shared_huge_pages_bytes, larger);
        EXPECT(inlay_huge_pages_bytes() == larger, "the size is not shared");
        EXPECT_STATUS(inlay_huge_pages_advise(first, larger - 1, &count), INLAY_OK);
        EXPECT(count == 0 && !is_advised(first), "less than one of %zu bytes was advised", larger);
        EXPECT_STATUS(inlay_huge_pages_advise(first, larger + huge, &count), INLAY_OK);
        EXPECT(count == larger && is_advised(first) && is_advised(first + larger - 1) && !is_advised(first + larger),
               "%zu bytes were advised, not %zu", count, larger);
        munmap(mapped, bytes);
    }
}
END_TEST

START_TEST(the_end_of_the_address_space_is_not_advised)
{
    /* The first huge page after this would start at the end of the address space. */
    size_t count = 77;
    EXPECT_STATUS(inlay_huge_pages_advise((void *)(UINTPTR_MAX - 4095), 4095, &count), INLAY_OK);
    EXPECT(count == 0 && (huge == 0 || !is_advised(region)), "the last page holds %zu bytes of huge pages", count);
}
END_TEST

START_TEST(what_the_system_refuses_is_no_error)
{
    /* Unmapped address space, rejected by the system with ENOMEM. An emulator may accept all advice. */
    size_t count = 77;
    if (!system_can(MADV_HUGEPAGE, false))
        return;
    munmap(region, PAGES * huge);
    EXPECT_STATUS(inlay_huge_pages_advise(region, PAGES * huge, &count), INLAY_OK);
    EXPECT(count == 0, "%zu bytes that are not there were advised", count);
    count = 77;
    EXPECT_STATUS(inlay_huge_pages_collapse(region, huge, &count), INLAY_OK);
    EXPECT(count == 0, "%zu bytes that are not there were moved", count);
}
END_TEST

START_TEST(only_whole_pages_are_advised)
{
    static const struct {
        ptrdiff_t begin, end; /* in bytes from the ends of PAGES huge pages */
        size_t first, last;   /* of the advised ones */
    } ranges[] = {{0, 0, 0, PAGES}, {1, 0, 1, PAGES}, {0, -1, 0, PAGES - 1}, {1, -1, 1, PAGES - 1}, {-1, 1, 0, PAGES}};
    if (!system_can(MADV_HUGEPAGE, false))
        return;
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        region = map_region();
        const size_t bytes = PAGES * huge - (size_t)ranges[i].begin + (size_t)ranges[i].end;
        size_t count;
        EXPECT_STATUS(inlay_huge_pages_advise(region + ranges[i].begin, bytes, &count), INLAY_OK);
        EXPECT(count == (ranges[i].last - ranges[i].first) * huge, "range %zu: %zu bytes were advised", i, count);
        for (size_t page = 0; page < PAGES + 2; page++) {
            /* Includes the pages before and after. */
            const bool wanted = page >= ranges[i].first + 1 && page < ranges[i].last + 1;
            const unsigned char *begin = region + page * huge - huge;
            EXPECT(is_advised(begin) == wanted && is_advised(begin + huge - 1) == wanted, "range %zu, page %zu", i,
                   page);
        }
    }
    /* One byte less than a huge page, and the size of one across two. */
    region = map_region();
    size_t count;
    EXPECT_STATUS(inlay_huge_pages_advise(region, huge - 1, &count), INLAY_OK);
    EXPECT(count == 0 && !is_advised(region), "less than a huge page was advised");
    EXPECT_STATUS(inlay_huge_pages_advise(region + 1, huge, &count), INLAY_OK);
    EXPECT(count == 0 && !is_advised(region) && !is_advised(region + huge), "half of a huge page was advised");
}
END_TEST

START_TEST(advised_memory_gets_huge_pages)
{
    if (!system_can(MADV_HUGEPAGE, false))
        return;
    size_t count;
    EXPECT_STATUS(inlay_huge_pages_advise(region, PAGES * huge, &count), INLAY_OK);
    EXPECT(bytes_in_huge_pages(region) == 0, "advice alone provided memory");
    touch(region, PAGES * huge);
    /* The kernel may find fewer free huge pages than for the probe, but not none. */
    EXPECT(bytes_in_huge_pages(region) >= huge, "no huge page in %zu bytes that were advised", count);
    EXPECT(is_touched(region, PAGES * huge), "the memory has changed");
}
END_TEST

START_TEST(memory_in_use_moves_to_huge_pages)
{
    if (!system_can(COLLAPSE, true))
        return;
    size_t count = 0, again = 0;
    madvise(region, PAGES * huge, MADV_NOHUGEPAGE);
    touch(region, (PAGES - 1) * huge); /* the last one is never touched */
    madvise(region, PAGES * huge, MADV_HUGEPAGE);
    EXPECT(bytes_in_huge_pages(region) == 0, "the memory has huge pages already");
    EXPECT_STATUS(inlay_huge_pages_collapse(region + huge - 1, PAGES * huge, &count), INLAY_OK);
    /* The kernel's own khugepaged may move more of them meanwhile. */
    EXPECT(count >= huge && bytes_in_huge_pages(region) >= count, "%zu bytes were moved, %zu lie in huge pages", count,
           bytes_in_huge_pages(region));
    EXPECT(count <= (PAGES - 2) * huge, "%zu bytes were moved, with neighbors", count);
    EXPECT_STATUS(inlay_huge_pages_collapse(region + huge, (PAGES - 1) * huge, &again), INLAY_OK);
    EXPECT(again >= count, "%zu bytes lie in huge pages, not %zu", again, count);
    EXPECT_STATUS(inlay_huge_pages_collapse(region + huge, (PAGES - 1) * huge, NULL), INLAY_OK);
    EXPECT(is_touched(region, (PAGES - 1) * huge), "the memory has changed");
}
END_TEST

int main(int argc, char **argv)
{
    return RUN_TESTS(argc, argv, "huge pages", find_region, free_fixture, sizes_are_those_that_the_system_states,
                     other_sizes_are_advised_as_a_whole, the_end_of_the_address_space_is_not_advised,
                     what_the_system_refuses_is_no_error, only_whole_pages_are_advised, advised_memory_gets_huge_pages,
                     memory_in_use_moves_to_huge_pages);
}
