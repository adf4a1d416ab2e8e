/* SPDX-License-Identifier: MIT */
/*
 * Tensors with scales and zero points. safetensors keeps scales in separate tensors next to the rows; ggml's types have
 * them within the rows. No scale is ever assumed. Rows of int8 or FP8 without one are an error, as is a tensor of the
 * same module that looks like an unsupported scale or zero point.
 *
 * compressed-tensors writes int8 and FP8 unchanged. It packs 4- and 8-bit numbers, with half of their range added, into
 * int32 from the lowest bits on; as little-endian bytes these are the rows of a grouped type. Its zero points are
 * packed down the rows instead, and are unpacked here. ModelOpt's NVFP4 has two factors, an E4M3 number per 16 columns
 * and a float32 for the table. Their products, rounded to float32, are the scales. MLX packs numbers of 2 to 8 bits
 * into uint32 words; config.json has the bits and the group.
 */
#include "piece.h"

#include <stdio.h>
#include <string.h>

#include "formats/formats.h"

static bool fail(const struct inlay_piece *piece, inlay_file_status status, const inlay_file_tensor *tensor,
                 const char *why)
{
    return inlay_file_fail(piece->error, status, tensor->path, tensor->name, "%s", why);
}

/* ---- Names ------------------------------------------------------------------------------------------------------ */

/* All tensors that are read next to the rows, by name suffix. Scales come first, in search order. */
enum part {
    SCALE,
    WEIGHT_SCALE,
    WEIGHT_SCALE_INV,
    SCALES_END,
    WEIGHT_SCALE_2 = SCALES_END,
    ZERO_POINT,
    SHAPE,
    G_IDX,
    MLX_SCALES,
    MLX_BIASES,
    PARTS,
};

_Static_assert(sizeof((struct inlay_piece *)0)->read / sizeof(inlay_file_tensor *) == PARTS, "one tensor per part");

static const char *const ends[] = {
    [SCALE] = ".scale",               /* inlay convert; DeepSeek's Engram */
    [WEIGHT_SCALE] = ".weight_scale", /* compressed-tensors, ModelOpt, FBGEMM */
    [WEIGHT_SCALE_INV] =
        ".weight_scale_inv",              /* DeepSeek-V3, transformers' finegrained_fp8: multiplies despite its name */
    [WEIGHT_SCALE_2] = ".weight_scale_2", /* ModelOpt's NVFP4 */
    [ZERO_POINT] = ".weight_zero_point",  /* compressed-tensors, as are the next two */
    [SHAPE] = ".weight_shape",
    [G_IDX] = ".weight_g_idx",
    [MLX_SCALES] = ".scales",
    [MLX_BIASES] = ".biases",
};

/* Parts of the names of other tensors that change rows: scales and zero points of bitsandbytes (SCB, weight.absmax,
   weight.quant_map), MLX (scales, biases), GPTQ and AWQ (scales, qzeros, g_idx), HQQ (scale, zero), EETQ
   (weight_scales), torchao (weight_scale, weight_zero_point), Quanto (weight._scale), ModelOpt before export
   (weight_quantizer._amax) and TensorRT-LLM (weights_scaling_factor). */
static const char *const suspects[] = {"scal", "zero", "absmax", "SCB", "quant", "biases", "codebook", "g_idx"};

/* Name prefixes of tensors that describe a module's inputs, which a table doesn't have. */
static const char *const inputs[] = {"input_", "activation_"};

/* int8 rows without a scale: model2vec saves them this way, since it normalizes its vectors anyway. */
static const char *const unscaled = "embeddings";

/* Finds the tensor named `stem` [size] plus a part's suffix, and records it as read. Returns null if there is none. */
static const inlay_file_tensor *find(struct inlay_piece *piece, const char *stem, size_t size, enum part part)
{
    size_t end_bytes = strlen(ends[part]) + 1;
    if (size > piece->room - end_bytes)
        return NULL;
    memcpy(piece->name, stem, size);
    memcpy(piece->name + size, ends[part], end_bytes);
    return piece->read[part] = inlay_catalog_tensor(&piece->file->catalog, piece->name);
}

/* Returns the scales of the tensors whose names begin with `stem` [size], or null. */
static const inlay_file_tensor *find_scales(struct inlay_piece *piece, const char *stem, size_t size)
{
    const inlay_file_tensor *scales = NULL;
    for (int part = 0; scales == NULL && part < SCALES_END; part++)
        scales = find(piece, stem, size, (enum part)part);
    return scales;
}

bool inlay_piece_find_shared(struct inlay_piece *piece, const char *stem, size_t size)
{
    piece->shared = find_scales(piece, stem, size);
    return piece->shared == NULL || inlay_catalog_check(piece->shared, piece->error);
}

