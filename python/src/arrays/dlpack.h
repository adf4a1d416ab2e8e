/* SPDX-License-Identifier: MIT */
/*
 * The structs of DLPack, versions 0.8 and 1.
 * https://dmlc.github.io/dlpack
 */
#pragma once

#include <stdint.h>

enum { DLPACK_CPU = 1, DLPACK_CUDA_HOST = 3 };
enum { DLPACK_MAJOR = 1, DLPACK_MINOR = 0 };
enum {
    DLPACK_INT = 0,
    DLPACK_UINT = 1,
    DLPACK_FLOAT = 2,
    DLPACK_BFLOAT = 4,
    DLPACK_BOOL = 6,
    DLPACK_E4M3 = 10,
    DLPACK_E8M0 = 14
};
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

/* Functions of a framework that bypass its Python methods, in a capsule with this name. All return 0, or -1 with an
   exception set. */
#define DLPACK_EXCHANGE "dlpack_exchange_api"

struct dlpack_exchange {
    uint32_t major, minor;
    struct dlpack_exchange *before; /* of an older version, or null */
    int (*allocate)(struct dlpack_tensor *prototype, struct dlpack_versioned **out, void *error,
                    void (*set_error)(void *error, const char *kind, const char *message));
    int (*export)(void *object, struct dlpack_versioned **out);
    int (*import)(struct dlpack_versioned *tensor, void **object); /* steals the tensor on success */
    int (*borrow)(void *object,
                  struct dlpack_tensor *tensor); /* may be null. The result is valid as long as the object */
    int (*stream)(int device_type, int32_t device_id, void **stream);
};
