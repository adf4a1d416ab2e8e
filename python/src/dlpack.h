/* SPDX-License-Identifier: MIT */
/*
 * The structs of DLPack, versions 0.8 and 1, as every producer and consumer lays them out.
 * https://dmlc.github.io/dlpack
 */
#ifndef INLAY_PYTHON_DLPACK_H
#define INLAY_PYTHON_DLPACK_H

#include <stdint.h>

enum { DLPACK_CPU = 1, DLPACK_CUDA_HOST = 3 };
enum { DLPACK_MAJOR = 1, DLPACK_MINOR = 0 };
enum { DLPACK_FLAG_READ_ONLY = 1 };

#define DLPACK_CAPSULE "dltensor"
#define DLPACK_CAPSULE_USED "used_dltensor"
#define DLPACK_CAPSULE_VERSIONED "dltensor_versioned"
#define DLPACK_CAPSULE_VERSIONED_USED "used_dltensor_versioned"

struct dlpack_tensor {
    void *data;
    int32_t device_type, device_id;
    int32_t dims;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape;
    int64_t *strides; /* in elements; may be null for a contiguous tensor */
    uint64_t byte_offset;
};

struct dlpack_managed {
    struct dlpack_tensor tensor;
    void *context;
    void (*release)(struct dlpack_managed *self);
};

struct dlpack_versioned {
    uint32_t major, minor;
    void *context;
    void (*release)(struct dlpack_versioned *self);
    uint64_t flags;
    struct dlpack_tensor tensor;
};

#endif
