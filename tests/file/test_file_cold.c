/* SPDX-License-Identifier: MIT */
/*
 * Tables larger than memory: results are those of a plain gather whatever is in memory, only rows of the table are
 * requested and read, requests stop when calls are warm and come back when they are slow, and the cap of resident bytes
 * holds.
 */
#define _GNU_SOURCE /* MADV_NOHUGEPAGE */
#include "cold/advice.h"
#include "cold/row_pages.h"
#include "file/cold_model.h"
#include "handle.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CALL = 24, LARGE_CALL = 3000, WARM_CALLS = 1000, MAX_REQUESTED = 256 };

/* The rows of a call, and where they go. */
struct call {
    size_t rows;
    int32_t ids[LARGE_CALL];
    float out[LARGE_CALL][WIDTH];
    inlay_file_read read;
};

static struct call the_call;

static void draw_ids(struct random *random, struct call *call, size_t rows)
{
    call->rows = rows;
    for (size_t i = 0; i < rows; i++)
        call->ids[i] = (int32_t)random_below(random, cold_table.view.rows);
}

static bool rows_are_right(const struct call *call)
{
    for (size_t i = 0; i < call->rows; i++)
        for (size_t c = 0; c < WIDTH; c++)
            if (call->out[i][c] != element((size_t)call->ids[i] * WIDTH + c))
                return false;
    return true;
}

static void begin(struct call *call)
{
    ck_assert(inlay_file_read_begin(file, &cold_table.view, call->ids, INLAY_ID_I32, call->rows, &call->read) ==
              INLAY_FILE_OK);
}

static void gather(struct call *call)
{
    ck_assert(inlay_gather(&cold_table.view, call->ids, INLAY_ID_I32, call->rows, 1, call->out, ROW, NULL, NULL) ==
              INLAY_OK);
}

static void read_rows(struct call *call)
{
    begin(call);
    gather(call);
    inlay_file_read_end(file, &call->read);
}

/* ---- Rows ------------------------------------------------------------------------------------------------------- */

START_TEST(rows_are_those_of_a_plain_gather)
{
    static const size_t sizes[] = {1, 2, CALL, 511, 512, LARGE_CALL};
    struct random random = {1};
    open_mapped();
    for (size_t i = 0; i < 60; i++) {
        if (i % 4 == 0)
            drop_cache();
        draw_ids(&random, &the_call, sizes[i % 6]);
        read_rows(&the_call);
        EXPECT(rows_are_right(&the_call), "call %zu of %zu rows differs", i, the_call.rows);
    }
    close_file();
}
END_TEST

START_TEST(every_type_of_ids_finds_its_rows)
{
    static const inlay_id_type types[] = {INLAY_ID_I32, INLAY_ID_I64, INLAY_ID_U8,
                                          INLAY_ID_U16, INLAY_ID_I16, INLAY_ID_U32};
    unsigned char ids[1 + 8];
    open_mapped();
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (!drop_cache_before_requests())
            return;
        memset(ids, 0, sizeof ids);
        ids[1] = 190; /* little-endian, at an odd address; its row is on one page */
        EXPECT(inlay_file_prefetch(file, &cold_table.view, ids + 1, types[i], 1) == INLAY_FILE_OK, "an error");
        const size_t cached = wait_for_pages(1);
        const struct inlay_rows rows = inlay_rows_of(&cold_table.view, ids + 1, types[i], 1, page_bytes());
        drop_from_process();
        inlay_rows_touch(&rows, 0, 1);
        EXPECT(cached == 1 && cached_pages() == 1, "type %d: %zu pages, then %zu", types[i], cached, cached_pages());
    }
    close_file();
}
END_TEST

START_TEST(ids_outside_of_the_table_are_ignored)
{
    const int64_t hostile[] = {-1,        INT64_MIN, INT64_MAX,  (int64_t)(FILES * FILE_ROWS), (int64_t)1 << 32,
                               INT32_MIN, INT32_MAX, UINT32_MAX, -(int64_t)FILE_ROWS};
    const size_t count = sizeof hostile / sizeof *hostile;
    inlay_file_read read;
    open_mapped();
    const bool empty = drop_cache();
    for (size_t i = 0; i < 40; i++) { /* with and without samples */
        ck_assert(inlay_file_read_begin(file, &cold_table.view, hostile, INLAY_ID_I64, count, &read) == INLAY_FILE_OK);
        EXPECT(read.requested == 0, "%zu pages were requested", read.requested);
        inlay_file_read_end(file, &read);
        ck_assert(inlay_file_prefetch(file, &cold_table.view, hostile, INLAY_ID_I64, count) == INLAY_FILE_OK);
    }
    const int16_t negative[] = {-1, INT16_MIN};
    const struct inlay_rows rows = inlay_rows_of(&cold_table.view, negative, INLAY_ID_I16, 2, page_bytes());
    size_t pages = 0;
    EXPECT(inlay_rows_request(&rows, 0, MAX_REQUESTED, &pages) == 2 && pages == 0, "%zu pages of negative ids", pages);
    EXPECT(!empty || cached_pages() == 0, "%zu pages were read", cached_pages());
    close_file();
}
END_TEST