/* Rows NAME.weight or NAME. */
struct rows {
    const char *name;
    size_t stem;    /* bytes of NAME */
    size_t module;  /* length of the name up to and including the last dot */
    bool is_weight; /* NAME.weight: the module belongs to the table alone */
};

static struct rows rows_of(const char *name, const char *end)
{
    struct rows rows = {.name = name, .stem = strlen(name), .is_weight = inlay_ends_in(name, end)};
    rows.stem -= rows.is_weight ? strlen(end) : 0;
    while (name[rows.module + strcspn(name + rows.module, ".")] == '.')
        rows.module += strcspn(name + rows.module, ".") + 1;
    return rows;
}

/* Returns the name of the next neighbor, without that of the module, and its tensor; null after the last one. *next
   starts at 0. Neighbors of NAME.weight are all tensors of its module; those of NAME begin with NAME, unless the whole
   module is `wanted`. */
static const char *next_neighbor(const struct inlay_piece *piece, const struct rows *rows, bool wanted, size_t *next,
                                 const inlay_file_tensor **tensor)
{
    const struct inlay_catalog *catalog = &piece->file->catalog;
    const char *own = rows->name + rows->module;
    const size_t size = strlen(own), prefix = rows->module + (wanted || rows->is_weight ? 0 : size);
    if (*next == 0)
        *next = inlay_catalog_first(catalog, rows->name, prefix);
    while (*next < catalog->name_count) {
        *tensor = catalog->by_name[(*next)++];
        if (strncmp((*tensor)->name, rows->name, prefix) != 0)
            break;
        const char *rest = (*tensor)->name + rows->module;
        const bool is_own = strncmp(rest, own, size) == 0 && (rows->is_weight || rest[size] == '.');
        if (*tensor != piece->tensor && (is_own || strchr(rest, '.') == NULL))
            return rest;
    }
    return NULL;
}

/* Reports that the meaning of the rows is unknown, with the names of their neighbors. Returns false. */
static bool fail_unknown(const struct inlay_piece *piece, const struct rows *rows, const char *why)
{
    char list[120] = "nothing";
    const inlay_file_tensor *tensor;
    size_t next = 0, used = 0;
    for (const char *name; used < sizeof list && (name = next_neighbor(piece, rows, true, &next, &tensor)) != NULL;)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used > 0 ? ", " : "", name);
    if (used >= sizeof list)
        memcpy(list + sizeof list - 4, "...", 3);
    return inlay_file_fail(piece->error, INLAY_FILE_ERROR_TYPE, piece->tensor->path, rows->name,
                           "%s %s; next to it: %s", why, piece->tensor->type, list);
}

/* Returns true for the scale of an I-BERT that has never quantized its rows, which is 0. */
static bool is_unset(const inlay_file_tensor *tensor, const char *name)
{
    float scale;
    if (strcmp(name, "weight_scaling_factor") != 0 || tensor->element != INLAY_F32 || tensor->bytes != sizeof scale)
        return false;
    memcpy(&scale, tensor->data, sizeof scale);
    return scale == 0;
}

/* Returns false with an error if a scale, a zero point or the like next to the rows isn't supported. */
static bool check_neighbors(const struct inlay_piece *piece, const struct rows *rows)
{
    const inlay_file_tensor *tensor = piece->scales != piece->shared ? piece->shared : NULL, *neighbor;
    const bool is_bare = piece->tensor->element == INLAY_I8 && piece->scales == NULL;
    size_t next = 0;
    for (const char *name; tensor == NULL && (name = next_neighbor(piece, rows, is_bare, &next, &neighbor)) != NULL;) {
        bool is_unread = false;
        for (size_t i = 0; i < sizeof suspects / sizeof *suspects; i++)
            is_unread = is_unread || strstr(name, suspects[i]) != NULL;
        for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
            is_unread = is_unread && strncmp(name, inputs[i], strlen(inputs[i])) != 0;
        for (size_t i = 0; i < sizeof piece->read / sizeof *piece->read; i++)
            is_unread = is_unread && neighbor != piece->read[i];
        tensor = is_unread && !is_unset(neighbor, name) ? neighbor : NULL;
    }
    return tensor == NULL ||
           inlay_file_fail(piece->error, INLAY_FILE_ERROR_TYPE, tensor->path, tensor->name,
                           "it may change the rows of %.100s in an unknown way: make the table by hand", rows->name);
}

/* ---- Numbers ---------------------------------------------------------------------------------------------------- */

static bool is_type(const inlay_file_tensor *tensor, const char *type)
{
    return strcmp(tensor->type, type) == 0;
}

