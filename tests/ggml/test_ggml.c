/* SPDX-License-Identifier: MIT */
/*
 * Compares the backend with ggml's CPU backend: bits of random gathers, supported nodes, errors, and repeated loading.
 * Uses only ggml's public API.
 *
 *     test_ggml BACKEND.so bits [CALLS]     random calls of each type; the last line counts types
 *     test_ggml BACKEND.so rules            supported nodes, bad ids, GGML_INLAY
 *     test_ggml BACKEND.so reload [TIMES]   loads, computes, frees and unloads
 *     test_ggml BACKEND.so times [THREADS]  a table of times relative to the CPU backend
 *     test_ggml BACKEND.so models           time saved per prompt token in some models
 *     test_ggml BACKEND.so cold [MIB]       rows of a mapped file that is not in memory, in the current folder
 */
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "graphs.h"

static int passed, failed, skipped;
static char logged[65536];
static size_t logged_bytes;

/* Keeps ggml's log. */
static void keep_log(enum ggml_log_level level, const char *text, void *user_data)
{
    (void)level, (void)user_data;
    const size_t bytes = strlen(text);
    if (logged_bytes + bytes < sizeof logged) {
        memcpy(logged + logged_bytes, text, bytes + 1);
        logged_bytes += bytes;
    }
}

static void forget_log(void)
{
    logged_bytes = 0;
    logged[0] = '\0';
}

/* Counts a check and prints it if it failed. */
__attribute__((format(printf, 2, 3))) static bool check(bool holds, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (!holds) {
        printf("FAILED - ");
        vprintf(format, arguments);
        printf("\n");
    }
    va_end(arguments);
    if (holds)
        passed++;
    else
        failed++;
    return holds;
}

/* Ends the program if nothing can be tested. */
static void give_up(const char *why)
{
    printf("FAILED - %s\n%s0 passed, 1 failed, 0 skipped\n", why, logged);
    exit(1);
}

static ggml_backend_reg_t load(const char *path)
{
    ggml_backend_reg_t registry = ggml_backend_load(path);
    if (registry == NULL)
        give_up("the backend was not loaded");
    return registry;
}

static ggml_backend_t start(ggml_backend_reg_t registry)
{
    ggml_backend_t backend = ggml_backend_dev_init(ggml_backend_reg_dev_get(registry, 0), NULL);
    if (backend == NULL)
        give_up("the backend did not start");
    return backend;
}

static void set_threads(ggml_backend_t backend, int threads)
{
    ggml_backend_reg_t registry = ggml_backend_dev_backend_reg(ggml_backend_get_device(backend));
    void *function = ggml_backend_reg_get_proc_address(registry, "ggml_backend_set_n_threads");
    ggml_backend_set_n_threads_t set;
    memcpy(&set, &function, sizeof set);
    if (set != NULL)
        set(backend, threads);
}

static ggml_backend_t start_cpu(void)
{
    ggml_backend_load_all();
    ggml_backend_t cpu = ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, NULL);
    if (cpu == NULL)
        give_up("ggml has no CPU backend");
    set_threads(cpu, 1);
    return cpu;
}

/* ---- Bits ------------------------------------------------------------------------------------------------------- */

static struct shape random_shape(enum ggml_type type, uint64_t *random)
{
    const int64_t block = ggml_blck_size(type);
    struct shape shape = {.type = type, .usage = GGML_BACKEND_BUFFER_USAGE_WEIGHTS};
    shape.dim = block * random_between(random, 1, block == 1 ? 700 : 2048 / block);
    shape.rows = random_between(random, 1, 100);
    shape.count = random_between(random, 1, random_between(random, 1, 8) == 1 ? 600 : 20);
    if (random_between(random, 0, 2) == 0) {
        shape.more_columns = block * random_between(random, 0, 3);
        shape.first_row = random_between(random, 0, 5);
    }
    shape.first_id = random_between(random, 0, 3) == 0 ? random_between(random, 1, 9) : 0;
    shape.scaled = random_between(random, 0, 2) == 0;
    shape.reshaped = shape.scaled && shape.dim % 2 == 0 && random_between(random, 0, 2) == 0;
    shape.kept = shape.scaled && random_between(random, 0, 2) == 0;
    shape.scale = (float)random_between(random, -1000, 1000) / 7;
    return shape;
}

