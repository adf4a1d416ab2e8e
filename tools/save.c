/* SPDX-License-Identifier: MIT */
/*
 * The writers of save.h. They put rows down as they lie in memory: the build refuses big-endian hosts, so that is
 * what '<' says in the header.
 */
#include "save.h"

#include "message.h"
#include "npy.h"
#include "plot.h"
#include "widen.h"

int save_header(struct output *output, inlay_element_type type, const size_t *shape, size_t rank)
{
    static const char *const descrs[] = {[INLAY_F32] = "<f4", [INLAY_F16] = "<f2", [INLAY_BF16] = "<u2"};
    char header[NPY_FORMAT_BYTES];
    fwrite(header, 1, npy_format(descrs[type], shape, rank, header), output->stream);
    return output_check(output);
}

int save_values(struct output *output, inlay_element_type type, const void *values, size_t n)
{
    fwrite(values, type_bytes(type), n, output->stream);
    return output_check(output);
}

int save_plot_check(const char *path)
{
    if (path != NULL && plot_library() == NULL)
        return failed("--plot %s: this inlay was built without cairo and draws no pictures", shown(path));
    return DONE;
}
