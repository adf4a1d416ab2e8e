/* SPDX-License-Identifier: MIT */
/*
 * Custom operators of ONNX Runtime: inlay:Embed(table, ids, ...), which inlay.onnx.fuse() substitutes for Gather, Mul,
 * Add, Cast and LayerNormalization. ONNX Runtime loads the extension module as a library and calls RegisterCustomOps().
 * ONNX Runtime's C API is a table of functions. New versions only append functions. This file declares the few that it
 * calls.
 */
#include "frameworks/operation.h"

#include <stdlib.h>
#include <string.h>

/* ---- ONNX Runtime's declarations -------------------------------------------------------------------------------- */

/* Operators can return errors from this API version on: ONNX Runtime 1.16. */
enum { ORT_API = 16 };
enum { ORT_FAIL = 1, ORT_INVALID_ARGUMENT = 2 };
enum { ONNX_UNDEFINED = 0, ONNX_FLOAT = 1, ONNX_FLOAT16 = 10, ONNX_BFLOAT16 = 16 };
enum { ORT_REQUIRED = 0, ORT_OPTIONAL = 1 };

struct ort_status;
struct ort_operator;
struct ort_options;
struct ort_domain;
struct ort_value;
struct ort_shape;
struct ort_info;
struct ort_context;

struct ort_api {
    struct ort_status *(*create_status)(int code, const char *message);
    void *unused_1[25];
    struct ort_status *(*create_domain)(const char *name, struct ort_domain **domain);
    struct ort_status *(*domain_add)(struct ort_domain *domain, const struct ort_operator *op);
    struct ort_status *(*add_domain)(struct ort_options *options, struct ort_domain *domain);
    void *unused_29[22];
    struct ort_status *(*get_data)(struct ort_value *value, void **data);
    void *unused_52[8];
    struct ort_status *(*get_element_type)(const struct ort_shape *shape, int *type);
    struct ort_status *(*get_dims)(const struct ort_shape *shape, size_t *dims);
    struct ort_status *(*get_shape)(const struct ort_shape *shape, int64_t *values, size_t dims);
    void *unused_63[2];
    struct ort_status *(*get_type_and_shape)(const struct ort_value *value, struct ort_shape **shape);
    void *unused_66[19];
    struct ort_status *(*get_float)(const struct ort_info *info, const char *name, float *value);
    struct ort_status *(*get_int)(const struct ort_info *info, const char *name, int64_t *value);
    void *unused_87;
    struct ort_status *(*count_inputs)(const struct ort_context *context, size_t *count);
    void *unused_89;
    struct ort_status *(*get_input)(const struct ort_context *context, size_t index, const struct ort_value **value);
    struct ort_status *(*get_output)(struct ort_context *context, size_t index, const int64_t *shape, size_t dims,
                                     struct ort_value **value);
    void *unused_92[7];
    void (*release_shape)(struct ort_shape *shape);
};

struct ort_api_base {
    const struct ort_api *(*get_api)(uint32_t version);
    const char *(*get_version)(void);
};

/* A custom operator: a table of functions. Each takes the operator itself first. */
struct ort_operator {
    uint32_t version;
    void *create_old; /* can't return errors; ONNX Runtime calls create() instead */
    const char *(*get_name)(const struct ort_operator *op);
    const char *(*get_provider)(const struct ort_operator *op);
    int (*get_input_type)(const struct ort_operator *op, size_t index);
    size_t (*get_input_count)(const struct ort_operator *op);
    int (*get_output_type)(const struct ort_operator *op, size_t index);
    size_t (*get_output_count)(const struct ort_operator *op);
    void *compute_old;
    void (*destroy)(void *kernel);
    int (*get_input_kind)(const struct ort_operator *op, size_t index);
    int (*get_output_kind)(const struct ort_operator *op, size_t index);
    int (*get_input_memory)(const struct ort_operator *op, size_t index);
    void *variadic[4]; /* for operators with any number of inputs or outputs */
    struct ort_status *(*create)(const struct ort_operator *op, const struct ort_api *api, const struct ort_info *info,
                                 void **kernel);
    struct ort_status *(*compute)(void *kernel, struct ort_context *context);
};