/* Returns how many floats differ; all NaNs are equal. */
static size_t differing(const float *a, const float *b, size_t count)
{
    size_t differ = 0;
    for (size_t i = 0; i < count; i++)
        differ += memcmp(&a[i], &b[i], sizeof a[i]) != 0 && !(a[i] != a[i] && b[i] != b[i]);
    return differ;
}

static float *copy_of(const struct ggml_tensor *tensor)
{
    float *copy = malloc(ggml_nbytes(tensor) + 1);
    if (copy == NULL)
        give_up("there is no memory");
    memcpy(copy, tensor->data, ggml_nbytes(tensor));
    return copy;
}

/* Computes a random graph on both backends and compares all outputs. Returns true if they agree. */
static bool same_bits(ggml_backend_t backend, ggml_backend_t cpu, const struct shape *shape, uint64_t *random,
                      int *fused)
{
    struct graph graph = graph_make(shape);
    graph_fill_table(&graph, random_between(random, 0, 1) == 0, random);
    graph_fill_ids(&graph, random);
    if (!ggml_backend_supports_op(backend, graph.rows))
        give_up("a gather of weights is not taken");
    *fused += shape->scaled && graph.rows->data == graph.out->data;
    graph_forget(&graph);
    bool same = ggml_backend_graph_compute(cpu, graph.graph) == GGML_STATUS_SUCCESS;
    float *rows = copy_of(graph.rows), *out = copy_of(graph.out);
    graph_forget(&graph);
    same = same && ggml_backend_graph_compute(backend, graph.graph) == GGML_STATUS_SUCCESS;
    const size_t count = (size_t)ggml_nelements(graph.out);
    same = same && differing(out, graph.out->data, count) == 0 && differing(rows, graph.rows->data, count) == 0;
    free(rows);
    free(out);
    graph_free(&graph);
    return same;
}

static void test_bits(const char *path, int calls)
{
    ggml_backend_reg_t registry = load(path);
    ggml_backend_t cpu = start_cpu();
    uint64_t random = 1;
    for (int type = 0; type < GGML_TYPE_COUNT; type++) {
        const struct shape probe = {.type = (enum ggml_type)type,
                                    .dim = ggml_blck_size((enum ggml_type)type),
                                    .rows = 1,
                                    .count = 1,
                                    .usage = GGML_BACKEND_BUFFER_USAGE_WEIGHTS};
        if (ggml_type_size((enum ggml_type)type) == 0 || probe.dim == 0)
            continue; /* a type number that ggml no longer uses */
        ggml_backend_t backend = start(registry);
        struct graph graph = graph_make(&probe);
        const bool taken = ggml_backend_supports_op(backend, graph.rows);
        graph_free(&graph);
        int agree = 0, fused = 0;
        for (int call = 0; taken && call < calls; call++) {
            const struct shape shape = random_shape((enum ggml_type)type, &random);
            set_threads(backend, 1 + call % 4);
            agree += same_bits(backend, cpu, &shape, &random, &fused);
        }
        forget_log();
        ggml_backend_free(backend);
        char expected[64];
        snprintf(expected, sizeof expected, " %d of them fused", fused);
        if (!taken)
            printf("%-8s stays with ggml\n", ggml_type_name((enum ggml_type)type));
        else if (check(agree == calls, "%s: %d of %d calls agree", ggml_type_name((enum ggml_type)type), agree,
                       calls) &&
                 check(strstr(logged, expected) != NULL, "%d calls were to be fused: %s", fused, logged))
            printf("%-8s %d calls, %d of them fused with SCALE: the same bits\n", ggml_type_name((enum ggml_type)type),
                   calls, fused);
    }
    ggml_backend_free(cpu);
    ggml_backend_unload(registry);
}

