/* SPDX-License-Identifier: MIT */
/*
 * The parts of ggml's backend interface, versions 2 and 3, that a backend in CPU memory fills in. ggml does not install
 * its header; this one replaces it if ggml's source is not available. Meson passes the version.
 */
#pragma once

#include <ggml-backend.h>

/** An entry that is always null here. */
typedef void (*inlay_ggml_unused)(void);

struct ggml_backend_i {
    const char *(*get_name)(ggml_backend_t backend);
    void (*free)(ggml_backend_t backend);
    inlay_ggml_unused copies_and_plans[10];
    enum ggml_status (*graph_compute)(ggml_backend_t backend, struct ggml_cgraph *graph);
    inlay_ggml_unused events_and_optimizer[3];
};

struct ggml_backend {
    ggml_guid_t guid;
    struct ggml_backend_i iface;
    ggml_backend_dev_t device;
    void *context;
};

struct ggml_backend_device_i {
    const char *(*get_name)(ggml_backend_dev_t device);
    const char *(*get_description)(ggml_backend_dev_t device);
    void (*get_memory)(ggml_backend_dev_t device, size_t *free_bytes, size_t *total_bytes);
    enum ggml_backend_dev_type (*get_type)(ggml_backend_dev_t device);
    void (*get_props)(ggml_backend_dev_t device, struct ggml_backend_dev_props *properties);
    ggml_backend_t (*init_backend)(ggml_backend_dev_t device, const char *parameters);
    ggml_backend_buffer_type_t (*get_buffer_type)(ggml_backend_dev_t device);
    inlay_ggml_unused get_host_buffer_type;
    ggml_backend_buffer_t (*buffer_from_host_ptr)(ggml_backend_dev_t device, void *memory, size_t bytes,
                                                  size_t largest_tensor);
    bool (*supports_op)(ggml_backend_dev_t device, const struct ggml_tensor *node);
    bool (*supports_buft)(ggml_backend_dev_t device, ggml_backend_buffer_type_t type);
    inlay_ggml_unused offload_and_events[4];
};

struct ggml_backend_device {
    struct ggml_backend_device_i iface;
    ggml_backend_reg_t reg;
    void *context;
};

struct ggml_backend_reg_i {
    const char *(*get_name)(ggml_backend_reg_t registry);
    size_t (*get_device_count)(ggml_backend_reg_t registry);
    ggml_backend_dev_t (*get_device)(ggml_backend_reg_t registry, size_t index);
    void *(*get_proc_address)(ggml_backend_reg_t registry, const char *name);
};

struct ggml_backend_reg {
    int api_version;
    struct ggml_backend_reg_i iface;
    void *context;
};