bool inlay_piece_is_double(const inlay_file_tensor *tensor)
{
    return is_type(tensor, "F64") || is_type(tensor, "<f8"); /* safetensors and GGUF; npy */
}

static void convert_doubles(const char *from, size_t count, float factor, float *out)
{
    for (size_t i = 0; i < count; i++) {
        double value;
        memcpy(&value, from + i * sizeof value, sizeof value);
        out[i] = (float)value * factor;
    }
}

void inlay_piece_convert(const inlay_file_tensor *from, size_t rows, size_t columns, float factor, float *out)
{
    int64_t ids[256]; /* rows of a table, which are converted by a gather */
    if (inlay_piece_is_double(from)) {
        convert_doubles(from->data, rows * columns, factor, out);
        return;
    }
    inlay_table table =
        inlay_table_view(from->element, from->data, rows, columns, inlay_table_row_bytes(from->element, columns));
    for (size_t done = 0, n; done < rows; done += n) {
        for (n = 0; n < sizeof ids / sizeof *ids && done + n < rows; n++)
            ids[n] = (int64_t)(done + n);
        inlay_gather(&table, ids, INLAY_ID_I64, n, factor, out + done * columns, columns * sizeof *out, NULL, NULL);
    }
}

/* Same, into memory of the file, once per tensor. Returns null after an error. */
static const float *converted(const struct inlay_piece *piece, const inlay_file_tensor *from, size_t rows,
                              size_t columns, float factor)
{
    const float *copy = inlay_file_find_copy(piece->file, from);
    if (copy != NULL)
        return copy;
    float *made = inlay_file_keep(piece->file, rows * columns * sizeof *made);
    if (made == NULL) {
        inlay_file_fail_memory(piece->error, NULL);
        return NULL;
    }
    inlay_piece_convert(from, rows, columns, factor, made);
    inlay_file_set_copy(made, from);
    return made;
}

static bool is_float(const inlay_file_tensor *tensor)
{
    return tensor->element == INLAY_F32 || tensor->element == INLAY_F16 || tensor->element == INLAY_BF16;
}

/* Returns true if a tensor is [rows, columns], or [rows] for one column. */
static bool has_shape(const inlay_file_tensor *tensor, uint64_t rows, uint64_t columns)
{
    return tensor->rank >= 1 && tensor->shape[0] == rows &&
           ((tensor->rank == 1 && columns == 1) || (tensor->rank == 2 && tensor->shape[1] == columns));
}

/* Returns true if a tensor has a single element. */
static bool is_single(const inlay_file_tensor *tensor)
{
    for (uint32_t i = 0; i < tensor->rank; i++)
        if (tensor->shape[i] != 1)
            return false;
    return true;
}

/* ---- Scales of rows and of the table ---------------------------------------------------------------------------- */

/* Uses the scales of a piece, or of the whole table. */
static bool take_scales(struct inlay_piece *piece, const inlay_file_tensor *scales)
{
    inlay_table *view = &piece->table.view;
    const size_t rows = view->rows, dim = view->dim;
    /* Before PyTorch had a type for exponents, they were saved as U8. */
    bool exponents = is_type(scales, "F8_E8M0") || is_type(scales, "U8");
    if (is_float(scales) && is_single(scales)) {
        inlay_piece_convert(scales, 1, 1, 1, &piece->table.scale);
        return true;
    }
    if (exponents && view->type == INLAY_E4M3 && dim % 32 == 0 && has_shape(scales, rows, dim / 32)) {
        view->type = INLAY_E4M3_E8M0;
        view->scales = scales->data;
        return true;
    }
    if (!is_float(scales) || !has_shape(scales, rows, 1))
        return fail(piece, INLAY_FILE_ERROR_SHAPE, scales, "its shape and type do not match scales of the rows");
    view->scales = scales->element == INLAY_F32 ? scales->data : converted(piece, scales, rows, 1, 1);
    return view->scales != NULL;
}

/* ---- Scales and zero points of groups --------------------------------------------------------------------------- */

/* Layout of scales or zero points in a file: `groups` per row, or one row of them shared by all rows of the table. A
   table has `repeat` times as many groups per row. */
struct grid {
    size_t groups, repeat;
    bool shared;
};

/* Sets the group of a view: the largest one that tables support and that divides a group of the scales. A scale of a
   whole row allows any. */