/* Returns a number of /proc/self/status. */
static long status_number(const char *name)
{
    char line[256];
    long number = -1;
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, name, strlen(name)) == 0)
            number = strtol(line + strlen(name), NULL, 10);
    if (file != NULL)
        fclose(file);
    return number;
}

/* ---- Rules ------------------------------------------------------------------------------------------------------ */

/* A bad id at every place of a list, alone and under a SCALE, must be logged, and nothing may be written. */
static void test_bad_ids(ggml_backend_t backend)
{
    static const int32_t bad[] = {-1, 50, INT32_MAX, INT32_MIN};
    uint64_t random = 2;
    for (int i = 0; i < 4 * 7 * 2; i++) {
        const int32_t id = bad[i % 4];
        const int at = i / 4 % 7;
        const struct shape shape = {.type = i % 3 == 0 ? GGML_TYPE_F32 : GGML_TYPE_Q6_K,
                                    .dim = 256,
                                    .rows = 50,
                                    .count = 7,
                                    .usage = GGML_BACKEND_BUFFER_USAGE_WEIGHTS,
                                    .scaled = i >= 28,
                                    .scale = 2};
        struct graph graph = graph_make(&shape);
        graph_fill_table(&graph, true, &random);
        graph_fill_ids(&graph, &random);
        ((int32_t *)graph.ids->data)[at] = id;
        graph_forget(&graph);
        forget_log();
        check(ggml_backend_graph_compute(backend, graph.graph) == GGML_STATUS_FAILED, "id %d is taken", (int)id);
        char expected[128];
        snprintf(expected, sizeof expected, "rows: id %d at index %d of ids is not below the 50 rows of table", (int)id,
                 at);
        check(strstr(logged, expected) != NULL, "the log has no \"%s\": %s", expected, logged);
        const unsigned char *bytes = graph.out->data;
        size_t written = 0;
        for (size_t byte = 0; byte < ggml_nbytes(graph.out); byte++)
            written += bytes[byte] != 0x5a;
        check(written == 0, "%zu bytes were written for id %d", written, (int)id);
        ((int32_t *)graph.ids->data)[at] = 49;
        check(ggml_backend_graph_compute(backend, graph.graph) == GGML_STATUS_SUCCESS, "id 49 is refused");
        graph_free(&graph);
    }
}

/* Checks if the backend supports a node that is not allocated, with an allocated table. */
static void expect_taken(ggml_backend_t backend, const struct ggml_tensor *node, bool taken, const char *what)
{
    check(ggml_backend_supports_op(backend, node) == taken, "%s is %s", what, taken ? "not taken" : "taken");
}