/* Requests and reads pages of rows between inaccessible pages. */
static void touch_between_guards(const inlay_table *view, const int64_t *ids, size_t count)
{
    const struct inlay_rows rows = inlay_rows_of(view, ids, INLAY_ID_I64, count, page_bytes());
    for (size_t i = 0; i < count; i++) {
        size_t pages = 0;
        const bool inside = (uint64_t)ids[i] >= view->first_row && (uint64_t)ids[i] - view->first_row < view->rows;
        const struct inlay_rows row = inlay_rows_of(view, &ids[i], INLAY_ID_I64, 1, page_bytes());
        EXPECT(inlay_rows_request(&row, 0, MAX_REQUESTED, &pages) == 1, "a row was left out");
        EXPECT((pages > 0) == inside, "id %lld: %zu pages", (long long)ids[i], pages);
    }
    inlay_rows_touch(&rows, 0, count);
}

START_TEST(no_page_outside_of_the_rows_is_read)
{
    enum { SHARD_ROWS = 100, DIM = 320 };
    struct arena data = arena_make(SHARD_ROWS * DIM), scales = arena_make(SHARD_ROWS * DIM / 32);
    const int64_t ids[] = {-1, 0, 6, 7, 8, 106, 107, 108, INT64_MAX};
    for (enum placement place = AT_BEGIN; place <= AT_END; place++) {
        const unsigned char *codes = arena_place(&data, SHARD_ROWS * DIM, place, 0);
        const unsigned char *exponents = arena_place(&scales, SHARD_ROWS * DIM / 32, place, 0);
        inlay_table view = inlay_table_view(INLAY_E4M3_E8M0, codes, SHARD_ROWS, DIM, DIM);
        view.scales = exponents;
        touch_between_guards(&view, ids, sizeof ids / sizeof *ids);
        view.first_row = 7;
        view.vocab = 1000;
        touch_between_guards(&view, ids, sizeof ids / sizeof *ids);
        /* The first extent is the last one in memory, and the last one the first. */
        inlay_table_extent extents[] = {{codes + 70 * DIM, exponents + 70 * DIM / 32, NULL, 0},
                                        {codes + 1 * DIM, exponents + 1 * DIM / 32, NULL, 30},
                                        {codes, exponents, NULL, 99}};
        view = inlay_table_view(INLAY_E4M3_E8M0, NULL, SHARD_ROWS, DIM, DIM);
        view.extents = extents;
        view.extent_count = 3;
        const int64_t edges[] = {0, 29, 30, 98, 99, 100};
        touch_between_guards(&view, edges, sizeof edges / sizeof *edges);
    }
    arena_free(&data);
    arena_free(&scales);
}
END_TEST

/* Converted scales are in malloc's memory; only a sanitizer detects accesses past its bounds. */
START_TEST(no_byte_outside_of_the_rows_is_read)
{
    enum { ROWS = 5, DIM = 8 };
    const int64_t ids[] = {0, ROWS - 1};
    float *scales = calloc(ROWS, sizeof *scales);
    signed char *codes = calloc(ROWS, DIM);
    ck_assert(scales != NULL && codes != NULL);
    const inlay_table view = inlay_table_i8(codes, scales, ROWS, DIM);
    touch_between_guards(&view, ids, sizeof ids / sizeof *ids);
    free(scales);
    free(codes);
}
END_TEST

START_TEST(scales_are_requested_too)
{
    enum { COUNT = 2 };
    struct call *call = &the_call;
    open_mapped();
    if (!drop_cache_before_requests())
        return;
    /* An int8 table in the first file, with its scales in the second. */
    inlay_table view = inlay_table_i8(cold_table.view.extents[0].data, cold_table.view.extents[1].data, 1 << 20, 8);
    call->ids[0] = 3;
    call->ids[1] = 1 << 19;
    const struct inlay_rows rows = inlay_rows_of(&view, call->ids, INLAY_ID_I32, COUNT, page_bytes());
    size_t pages = 0;
    ck_assert(inlay_rows_request(&rows, 0, MAX_REQUESTED, &pages) == COUNT);
    EXPECT(pages == 2 * COUNT, "%zu pages", pages);
    inlay_rows_touch(&rows, 0, COUNT);
    EXPECT(cached_pages() == 2 * COUNT, "%zu pages were read", cached_pages());
    close_file();
}
END_TEST

enum { PAGES_ROWS = 2000, PAGES_DIM = 4096, PAGES_ID = 1000, ARRAYS = 3, ARRAY_BYTES = PAGES_ROWS * PAGES_DIM * 4 };

/* Writes flags of touched pages, and resets them. Returns their number. */
static size_t take_touched(unsigned char *bytes, unsigned char *flags)
{
    size_t count = 0;
    ck_assert(mincore(bytes, (size_t)ARRAYS * ARRAY_BYTES, flags) == 0);
    for (size_t i = 0; i < (size_t)ARRAYS * ARRAY_BYTES / page_bytes(); i++)
        count += flags[i] &= 1;
    ck_assert(madvise(bytes, (size_t)ARRAYS * ARRAY_BYTES, MADV_DONTNEED) == 0);
    return count;
}

/* Compares the pages requested and read for a row with those that a gather reads. Returns false if the table is
   invalid. */
