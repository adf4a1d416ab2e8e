/* SPDX-License-Identifier: MIT */
/*
 * The backend interface of ggml: a registry with one device, an accelerator that uses the CPU's buffers. Struct layouts
 * and the API version come from the header this is compiled with; ggml refuses to load a backend of another version.
 * This file computes nothing.
 */
#ifdef INLAY_GGML_SOURCE
#include <ggml-backend-impl.h>
#else
#include "interface.h"
#endif
#include <inlay/inlay.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "operations.h"

/* Options in the environment variable GGML_INLAY, comma-separated. */
static struct {
    bool off; /* don't provide a device */
    bool log; /* each backend counts its work and logs it when freed */
    bool all; /* also gather from tables that are not weights, e.g. in ggml's tests */
} options;

static char description[64];

/* A backend and its state, in one allocation. */
struct inlay_backend {
    struct ggml_backend base;
    struct inlay_ggml_state state;
};

static struct inlay_ggml_state *state_of(ggml_backend_t backend)
{
    return &((struct inlay_backend *)backend->context)->state;
}

static const char *backend_name(ggml_backend_t backend)
{
    (void)backend;
    return "INLAY";
}

static void backend_free(ggml_backend_t backend)
{
    struct inlay_ggml_state *state = state_of(backend);
    if (state->calls > 0 && state->counts) /* a warning, since most programs hide lower levels by default */
        inlay_ggml_log(GGML_LOG_LEVEL_WARN,
                       "%" PRIu64 " calls, %" PRIu64 " of them fused with SCALE, %" PRIu64 " rows, %" PRIu64 " us",
                       state->calls, state->fused, state->rows, state->microseconds);
    inlay_ggml_pool_end(&state->pool);
    free(backend->context);
}

static enum ggml_status backend_compute(ggml_backend_t backend, struct ggml_cgraph *graph)
{
    return inlay_ggml_compute(state_of(backend), graph);
}

static void set_threads(ggml_backend_t backend, int threads)
{
    state_of(backend)->threads = threads < 1 ? 1 : (size_t)threads;
}

static const char *device_name(ggml_backend_dev_t device)
{
    (void)device;
    return "INLAY";
}

static const char *device_description(ggml_backend_dev_t device)
{
    (void)device;
    return description;
}

static void device_memory(ggml_backend_dev_t device, size_t *free_bytes, size_t *total_bytes)
{
    (void)device;
    *free_bytes = *total_bytes = 0; /* it has no memory of its own */
}

static enum ggml_backend_dev_type device_type(ggml_backend_dev_t device)
{
    (void)device;
    return GGML_BACKEND_DEVICE_TYPE_ACCEL;
}

static void device_properties(ggml_backend_dev_t device, struct ggml_backend_dev_props *properties)
{
    *properties = (struct ggml_backend_dev_props){
        .name = device_name(device),
        .description = device_description(device),
        .type = device_type(device),
        .caps = {.buffer_from_host_ptr = true},
    };
}

static ggml_backend_t device_backend(ggml_backend_dev_t device, const char *parameters)
{
    static ggml_guid guid = {0x9b, 0x1e, 0x4c, 0x57, 0x20, 0xd3, 0x4f, 0x86,
                             0xa5, 0x71, 0x0c, 0xe8, 0x3d, 0x92, 0x6f, 0x14};
    (void)parameters;
    struct inlay_backend *made = calloc(1, sizeof *made);
    if (made == NULL) {
        inlay_ggml_log(GGML_LOG_LEVEL_ERROR, "there is no memory for a backend");
        return NULL;
    }
    made->base.guid = &guid;
    made->base.iface.get_name = backend_name;
    made->base.iface.free = backend_free;
    made->base.iface.graph_compute = backend_compute;
    made->base.device = device;
    made->base.context = made;
    made->state.threads = 1;
    inlay_file_reader_init(&made->state.reader);
    made->state.counts = options.log;
    return &made->base;
}

static ggml_backend_buffer_type_t device_buffer_type(ggml_backend_dev_t device)
{
    (void)device;
    return ggml_backend_cpu_buffer_type();
}

static ggml_backend_buffer_t device_buffer_from_memory(ggml_backend_dev_t device, void *memory, size_t bytes,
                                                       size_t largest_tensor)
{
    (void)device, (void)largest_tensor;
    return ggml_backend_cpu_buffer_from_ptr(memory, bytes);
}

static bool device_supports_operation(ggml_backend_dev_t device, const struct ggml_tensor *node)
{
    (void)device;
    return inlay_ggml_takes(node, options.all);
}

static bool device_supports_buffer_type(ggml_backend_dev_t device, ggml_backend_buffer_type_t type)
{
    (void)device;
    return ggml_backend_buft_is_host(type);
}

static const char *registry_name(ggml_backend_reg_t registry)
{
    (void)registry;
    return "INLAY";
}

static size_t registry_devices(ggml_backend_reg_t registry)
{
    (void)registry;
    return options.off ? 0 : 1;
}

static ggml_backend_dev_t registry_device(ggml_backend_reg_t registry, size_t index)
{
    static struct ggml_backend_device device = {
        .iface =
            {
                .get_name = device_name,
                .get_description = device_description,
                .get_memory = device_memory,
                .get_type = device_type,
                .get_props = device_properties,
                .init_backend = device_backend,
                .get_buffer_type = device_buffer_type,
                .buffer_from_host_ptr = device_buffer_from_memory,
                .supports_op = device_supports_operation,
                .supports_buft = device_supports_buffer_type,
            },
    };
    device.reg = registry;
    return index < registry_devices(registry) ? &device : NULL;
}

static void *registry_function(ggml_backend_reg_t registry, const char *name)
{
    (void)registry;
    void *function = NULL;
    const ggml_backend_set_n_threads_t set = set_threads;
    if (strcmp(name, "ggml_backend_set_n_threads") == 0)
        memcpy(&function, &set, sizeof function); /* C can't cast function pointers to void * */
    return function;
}

static void read_options(void)
{
    const char *text = getenv("GGML_INLAY");
    while (text != NULL && *text != '\0') {
        const int length = (int)strcspn(text, ",");
        if (length == 3 && memcmp(text, "off", 3) == 0)
            options.off = true;
        else if (length == 3 && memcmp(text, "log", 3) == 0)
            options.log = true;
        else if (length == 3 && memcmp(text, "all", 3) == 0)
            options.all = true;
        else
            inlay_ggml_log(GGML_LOG_LEVEL_WARN, "GGML_INLAY accepts off, log and all, not \"%.*s\"", length, text);
        text += length;
        text += *text == ',';
    }
}

/** Returns the registry. This is the library's only export; ggml calls it after loading. */
__attribute__((visibility("default"))) ggml_backend_reg_t ggml_backend_init(void);

ggml_backend_reg_t ggml_backend_init(void)
{
    static struct ggml_backend_reg registry = {
        .api_version = GGML_BACKEND_API_VERSION,
        .iface =
            {
                .get_name = registry_name,
                .get_device_count = registry_devices,
                .get_device = registry_device,
                .get_proc_address = registry_function,
            },
    };
    read_options();
    inlay_init();
    if (!inlay_ggml_operations_start()) {
        inlay_ggml_log(GGML_LOG_LEVEL_ERROR,
                       "the operations of this ggml differ from those that the backend was built for");
        options.off = true;
    }
    snprintf(description, sizeof description, "inlay %s, %s", inlay_version(), inlay_isa());
    return &registry;
}