static void test_taken(ggml_backend_t backend)
{
    const struct shape shape = {
        .type = GGML_TYPE_Q8_0, .dim = 64, .rows = 10, .count = 6, .usage = GGML_BACKEND_BUFFER_USAGE_WEIGHTS};
    struct graph graph = graph_make(&shape);
    struct ggml_context *nodes = graph.nodes;
    struct ggml_tensor *rows = graph.rows, *table = graph.table, *ids = graph.ids;
    expect_taken(backend, rows, true, "a gather of weights");
    expect_taken(backend, ggml_scale(nodes, rows, 3), true, "SCALE of it");
    expect_taken(backend, ggml_scale_bias(nodes, rows, 3, 1), false, "SCALE with a bias");
    expect_taken(backend, ggml_scale(nodes, ggml_add(nodes, rows, rows), 3), false, "SCALE of a sum");
    expect_taken(backend, ggml_add(nodes, rows, rows), false, "ADD");
    expect_taken(backend, ggml_get_rows(nodes, rows, ids), false, "a gather of activations");
    expect_taken(backend, ggml_get_rows(nodes, table, ggml_view_1d(nodes, ids, 3, 4)), true, "a view of ids");
    struct ggml_tensor *strided = ggml_view_1d(nodes, ids, 3, 0);
    strided->nb[0] = 8;
    expect_taken(backend, ggml_get_rows(nodes, table, strided), false, "a list of every second id");
    struct ggml_tensor *cube = ggml_reshape_3d(nodes, table, 64, 5, 2);
    expect_taken(backend, ggml_get_rows(nodes, cube, ggml_reshape_2d(nodes, ids, 3, 2)), false, "a batch of tables");
    ggml_backend_buffer_set_usage(graph.buffer, GGML_BACKEND_BUFFER_USAGE_ANY);
    expect_taken(backend, rows, false, "a gather of a table that is no weight");
    ggml_backend_buffer_set_usage(graph.buffer, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    graph_free(&graph);

    const struct shape integers = {
        .type = GGML_TYPE_I32, .dim = 64, .rows = 10, .count = 6, .usage = GGML_BACKEND_BUFFER_USAGE_WEIGHTS};
    graph = graph_make(&integers);
    expect_taken(backend, graph.rows, false, "a gather of integers");
    forget_log();
    check(ggml_backend_graph_compute(backend, graph.graph) == GGML_STATUS_FAILED, "a gather of integers is computed");
    check(strstr(logged, "rows: this GET_ROWS is not computed here") != NULL, "the log says: %s", logged);
    graph_free(&graph);
}

/* If the rows are used elsewhere, the SCALE is computed separately, and the next one is left to ggml. */
static void test_scale_apart(ggml_backend_t backend)
{
    const struct shape shape = {.type = GGML_TYPE_F16,
                                .dim = 64,
                                .rows = 10,
                                .count = 6,
                                .usage = GGML_BACKEND_BUFFER_USAGE_WEIGHTS,
                                .scaled = true,
                                .kept = true,
                                .scale = 2};
    struct graph graph = graph_make(&shape);
    uint64_t random = 6;
    graph_fill_table(&graph, false, &random);
    graph_fill_ids(&graph, &random);
    expect_taken(backend, graph.out, true, "the first SCALE");
    check(ggml_backend_graph_compute(backend, graph.graph) == GGML_STATUS_SUCCESS, "a graph failed");
    expect_taken(backend, graph.out, false, "a SCALE after one that came by itself");
    expect_taken(backend, graph.rows, true, "a gather after it");
    graph_free(&graph);
}

/* Nodes of an inactive branch are not computed: their ids are not set. */
static void test_branches(ggml_backend_t backend)
{
    const struct shape shape = {
        .type = GGML_TYPE_F16, .dim = 64, .rows = 10, .count = 6, .usage = GGML_BACKEND_BUFFER_USAGE_WEIGHTS};
    struct graph graph = graph_make(&shape);
    memset(graph.ids->data, 0xff, ggml_nbytes(graph.ids));
    graph_forget(&graph);
    graph.rows->flags &= ~GGML_TENSOR_FLAG_COMPUTE;
    check(ggml_backend_graph_compute(backend, graph.graph) == GGML_STATUS_SUCCESS, "a branch is computed");
    check(*(unsigned char *)graph.rows->data == 0x5a, "a branch that is not taken is written");
    graph_free(&graph);
}

/* Threads start with the first large call, not with small calls before it. A smaller thread count starts none; a larger
   one replaces the existing threads. */
static void test_threads(ggml_backend_t backend)
{
    static const struct {
        int64_t count;
        int wanted, running;
    } calls[] = {{31, 3, 1}, {48, 3, 3}, {48, 2, 3}, {31, 4, 3}, {64, 4, 4}};
    struct shape shape = {.type = GGML_TYPE_Q8_0, .dim = 2048, .rows = 10, .usage = GGML_BACKEND_BUFFER_USAGE_WEIGHTS};
    uint64_t random = 5;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        shape.count = calls[i].count;
        struct graph graph = graph_make(&shape);
        graph_fill_table(&graph, false, &random);
        graph_fill_ids(&graph, &random);
        set_threads(backend, calls[i].wanted);
        check(ggml_backend_graph_compute(backend, graph.graph) == GGML_STATUS_SUCCESS, "a graph failed");
        check(status_number("Threads:") == calls[i].running, "call %zu: %ld threads", i, status_number("Threads:"));
        graph_free(&graph);
    }
}