static bool row_has_the_pages_of_a_gather(const inlay_table *view, unsigned char *bytes)
{
    static unsigned char gathered[ARRAYS * ARRAY_BYTES / 4096], read[sizeof gathered]; /* no page is smaller */
    static float out[PAGES_DIM];
    const int32_t id = PAGES_ID;
    const struct inlay_rows rows = inlay_rows_of(view, &id, INLAY_ID_I32, 1, page_bytes());
    if (inlay_gather(view, &id, INLAY_ID_I32, 1, 1, out, sizeof out, NULL, NULL) != INLAY_OK)
        return false;
    const size_t count = take_touched(bytes, gathered);
    size_t requested = 0;
    inlay_rows_request(&rows, 0, SIZE_MAX, &requested);
    inlay_rows_touch(&rows, 0, 1);
    take_touched(bytes, read);
    EXPECT(requested == count, "type %d, group %u: %zu pages are requested, a gather reads %zu", (int)view->type,
           view->group, requested, count);
    EXPECT(memcmp(gathered, read, sizeof read) == 0, "type %d, group %u: a gather reads other pages", (int)view->type,
           view->group);
    return true;
}

START_TEST(every_type_has_the_pages_of_a_gather)
{
    unsigned char *bytes =
        mmap(NULL, (size_t)ARRAYS * ARRAY_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ck_assert(bytes != MAP_FAILED);
#ifdef MADV_NOHUGEPAGE
    madvise(bytes, (size_t)ARRAYS * ARRAY_BYTES, MADV_NOHUGEPAGE);
#endif
    if (take_touched(bytes, (unsigned char[ARRAYS * ARRAY_BYTES / 4096]){0}) > 0) {
        printf("skipped a test of pages: this system does not tell which ones were touched\n");
        return;
    }
    for (inlay_element_type type = INLAY_F32; inlay_element_type_name(type, 0) != NULL; type++) {
        const size_t row_bytes = inlay_table_row_bytes(type, PAGES_DIM);
        size_t tables = 0;
        for (size_t way = 0; way < 12; way++) { /* data, scales, zero points; without groups, and with three sizes */
            inlay_table view = inlay_table_view(type, bytes, PAGES_ROWS, PAGES_DIM, row_bytes);
            view.scales = way % 3 > 0 ? bytes + ARRAY_BYTES : NULL;
            view.zeros = way % 3 > 1 ? bytes + 2 * (size_t)ARRAY_BYTES : NULL;
            view.group = way / 3 > 0 ? 16U << way / 3 : 0;
            tables += row_has_the_pages_of_a_gather(&view, bytes);
        }
        EXPECT(tables > 0, "there is no table of type %d", (int)type);
    }
    munmap(bytes, (size_t)ARRAYS * ARRAY_BYTES);
}
END_TEST

/* ---- Requests --------------------------------------------------------------------------------------------------- */

START_TEST(prefetch_requests_pages_and_maps_none)
{
    open_mapped();
    if (!drop_cache_before_requests())
        return;
    /* Rows further apart than a page of any size. */
    const size_t apart = cold_table.view.rows / MAX_REQUESTED;
    for (size_t i = 0; i < LARGE_CALL; i++)
        the_call.ids[i] = (int32_t)((i * 7 % MAX_REQUESTED) * apart + i / MAX_REQUESTED);
    ck_assert(inlay_file_prefetch(file, &cold_table.view, the_call.ids, INLAY_ID_I32, LARGE_CALL) == INLAY_FILE_OK);
    EXPECT(resident_bytes() == 0, "%zu bytes were read", resident_bytes());
    /* The second page of a row may exceed the maximum. */
    size_t cached = wait_for_pages(MAX_REQUESTED - 2), before;
    do { /* on a busy disk, the last ones come later */
        before = cached;
        nanosleep(&(struct timespec){.tv_nsec = 50 * 1000 * 1000}, NULL);
        cached = cached_pages();
    } while (cached != before);
    EXPECT(cached <= MAX_REQUESTED && cached >= MAX_REQUESTED - 16, "%zu pages", cached);

    /* The pages are those of the first rows. */
    inlay_file_read_end(file, &the_call.read);
    drop_from_process();
    the_call.rows = MAX_REQUESTED - 64;
    gather(&the_call);
    EXPECT(cached_pages() == cached, "rows needed %zu more pages", cached_pages() - cached);
    EXPECT(rows_are_right(&the_call), "rows differ");
    close_file();
}
END_TEST

START_TEST(a_large_call_requests_all_pages)
{
    struct random random = {3};
    open_mapped();
    draw_ids(&random, &the_call, LARGE_CALL);
    if (!drop_cache())
        return;
    begin(&the_call);
    EXPECT(the_call.read.requested >= LARGE_CALL, "%zu pages were requested", the_call.read.requested);
    /* The gather waits for the last windows. Faults also map neighbors that the cache has. Large pages are fewer. */
    const size_t all = (size_t)FILES * FILE_ROWS * ROW / page_bytes(), read = resident_bytes() / page_bytes();
    EXPECT(read > (all < LARGE_CALL ? all : LARGE_CALL) / 2, "%zu of %zu pages were read before the gather", read, all);
    gather(&the_call);
    inlay_file_read_end(file, &the_call.read);
    EXPECT(rows_are_right(&the_call), "rows differ");
    close_file();
}
END_TEST

START_TEST(neighboring_rows_are_requested_together)
{
    open_mapped();
    for (int32_t i = 0; i < LARGE_CALL; i++)
        the_call.ids[i] = i;
    for (size_t page = page_bytes(); page <= 64 * 1024; page *= 4) {
        const struct inlay_rows rows = inlay_rows_of(&cold_table.view, the_call.ids, INLAY_ID_I32, LARGE_CALL, page);
        size_t pages = 0;
        ck_assert(inlay_rows_request(&rows, 0, SIZE_MAX, &pages) == LARGE_CALL);
        const size_t least = LARGE_CALL * ROW / page;
        EXPECT(pages >= least && pages <= least + 2, "%zu pages of %zu bytes, not %zu", pages, page, least);
    }
    close_file();
}
END_TEST

/* On a system with larger pages, each request covers a whole page. */
START_TEST(larger_pages_are_requested_whole)
{
    for (size_t page = 4 * page_bytes(); page <= 64 * 1024; page *= 4) {
        struct random random = {page};
        open_mapped();
        file->reader.page_bytes = (uint32_t)page;
        if (!drop_cache_before_requests())
            return;
        the_call.ids[0] = 1000;
        ck_assert(inlay_file_prefetch(file, &cold_table.view, the_call.ids, INLAY_ID_I32, 1) == INLAY_FILE_OK);
        const size_t wanted = page / page_bytes(), cached = wait_for_pages(wanted);
        EXPECT(cached >= wanted && cached <= 2 * wanted, "%zu pages for one of %zu bytes", cached, page);
        for (size_t i = 0; i < 4; i++) {
            draw_ids(&random, &the_call, i % 2 == 0 ? CALL : LARGE_CALL);
            read_rows(&the_call);
            EXPECT(rows_are_right(&the_call), "rows differ with pages of %zu bytes", page);
        }
        close_file();
    }
}
END_TEST

/* Reads rows that are in memory until no page is requested for them. */
static bool becomes_warm(struct random *random)
{
    for (size_t i = 0; i < 2000; i++) {
        draw_ids(random, &the_call, CALL);
        gather(&the_call);
        read_rows(&the_call);
        if (i > 8 && the_call.read.requested == 0)
            return true;
    }
    return false;
}

START_TEST(warm_calls_request_nothing_and_slow_calls_do)
{
    struct random random = {4};
    open_mapped();
    EXPECT(becomes_warm(&random), "pages are requested for ever");
    for (size_t i = 0; i < 3; i++) { /* one slow call may be an interrupt; an early start makes a call slow */
        begin(&the_call);
        EXPECT(the_call.read.requested == 0 || i == 2, "%zu pages are requested after %zu slow calls",
               the_call.read.requested, i);
        EXPECT(the_call.read.requested > 0 || i < 2, "nothing is requested after two slow calls");
        the_call.read.begin -= (uint64_t)1 << 40;
        inlay_file_read_end(file, &the_call.read);
    }
    EXPECT(becomes_warm(&random), "requests never end again");
    close_file();
}
END_TEST

START_TEST(cold_calls_turn_requests_on)
{
    struct random random = {5};
    open_mapped();
    EXPECT(becomes_warm(&random), "pages are requested for ever");
    if (!drop_cache())
        return;
    bool requested = false;
    for (size_t i = 0; i < 200 && !requested; i++) {
        draw_ids(&random, &the_call, CALL);
        read_rows(&the_call);
        requested = the_call.read.requested > 0;
    }
    EXPECT(requested, "200 calls from the disk requested nothing");
    EXPECT(becomes_warm(&random), "pages are requested for ever");
    drop_cache();
    draw_ids(&random, &the_call, LARGE_CALL);
    read_rows(&the_call);
    EXPECT(the_call.read.requested >= LARGE_CALL, "a large call requested %zu pages", the_call.read.requested);
    close_file();
}
END_TEST

START_TEST(the_decision_follows_its_definition)
{
    inlay_file_reader reader = {0};
    for (unsigned call = 0; call < 40; call++)
        EXPECT(inlay_advice_next(&reader, CALL) == (call % 16 == 4 ? INLAY_ADVICE_TAKE_SAMPLE : INLAY_ADVICE_REQUEST),
               "call %u of a new file", call);
    EXPECT(inlay_advice_sampled(&reader, 4), "cold rows turn requests off");
    EXPECT(inlay_advice_sampled(&reader, 1), "a single slow row turns requests off");
    EXPECT(!inlay_advice_sampled(&reader, 0), "warm rows leave requests on");
    EXPECT(inlay_advice_next(&reader, CALL) == INLAY_ADVICE_NOTHING, "requests are still on");
    EXPECT(inlay_advice_next(&reader, 512) == INLAY_ADVICE_TAKE_SAMPLE, "a large call takes no sample");
    EXPECT(!inlay_advice_sampled(&reader, 1), "a single slow row turns requests on");
    inlay_advice_measured(&reader, true);
    EXPECT(inlay_advice_next(&reader, CALL) == INLAY_ADVICE_NOTHING, "a single slow call turns requests on");
    inlay_advice_measured(&reader, false);
    inlay_advice_measured(&reader, true);
    EXPECT(inlay_advice_next(&reader, CALL) == INLAY_ADVICE_NOTHING, "slow calls with a fast one between");
    inlay_advice_measured(&reader, true);
    EXPECT(inlay_advice_next(&reader, CALL) == INLAY_ADVICE_REQUEST, "two slow calls leave requests off");
    inlay_advice_measured(&reader, false);
    EXPECT(inlay_advice_next(&reader, CALL) == INLAY_ADVICE_REQUEST, "a fast call turns requests off without a sample");
    inlay_advice_sampled(&reader, 0);
    EXPECT(inlay_advice_sampled(&reader, 2), "two slow rows leave requests off");
}
END_TEST

/* Makes calls on rows in memory, and exits with 0. The kernel kills the process at the first system call among them. */
_Noreturn static void make_warm_calls(void)
{
    static struct sock_filter only_exit[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL),
    };
    static const struct sock_fprog filter = {sizeof only_exit / sizeof *only_exit, only_exit};
    struct random random = {11};
    open_mapped();
    if (!becomes_warm(&random))
        _exit(1);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        _exit(EXIT_SKIP);
    for (size_t i = 0; i < WARM_CALLS; i++) {
        inlay_file_read_begin(file, &cold_table.view, the_call.ids, INLAY_ID_I32, CALL, &the_call.read);
        inlay_gather(&cold_table.view, the_call.ids, INLAY_ID_I32, CALL, 1, the_call.out, ROW, NULL, NULL);
        inlay_file_read_end(file, &the_call.read);
    }
    _exit(0);
}