static bool set_group(struct inlay_piece *piece, const inlay_file_tensor *scales, struct grid *grid)
{
    inlay_table *view = &piece->table.view;
    const uint64_t groups = scales->rank == 2 ? scales->shape[1] : 1;
    if (!is_float(scales) || !(is_single(scales) || has_shape(scales, view->rows, groups)))
        return fail(piece, INLAY_FILE_ERROR_SHAPE, scales,
                    "its shape and type do not match scales of groups of columns");
    if (groups == 0 || view->dim % groups != 0)
        return inlay_file_fail(piece->error, INLAY_FILE_ERROR_SHAPE, scales->path, scales->name,
                               "its %llu groups do not divide the %zu columns", (unsigned long long)groups, view->dim);
    const size_t columns = view->dim / (size_t)groups, power = columns & (~columns + 1);
    if (groups > 1 && power < 16)
        return inlay_file_fail(piece->error, INLAY_FILE_ERROR_SHAPE, scales->path, scales->name,
                               "it has groups of %zu columns, which must be a multiple of 16", columns);
    view->group = groups > 1 && power < 128 ? (uint32_t)power : 128;
    *grid = (struct grid){(size_t)groups, (columns - 1) / view->group + 1, is_single(scales) && view->rows != 1};
    return true;
}

static bool take_group_scales(struct inlay_piece *piece, const inlay_file_tensor *scales, const struct grid *grid)
{
    inlay_table *view = &piece->table.view;
    const size_t groups = grid->groups * grid->repeat, count = view->rows * groups;
    view->scales = scales->data;
    if (scales->element == INLAY_F32 && grid->repeat == 1 && !grid->shared)
        return true;
    float *made = inlay_file_keep(piece->file, count * sizeof *made);
    if (made == NULL)
        return inlay_file_fail_memory(piece->error, NULL);
    if (count > 0)
        inlay_piece_convert(scales, grid->shared ? 1 : view->rows, grid->groups, 1, made);
    /* Backward, so no scale is overwritten before it is read: each moves to its own place or a later one. */
    for (size_t i = count; i-- > 0;)
        made[i] = made[(grid->shared ? 0 : i / groups * grid->groups) + i % groups / grid->repeat];
    view->scales = made;
    return true;
}

/* Returns the zero point of a group of a row. Zero points are int8 numbers, or numbers of `bits` bits with half of
   their range added, packed into int32 words down the rows. If the table has packed numbers, half of their range is
   added. */
static int zero_at(const inlay_file_tensor *zeros, const struct grid *grid, size_t bits, size_t row, size_t group)
{
    const unsigned char *bytes = zeros->data;
    if (is_type(zeros, "I8"))
        return (signed char)bytes[(grid->shared ? 0 : row * grid->groups) + group] + (bits > 0 ? 1 << (bits - 1) : 0);
    const size_t bit = row * bits, word = bit / 32 * grid->groups + group;
    return bytes[word * 4 + bit % 32 / 8] >> bit % 8 & ((1 << bits) - 1);
}

/* Returns the int32 words of `count` packed numbers. The last one may be partly unused. */
static uint64_t words_of(uint64_t count, size_t bits)
{
    return count / (32 / bits) + (count % (32 / bits) > 0);
}

/* Sets zero points: int8 in the layout of the scales, or int32 words packed with `bits` per row. 0 bits: not packed. */
static bool take_zeros(struct inlay_piece *piece, const inlay_file_tensor *zeros, const struct grid *scales,
                       size_t bits)
{
    inlay_table *view = &piece->table.view;
    const size_t groups = scales->groups * scales->repeat, in_row = bits == 4 ? (groups + 1) / 2 : groups;
    struct grid grid = *scales;
    grid.shared = is_single(zeros) && grid.groups == 1;
    const uint64_t words = bits > 0 ? words_of(view->rows, bits) : 0;
    const bool plain = is_type(zeros, "I8") && (grid.shared || has_shape(zeros, view->rows, grid.groups));
    const bool packed = is_type(zeros, "I32") && bits > 0 && has_shape(zeros, words, grid.groups);
    if (!plain && !packed)
        return fail(piece, INLAY_FILE_ERROR_SHAPE, zeros,
                    "its shape and type do not match zero points of the rows or groups");
    unsigned char *made = inlay_file_keep(piece->file, view->rows * in_row);
    if (made == NULL)
        return inlay_file_fail_memory(piece->error, NULL);
    memset(made, 0, view->rows * in_row);
    for (size_t row = 0; row < view->rows; row++)
        for (size_t group = 0; group < groups; group++) {
            const int zero = zero_at(zeros, &grid, bits, row, group / grid.repeat);
            unsigned char *to = made + row * in_row + (bits == 4 ? group / 2 : group);
            *to = (unsigned char)(bits == 4 ? *to | (zero & 15) << group % 2 * 4 : zero);
        }
    view->zeros = made;
    return true;
}

/* Uses the scales of groups, and zero points if any. */
static bool take_groups(struct inlay_piece *piece, const inlay_file_tensor *scales, const inlay_file_tensor *zeros,
                        size_t bits)
{
    struct grid grid;
    return set_group(piece, scales, &grid) && take_group_scales(piece, scales, &grid) &&
           (zeros == NULL || take_zeros(piece, zeros, &grid, bits));
}