static void test_words(const char *path)
{
    static const struct {
        const char *words, *log;
        size_t devices;
    } cases[] = {{"off", "", 0}, {"log,off", "", 0}, {"", "", 1}, {"of", "but not \"of\"", 1}, {"log,,x", "\"x\"", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv("GGML_INLAY", cases[i].words, 1);
        forget_log();
        ggml_backend_reg_t registry = load(path);
        check(ggml_backend_reg_dev_count(registry) == cases[i].devices, "GGML_INLAY=%s: %zu devices", cases[i].words,
              ggml_backend_reg_dev_count(registry));
        check(strstr(logged, cases[i].log) != NULL, "GGML_INLAY=%s: the log says %s", cases[i].words, logged);
        ggml_backend_unload(registry);
    }
    unsetenv("GGML_INLAY");
}

static void test_rules(const char *path)
{
    test_words(path);
    ggml_backend_reg_t registry = load(path);
    ggml_backend_t backend = start(registry);
    test_bad_ids(backend);
    test_taken(backend);
    test_branches(backend);
    test_threads(backend);
    test_scale_apart(backend);
    check(ggml_backend_dev_type(ggml_backend_get_device(backend)) == GGML_BACKEND_DEVICE_TYPE_ACCEL, "no accelerator");
    check(ggml_backend_get_default_buffer_type(backend) == ggml_backend_cpu_buffer_type(), "not the CPU's buffers");
    ggml_backend_free(backend);
    setenv("GGML_INLAY", "all", 1);
    ggml_backend_unload(registry);
    registry = load(path);
    backend = start(registry);
    const struct shape shape = {.type = GGML_TYPE_F16, .dim = 64, .rows = 10, .count = 6};
    struct graph graph = graph_make(&shape);
    expect_taken(backend, graph.rows, true, "with GGML_INLAY=all, a table that is no weight");
    graph_free(&graph);
    ggml_backend_free(backend);
    ggml_backend_unload(registry);
}

/* ---- Loading again ---------------------------------------------------------------------------------------------- */

static void test_reload(const char *path, int times)
{
    const struct shape shape = {
        .type = GGML_TYPE_Q6_K, .dim = 2048, .rows = 100, .count = 200, .usage = GGML_BACKEND_BUFFER_USAGE_WEIGHTS};
    struct graph graph = graph_make(&shape);
    uint64_t random = 3;
    graph_fill_table(&graph, false, &random);
    graph_fill_ids(&graph, &random);
    long kilobytes = 0;
    int computed = 0;
    for (int i = 0; i < times; i++) {
        ggml_backend_reg_t registry = load(path);
        ggml_backend_t backend = start(registry);
        set_threads(backend, 1 + i % 4);
        computed += ggml_backend_graph_compute(backend, graph.graph) == GGML_STATUS_SUCCESS;
        ggml_backend_free(backend);
        ggml_backend_unload(registry);
        forget_log();
        if (i == times / 10)
            kilobytes = status_number("VmRSS:");
    }
    const long grown = status_number("VmRSS:") - kilobytes;
    for (int wait = 0; wait < 1000 && status_number("Threads:") > 1; wait++)
        usleep(1000); /* a joined thread may be counted for a moment */
    printf("loaded and unloaded %d times: %ld KiB more than after %d, %ld threads\n", times, grown, times / 10 + 1,
           status_number("Threads:"));
    check(computed == times, "%d of %d graphs were computed", computed, times);
#ifndef __SANITIZE_ADDRESS__ /* ASan keeps freed memory, and finds leaks itself */
    check(grown < 1024, "memory has grown by %ld KiB", grown);
#endif
    check(status_number("Threads:") == 1, "%ld threads remain", status_number("Threads:"));
    graph_free(&graph);
}

/* ---- Times ------------------------------------------------------------------------------------------------------ */

enum { ROUNDS = 9, COUNTS = 5 };

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(double *times)
{
    qsort(times, ROUNDS, sizeof *times, compare_doubles);
    return times[ROUNDS / 2];
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

/* Returns the microseconds of a graph with new ids each time; making an id takes a few nanoseconds. */
static double microseconds_of(ggml_backend_t backend, struct graph *graph, uint64_t *random)
{
    const int repeats = (int)(1 + 512 / graph->ids->ne[0]);
    const double begin = now();
    for (int repeat = 0; repeat < repeats; repeat++) {
        graph_fill_ids(graph, random);
        ggml_backend_graph_compute(backend, graph->graph);
    }
    return (now() - begin) / repeats;
}

/* Fills a table with copies of 64 rows quantized by ggml: quantizing a large table would take minutes. */
static void fill_large_table(struct graph *graph, uint64_t *random)
{
    const struct shape shape = {.type = graph->whole->type, .dim = graph->whole->ne[0], .rows = 64, .count = 1};
    struct graph rows = graph_make(&shape);
    graph_fill_table(&rows, false, random);
    const size_t bytes = graph->whole->nb[1];
    for (int64_t row = 0; row < graph->whole->ne[1]; row++)
        memcpy((char *)graph->whole->data + (size_t)row * bytes, (char *)rows.whole->data + (size_t)(row % 64) * bytes,
               bytes);
    graph_free(&rows);
}

/* Measures the microseconds of a gather on both backends, in turn. */
static void time_both(ggml_backend_t backend, ggml_backend_t cpu, const struct shape *shape, double *ours,
                      double *theirs)
{
    uint64_t random = 4;
    struct graph graph = graph_make(shape);
    double times[2][ROUNDS];
    fill_large_table(&graph, &random);
    for (int round = -1; round < ROUNDS; round++) {
        const int at = round < 0 ? 0 : round; /* the first one warms up */
        times[0][at] = microseconds_of(cpu, &graph, &random);
        times[1][at] = microseconds_of(backend, &graph, &random);
    }
    *theirs = median_of(times[0]);
    *ours = median_of(times[1]);
    graph_free(&graph);
}

/* Prints a table line: microseconds of the backend, and the CPU backend's time relative to it. */
static void time_rows(ggml_backend_t backend, ggml_backend_t cpu, enum ggml_type type, int64_t dim, double *log_sum,
                      double *least)
{
    static const int64_t counts[COUNTS] = {1, 8, 64, 512, 4096};
    const int64_t table_bytes = INT64_C(256) << 20, rows = table_bytes / (int64_t)ggml_row_size(type, dim);
    printf("%-8s %5" PRId64, ggml_type_name(type), dim);
    for (int c = 0; c < COUNTS; c++) {
        const struct shape shape = {
            .type = type, .dim = dim, .rows = rows, .count = counts[c], .usage = GGML_BACKEND_BUFFER_USAGE_WEIGHTS};
        double ours, theirs;
        time_both(backend, cpu, &shape, &ours, &theirs);
        *log_sum += log(theirs / ours);
        *least = theirs / ours < *least ? theirs / ours : *least;
        printf("  %8.1f %5.2f", ours, theirs / ours);
        fflush(stdout);
    }
    printf("\n");
}

static void test_times(const char *path, int threads)
{
    static const enum ggml_type types[] = {GGML_TYPE_F32,  GGML_TYPE_F16,  GGML_TYPE_BF16, GGML_TYPE_Q8_0,
                                           GGML_TYPE_Q4_0, GGML_TYPE_Q5_0, GGML_TYPE_Q3_K, GGML_TYPE_Q4_K,
                                           GGML_TYPE_Q5_K, GGML_TYPE_Q6_K};
    static const int64_t dims[] = {1024, 2048, 3072, 4096, 8960};
    ggml_backend_reg_t registry = load(path);
    ggml_backend_t backend = start(registry), cpu = start_cpu();
    set_threads(backend, threads);
    double log_sum = 0, least = 1e9;
    int lines = 0;
    printf("us of %s with %d threads, and the CPU backend's time over it\n%-8s %5s", "the backend", threads, "type",
           "dim");
    for (int count = 1; count <= 4096; count *= 8)
        printf("  %8s %5d", "", count);
    printf("\n");
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (size_t d = 0; d < sizeof dims / sizeof *dims; d++, lines++)
            time_rows(backend, cpu, types[t], dims[d], &log_sum, &least);
    printf("geometric mean %.2f, least %.2f\n", exp(log_sum / (lines * COUNTS)), least);
    check(least > 0, "no time was taken");
    ggml_backend_free(cpu);
    ggml_backend_free(backend);
}

/* Prints the gather's time per token for a 512-token prompt, for models in their usual quantization, and the share of
   prompt time that the backend saves at several speeds of the rest of the model. */
static void test_models(const char *path)
{
    static const struct {
        const char *name;
        enum ggml_type type;
        int64_t dim, rows;
    } tables[] = {
        {"Qwen3-Embedding 0.6B, Q8_0", GGML_TYPE_Q8_0, 1024, 151669},
        {"Llama 3.2 1B, Q4_K_M", GGML_TYPE_Q6_K, 2048, 128256},
        {"Gemma 3 4B, Q4_K_M", GGML_TYPE_Q6_K, 2560, 262208},
        {"Gemma 3 12B, Q4_K_M", GGML_TYPE_Q6_K, 3840, 262208},
        {"Gemma 3n E4B, per layer, Q4_K_M", GGML_TYPE_Q6_K, 8960, 262144},
    };
    static const double speeds[] = {5000, 20000, 60000};
    ggml_backend_reg_t registry = load(path);
    ggml_backend_t backend = start(registry), cpu = start_cpu();
    printf("us a token; share of a prompt that the backend saves, by the tokens/s of the layers\n%-32s %6s %6s",
           "model", "ggml", "inlay");
    for (size_t i = 0; i < sizeof speeds / sizeof *speeds; i++)
        printf(" %8.0f", speeds[i]);
    printf("\n");
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        const struct shape shape = {.type = tables[i].type,
                                    .dim = tables[i].dim,
                                    .rows = tables[i].rows,
                                    .count = 512,
                                    .usage = GGML_BACKEND_BUFFER_USAGE_WEIGHTS};
        double ours, theirs;
        time_both(backend, cpu, &shape, &ours, &theirs);
        printf("%-32s %6.2f %6.2f", tables[i].name, theirs / 512, ours / 512);
        for (size_t j = 0; j < sizeof speeds / sizeof *speeds; j++)
            printf(" %7.1f%%", 100 * (theirs - ours) / (theirs + 512e6 / speeds[j]));
        printf("\n");
        check(theirs > 0 && ours > 0, "no time was taken");
    }
    ggml_backend_free(cpu);
    ggml_backend_free(backend);
}

enum { COLD_DIM = 2048, COLD_ROUNDS = 8 };

/* Makes and maps a file of `bytes`, which is deleted when closed. */
static void *map_file(size_t bytes, int *file)
{
    static char block[1 << 20];
    uint64_t random = 7;
    char name[] = "cold-XXXXXX";
    *file = mkstemp(name);
    if (*file < 0 || unlink(name) != 0)
        give_up("no file can be made here");
    for (size_t i = 0; i < sizeof block; i++)
        block[i] = (char)random_bits(&random);
    for (size_t done = 0; done < bytes; done += sizeof block)
        if (write(*file, block, sizeof block) != (ssize_t)sizeof block)
            give_up("the file cannot be written");
    fsync(*file);
    void *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, *file, 0);
    if (map == MAP_FAILED)
        give_up("the file cannot be mapped");
    return map;
}

