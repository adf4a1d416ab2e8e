/* SPDX-License-Identifier: MIT */
/*
 * Runs GET_ROWS nodes as inlay_gather() calls. A node is accepted only if inlay supports its table, ids and output. The
 * order of the graph decides which SCALE is fused into a gather.
 */
#include "operations.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "log.h"

/* The element type for each ggml type; 0: left to ggml. */
static inlay_element_type elements[GGML_TYPE_COUNT];

/* Returns true if the operations of the loaded ggml match the header. The API version doesn't guarantee that: a new
   operation in the middle of the enum shifts the others. */
static bool knows_operations(void)
{
    static const struct {
        enum ggml_op operation;
        const char *name;
    } used[] = {
        {GGML_OP_NONE, "NONE"},           {GGML_OP_GET_ROWS, "GET_ROWS"}, {GGML_OP_SCALE, "SCALE"},
        {GGML_OP_RESHAPE, "RESHAPE"},     {GGML_OP_VIEW, "VIEW"},         {GGML_OP_PERMUTE, "PERMUTE"},
        {GGML_OP_TRANSPOSE, "TRANSPOSE"},
    };
    for (size_t i = 0; i < sizeof used / sizeof *used; i++)
        if (strcmp(ggml_op_name(used[i].operation), used[i].name) != 0)
            return false;
    return true;
}

bool inlay_ggml_operations_start(void)
{
    if (!knows_operations())
        return false;
    for (int type = 0; type < GGML_TYPE_COUNT; type++) {
        const char *name = ggml_type_name((enum ggml_type)type);
        const inlay_element_type element = name == NULL ? 0 : inlay_element_type_from_name(name);
        const size_t block = (size_t)ggml_blck_size((enum ggml_type)type);
        /* ggml also has an integer type I8, which it never converts to floats. Types without blocks must be floats. */
        const bool floats = block > 1 || type == GGML_TYPE_F32 || type == GGML_TYPE_F16 || type == GGML_TYPE_BF16;
        const bool same = element != 0 && inlay_table_row_bytes(element, block) == ggml_type_size((enum ggml_type)type);
        elements[type] = floats && same ? element : 0;
    }
    return true;
}

/* Set once a SCALE was computed on its own. Graphs of such programs have nodes of other backends between a gather and
   its SCALE, so accepting the SCALE would split a graph in two more places. From then on every SCALE is left to ggml.
 */
static atomic_bool scales_apart;

/* Returns a tensor's buffer. A view has none of its own before it is allocated. */
static ggml_backend_buffer_t buffer_of(const struct ggml_tensor *tensor)
{
    return tensor->view_src != NULL ? tensor->view_src->buffer : tensor->buffer;
}

/* Returns true if a tensor is in CPU memory in ggml's own layout, or not allocated yet. */
static bool on_host(const struct ggml_tensor *tensor)
{
    ggml_backend_buffer_t buffer = buffer_of(tensor);
    return buffer == NULL || ggml_backend_buffer_is_host(buffer);
}

/* Returns true if a tensor is one float32 matrix. Its rows need not be contiguous. */
static bool is_rows(const struct ggml_tensor *tensor)
{
    return tensor->type == GGML_TYPE_F32 && tensor->nb[0] == sizeof(float) && tensor->ne[2] == 1 &&
           tensor->ne[3] == 1 && on_host(tensor);
}

/* Returns true if inlay_gather() can run a node: one matrix and a list of ids. */
static bool is_gather(const struct ggml_tensor *node)
{
    const struct ggml_tensor *table = node->src[0], *ids = node->src[1];
    return node->op == GGML_OP_GET_ROWS && table->type < GGML_TYPE_COUNT && elements[table->type] != 0 &&
           table->nb[0] == ggml_type_size(table->type) && table->ne[2] == 1 && table->ne[3] == 1 && on_host(table) &&
           ids->type == GGML_TYPE_I32 && ids->nb[0] == sizeof(int32_t) && on_host(ids) && is_rows(node) &&
           node->ne[0] == table->ne[0] && node->ne[1] == ids->ne[0];
}

/* Returns the gather whose rows a node reads, directly or through reshapes, or null. */
static const struct ggml_tensor *gather_before(const struct ggml_tensor *node)
{
    const struct ggml_tensor *from = node->src[0];
    while (from->op == GGML_OP_RESHAPE)
        from = from->src[0];
    return is_gather(from) ? from : NULL;
}

/* Returns true if a node multiplies gathered rows by a number and adds nothing. */
static bool is_scale(const struct ggml_tensor *node)
{
    float bias;
    if (node->op != GGML_OP_SCALE || gather_before(node) == NULL)
        return false;
    memcpy(&bias, (const char *)node->op_params + sizeof bias, sizeof bias);
    return bias == 0 && node->type == GGML_TYPE_F32 && ggml_is_contiguous(node) && on_host(node) &&
           ggml_is_contiguous(node->src[0]);
}

/* Returns true if a node only changes the shape of a tensor. */
static bool is_view(const struct ggml_tensor *node)
{
    return node->op == GGML_OP_NONE || node->op == GGML_OP_RESHAPE || node->op == GGML_OP_VIEW ||
           node->op == GGML_OP_PERMUTE || node->op == GGML_OP_TRANSPOSE;
}

/* Returns true if a node requires no work. Graphs also contain branches that aren't taken; their ids were never
   written. */
static bool is_skipped(const struct ggml_tensor *node)
{
    return is_view(node) || ggml_is_empty(node) || (node->flags & GGML_TENSOR_FLAG_COMPUTE) == 0;
}

