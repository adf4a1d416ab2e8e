# SPDX-License-Identifier: MIT
"""The sinusoids of libinlay.so as NumPy arrays: ctypes bindings of a part of inlay/positions.h."""
import ctypes

import numpy

OK, SHAPE, F32, POSITION_F32 = 0, 2, 1, 2
INTERLEAVED, SPLIT_COS_FIRST = 1, 3


class Spec(ctypes.Structure):
    """inlay_sinusoid_spec."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("dim", ctypes.c_size_t),
        ("base", ctypes.c_double),
        ("amplitude", ctypes.c_double),
        ("layout", ctypes.c_uint),
        ("spacing", ctypes.c_uint),
        ("shift", ctypes.c_uint32),
        ("odd", ctypes.c_uint),
        ("recipe", ctypes.c_uint),
        ("float_angles", ctypes.c_uint32),
        ("inv_freq", ctypes.POINTER(ctypes.c_double)),
        ("reserved", ctypes.c_size_t),
    ]


class Failed(Exception):
    """A call returned a status other than INLAY_OK."""

    def __init__(self, what, status):
        super().__init__(f"{what}: status {status}")
        self.status = status


class Library:
    def __init__(self, path):
        self._c = ctypes.CDLL(path)
        self._c.inlay_sinusoid_spec_recipe.restype = Spec
        self._c.inlay_sinusoid_spec_recipe.argtypes = [ctypes.c_int, ctypes.c_size_t]
        self._c.inlay_recipe_name.restype = ctypes.c_char_p
        self._c.inlay_sinusoid_create.argtypes = [
            ctypes.POINTER(Spec),
            ctypes.c_void_p,
            ctypes.POINTER(ctypes.c_void_p),
        ]
        self._c.inlay_sinusoid_destroy.argtypes = [ctypes.c_void_p]
        self._c.inlay_sinusoid_destroy.restype = None
        self._c.inlay_sinusoid_rows.argtypes = [
            ctypes.c_void_p,
            ctypes.c_int64,
            ctypes.c_size_t,
            ctypes.c_int,
            ctypes.c_void_p,
            ctypes.c_size_t,
            ctypes.c_void_p,
        ]
        self._c.inlay_sinusoid_at.argtypes = [
            ctypes.c_void_p,
            ctypes.c_void_p,
            ctypes.c_int,
            ctypes.c_size_t,
            ctypes.c_int,
            ctypes.c_void_p,
            ctypes.c_size_t,
            ctypes.c_void_p,
            ctypes.c_void_p,
        ]
        self.recipes = {}
        while name := self._c.inlay_recipe_name(len(self.recipes)):
            self.recipes[name.decode()] = len(self.recipes)

    def table(self, name, dim, rows, first=0, frequencies=None, **changed):
        """Returns rows [first, first + rows) of a recipe as float32 [rows, dim]. If `rows` is a float32 array, returns
        the rows at these positions. `changed` are fields of the spec; with `frequencies`, angles are computed in
        float32."""
        spec = self._c.inlay_sinusoid_spec_recipe(self.recipes[name], dim)
        for field, value in changed.items():
            setattr(spec, field, value)
        if frequencies is not None:
            frequencies = numpy.ascontiguousarray(frequencies, numpy.float64)
            spec.inv_freq = frequencies.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
            spec.float_angles = 1
        handle = ctypes.c_void_p()
        status = self._c.inlay_sinusoid_create(ctypes.byref(spec), None, ctypes.byref(handle))
        if status == OK:
            explicit = isinstance(rows, numpy.ndarray)
            out = numpy.empty((len(rows) if explicit else rows, dim), numpy.float32)
            where = (F32, out.ctypes.data, out.strides[0], None)  # on the calling thread
            if explicit:
                positions = numpy.ascontiguousarray(rows, numpy.float32)
                status = self._c.inlay_sinusoid_at(
                    handle, positions.ctypes.data, POSITION_F32, len(positions), *where, None
                )
            else:
                status = self._c.inlay_sinusoid_rows(handle, first, rows, *where)
            self._c.inlay_sinusoid_destroy(handle)
        if status != OK:
            raise Failed(f"{name} at dim {dim}", status)
        return out
