# SPDX-License-Identifier: MIT
"""All kinds of arrays as arguments and outputs, and errors of outputs."""

import array
import ctypes
import hashlib
import itertools
import zlib

import numpy
import pytest

import inlay


@pytest.mark.parametrize("name", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "longlong", "ulonglong", "intp"])
def test_integers(table, way, name):
    ids = numpy.array([[1, 49], [7, 0]], name)
    numpy.testing.assert_array_equal(inlay.Layer(table)(ids), table[ids])
    numpy.testing.assert_array_equal(inlay.Layer(table)(ids[:, ::-1]), table[ids[:, ::-1]])
    numpy.testing.assert_array_equal(inlay.Layer(table)(ids[0, 1, ...]), table[49])  # no dimensions
    with pytest.raises(IndexError, match=r"^id 50 at \[1, 0\] is not in the table$"):
        inlay.Layer(table)(ids + numpy.array([[0, 0], [43, 0]], name))


@pytest.mark.parametrize("value, shown", [(-5, -5), (2**40, 2**40), (-(2**63), -(2**63))])
def test_extreme_ids(table, way, value, shown):
    with pytest.raises(IndexError, match=f"^id {shown} is not in the table$"):
        inlay.Layer(table)(value)
    with pytest.raises(IndexError, match=f"^id {2**63 - 1} at "):
        inlay.Layer(table)(numpy.array([2**63 + 9], "u8"))


def test_strided_and_unaligned(rng, way):
    table = rng.standard_normal((50, 7)).astype("f4")
    raw = numpy.zeros(table.nbytes + 1, "u1")
    unaligned = raw[1:].view("f4").reshape(table.shape)
    unaligned[:] = table
    assert not unaligned.flags.aligned
    ids = rng.integers(0, 50, (6, 9, 4))
    id_bytes = numpy.zeros(ids.nbytes + 3, "u1")
    odd = id_bytes[3:].view("i8").reshape(ids.shape)
    odd[:] = ids
    layer = inlay.Layer(unaligned)
    for view in (
        odd,
        ids[::2],
        ids[:, ::-1, ::3],
        ids.transpose(2, 0, 1),
        ids[:, :1],
        numpy.broadcast_to(ids[0, 0], (3, 4)),
    ):
        numpy.testing.assert_array_equal(layer(view), table[view])


def test_float_tables(table, way):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for dtype in ("f4", "f2", ml_dtypes.bfloat16):
        narrow = table.astype(dtype)
        narrow.flags.writeable = False
        numpy.testing.assert_array_equal(inlay.Layer(narrow)([4, 7]), narrow[[4, 7]].astype("f4"))
        assert inlay.Table(narrow).type == numpy.dtype(dtype).name


def test_other_sources(table):
    layer, expected = inlay.Layer(table), table[[1, 2, 3]]
    for ids in ([1, 2, 3], (1, 2, 3), array.array("h", [1, 2, 3]), bytes([1, 2, 3]), memoryview(bytearray([1, 2, 3]))):
        y = layer(ids)
        assert isinstance(y, numpy.ndarray)
        numpy.testing.assert_array_equal(y, expected)
    numpy.testing.assert_array_equal(layer(numpy.int16(3)), table[3])

    class Convertible:
        def __array__(self, dtype=None, copy=None):
            return numpy.array([1, 2, 3])

    numpy.testing.assert_array_equal(layer(Convertible()), expected)
    numpy.testing.assert_array_equal(inlay.Layer(table.tolist())([1, 2, 3]), expected)


class Subclass(numpy.ndarray):
    pass


def test_subclasses_of_arrays(table, tmp_path):
    numpy.testing.assert_array_equal(inlay.Layer(table.view(Subclass))([5]), table[[5]])
    file = numpy.memmap(tmp_path / "table", "f4", "w+", shape=table.shape)
    file[:] = table
    out = numpy.zeros((1, 12), "f4").view(Subclass)
    assert inlay.Layer(file)([5], out) is out
    numpy.testing.assert_array_equal(out, table[[5]])


# ---- DLPack ----


class Tensor:
    """A framework's tensor with only DLPack and a namespace."""

    def __init__(self, values, versioned=True):
        self.values, self.versioned = values, versioned

    def __dlpack__(self, **options):
        if not self.versioned and options:
            raise TypeError("unexpected keyword argument")
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()

    def __array_namespace__(self):
        return Tensor

    @staticmethod
    def from_dlpack(producer):
        return Tensor(numpy.from_dlpack(producer))


@pytest.mark.parametrize("versioned", [True, False])
def test_dlpack_both_ways(table, versioned):
    ids = Tensor(numpy.array([[3, 4, 9]])[:, ::2], versioned)
    layer = inlay.Layer(Tensor(table, versioned))
    y = layer(ids)
    assert isinstance(y, Tensor)
    numpy.testing.assert_array_equal(y.values, table[[[3, 9]]])
    out = Tensor(numpy.zeros((1, 2, 12), "f4"), versioned)
    assert layer(ids, out=out) is out
    numpy.testing.assert_array_equal(out.values, y.values)
    with pytest.raises(IndexError, match=r"id 50 at \[0, 1\]"):
        layer(Tensor(numpy.array([[1, 50]]), versioned))


