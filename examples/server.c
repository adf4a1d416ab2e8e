/* SPDX-License-Identifier: MIT */
/*
 * How an inference server uses inlay. One layer is created at the start and shared by all worker threads without a
 * lock. A worker serves one client at a time: first a batch of prompts (prefill), then one token per sequence and step,
 * at the next position (decode). Each worker reuses one output in huge pages, so the system provides its pages only
 * once. A bad id is reported to the client that sent it; other clients are not affected.
 */
#define _POSIX_C_SOURCE 200112L /* posix_memalign */
#include <inlay/inlay.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { VOCAB = 8, DIM = 4, WORKERS = 2, BATCH = 2, PROMPT = 3, STEPS = 2 };

/* A client's prompts, and the reply to it. */
struct client {
    const char *name;
    int32_t prompts[BATCH][PROMPT];
    char reply[1024];
    size_t replied;
};

struct server {
    const inlay_layer *layer;
    pthread_mutex_t lock; /* protects the queue; the layer needs no lock */
    struct client *queue;
    size_t waiting;
};

static void reply(struct client *client, const char *format, ...)
{
    size_t room = sizeof client->reply - client->replied;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(client->reply + client->replied, room, format, arguments);
    va_end(arguments);
    if (length > 0)
        client->replied += (size_t)length < room ? (size_t)length : room - 1;
}

/* Runs one forward pass. Writes vectors to `out` [sequences * length, dim], or an error to the reply. */
static inlay_status forward(const inlay_layer *layer, struct client *client, const inlay_batch *batch,
                            float (*out)[DIM])
{
    inlay_fault fault;
    inlay_status status = inlay_forward(layer, batch, out, sizeof out[0], NULL, &fault);
    if (status == INLAY_ERROR_ID || status == INLAY_ERROR_POSITION)
        reply(client, "  error: %s: sequence %zu, token %zu: %" PRId64 "\n", inlay_status_string(status),
              fault.sequence, fault.token, fault.value);
    else if (status != INLAY_OK)
        reply(client, "  error: %s\n", inlay_status_string(status));
    else
        for (size_t b = 0; b < batch->sequences; b++) {
            const float *last = out[(b + 1) * batch->length - 1];
            reply(client, "  position %" PRId64 ", sequence %zu: %.4f %.4f %.4f %.4f\n",
                  batch->start + (int64_t)batch->length - 1, b, last[0], last[1], last[2], last[3]);
        }
    return status;
}

/* Allocates an output; returns null on failure. If it nearly fills a huge page, uses whole huge pages, which must be
   requested before the first write. */
static void *make_output(size_t bytes)
{
    const size_t line = 64, huge = inlay_huge_pages_bytes(), unit = bytes >= huge / 2 ? huge : line;
    const size_t whole = (bytes + unit - 1) / unit * unit;
    void *out = NULL;
    if (posix_memalign(&out, unit, whole) != 0)
        return NULL;
    inlay_huge_pages_advise(out, whole, NULL); /* only an optimization: ignore failures */
    return out;
}

/* Serves one client, using an output [BATCH * PROMPT, DIM] that earlier clients have used. */
static void serve(const inlay_layer *layer, struct client *client, float (*out)[DIM])
{
    inlay_batch prefill = inlay_batch_i32(client->prompts[0], BATCH, PROMPT, 0);
    if (forward(layer, client, &prefill, out) != INLAY_OK)
        return;

    int32_t next[BATCH];
    for (int b = 0; b < BATCH; b++)
        next[b] = client->prompts[b][PROMPT - 1];
    for (int step = 0; step < STEPS; step++) {
        /* The model's blocks would turn `out` into the next token of each sequence. */
        for (int b = 0; b < BATCH; b++)
            next[b] = (next[b] + 1) % VOCAB;
        inlay_batch decode = inlay_batch_i32(next, BATCH, 1, PROMPT + step);
        if (forward(layer, client, &decode, out) != INLAY_OK)
            return;
    }
}

static void *work(void *argument)
{
    struct server *server = argument;
    float(*out)[DIM] = make_output(BATCH * PROMPT * sizeof *out);
    while (out != NULL) {
        pthread_mutex_lock(&server->lock);
        struct client *client = server->waiting > 0 ? &server->queue[--server->waiting] : NULL;
        pthread_mutex_unlock(&server->lock);
        if (client == NULL)
            break;
        serve(server->layer, client, out);
    }
    if (out == NULL)
        fprintf(stderr, "server: no memory for a worker\n");
    free(out);
    return NULL;
}

int main(void)
{
    static float table[VOCAB][DIM];
    static struct client clients[] = {
        {.name = "ada", .prompts = {{1, 2, 3}, {4, 5, 6}}},
        {.name = "bob", .prompts = {{1, 2, 3}, {4, 8, 6}}}, /* there is no token 8 */
        {.name = "cleo", .prompts = {{7, 0, 7}, {0, 7, 0}}},
    };
    enum { CLIENTS = sizeof clients / sizeof clients[0] };

    for (int i = 0; i < VOCAB * DIM; i++)
        table[i / DIM][i % DIM] = (float)i / (VOCAB * DIM);

    inlay_init(); /* before starting threads, since it reads the environment */
    fprintf(stderr, "server: inlay %s, ISA %s, %d workers\n", inlay_version(), inlay_isa(), WORKERS);

    inlay_sinusoid *sinusoid = NULL;
    inlay_sinusoid_spec formula = inlay_sinusoid_spec_default(DIM);
    inlay_status status = inlay_sinusoid_create(&formula, NULL, &sinusoid);
    inlay_layer *layer = NULL;
    inlay_table tokens = inlay_table_f32(table, VOCAB, DIM);
    inlay_layer_spec spec = inlay_layer_spec_default(&tokens);
    spec.sinusoid = sinusoid;
    spec.scale = inlay_sqrt_dim(DIM);
    if (status == INLAY_OK)
        status = inlay_layer_create(&spec, NULL, &layer);

    struct server server = {layer, PTHREAD_MUTEX_INITIALIZER, clients, CLIENTS};
    pthread_t workers[WORKERS];
    int running = 0;
    if (status == INLAY_OK)
        while (running < WORKERS && pthread_create(&workers[running], NULL, work, &server) == 0)
            running++;
    else
        fprintf(stderr, "server: %s\n", inlay_status_string(status));
    for (int i = 0; i < running; i++)
        pthread_join(workers[i], NULL);
    for (int i = 0; running > 0 && i < CLIENTS; i++)
        printf("%s\n%s", clients[i].name, clients[i].reply);

    inlay_layer_destroy(layer);
    inlay_sinusoid_destroy(sinusoid);
    return running > 0 ? 0 : 1;
}