bool inlay_ggml_takes(const struct ggml_tensor *node, bool any)
{
    if (is_view(node))
        return true;
    if (node->op == GGML_OP_SCALE && atomic_load_explicit(&scales_apart, memory_order_relaxed))
        return false;
    const struct ggml_tensor *gather = is_gather(node) ? node : is_scale(node) ? gather_before(node) : NULL;
    if (gather == NULL)
        return false;
    ggml_backend_buffer_t buffer = buffer_of(gather->src[0]);
    return any || (buffer != NULL && ggml_backend_buffer_get_usage(buffer) == GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
}

static float factor_of(const struct ggml_tensor *scale)
{
    float factor;
    memcpy(&factor, scale->op_params, sizeof factor);
    return factor;
}

/* Returns the index of the SCALE that overwrites the output of the gather at `at`, or 0. ggml permits overwriting only
   if nothing else reads the rows, and no node in between could. */
static int scale_behind(struct ggml_cgraph *graph, int at)
{
    const struct ggml_tensor *const gather = ggml_graph_node(graph, at);
    for (int i = at + 1; i < ggml_graph_n_nodes(graph); i++) {
        const struct ggml_tensor *const node = ggml_graph_node(graph, i);
        if (is_skipped(node))
            continue;
        const bool fits = is_scale(node) && gather_before(node) == gather && node->data == gather->data &&
                          ggml_is_contiguous(gather) && (gather->flags & GGML_TENSOR_FLAG_OUTPUT) == 0;
        return fits ? i : 0;
    }
    return 0;
}

/* Returns the executor for a call that writes `out`. */
static const inlay_executor *executor_for(struct inlay_ggml_state *state, const struct ggml_tensor *out,
                                          inlay_executor *executor)
{
    return inlay_ggml_pool_executor(&state->pool, state->threads, ggml_nbytes(out), executor);
}

static inlay_status compute_gather(struct inlay_ggml_state *state, const struct ggml_tensor *node, float factor)
{
    const struct ggml_tensor *table = node->src[0], *ids = node->src[1];
    const inlay_table view =
        inlay_table_view(elements[table->type], table->data, (size_t)table->ne[1], (size_t)table->ne[0], table->nb[1]);
    inlay_executor executor;
    inlay_fault fault = {0};
    if (table->data == NULL || ids->data == NULL || node->data == NULL) {
        inlay_ggml_log(GGML_LOG_LEVEL_ERROR, "%s: %s, %s or the output is not allocated", node->name, table->name,
                       ids->name);
        return INLAY_ERROR_NULL;
    }
    inlay_file_read read = {0};
    inlay_file_reader_begin(&state->reader, &view, ids->data, INLAY_ID_I32, (size_t)ids->ne[0], &read);
    const inlay_status status = inlay_gather(&view, ids->data, INLAY_ID_I32, (size_t)ids->ne[0], factor, node->data,
                                             node->nb[1], executor_for(state, node, &executor), &fault);
    inlay_file_reader_end(&state->reader, &read);
    if (status == INLAY_ERROR_ID)
        inlay_ggml_log(GGML_LOG_LEVEL_ERROR,
                       "%s: id %" PRId64 " at index %zu of %s is not below the %" PRId64 " rows of %s", node->name,
                       fault.value, fault.token, ids->name, table->ne[1], table->name);
    else if (status != INLAY_OK)
        inlay_ggml_log(GGML_LOG_LEVEL_ERROR, "%s: %" PRId64 " rows of %s: %s", node->name, ids->ne[0], table->name,
                       inlay_status_string(status));
    state->calls++;
    state->rows += (uint64_t)ids->ne[0];
    return status;
}

static inlay_status compute_scale(struct inlay_ggml_state *state, const struct ggml_tensor *node)
{
    const size_t dim = (size_t)node->ne[0], rows = (size_t)ggml_nrows(node);
    atomic_store_explicit(&scales_apart, true, memory_order_relaxed);
    inlay_executor executor;
    const inlay_status status = inlay_scale(node->src[0]->data, dim * sizeof(float), rows, dim, factor_of(node),
                                            node->data, dim * sizeof(float), executor_for(state, node, &executor));
    if (status != INLAY_OK)
        inlay_ggml_log(GGML_LOG_LEVEL_ERROR, "%s: %s", node->name, inlay_status_string(status));
    return status;
}

/* Computes the node at *at. If it was fused with a SCALE, moves *at to that SCALE. */
static inlay_status compute_node(struct inlay_ggml_state *state, struct ggml_cgraph *graph, int *at)
{
    const struct ggml_tensor *const node = ggml_graph_node(graph, *at);
    if (is_skipped(node))
        return INLAY_OK;
    if (is_scale(node))
        return compute_scale(state, node);
    if (!is_gather(node)) {
        inlay_ggml_log(GGML_LOG_LEVEL_ERROR, "%s: this %s is not computed here", node->name, ggml_op_desc(node));
        return INLAY_ERROR_OPTION;
    }
    const int scale = scale_behind(graph, *at);
    if (scale == 0)
        return compute_gather(state, node, 1);
    *at = scale;
    state->fused++;
    return compute_gather(state, node, factor_of(ggml_graph_node(graph, scale)));
}

enum ggml_status inlay_ggml_compute(struct inlay_ggml_state *state, struct ggml_cgraph *graph)
{
    const int64_t begin = state->counts ? ggml_time_us() : 0;
    inlay_status status = INLAY_OK;
    for (int i = 0; i < ggml_graph_n_nodes(graph) && status == INLAY_OK; i++)
        status = compute_node(state, graph, &i);
    if (state->counts)
        state->microseconds += (uint64_t)(ggml_time_us() - begin);
    return status == INLAY_OK ? GGML_STATUS_SUCCESS : GGML_STATUS_FAILED;
}