/* If the machine is busy, two calls in a row can be slow and the next one makes requests, so one child of several
   suffices. */
START_TEST(warm_calls_make_no_system_calls)
{
    enum { ATTEMPTS = 10 };
    int status = -1;
#ifdef SANITIZED
    printf("skipped a test of system calls: sanitizers make some\n");
    return;
#endif
    for (int i = 0; i < ATTEMPTS && status != 0; i++) {
        const pid_t child = fork();
        if (child == 0)
            make_warm_calls();
        ck_assert(waitpid(child, &status, 0) == child);
        if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SKIP) {
            printf("skipped a test of system calls: this system does not limit them\n");
            return;
        }
    }
    EXPECT(status == 0, "%d warm calls end with status %d", WARM_CALLS, status);
}
END_TEST

/* Changes the clock state of a reader as if the machine slept, or the process moved to another machine. */
static void let_clock_jump(inlay_file_reader *reader, size_t how, size_t ticks)
{
    const uint64_t second_ns = 1000000000;
    reader->slow_ticks = how == 0 ? 1 : ticks; /* 0: measured while the counter was stopped */
    if (how == 1)
        reader->start_ticks += (uint64_t)1 << 50; /* the counter restarted */
    if (how == 2) {
        reader->start_ticks -= (uint64_t)1 << 50; /* it continued while the other clock was stopped */
        reader->slow_ticks = 0;
    }
    if (how == 3)
        reader->slow_ticks = 3 * ticks; /* the other machine's counter is faster */
    reader->start_ns -= 2 * second_ns;
}