/* Element types by ONNX's number. */
static const unsigned char dtypes[] = {
    [1] = DTYPE_F32,  [2] = DTYPE_U8,   [3] = DTYPE_I8,    [4] = DTYPE_U16,  [5] = DTYPE_I16,
    [6] = DTYPE_I32,  [7] = DTYPE_I64,  [9] = DTYPE_BOOL,  [10] = DTYPE_F16, [11] = DTYPE_F64,
    [12] = DTYPE_U32, [13] = DTYPE_U64, [16] = DTYPE_BF16,
};

/* ---- The kernel ------------------------------------------------------------------------------------------------- */

/* Inputs of the operator in order. The first two are required. */
static const enum operand inputs[] = {
    OPERAND_TABLE,       OPERAND_IDS,   OPERAND_POSITIONS, OPERAND_POSITION_IDS, OPERAND_SEGMENTS,
    OPERAND_SEGMENT_IDS, OPERAND_GAMMA, OPERAND_BETA,      OPERAND_SCALES,       OPERAND_ZEROS,
};
enum { INPUTS = sizeof inputs / sizeof *inputs, REQUIRED = 2 };

/* Attributes of the operator that are integers. */
enum { LAYER_NORM, SEGMENTS_FIRST, GROUP, GROUP_TYPE, INTEGERS };
static const char *const integers[INTEGERS] = {
    [LAYER_NORM] = "layer_norm", [SEGMENTS_FIRST] = "segments_first", [GROUP] = "group", [GROUP_TYPE] = "group_type"};

/* Types of tables in groups, by the attribute group_type. */
static const inlay_element_type group_types[] = {INLAY_U4_GROUPED, INLAY_U4_GROUPED_FLAT, INLAY_U8_GROUPED};

/* A node of a graph. */
struct kernel {
    const struct ort_api *api;
    enum dtype out;
    float scale, epsilon;
    int64_t integers[INTEGERS];
};

/* Reads the element type and shape of a value. Rejects VIEW_DIMS dimensions, since an output has one more dimension
   than ids. */
static struct ort_status *read_shape(const struct ort_api *api, const struct ort_shape *from, struct tensor *tensor)
{
    int type = 0;
    size_t dims = 0;
    int64_t shape[VIEW_DIMS];
    struct ort_status *status = api->get_element_type(from, &type);
    if (status == NULL)
        status = api->get_dims(from, &dims);
    if (status == NULL && dims >= VIEW_DIMS)
        return api->create_status(ORT_INVALID_ARGUMENT, "an input has more dimensions than inlay reads");
    if (status == NULL)
        status = api->get_shape(from, shape, dims);
    if (status == NULL)
        tensor_set_shape(tensor, dims, shape);
    tensor->dtype = dtype_of_number(dtypes, sizeof dtypes, type);
    tensor->given = true;
    return status;
}

static struct ort_status *read_input(const struct ort_api *api, const struct ort_context *context, size_t index,
                                     struct tensor *tensor)
{
    const struct ort_value *value = NULL;
    struct ort_shape *shape = NULL;
    struct ort_status *status = api->get_input(context, index, &value);
    if (status != NULL || value == NULL) /* null: an omitted optional input */
        return status;
    status = api->get_type_and_shape(value, &shape);
    if (status == NULL)
        status = read_shape(api, shape, tensor);
    if (status == NULL) /* ONNX Runtime has no getter for read-only data */
        status = api->get_data((struct ort_value *)(uintptr_t)value, &tensor->data);
    api->release_shape(shape);
    return status;
}

