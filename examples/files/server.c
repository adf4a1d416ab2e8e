/* SPDX-License-Identifier: MIT */
/*
 * A server that opens a model file and returns the output of its input layer, over a Unix socket:
 *
 *    server MODEL SOCKET
 *
 * A client sends a line of token ids, "5 6 7". It gets the line "OK 3 768" and float32 [3, 768], or a line that starts
 * with ERROR; then it can send the next line. All workers share the layer and the file without a lock. The table is a
 * mapping of the file: it may be larger than memory, and processes that map the same file share its pages.
 *
 * ../server.c shows the rest of a server: batches, decoding, outputs in huge pages. SIGTERM ends it.
 */
#define _POSIX_C_SOURCE 200809L
#include <inlay/file.h>

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { WORKERS = 2, MAX_TOKENS = 2048, LINE_BYTES = 1 << 16 };

struct server {
    inlay_file *file;
    const inlay_layer *layer;
    const inlay_layer_spec *spec;
    int64_t start; /* position of the first token */
    int listener;
    pthread_mutex_t lock; /* protects the next two; the file and the layer need none */
    int client[WORKERS];  /* the connection of each worker; -1: none */
    int stopping;
    int workers; /* started so far */
};

/* Parses a line of ids. Returns their number, or -1 if it isn't a list of at most MAX_TOKENS ids. */
static int parse_ids(const char *line, int64_t *ids)
{
    int n = 0;
    for (line += strspn(line, " "); *line != '\n' && *line != '\0'; line += strspn(line, " ")) {
        char *end;
        errno = 0;
        long long id = strtoll(line, &end, 10);
        if (end == line || errno != 0 || n == MAX_TOKENS)
            return -1;
        ids[n++] = id;
        line = end;
    }
    return n;
}

/* Answers one line. */
static void answer(const struct server *server, const char *line, int64_t *ids, float *out, FILE *stream)
{
    const inlay_table *table = server->spec->tokens;
    int n = parse_ids(line, ids);
    if (n < 0) {
        fprintf(stream, "ERROR a line of at most %d ids is expected\n", MAX_TOKENS);
        return;
    }
    /* If requests are queued, call inlay_file_prefetch() when one arrives. */
    inlay_batch batch = inlay_batch_i64(ids, 1, (size_t)n, server->start);
    inlay_file_read reading;
    inlay_fault fault = {0};
    inlay_file_read_begin(server->file, table, ids, INLAY_ID_I64, (size_t)n, &reading);
    inlay_status status = inlay_forward(server->layer, &batch, out, table->dim * sizeof *out, NULL, &fault);
    inlay_file_read_end(server->file, &reading);
    if (status == INLAY_ERROR_ID || status == INLAY_ERROR_POSITION) {
        fprintf(stream, "ERROR %s: token %zu: %" PRId64 "\n", inlay_status_string(status), fault.token, fault.value);
    } else if (status != INLAY_OK) {
        fprintf(stream, "ERROR %s\n", inlay_status_string(status));
    } else {
        size_t rows = server->spec->pooling == INLAY_POOLING_NONE ? (size_t)n : 1;
        fprintf(stream, "OK %zu %zu\n", rows, table->dim);
        fwrite(out, table->dim * sizeof *out, rows, stream);
    }
}

/* Answers the lines of a client until it disconnects. */
static void serve(const struct server *server, int client, char *line, int64_t *ids, float *out)
{
    int copy = dup(client); /* one stream per direction, each closed separately */
    FILE *in = fdopen(client, "r"), *stream = copy >= 0 ? fdopen(copy, "w") : NULL;
    while (in != NULL && stream != NULL && fgets(line, LINE_BYTES, in) != NULL) {
        if (strchr(line, '\n') == NULL)
            break; /* the line is too long, or the client disconnected within it */
        answer(server, line, ids, out, stream);
        if (fflush(stream) != 0)
            break;
    }
    in != NULL ? fclose(in) : close(client);
    if (stream != NULL)
        fclose(stream);
    else if (copy >= 0)
        close(copy);
}