START_TEST(a_clock_that_jumped_is_calibrated_again)
{
    enum { READERS = 4, ROWS = 4, LONGEST_MS = 15000 };
    const float rows[ROWS] = {1, 2, 3, 4};
    const int32_t ids[ROWS] = {0, 1, 2, 3};
    const inlay_table table = inlay_table_f32(rows, ROWS, 1);
    const struct timespec pause = {.tv_nsec = 1000 * 1000};
    inlay_file_reader readers[READERS], right;
    inlay_file_read read;
    inlay_file_reader_init(&right);
    for (size_t ms = 0; right.slow_ticks == 0 && ms < LONGEST_MS; ms++) {
        nanosleep(&pause, NULL);
        ck_assert(inlay_file_reader_begin(&right, &table, ids, INLAY_ID_I32, ROWS, &read) == INLAY_FILE_OK);
        inlay_file_reader_end(&right, &read);
    }
    const size_t ticks = right.slow_ticks;
    EXPECT(ticks > 0, "the clock is never calibrated");
    for (size_t i = 0; i < READERS; i++) {
        inlay_file_reader_init(&readers[i]);
        let_clock_jump(&readers[i], i, ticks);
    }
    for (size_t i = 0; i < READERS; i++) {
        inlay_file_reader *reader = &readers[i];
        bool good = false;
        for (size_t ms = 0; !good && ms < LONGEST_MS; ms++) {
            nanosleep(&pause, NULL);
            ck_assert(inlay_file_reader_begin(reader, &table, ids, INLAY_ID_I32, ROWS, &read) == INLAY_FILE_OK);
            inlay_file_reader_end(reader, &read);
            good = reader->slow_ticks > ticks / 2 && reader->slow_ticks < 2 * ticks && read.requested == 0;
        }
        EXPECT(good, "jump %zu: %zu ticks, not %zu; %zu pages are requested", i, reader->slow_ticks, ticks,
               read.requested);
    }
}
END_TEST

/* ---- The cap ---------------------------------------------------------------------------------------------------- */

enum { CAP = 6 * MIB };

/* Makes calls under a cap, and returns the maximum of resident bytes after a call. */
static size_t read_under_cap(struct random *random, size_t calls)
{
    size_t most = 0;
    for (size_t i = 0; i < calls; i++) {
        draw_ids(random, &the_call, i % 500 == 499 ? LARGE_CALL : CALL);
        read_rows(&the_call);
        const size_t resident = resident_bytes();
        most = resident > most ? resident : most;
        EXPECT(resident <= CAP, "%zu KiB are resident after call %zu", resident >> 10, i);
        EXPECT(rows_are_right(&the_call), "rows of call %zu differ", i);
    }
    return most;
}