/* Creates the output of a checked operation. */
static struct ort_status *make_output(const struct ort_api *api, struct ort_context *context, struct tensor *out)
{
    int64_t shape[VIEW_DIMS];
    struct ort_value *value = NULL;
    for (int i = 0; i < out->dims; i++)
        shape[i] = out->shape[i];
    struct ort_status *status = api->get_output(context, 0, shape, (size_t)out->dims, &value);
    out->given = true;
    return status != NULL ? status : api->get_data(value, &out->data);
}

/* Makes negative ids count from the end of a table of `rows` rows, as in Gather: replaces int32 and int64 ids by an
   int64 copy without negative ids. Ids of other types can't be negative. Returns false if allocation fails. */
static bool count_from_end(struct tensor *ids, size_t rows, int64_t **copy)
{
    const size_t count = tensor_count(ids);
    if (!ids->given || count == 0 || (ids->dtype != DTYPE_I32 && ids->dtype != DTYPE_I64))
        return true;
    *copy = malloc(count * sizeof **copy);
    if (*copy == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        const int64_t id = tensor_integer(ids, i);
        (*copy)[i] = id < 0 && id >= -(int64_t)rows ? id + (int64_t)rows : id;
    }
    ids->data = *copy;
    ids->dtype = DTYPE_I64;
    return true;
}

/* Retries an operation that failed on an id, this time with negative ids. */
static inlay_status run_with_negative_ids(struct operation *operation, char text[ERROR_TEXT_BYTES])
{
    static const enum operand ids[OPERAND_TABLES] = {OPERAND_IDS, OPERAND_POSITION_IDS, OPERAND_SEGMENT_IDS};
    int64_t *copies[OPERAND_TABLES] = {NULL};
    inlay_status status = INLAY_OK;
    for (enum operand i = 0; i < OPERAND_TABLES && status == INLAY_OK; i++)
        if (!count_from_end(&operation->operands[ids[i]], operation->tables[i].rows, &copies[i]))
            status = INLAY_ERROR_NO_MEMORY;
    if (status == INLAY_OK)
        status = operation_check(operation, text);
    if (status == INLAY_OK)
        status = operation_run(operation, text);
    for (enum operand i = 0; i < OPERAND_TABLES; i++)
        free(copies[i]);
    return status;
}

static struct ort_status *compute(void *self, struct ort_context *context)
{
    const struct kernel *kernel = self;
    const struct ort_api *api = kernel->api;
    struct operation operation;
    char text[ERROR_TEXT_BYTES];
    operation_init(&operation);
    operation.out.dtype = kernel->out;
    operation.spec.scale = kernel->scale;
    operation.spec.epsilon = kernel->epsilon;
    operation.spec.norm = kernel->integers[LAYER_NORM] != 0 ? INLAY_NORM_LAYER : INLAY_NORM_NONE;
    operation.spec.segments_first = kernel->integers[SEGMENTS_FIRST] != 0;
    operation.group = (uint32_t)kernel->integers[GROUP];
    const uint64_t group_type = (uint64_t)kernel->integers[GROUP_TYPE];
    if (group_type >= sizeof group_types / sizeof *group_types)
        return api->create_status(ORT_INVALID_ARGUMENT, "group_type is not 0, 1 or 2");
    operation.grouped = group_types[group_type];
    operation.broadcast_positions = true;
    size_t count = 0;
    struct ort_status *status = api->count_inputs(context, &count);
    for (size_t i = 0; i < count && i < INPUTS && status == NULL; i++)
        status = read_input(api, context, i, &operation.operands[inputs[i]]);
    if (status == NULL && operation_check(&operation, text) != INLAY_OK)
        status = api->create_status(ORT_INVALID_ARGUMENT, text);
    if (status == NULL)
        status = make_output(api, context, &operation.out);
    if (status != NULL)
        return status;
    inlay_status ran = operation_run(&operation, text);
    if (status_names_index(ran))
        ran = run_with_negative_ids(&operation, text);
    return ran == INLAY_OK ? NULL : api->create_status(ORT_INVALID_ARGUMENT, text);
}

/* ---- The operators ---------------------------------------------------------------------------------------------- */