def test_dlpack_of_outputs():
    memory = inlay.Layer(numpy.ones((2, 2048), "f4"))([0, 1]).base
    assert "dltensor_versioned" in repr(memory.__dlpack__(max_version=(1, 0), dl_device=(1, 0)))
    assert "dltensor_versioned" not in repr(memory.__dlpack__(max_version=(-1, 0)))
    for options, error in (({"dl_device": (2, 0)}, BufferError), ({"copy": True}, BufferError), ({"max_version": 1}, TypeError)):
        with pytest.raises(error):
            memory.__dlpack__(**options)


def test_dlpack_one_way(table, way):
    """Objects from a module without from_dlpack() get NumPy arrays."""
    source = numpy.array([[1, 2], [3, 4]])

    class Ids:
        def __dlpack__(self, **options):
            return source.__dlpack__(**options)

    out = inlay.Layer(table)(Ids())
    assert type(out) is numpy.ndarray
    numpy.testing.assert_array_equal(out, table[source])


def test_dlpack_of_other_devices(table):
    class Capsule(Tensor):
        def __dlpack__(self, **options):
            raise BufferError("on another device")

    with pytest.raises(BufferError, match="another device"):
        inlay.Layer(table)(Capsule(None))


def test_read_only_tensors_are_no_output(table):
    frozen = numpy.zeros((1, 12), "f4")
    frozen.flags.writeable = False
    # NumPy 1 can't export such arrays.
    with pytest.raises((ValueError, BufferError), match="read-only|readonly"):
        inlay.Layer(table)([3], out=Tensor(frozen))


def test_jax(table):
    jax = pytest.importorskip("jax")
    layer = inlay.Layer(jax.numpy.asarray(table), dtype="bfloat16")
    y = layer(jax.numpy.array([[1, 2]]))
    assert isinstance(y, jax.Array) and y.dtype == "bfloat16"
    numpy.testing.assert_array_equal(numpy.asarray(y), table[[[1, 2]]].astype(y.dtype))
    with pytest.raises(TypeError, match="immutable"):
        inlay.Layer(table)([3], out=jax.numpy.zeros((1, 12)))


# ---- Outputs ----


def test_out_slices(table, way):
    ids = numpy.array([[1, 2], [3, 4]])
    wide = numpy.full((2, 2, 20), 9, "f4")
    inlay.Layer(table)(ids, out=wide[..., 4:16])
    numpy.testing.assert_array_equal(wide[..., 4:16], table[ids])
    assert (wide[..., :4] == 9).all() and (wide[..., 16:] == 9).all()
    cache = numpy.zeros((2, 4, 12), "f4")
    inlay.Layer(table)(ids[:1], out=cache[:1, 1:3])
    numpy.testing.assert_array_equal(cache[0, 1:3], table[ids[0]])


def overlapping(table):
    memory = numpy.zeros(24 * 2 + 4, "f4")
    return memory[:4].view("i8").reshape(1, 2), memory[2 : 2 + 24].reshape(1, 2, 12)


class Convertible:
    """An object that NumPy can convert, possibly by a copy."""

    def __array__(self, dtype=None, copy=None):
        return numpy.empty((1, 2, 12), "f4")


BAD_OUTPUTS = [
    (lambda: numpy.empty((1, 2, 13), "f4"), ValueError, r"^out has shape \[1, 2, 13\], expected \[1, 2, 12\]$"),
    (lambda: numpy.empty((2, 12), "f4"), ValueError, r"^out has shape \[2, 12\], expected"),
    (lambda: numpy.empty((1, 2, 12), "f8"), TypeError, "^out has elements of type float64, expected float32$"),
    (lambda: numpy.empty((1, 2, 12), ">f4"), TypeError, "out has elements of"),
    (lambda: numpy.empty((1, 2, 24), "f4")[..., ::2], ValueError, "out must have a constant row stride"),
    (lambda: numpy.empty((1, 2, 12), "f4")[:, ::-1], ValueError, "out must have a constant row stride"),
    (lambda: numpy.empty((1, 12, 2), "f4").transpose(0, 2, 1), ValueError, "out must have a constant row stride"),
    (lambda: numpy.broadcast_to(numpy.empty(12, "f4"), (1, 2, 12)), ValueError, "^out is read-only: give an array that can be written$"),
    (Convertible, ValueError, "^out is read-only: give an array that can be written$"),
    (lambda: [[1.0]], TypeError, "^out must be an array$"),
    (lambda: "text", TypeError, "out has type str, which is not an array"),
]


@pytest.mark.parametrize("make, error, text", BAD_OUTPUTS)
def test_bad_outputs(table, way, make, error, text):
    with pytest.raises(error, match=text):
        inlay.Layer(table)([[1, 2]], out=make())


def test_rows_without_a_constant_stride(table, way):
    out = numpy.zeros((4, 6, 12), "f4")[::2, ::2]
    with pytest.raises(ValueError, match="out must have a constant row stride"):
        inlay.Layer(table)(numpy.zeros((2, 3), "i8"), out=out)