START_TEST(the_cap_holds_after_every_call)
{
    struct random random = {6};
    open_with(INLAY_FILE_MEMORY_MAPPED, CAP);
    drop_cache();
    EXPECT(read_under_cap(&random, 1000) > CAP / 4, "few pages from the disk stay");
    read_model(); /* in order: the system caches folios of many pages, and a fault maps a whole folio */
    EXPECT(read_under_cap(&random, 1000) > CAP / 4, "few pages from the cache stay");
    close_file();
}
END_TEST

START_TEST(pages_of_others_do_not_empty_it_for_good)
{
    struct random random = {12};
    const size_t bytes = 64 * MIB;
    open_with(INLAY_FILE_MEMORY_MAPPED, CAP);
    read_under_cap(&random, 100);
    unsigned char *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(shared, MAP_FAILED);
    memset(shared, 1, bytes);
    read_under_cap(&random, 100);
    EXPECT(read_under_cap(&random, 500) > CAP / 4, "few pages stay while the process has others");
    munmap(shared, bytes);
    EXPECT(read_under_cap(&random, 500) > CAP / 4, "few pages stay after the process had others");
    close_file();
}
END_TEST

START_TEST(without_a_cap_all_stays)
{
    struct random random = {7};
    open_mapped();
    for (size_t i = 0; i < 20; i++) {
        draw_ids(&random, &the_call, LARGE_CALL);
        read_rows(&the_call);
    }
    EXPECT(resident_bytes() > 30 * MIB, "%zu KiB are resident", resident_bytes() >> 10);
    close_file();
}
END_TEST

START_TEST(a_warm_call_under_a_cap_drops_nothing)
{
    struct random random = {8};
    open_with(INLAY_FILE_MEMORY_MAPPED, 200 * MIB);
    for (size_t i = 0; i < 40; i++) {
        draw_ids(&random, &the_call, LARGE_CALL);
        read_rows(&the_call);
    }
    const size_t before = resident_bytes();
    for (size_t i = 0; i < 2000; i++) {
        draw_ids(&random, &the_call, CALL);
        read_rows(&the_call);
    }
    EXPECT(resident_bytes() >= before, "%zu KiB were dropped", (before - resident_bytes()) >> 10);
    close_file();
}
END_TEST

START_TEST(single_rows_count_under_a_cap)
{
    struct random random = {14};
    open_with(INLAY_FILE_MEMORY_MAPPED, CAP);
    read_model(); /* in order, so a row maps a folio of many pages */
    for (size_t i = 0; i < 3000; i++) {
        draw_ids(&random, &the_call, 1);
        read_rows(&the_call);
        EXPECT(resident_bytes() <= CAP, "%zu KiB are resident after call %zu", resident_bytes() >> 10, i);
    }
    close_file();
}
END_TEST

/* ---- Your own mappings ------------------------------------------------------------------------------------------- */

/* The first file as mapped by another program, with the system's readahead, and its table. */
struct foreign {
    unsigned char *bytes;
    inlay_table table;
    inlay_file_reader reader;
};

static struct foreign map_foreign(void)
{
    const struct inlay_mapping *mapping = &file->mappings[0];
    const size_t offset = (size_t)((const unsigned char *)cold_table.view.extents[0].data - mapping->bytes);
    struct foreign foreign;
    const int descriptor = open(mapping->file.path, O_RDONLY);
    foreign.bytes = mmap(NULL, mapping->size, PROT_READ, MAP_SHARED, descriptor, 0);
    ck_assert(foreign.bytes != MAP_FAILED && close(descriptor) == 0);
    foreign.table = inlay_table_view(INLAY_F32, foreign.bytes + offset, FILE_ROWS, WIDTH, ROW);
    inlay_file_reader_init(&foreign.reader);
    return foreign;
}

static void unmap_foreign(const struct foreign *foreign)
{
    munmap(foreign->bytes, file->mappings[0].size);
}

/* Reads random rows and returns the state of the call. */
static inlay_file_read read_foreign(struct foreign *foreign, struct random *random, size_t rows)
{
    inlay_file_read read;
    the_call.rows = rows;
    for (size_t i = 0; i < rows; i++)
        the_call.ids[i] = (int32_t)random_below(random, FILE_ROWS);
    ck_assert(inlay_file_reader_begin(&foreign->reader, &foreign->table, the_call.ids, INLAY_ID_I32, rows, &read) ==
              INLAY_FILE_OK);
    ck_assert(inlay_gather(&foreign->table, the_call.ids, INLAY_ID_I32, rows, 1, the_call.out, ROW, NULL, NULL) ==
              INLAY_OK);
    inlay_file_reader_end(&foreign->reader, &read);
    EXPECT(rows_are_right(&the_call), "rows differ");
    return read;
}

/* A page fault would also read the surrounding pages. */
START_TEST(cold_rows_of_any_mapping_are_requested_and_nothing_else)
{
    struct random random = {15};
    open_mapped();
    struct foreign foreign = map_foreign();
    if (!drop_cache_before_requests())
        return;
    size_t requested = 0;
    for (size_t call = 0; call < 6; call++) { /* with a sample */
        const size_t rows = call == 5 ? 600 : CALL;
        const inlay_file_read read = read_foreign(&foreign, &random, rows);
        EXPECT(read.requested >= (rows == CALL ? CALL - 2 : MAX_REQUESTED), "call %zu requested %zu pages", call,
               read.requested);
        requested += read.requested;
    }
    EXPECT(cached_pages() <= requested, "%zu pages were read, %zu requested", cached_pages(), requested);
    unmap_foreign(&foreign);
    close_file();
}
END_TEST