/* ---- Packed numbers --------------------------------------------------------------------------------------------- */

/* Returns the columns given by weight_shape; 0 if it doesn't match the rows. */
static uint64_t columns_of(const inlay_file_tensor *shape, uint64_t rows)
{
    int64_t sizes[2];
    if (!is_type(shape, "I64") || shape->rank != 1 || shape->shape[0] != 2)
        return 0;
    memcpy(sizes, shape->data, sizeof sizes);
    return sizes[0] >= 0 && (uint64_t)sizes[0] == rows && sizes[1] > 0 ? (uint64_t)sizes[1] : 0;
}

/* Returns a width of packed numbers in config.json that is not 4 or 8 bits, or null. */
static const inlay_file_value *odd_width(const inlay_file *file)
{
    static const char groups[] = "config.quantization_config.config_groups.";
    for (size_t i = 0; i < file->catalog.value_count; i++) {
        const inlay_file_value *value = &file->catalog.values[i];
        if (strncmp(value->key, groups, sizeof groups - 1) == 0 && inlay_ends_in(value->key, ".weights.num_bits") &&
            (value->kind != INLAY_FILE_VALUE_INTEGER || (value->integer != 4 && value->integer != 8)))
            return value;
    }
    return NULL;
}

/* Makes a piece of NAME.weight_packed, int32 [rows, words], with compressed-tensors' packed 4- or 8-bit numbers. */
static bool make_packed(struct inlay_piece *piece, size_t stem)
{
    const inlay_file_tensor *tensor = piece->tensor, *scales = find(piece, tensor->name, stem, WEIGHT_SCALE);
    const inlay_file_tensor *shape = find(piece, tensor->name, stem, SHAPE);
    const inlay_file_value *format = inlay_file_find_value(piece->file, "config.quantization_config.format");
    if (format != NULL && format->kind == INLAY_FILE_VALUE_STRING && strcmp(format->text, "pack-quantized") != 0 &&
        strcmp(format->text, "mixed-precision") != 0)
        return inlay_file_fail(
            piece->error, INLAY_FILE_ERROR_TYPE, NULL, format->key,
            "packed tables of format \"%.60s\" are not supported: only pack-quantized and mixed-precision are",
            format->text);
    const inlay_file_value *width = odd_width(piece->file);
    if (width != NULL)
        return inlay_file_fail(piece->error, INLAY_FILE_ERROR_TYPE, NULL, width->key,
                               "packed tables have 4 or 8 bits, and other widths can look like these");
    if (!is_type(tensor, "I32") || scales == NULL || shape == NULL)
        return fail(piece, scales == NULL || shape == NULL ? INLAY_FILE_ERROR_MISSING : INLAY_FILE_ERROR_TYPE, tensor,
                    "a packed table is I32, with .weight_scale and .weight_shape");
    if (find(piece, tensor->name, stem, G_IDX) != NULL)
        return fail(piece, INLAY_FILE_ERROR_TYPE, tensor,
                    "its columns are grouped in the order of .weight_g_idx, which is not supported");
    const uint64_t rows = tensor->shape[0], words = tensor->shape[1], columns = columns_of(shape, rows);
    const uint64_t of_4_bits = words_of(columns, 4), of_8_bits = words_of(columns, 8);
    if (columns == 0 || (words != of_4_bits && words != of_8_bits))
        return fail(piece, INLAY_FILE_ERROR_SHAPE, shape,
                    "it does not match the shape of the packed rows, counted in 4- or 8-bit numbers");
    if (of_4_bits == of_8_bits)
        return fail(piece, INLAY_FILE_ERROR_SHAPE, shape,
                    "up to 4 columns fill one word in 4 bits and in 8: make the table by hand");
    const size_t bits = words == of_4_bits ? 4 : 8;
    piece->table.view = inlay_table_view(bits == 4 ? INLAY_U4_GROUPED : INLAY_U8_GROUPED, tensor->data, (size_t)rows,
                                         (size_t)columns, (size_t)words * 4);
    return take_groups(piece, scales, find(piece, tensor->name, stem, ZERO_POINT), bits);
}