/* Registers a worker's connection, or -1, for stop(). Returns true unless the server is stopping. */
static int enter(struct server *server, int worker, int client)
{
    pthread_mutex_lock(&server->lock);
    server->client[worker] = client;
    int goes_on = !server->stopping;
    pthread_mutex_unlock(&server->lock);
    return goes_on;
}

static void *work(void *argument)
{
    struct server *server = argument;
    pthread_mutex_lock(&server->lock);
    int worker = server->workers++;
    pthread_mutex_unlock(&server->lock);
    char *line = malloc(LINE_BYTES);
    int64_t *ids = malloc(MAX_TOKENS * sizeof *ids);
    float *out = malloc(MAX_TOKENS * server->spec->tokens->dim * sizeof *out);
    int goes_on = line != NULL && ids != NULL && out != NULL;
    while (goes_on) {
        int client = accept(server->listener, NULL, NULL);
        if (client < 0 && errno != EINTR && errno != ECONNABORTED)
            break;
        goes_on = enter(server, worker, client);
        if (goes_on && client >= 0)
            serve(server, client, line, ids, out);
        else if (client >= 0)
            close(client);
        enter(server, worker, -1);
    }
    free(out);
    free(ids);
    free(line);
    return NULL;
}

/* Wakes all workers, whether they wait for a client or for a line. */
static void stop(struct server *server)
{
    pthread_mutex_lock(&server->lock);
    server->stopping = 1;
    shutdown(server->listener, SHUT_RDWR);
    for (int i = 0; i < WORKERS; i++) {
        if (server->client[i] >= 0)
            shutdown(server->client[i], SHUT_RDWR);
    }
    pthread_mutex_unlock(&server->lock);
}

/* Returns a listening socket at a path, or -1. */
static int listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return -1;
    strcpy(address.sun_path, path);
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    if (listener >= 0 && bind(listener, (struct sockaddr *)&address, sizeof address) == 0 && listen(listener, 8) == 0)
        return listener;
    if (listener >= 0)
        close(listener);
    return -1;
}

/* Starts the workers and waits for a signal. */
static void run(struct server *server)
{
    pthread_t workers[WORKERS];
    sigset_t ends;
    int running = 0, number;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    pthread_sigmask(SIG_BLOCK, &ends, NULL); /* workers inherit it */
    signal(SIGPIPE, SIG_IGN);                /* a disconnected client is a failed write */
    while (running < WORKERS && pthread_create(&workers[running], NULL, work, server) == 0)
        running++;
    if (running > 0)
        sigwait(&ends, &number);
    stop(server);
    for (int i = 0; i < running; i++)
        pthread_join(workers[i], NULL);
}

int main(int argc, char **argv)
{
    struct server server = {.lock = PTHREAD_MUTEX_INITIALIZER, .client = {-1, -1}};
    if (argc != 3) {
        fprintf(stderr, "usage: server MODEL SOCKET\n");
        return 2;
    }
    inlay_init(); /* before starting threads, since it reads the environment */
    inlay_file_error error;
    inlay_file_layer *layer = NULL;
    inlay_file_options options = inlay_file_options_default();
    options.resident_bytes = (size_t)1 << 30; /* of the table; rows beyond that are read from disk again */
    if (inlay_file_open(argv[1], &options, &server.file, &error) != INLAY_FILE_OK ||
        inlay_file_layer_create(server.file, NULL, &layer, &error) != INLAY_FILE_OK) {
        fprintf(stderr, "server: %s\n", error.message);
        inlay_file_close(server.file);
        return 1;
    }
    fputs(inlay_file_layer_report(layer), stderr);
    server.layer = inlay_file_layer_get(layer);
    server.spec = inlay_file_layer_spec(layer);
    server.start = inlay_file_layer_start(layer);
    server.listener = listen_at(argv[2]);
    if (server.listener >= 0) {
        run(&server);
        close(server.listener);
        unlink(argv[2]);
    } else {
        fprintf(stderr, "server: cannot listen at %s: %s\n", argv[2], strerror(errno));
    }
    /* The layer refers to the file: destroy it first. */
    inlay_file_layer_destroy(layer);
    inlay_file_close(server.file);
    return server.listener >= 0 ? 0 : 1;
}