/* Reads rows until calls are warm. Returns false if they stay cold. */
static bool foreign_becomes_warm(struct foreign *foreign, struct random *random)
{
    for (size_t i = 0; i < 2000; i++)
        if (read_foreign(foreign, random, CALL).requested == 0 && i > 8)
            return true;
    return false;
}

START_TEST(warm_rows_of_any_mapping_cost_nothing)
{
    static const struct {
        size_t rows;
        bool timed;
    } calls[] = {{1, false}, {3, false}, {4, true}, {CALL, true}};
    struct random random = {16};
    open_mapped();
    struct foreign foreign = map_foreign();
    read_model();
    for (size_t i = 0; i < file->mappings[0].size; i += page_bytes())
        (void)*(volatile unsigned char *)(foreign.bytes + i);
    EXPECT(foreign_becomes_warm(&foreign, &random), "pages are requested for ever");
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        const inlay_file_read read = read_foreign(&foreign, &random, calls[i].rows);
        EXPECT(read.requested == 0 && (read.pages > 0) == calls[i].timed && (read.begin > 0) == calls[i].timed,
               "%zu rows: %zu pages, %zu requested", calls[i].rows, read.pages, read.requested);
    }
    /* A single row of 4 pages is timed. */
    inlay_file_read read;
    const inlay_table wide = inlay_table_view(INLAY_I8, foreign.bytes, 8, 4 * page_bytes(), 4 * page_bytes());
    ck_assert(inlay_file_reader_begin(&foreign.reader, &wide, the_call.ids, INLAY_ID_I32, 1, &read) == INLAY_FILE_OK);
    EXPECT(read.pages == 4, "%zu pages", read.pages);
    for (int i = 0; i < 2; i++) { /* slow calls */
        read.begin -= (uint64_t)1 << 40;
        inlay_file_reader_end(&foreign.reader, &read);
    }
    EXPECT(read_foreign(&foreign, &random, 1).requested > 0, "a call of one row requests nothing while others do");
    unmap_foreign(&foreign);
    close_file();
}
END_TEST

START_TEST(readers_check_their_arguments)
{
    const float row[2] = {1, 2};
    const int32_t id = 0;
    const inlay_table table = inlay_table_f32(row, 1, 2);
    inlay_file_reader reader, none = {0};
    inlay_file_read read;
    inlay_file_reader_init(NULL);
    inlay_file_reader_init(&reader);
    EXPECT(inlay_file_reader_begin(NULL, &table, &id, INLAY_ID_I32, 1, &read) == INLAY_FILE_ERROR_ARGUMENT,
           "no reader");
    EXPECT(inlay_file_reader_begin(&reader, NULL, &id, INLAY_ID_I32, 1, &read) == INLAY_FILE_ERROR_ARGUMENT,
           "no table");
    EXPECT(inlay_file_reader_begin(&reader, &table, NULL, INLAY_ID_I32, 1, &read) == INLAY_FILE_ERROR_ARGUMENT,
           "no ids");
    EXPECT(inlay_file_reader_begin(&reader, &table, &id, (inlay_id_type)7, 1, &read) == INLAY_FILE_ERROR_ARGUMENT, "7");
    EXPECT(inlay_file_reader_begin(&reader, &table, &id, INLAY_ID_I32, 1, NULL) == INLAY_FILE_ERROR_ARGUMENT,
           "no read");
    EXPECT(inlay_file_reader_begin(&reader, &table, NULL, INLAY_ID_I32, 0, &read) == INLAY_FILE_OK && read.pages == 0,
           "no ids are needed");
    inlay_file_reader_end(NULL, &read);
    inlay_file_reader_end(&reader, NULL);
    EXPECT(inlay_file_reader_begin(&none, &table, &id, INLAY_ID_I32, 1, &read) == INLAY_FILE_OK && read.pages == 0,
           "a reader of zeros does something");
    /* Memory that is no mapping is warm. */
    for (int call = 0; call < 40; call++) {
        ck_assert(inlay_file_reader_begin(&reader, &table, &id, INLAY_ID_I32, 1, &read) == INLAY_FILE_OK);
        inlay_file_reader_end(&reader, &read);
    }
    EXPECT(read.requested == 0 && read.pages == 0, "memory of no file is cold");
}
END_TEST

/* ---- Threads, arguments, other memory --------------------------------------------------------------------------- */

enum { THREADS = 4 };

static void *read_many(void *seed)
{
    struct call *call = malloc(sizeof *call);
    struct random random = {(uint64_t)(uintptr_t)seed};
    bool right = call != NULL;
    for (size_t i = 0; right && i < 400; i++) {
        draw_ids(&random, call, i % 50 == 7 ? LARGE_CALL : CALL);
        if (i % 3 == 0)
            inlay_file_prefetch(file, &cold_table.view, call->ids, INLAY_ID_I32, call->rows);
        read_rows(call);
        right = rows_are_right(call);
    }
    free(call);
    return right ? seed : NULL;
}

START_TEST(threads_read_what_one_reads)
{
    static const size_t caps[] = {0, 8 * MIB};
    for (size_t i = 0; i < 2; i++) {
        pthread_t threads[THREADS];
        open_with(INLAY_FILE_MEMORY_MAPPED, caps[i]);
        drop_cache();
        for (size_t t = 0; t < THREADS; t++)
            ck_assert(pthread_create(&threads[t], NULL, read_many, (void *)(uintptr_t)(t + 1)) == 0);
        for (size_t t = 0; t < THREADS; t++) {
            void *result;
            ck_assert(pthread_join(threads[t], &result) == 0);
            EXPECT(result != NULL, "rows of thread %zu differ", t);
        }
        close_file();
    }
}
END_TEST

