/* SPDX-License-Identifier: MIT */
/*
 * The table of element types, and lookups in it.
 */
#include "arrays/dtype.h"

#include "arrays/dlpack.h"

#include <string.h>

/* NumPy's type numbers are those of C types, so int64 has the number of `long` if `long` has 8 bytes. */
const struct dtype_info dtype_infos[DTYPES] = {
    [DTYPE_UNKNOWN] = {"unknown", 0, 'B', -1, DLPACK_UINT, 0, 0},
    [DTYPE_BOOL] = {"bool", 1, '?', 0, DLPACK_BOOL, 0, 0},
    [DTYPE_I8] = {"int8", 1, 'b', 1, DLPACK_INT, 0, 0},
    [DTYPE_U8] = {"uint8", 1, 'B', 2, DLPACK_UINT, INLAY_ID_U8, 0},
    [DTYPE_I16] = {"int16", 2, 'h', 3, DLPACK_INT, INLAY_ID_I16, 0},
    [DTYPE_U16] = {"uint16", 2, 'H', 4, DLPACK_UINT, INLAY_ID_U16, 0},
    [DTYPE_I32] = {"int32", 4, 'i', 5, DLPACK_INT, INLAY_ID_I32, 0},
    [DTYPE_U32] = {"uint32", 4, 'I', 6, DLPACK_UINT, INLAY_ID_U32, 0},
    [DTYPE_I64] = {"int64", 8, 'q', sizeof(long) == 8 ? 7 : 9, DLPACK_INT, INLAY_ID_I64, 0},
    [DTYPE_U64] = {"uint64", 8, 'Q', sizeof(long) == 8 ? 8 : 10, DLPACK_UINT, 0, 0},
    [DTYPE_F16] = {"float16", 2, 'e', 23, DLPACK_FLOAT, 0, INLAY_F16},
    [DTYPE_BF16] = {"bfloat16", 2, 'H', -1, DLPACK_BFLOAT, 0, INLAY_BF16},
    [DTYPE_F32] = {"float32", 4, 'f', 11, DLPACK_FLOAT, 0, INLAY_F32},
    [DTYPE_F64] = {"float64", 8, 'd', 12, DLPACK_FLOAT, 0, 0},
    [DTYPE_E4M3] = {"float8_e4m3fn", 1, 'B', -1, DLPACK_E4M3, 0, INLAY_E4M3},
    [DTYPE_E8M0] = {"float8_e8m0fnu", 1, 'B', -1, DLPACK_E8M0, 0, 0},
};

enum dtype dtype_of_number(const unsigned char *dtypes, size_t count, int64_t number)
{
    return number >= 0 && (uint64_t)number < count ? (enum dtype)dtypes[number] : DTYPE_UNKNOWN;
}

enum dtype dtype_of_numpy(int number)
{
    enum { LONG = sizeof(long) == 8 ? DTYPE_I64 : DTYPE_I32, ULONG = sizeof(long) == 8 ? DTYPE_U64 : DTYPE_U32 };
    static const unsigned char dtypes[] = {DTYPE_BOOL, DTYPE_I8,  DTYPE_U8,  DTYPE_I16,       DTYPE_U16,
                                           DTYPE_I32,  DTYPE_U32, LONG,      ULONG,           DTYPE_I64,
                                           DTYPE_U64,  DTYPE_F32, DTYPE_F64, [23] = DTYPE_F16};
    return dtype_of_number(dtypes, sizeof dtypes, number);
}

enum dtype dtype_of_format(const char *format, Py_ssize_t bytes)
{
    static const char signed_codes[] = "bhilqn", unsigned_codes[] = "BHILQNc";
    if (format == NULL)
        format = "B";
    if (*format != 0 && strchr("@=<", *format) != NULL) /* native or little-endian */
        format++;
    if (*format == 0 || format[1] != 0)
        return DTYPE_UNKNOWN;
    const unsigned bits = (unsigned)bytes * 8;
    if (strchr(signed_codes, *format) != NULL)
        return dtype_of_dlpack(DLPACK_INT, bits);
    if (strchr(unsigned_codes, *format) != NULL)
        return dtype_of_dlpack(DLPACK_UINT, bits);
    if (strchr("efd", *format) != NULL)
        return dtype_of_dlpack(DLPACK_FLOAT, bits);
    return *format == '?' ? DTYPE_BOOL : DTYPE_UNKNOWN;
}

enum dtype dtype_of_dlpack(unsigned code, unsigned bits)
{
    for (enum dtype d = DTYPE_UNKNOWN + 1; d < DTYPES; d++)
        if (dtype_infos[d].dlpack_code == code && dtype_infos[d].bytes * 8u == bits)
            return d;
    return DTYPE_UNKNOWN;
}

enum dtype dtype_of_name(const char *name)
{
    for (enum dtype d = DTYPE_UNKNOWN + 1; d < DTYPES; d++)
        if (strcmp(dtype_infos[d].name, name) == 0)
            return d;
    return DTYPE_UNKNOWN;
}

bool dtype_is_output(enum dtype dtype)
{
    return dtype_infos[dtype].element != 0 && dtype != DTYPE_E4M3;
}

enum dtype dtype_of_element(inlay_element_type type)
{
    for (enum dtype d = DTYPE_UNKNOWN + 1; d < DTYPES && type != 0; d++)
        if (dtype_infos[d].element == type)
            return d;
    return DTYPE_UNKNOWN;
}

/* Returns a new string that names a type: __name__ of scalar types, str() of dtypes. */
static PyObject *name_of(PyObject *object)
{
    if (PyUnicode_Check(object))
        return Py_NewRef(object);
    return PyType_Check(object) ? PyObject_GetAttrString(object, "__name__") : PyObject_Str(object);
}

/* Returns the type named by an argument, or DTYPE_UNKNOWN, with an exception if the name can't be read. */
static enum dtype dtype_from_name(PyObject *object)
{
    enum dtype dtype = DTYPE_UNKNOWN;
    PyObject *string = name_of(object);
    const char *name = string != NULL ? PyUnicode_AsUTF8AndSize(string, NULL) : NULL;
    if (name != NULL) {
        const char *dot = strrchr(name, '.'); /* torch.float32 */
        dtype = dtype_of_name(dot != NULL ? dot + 1 : name);
        /* Strings may use any name of an element type. Classes may not: Python's `float` isn't float32. */
        if (dtype == DTYPE_UNKNOWN && PyUnicode_Check(object))
            dtype = dtype_of_element(inlay_element_type_from_name(name));
    }
    Py_XDECREF(string);
    return dtype;
}

/* Returns the type if `good`. Otherwise returns DTYPE_UNKNOWN with an exception set: the one that is already set, or
   TypeError. */
static enum dtype require(enum dtype dtype, bool good, PyObject *object, const char *expected)
{
    if (good)
        return dtype;
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "dtype is %R, not %s", object, expected);
    return DTYPE_UNKNOWN;
}

enum dtype dtype_of_argument(PyObject *object)
{
    const enum dtype dtype = dtype_from_name(object);
    return require(dtype, dtype_is_output(dtype), object, "float32, float16 or bfloat16");
}

enum dtype dtype_of_row_ids(PyObject *object)
{
    const enum dtype dtype = dtype_from_name(object);
    return require(dtype, dtype == DTYPE_I32 || dtype == DTYPE_I64, object, "int32 or int64");
}