/* ONNX Runtime can infer only fixed output types, so each type has its own operator. */
struct embed {
    struct ort_operator op;
    const char *name;
    int type;
};

static const struct embed *embed_of(const struct ort_operator *op)
{
    return (const struct embed *)(const void *)op;
}

static struct ort_status *create_kernel(const struct ort_operator *op, const struct ort_api *api,
                                        const struct ort_info *info, void **created)
{
    struct kernel *kernel = malloc(sizeof *kernel);
    if (kernel == NULL)
        return api->create_status(ORT_FAIL, "there is no memory for a node");
    kernel->api = api;
    kernel->out = dtype_of_number(dtypes, sizeof dtypes, embed_of(op)->type);
    struct ort_status *status = api->get_float(info, "scale", &kernel->scale);
    if (status == NULL)
        status = api->get_float(info, "epsilon", &kernel->epsilon);
    for (int i = 0; i < INTEGERS && status == NULL; i++)
        status = api->get_int(info, integers[i], &kernel->integers[i]);
    if (status != NULL)
        free(kernel);
    else
        *created = kernel;
    return status;
}

static const char *get_name(const struct ort_operator *op)
{
    return embed_of(op)->name;
}

static const char *get_provider(const struct ort_operator *Py_UNUSED(op))
{
    return NULL; /* the CPU provider */
}

/* Inputs may have any type; the operation checks it. Their memory is the provider's default. The output is required. */
static int return_default(const struct ort_operator *Py_UNUSED(op), size_t Py_UNUSED(index))
{
    _Static_assert((int)ONNX_UNDEFINED == 0 && (int)ORT_REQUIRED == 0, "defaults are 0");
    return 0;
}

static size_t get_input_count(const struct ort_operator *Py_UNUSED(op))
{
    return INPUTS;
}

static int get_output_type(const struct ort_operator *op, size_t Py_UNUSED(index))
{
    return embed_of(op)->type;
}

static size_t get_output_count(const struct ort_operator *Py_UNUSED(op))
{
    return 1;
}

static int get_input_kind(const struct ort_operator *Py_UNUSED(op), size_t index)
{
    return index < REQUIRED ? ORT_REQUIRED : ORT_OPTIONAL;
}

/* Fields common to all operators. */
#define OPERATOR                                                                                                       \
    .version = ORT_API, .get_name = get_name, .get_provider = get_provider, .get_input_type = return_default,          \
    .get_input_count = get_input_count, .get_output_type = get_output_type, .get_output_count = get_output_count,      \
    .destroy = free, .get_input_kind = get_input_kind, .get_output_kind = return_default,                              \
    .get_input_memory = return_default, .create = create_kernel, .compute = compute

static const struct embed embeds[] = {
    {{OPERATOR}, "Embed", ONNX_FLOAT},
    {{OPERATOR}, "EmbedFloat16", ONNX_FLOAT16},
    {{OPERATOR}, "EmbedBFloat16", ONNX_BFLOAT16},
};

/* ONNX Runtime calls this after it loads the library for the options of a session. */
__attribute__((visibility("default"))) struct ort_status *RegisterCustomOps(struct ort_options *options,
                                                                            const struct ort_api_base *base);

struct ort_status *RegisterCustomOps(struct ort_options *options, const struct ort_api_base *base)
{
    const struct ort_api *api = base->get_api(ORT_API);
    if (api == NULL)
        return base->get_api(1)->create_status(ORT_FAIL, "inlay needs ONNX Runtime 1.16 or later");
    struct ort_domain *domain = NULL;
    struct ort_status *status = api->create_domain("inlay", &domain);
    for (size_t i = 0; i < sizeof embeds / sizeof *embeds && status == NULL; i++)
        status = api->domain_add(domain, &embeds[i].op);
    /* The domain must outlive every session made with these options. Nothing reports the end of a session, so the
       domain is never released. */
    return status != NULL ? status : api->add_domain(options, domain);
}