/* Makes a piece of ModelOpt's NVFP4: two 4-bit floats in each byte, and the scales of 16 columns. */
static bool make_nvfp4(struct inlay_piece *piece, size_t stem, const inlay_file_tensor *factor)
{
    enum { BLOCK = 16 };
    const inlay_file_tensor *tensor = piece->tensor, *scales = find(piece, tensor->name, stem, WEIGHT_SCALE);
    const size_t rows = (size_t)tensor->shape[0], dim = (size_t)tensor->shape[1] * 2, blocks = dim / BLOCK;
    float whole = 1;
    if (blocks == 0 || dim % BLOCK != 0 || scales == NULL || scales->element != INLAY_E4M3 ||
        !has_shape(scales, rows, blocks) || factor->element != INLAY_F32 || !is_single(factor))
        return fail(piece, INLAY_FILE_ERROR_SHAPE, tensor,
                    "NVFP4 needs a .weight_scale of F8_E4M3 per 16 columns, and a .weight_scale_2 of one F32");
    inlay_piece_convert(factor, 1, 1, 1, &whole);
    piece->table.view = inlay_table_view(INLAY_E2M1_F32, tensor->data, rows, dim, dim / 2);
    piece->table.view.scales = converted(piece, scales, rows, blocks, whole);
    return piece->table.view.scales != NULL;
}

/* ---- MLX -------------------------------------------------------------------------------------------------------- */

/* MLX's settings of a module in an object of config.json: null if absent. Their keys begin with `prefix`. */
enum { MODE, BITS, GROUP_SIZE, SETTINGS, PREFIX_ROOM = INLAY_CONFIG_KEY + 1 };

struct mlx {
    char prefix[PREFIX_ROOM];
    const inlay_file_value *values[SETTINGS];
    bool is_found;
};

static const char *const mlx_keys[SETTINGS] = {"mode", "bits", "group_size"};

/* Finds the settings whose keys begin with mlx->prefix. Returns false if there are none. */
static bool find_mlx(const struct inlay_piece *piece, struct mlx *mlx)
{
    for (int i = 0; i < SETTINGS; i++) {
        char key[PREFIX_ROOM + 16];
        snprintf(key, sizeof key, "%s%s", mlx->prefix, mlx_keys[i]);
        mlx->values[i] = inlay_file_find_value(piece->file, key);
        mlx->is_found = mlx->is_found || mlx->values[i] != NULL;
    }
    return mlx->is_found;
}

/* Reads the settings in an object: those of the module if it has any, else those of the model. The value of a module
   without settings must be true, because MLX quantizes no others. */
static bool read_object(const struct inlay_piece *piece, const struct rows *rows, const char *object, struct mlx *mlx)
{
    const int size = snprintf(mlx->prefix, PREFIX_ROOM, "config.%s.%.*s", object, (int)rows->stem, rows->name);
    if (size + (int)strlen(".group_size") > INLAY_CONFIG_KEY)
        return fail(piece, INLAY_FILE_ERROR_LIMIT, piece->tensor,
                    "its name is too long to find its settings in config.json: rename the module");
    const inlay_file_value *own = inlay_file_find_value(piece->file, mlx->prefix);
    strcat(mlx->prefix, ".");
    if (!find_mlx(piece, mlx)) {
        if (own != NULL && (own->kind != INLAY_FILE_VALUE_BOOLEAN || own->integer == 0))
            return inlay_file_fail(piece->error, INLAY_FILE_ERROR_MODEL, NULL, own->key,
                                   "it is neither true nor an object with bits and group_size, but %.100s is quantized",
                                   rows->name);
        snprintf(mlx->prefix, PREFIX_ROOM, "config.%s.", object);
        find_mlx(piece, mlx);
    }
    const inlay_file_value *mode = mlx->values[MODE];
    return mode == NULL || (mode->kind == INLAY_FILE_VALUE_STRING && strcmp(mode->text, "affine") == 0) ||
           inlay_file_fail(piece->error, INLAY_FILE_ERROR_TYPE, NULL, mode->key,
                           "MLX's mode \"%.40s\" is not supported: only affine is",
                           mode->kind == INLAY_FILE_VALUE_STRING ? mode->text : "(not a string)");
}

/* Returns true if two settings differ. */
static bool differ(const inlay_file_value *a, const inlay_file_value *b)
{
    return a == NULL || b == NULL ? a != b : a->kind != b->kind || a->integer != b->integer;
}