/* Drops the pages of a file. Returns true if this is supported here. */
static bool drop(void *map, size_t bytes, int file)
{
    unsigned char resident = 0;
    madvise(map, bytes, MADV_DONTNEED);
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    return mincore(map, 1, &resident) == 0 && (resident & 1) == 0;
}

/* Prints rows/s of both backends on a mapped table, with pages dropped before each call. */
static void test_cold(const char *path, size_t mebibytes)
{
    ggml_backend_reg_t registry = load(path);
    ggml_backend_t backends[2] = {start_cpu(), start(registry)};
    const size_t bytes = mebibytes << 20;
    int file;
    void *map = map_file(bytes, &file);
    uint64_t random = 8;
    if (!drop(map, bytes, file)) {
        puts("skipped: cold rows: the pages of this file system cannot be dropped");
        skipped++;
    }
    for (int64_t count = 24; count <= 512 && skipped == 0; count += 512 - 24) {
        const struct shape shape = {.type = GGML_TYPE_Q6_K,
                                    .dim = COLD_DIM,
                                    .rows = (int64_t)(bytes / ggml_row_size(GGML_TYPE_Q6_K, COLD_DIM)),
                                    .count = count,
                                    .usage = GGML_BACKEND_BUFFER_USAGE_WEIGHTS,
                                    .memory = map};
        struct graph graph = graph_make(&shape);
        double times[2] = {0, 0};
        for (int round = 0; round < 2 * COLD_ROUNDS; round++) {
            graph_fill_ids(&graph, &random);
            drop(map, bytes, file);
            const double begin = now();
            ggml_backend_graph_compute(backends[round % 2], graph.graph);
            times[round % 2] += now() - begin;
        }
        const double rows = (double)count * COLD_ROUNDS * 1e6;
        printf("%3d cold rows of %zu MiB: %.0f rows/s by the CPU backend, %.0f by this one, %.2f times as many\n",
               (int)count, mebibytes, rows / times[0], rows / times[1], times[0] / times[1]);
        check(1.5 * times[1] < times[0], "reading ahead %d cold rows gains too little", (int)count);
        graph_free(&graph);
    }
    munmap(map, bytes);
    close(file);
    ggml_backend_free(backends[0]);
    ggml_backend_free(backends[1]);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        give_up("usage: test_ggml BACKEND.so bits|rules|reload|times|models|cold [NUMBER]");
    const char *path = argv[1], *what = argv[2];
    const int number = argc > 3 ? atoi(argv[3]) : 0; /* NOLINT(cert-err34-c): 0 means the default */
    ggml_log_set(keep_log, NULL);
    if (strcmp(what, "bits") == 0) {
        setenv("GGML_INLAY", "log", 1);
        test_bits(path, number > 0 ? number : 200);
    } else if (strcmp(what, "rules") == 0) {
        test_rules(path);
    } else if (strcmp(what, "reload") == 0) {
        test_reload(path, number > 0 ? number : 1000);
    } else if (strcmp(what, "times") == 0) {
        test_times(path, number > 0 ? number : 1);
    } else if (strcmp(what, "models") == 0) {
        test_models(path);
    } else if (strcmp(what, "cold") == 0) {
        test_cold(path, number > 0 ? (size_t)number : 4096);
    } else {
        give_up("it is none of bits, rules, reload, times, models and cold");
    }
    printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
    return failed == 0 ? 0 : 1;
}