START_TEST(files_in_memory_need_nothing)
{
    static const inlay_file_memory kinds[] = {INLAY_FILE_MEMORY_COPIED, INLAY_FILE_MEMORY_LOADED};
    struct random random = {9};
    for (size_t i = 0; i < 2; i++) {
        open_with(kinds[i], MIB);
        draw_ids(&random, &the_call, LARGE_CALL);
        read_rows(&the_call);
        EXPECT(the_call.read.requested == 0 && the_call.read.pages == 0, "%zu pages were requested",
               the_call.read.requested);
        EXPECT(rows_are_right(&the_call), "rows differ");
        close_file();
    }
}
END_TEST

START_TEST(bad_arguments_are_errors)
{
    const int32_t id = 0;
    inlay_file_read read;
    open_mapped();
    const inlay_table *view = &cold_table.view;
    EXPECT(inlay_file_prefetch(NULL, view, &id, INLAY_ID_I32, 1) == INLAY_FILE_ERROR_ARGUMENT, "no file");
    EXPECT(inlay_file_prefetch(file, NULL, &id, INLAY_ID_I32, 1) == INLAY_FILE_ERROR_ARGUMENT, "no table");
    EXPECT(inlay_file_prefetch(file, view, NULL, INLAY_ID_I32, 1) == INLAY_FILE_ERROR_ARGUMENT, "no ids");
    EXPECT(inlay_file_prefetch(file, view, &id, (inlay_id_type)0, 1) == INLAY_FILE_ERROR_ARGUMENT, "type 0");
    EXPECT(inlay_file_prefetch(file, view, &id, (inlay_id_type)7, 1) == INLAY_FILE_ERROR_ARGUMENT, "type 7");
    EXPECT(inlay_file_prefetch(file, view, NULL, INLAY_ID_I32, 0) == INLAY_FILE_OK, "no ids are needed");
    EXPECT(inlay_file_read_begin(file, view, &id, INLAY_ID_I32, 1, NULL) == INLAY_FILE_ERROR_ARGUMENT, "no read");
    EXPECT(inlay_file_read_begin(NULL, view, &id, INLAY_ID_I32, 1, &read) == INLAY_FILE_ERROR_ARGUMENT, "no file");
    EXPECT(inlay_file_read_begin(file, view, NULL, INLAY_ID_I32, 0, &read) == INLAY_FILE_OK, "no ids are needed");
    EXPECT(read.pages == 0, "%zu pages of no rows", read.pages);
    inlay_file_read_end(file, &read);
    inlay_file_read_end(NULL, &read);
    inlay_file_read_end(file, NULL);
    close_file();
}
END_TEST

START_TEST(errno_stays)
{
    static const int32_t ids[] = {1, 2, 3};
    struct random random = {10};
    /* The system rejects advice about unmapped memory. */
    open_with(INLAY_FILE_MEMORY_MAPPED, 3 * MIB);
    void *nowhere = mmap(NULL, MIB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(nowhere, MAP_FAILED);
    munmap(nowhere, MIB);
    const inlay_table gone = inlay_table_i8(nowhere, NULL, 64, 8);
    errno = 77;
    inlay_file_prefetch(file, &gone, ids, INLAY_ID_I32, 3);
    EXPECT(errno == 77, "errno is %d after a prefetch", errno);
    inlay_file_read_begin(file, &gone, ids, INLAY_ID_I32, 3, &the_call.read);
    EXPECT(the_call.read.requested > 0 && errno == 77, "errno is %d after a request", errno);
    inlay_file_read_end(file, &the_call.read);
    draw_ids(&random, &the_call, LARGE_CALL);
    read_rows(&the_call);
    EXPECT(errno == 77, "errno is %d", errno);
    close_file();
}
END_TEST

int main(int argc, char **argv)
{
    make_model();
    const int status = RUN_TESTS(
        argc, argv, "cold tables", NULL, NULL, rows_are_those_of_a_plain_gather, every_type_of_ids_finds_its_rows,
        ids_outside_of_the_table_are_ignored, no_page_outside_of_the_rows_is_read, no_byte_outside_of_the_rows_is_read,
        scales_are_requested_too, every_type_has_the_pages_of_a_gather, prefetch_requests_pages_and_maps_none,
        a_large_call_requests_all_pages, neighboring_rows_are_requested_together, larger_pages_are_requested_whole,
        warm_calls_request_nothing_and_slow_calls_do, cold_calls_turn_requests_on, the_decision_follows_its_definition,
        warm_calls_make_no_system_calls, a_clock_that_jumped_is_calibrated_again, the_cap_holds_after_every_call,
        pages_of_others_do_not_empty_it_for_good, without_a_cap_all_stays, a_warm_call_under_a_cap_drops_nothing,
        single_rows_count_under_a_cap, cold_rows_of_any_mapping_are_requested_and_nothing_else,
        warm_rows_of_any_mapping_cost_nothing, readers_check_their_arguments, threads_read_what_one_reads,
        files_in_memory_need_nothing, bad_arguments_are_errors, errno_stays);
    remove_model();
    return status;
}