/* Finds the settings of MLX. It writes both objects alike; a quantization_config with a quant_method is not MLX's. */
static bool read_mlx(const struct inlay_piece *piece, const struct rows *rows, struct mlx *mlx)
{
    struct mlx other = {.is_found = false};
    const bool is_mlx = inlay_file_find_value(piece->file, "config.quantization_config.quant_method") == NULL;
    if (!read_object(piece, rows, "quantization", mlx) ||
        (is_mlx && !read_object(piece, rows, "quantization_config", &other)))
        return false;
    if (!mlx->is_found && other.is_found)
        *mlx = other;
    for (int i = BITS; i < SETTINGS; i++) {
        char key[PREFIX_ROOM + 16];
        snprintf(key, sizeof key, "%s%s", other.prefix, mlx_keys[i]);
        if (other.is_found && differ(mlx->values[i], other.values[i]))
            return inlay_file_fail(piece->error, INLAY_FILE_ERROR_MODEL, NULL, key, "it contradicts %.100s%s",
                                   mlx->prefix, mlx_keys[i]);
        snprintf(key, sizeof key, "%s%s", mlx->prefix, mlx_keys[i]);
        if (mlx->values[i] == NULL)
            return inlay_file_fail(piece->error, INLAY_FILE_ERROR_MISSING, NULL, key,
                                   "config.json needs this key for the U32 rows of %.100s", rows->name);
        if (mlx->values[i]->kind != INLAY_FILE_VALUE_INTEGER)
            return inlay_file_fail(piece->error, INLAY_FILE_ERROR_MODEL, NULL, key, "it is not an integer");
    }
    return true;
}

/* Converts numbers [count] to every second place of `out`. */
static void convert_alternate(const inlay_file_tensor *from, size_t count, float *out)
{
    enum { CHUNK = 1024 };
    inlay_file_tensor part = *from;
    float numbers[CHUNK];
    for (size_t done = 0, n; done < count; done += n) {
        n = count - done < CHUNK ? count - done : CHUNK;
        part.data = (const unsigned char *)from->data + inlay_table_row_bytes(from->element, done);
        inlay_piece_convert(&part, 1, n, 1, numbers);
        for (size_t i = 0; i < n; i++)
            out[2 * (done + i)] = numbers[i];
    }
}

/* Makes a piece of MLX's affine rows: U32 words, with scales and biases [rows, groups]. */
static bool make_affine(struct inlay_piece *piece, const struct rows *rows)
{
    const inlay_file_tensor *tensor = piece->tensor, *scales = piece->read[MLX_SCALES];
    const inlay_file_tensor *biases = find(piece, rows->name, rows->stem, MLX_BIASES);
    inlay_table *view = &piece->table.view;
    struct mlx mlx = {.is_found = false};
    if (!read_mlx(piece, rows, &mlx))
        return false;
    if (biases == NULL)
        return fail(piece, INLAY_FILE_ERROR_MISSING, tensor, "MLX's affine rows need .biases");
    const int64_t bits = mlx.values[BITS]->integer, group = mlx.values[GROUP_SIZE]->integer;
    char name[40];
    snprintf(name, sizeof name, "u%lld_affine", (long long)bits);
    const inlay_element_type type = inlay_element_type_from_name(name); /* of "u-4_affine" too */
    if (bits <= 0 || type == 0)
        return inlay_file_fail(piece->error, INLAY_FILE_ERROR_TYPE, NULL, mlx.values[BITS]->key,
                               "rows of %lld bits are not supported: only 2, 3, 4, 5, 6 and 8 are", (long long)bits);
    if (group != 32 && group != 64 && group != 128)
        return inlay_file_fail(piece->error, INLAY_FILE_ERROR_TYPE, NULL, mlx.values[GROUP_SIZE]->key,
                               "groups of %lld columns are not supported: only 32, 64 and 128 are", (long long)group);
    const uint64_t words = tensor->shape[1], groups = scales->rank == 2 ? scales->shape[1] : 0;
    const inlay_file_tensor *const both[] = {scales, biases};
    for (int i = 0; i < 2; i++)
        if (!is_float(both[i]) || groups == 0 || !has_shape(both[i], tensor->shape[0], groups))
            return fail(piece, INLAY_FILE_ERROR_SHAPE, both[i],
                        "MLX's scales and biases are F32, F16 or BF16 [rows, groups]");
    uint64_t dim;
    if (__builtin_mul_overflow(groups, (uint64_t)group, &dim) || dim / 32 * (uint64_t)bits != words)
        return inlay_file_fail(piece->error, INLAY_FILE_ERROR_SHAPE, tensor->path, tensor->name,
                               "its rows of %llu words are not %llu groups of %lld columns of %lld bits",
                               (unsigned long long)words, (unsigned long long)groups, (long long)group,
                               (long long)bits);
    const size_t count = (size_t)(tensor->shape[0] * groups);
    float *pairs = inlay_file_keep(piece->file, 2 * count * sizeof *pairs);
    if (pairs == NULL)
        return inlay_file_fail_memory(piece->error, NULL);
    convert_alternate(scales, count, pairs);
    convert_alternate(biases, count, pairs + 1);
    *view = inlay_table_view(type, tensor->data, (size_t)tensor->shape[0], (size_t)dim, (size_t)words * 4);
    view->group = (uint32_t)group;
    view->scales = pairs;
    return true;
}