def test_overlap(table, way):
    ids, out = overlapping(table)
    ids[:] = 1
    with pytest.raises(ValueError, match="^out overlaps ids, another argument or a table$"):
        inlay.Layer(table)(ids, out=out)
    with pytest.raises(ValueError, match="^out overlaps"):
        inlay.Layer(table)([3], out=table[3:4])


def test_nothing_is_written_before_an_error(table, way):
    out = numpy.full((2, 2, 12), 5, "f4")
    layer = inlay.Layer(table, positions=table[:3], segments=table[:2])
    for ids, options in (
        ([[1, 2], [3, 50]], {}),
        ([[1, 2], [3, 4]], {"start": 2}),
        ([[1, 2], [3, 4]], {"segment_ids": [[0, 0], [0, 2]]}),
    ):
        with pytest.raises(IndexError):
            layer(ids, out=out, **options)
        assert (out == 5).all()


def test_without_numpy(table):
    """Memoryviews as arguments and results, and lists, which need NumPy."""
    ids = array.array("i", [3, 4])
    expected = table[[3, 4]].tolist()
    data = memoryview(table.tobytes()).cast("f", table.shape)
    inlay._core.use_numpy(None)
    try:
        y = inlay.Layer(data)(ids)
        assert isinstance(y, memoryview) and y.shape == (2, 12) and y.format == "f" and y.tolist() == expected
        with pytest.raises(TypeError, match="^ids needs NumPy, which is not installed$"):
            inlay.Layer(data)([3, 4])
        assert inlay.random(2, 3).shape == (2, 3)
        assert isinstance(inlay.quantize(data, "i8").data, memoryview)
    finally:
        inlay._core.use_numpy(numpy)


def granted(array, flags):
    """Returns an array's response to a request of the buffer protocol, or the type of its error."""

    class Buffer(ctypes.Structure):
        _fields_ = [("buf", ctypes.c_void_p), ("obj", ctypes.py_object)] + [
            (name, kind)
            for kind, names in [
                (ctypes.c_ssize_t, ["len", "itemsize"]),
                (ctypes.c_int, ["readonly", "ndim"]),
                (ctypes.c_char_p, ["format"]),
                (ctypes.POINTER(ctypes.c_ssize_t), ["shape", "strides", "suboffsets"]),
                (ctypes.c_void_p, ["internal"]),
            ]
            for name in names
        ]

    buffer = Buffer()
    try:
        ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(array), ctypes.byref(buffer), flags)
    except BufferError as error:
        return type(error)
    dims = range(buffer.ndim)
    lengths = buffer.shape[: len(dims)] if buffer.shape and dims else None
    # Strides of a single row or an empty array don't matter.
    used = [i for i in dims if buffer.strides and lengths[i] > 1 and buffer.len]
    strides = bool(buffer.strides and dims), [buffer.strides[i] for i in used]
    answer = buffer.len, buffer.itemsize, buffer.readonly, buffer.ndim, buffer.format, lengths, strides, bool(buffer.suboffsets)
    ctypes.pythonapi.PyBuffer_Release(ctypes.byref(buffer))
    return answer


@pytest.mark.parametrize("shape", [(), (5,), (3, 4), (1, 4), (4, 1), (1, 1), (0, 4), (4, 0), (2, 3, 4), (2, 1, 1)])
def test_buffers_are_granted_as_memoryview_grants_them(tmp_path, shape):
    array = numpy.arange(numpy.prod(shape, dtype=int), dtype="i4").reshape(shape)
    numpy.save(tmp_path / "x.npy", array)
    tensor = inlay.open(tmp_path / "x.npy").tensors["data"]
    array.flags.writeable = False
    bits = [1, 4, 8, 0x10, 0x20, 0x40, 0x80, 0x100]  # PyBUF_WRITABLE, _FORMAT, _ND, ...
    for chosen in itertools.product([0, 1], repeat=len(bits)):
        flags = sum(bit for bit, is_chosen in zip(bits, chosen) if is_chosen)
        flags |= 0x10 if flags & 0x1E0 else 0  # other layouts include strides, and strides a shape
        flags |= 8 if flags & 0x10 else 0
        assert granted(tensor, flags) == granted(memoryview(array), flags), hex(flags)


def test_buffers_of_outputs_are_granted_as_memoryview_grants_them(table):
    output = inlay.Layer(table)(numpy.zeros(200, int))
    for flags in (0, 1, 4, 8, 0x18, 0x1C, 0x38, 0x58, 0x98, 0x118):
        assert granted(output.base, flags) == granted(memoryview(output), flags), hex(flags)


@pytest.mark.parametrize("read", [zlib.crc32, bytes, bytearray, lambda x: hashlib.sha256(x).hexdigest(), lambda x: b"".join([x])])
def test_bytes_of_tensors(tmp_path, read):
    array = numpy.arange(12, dtype="f4").reshape(3, 4)
    numpy.save(tmp_path / "x.npy", array)
    assert read(inlay.open(tmp_path / "x.npy").tensors["data"]) == read(array)