/* ---- Tensors ---------------------------------------------------------------------------------------------------- */

/* Returns true if all bytes of a tensor are zero. Some checkpoints store zero points that are all zero. */
static bool is_zero(const inlay_file_tensor *tensor)
{
    const unsigned char *bytes = tensor->data;
    uint64_t i = 0;
    while (i < tensor->bytes && bytes[i] == 0)
        i++;
    return i == tensor->bytes;
}

/* Finds the scales and zero points of a tensor of I8 or F8_E4M3. */
static bool make_quantized(struct inlay_piece *piece, const struct rows *rows)
{
    inlay_table *view = &piece->table.view;
    const inlay_file_tensor *scales = find_scales(piece, rows->name, rows->stem);
    const inlay_file_tensor *zeros = find(piece, rows->name, rows->stem, ZERO_POINT);
    piece->scales = scales = scales != NULL ? scales : piece->shared;
    if (scales == NULL)
        return (view->type == INLAY_I8 && strcmp(rows->name, unscaled) == 0) ||
               fail_unknown(piece, rows, "no scale with a known name was found for its type,");
    if (zeros != NULL && is_zero(zeros))
        zeros = NULL;
    if (zeros != NULL && view->type != INLAY_I8)
        return fail(piece, INLAY_FILE_ERROR_TYPE, zeros, "F8_E4M3 tables have no zero points");
    if (scales == piece->shared && !(is_float(scales) && is_single(scales)))
        return fail(piece, INLAY_FILE_ERROR_SHAPE, scales,
                    "it must be a single number, shared by all tensors of the pattern");
    if (view->type == INLAY_I8 && (zeros != NULL || (scales->rank == 2 && scales->shape[1] > 1 && is_float(scales)))) {
        view->type = INLAY_I8_GROUPED;
        return take_groups(piece, scales, zeros, 0);
    }
    return take_scales(piece, scales);
}

/* Makes the table of a tensor that is not packed. */
static bool make_plain(struct inlay_piece *piece, const struct rows *rows)
{
    const inlay_file_tensor *tensor = piece->tensor;
    const inlay_file_tensor *factor =
        is_type(tensor, "U8") ? find(piece, rows->name, rows->stem, WEIGHT_SCALE_2) : NULL;
    if (factor != NULL)
        return make_nvfp4(piece, rows->stem, factor);
    if (is_type(tensor, "U32") && rows->is_weight && find(piece, rows->name, rows->stem, MLX_SCALES) != NULL)
        return make_affine(piece, rows);
    const bool is_double = inlay_piece_is_double(tensor);
    const inlay_element_type element = is_double ? INLAY_F32 : tensor->element;
    if (element == 0)
        return fail_unknown(piece, rows, "tables do not support its type,");
    /* The size of the data limits the rows; parsers have checked it against the shape. */
    const size_t dim = tensor->shape[1] <= SIZE_MAX ? (size_t)tensor->shape[1] : 0;
    const size_t row_bytes = inlay_table_row_bytes(element, dim);
    if (row_bytes == 0 || tensor->shape[0] > tensor->bytes / row_bytes)
        return fail(piece, INLAY_FILE_ERROR_SHAPE, tensor, "its second dimension is not a valid row length");
    const size_t count = (size_t)tensor->shape[0];
    const void *data = is_double ? converted(piece, tensor, count, dim, 1) : tensor->data;
    if (data == NULL)
        return false;
    piece->table.view = inlay_table_view(element, data, count, dim, row_bytes);
    /* Other types have no scales, or have them in their rows. */
    const bool quantized = tensor->element == INLAY_I8 || tensor->element == INLAY_E4M3;
    return !quantized || make_quantized(piece, rows);
}

bool inlay_piece_make(struct inlay_piece *piece, const inlay_file_tensor *tensor)
{
    const bool packed = inlay_ends_in(tensor->name, ".weight_packed");
    const struct rows rows = rows_of(tensor->name, packed ? ".weight_packed" : ".weight");
    piece->tensor = tensor;
    piece->scales = NULL;
    piece->table.scale = 1;
    for (int part = -1; part < PARTS; part++) {
        const inlay_file_tensor *needed = part < 0 ? tensor : find(piece, rows.name, rows.stem, (enum part)part);
        if (needed != NULL && !inlay_catalog_check(needed, piece->error))
            return false;
    }
    memset(piece->read, 0, sizeof piece->read);
    if (tensor->rank != 2)
        return fail(piece, INLAY_FILE_ERROR_SHAPE, tensor, "a table needs 2 dimensions, [rows, dim]");
    return (packed ? make_packed(piece, rows.stem) : make_plain(piece, &rows)) && check_neighbors(piece, &rows);
}
