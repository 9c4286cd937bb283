"""Apache Arrow's C data interface in both directions, without a library: columns of a batch as Python's
lists and numpy's arrays, and lists as a stream for whoever takes one.

The structures are those of https://arrow.apache.org/docs/format/CDataInterface.html.
"""
from __future__ import annotations

import ctypes
import struct
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_int, c_int64, c_void_p
from typing import Any, Callable, Iterator, Sequence

NULLABLE = 2


class Schema(ctypes.Structure):
    pass


class Array(ctypes.Structure):
    pass


class Stream(ctypes.Structure):
    pass


_RELEASE_SCHEMA = CFUNCTYPE(None, POINTER(Schema))
_RELEASE_ARRAY = CFUNCTYPE(None, POINTER(Array))
_RELEASE_STREAM = CFUNCTYPE(None, POINTER(Stream))
_GET_SCHEMA = CFUNCTYPE(c_int, POINTER(Stream), POINTER(Schema))
_GET_NEXT = CFUNCTYPE(c_int, POINTER(Stream), POINTER(Array))
_LAST_ERROR = CFUNCTYPE(c_void_p, POINTER(Stream))

Schema._fields_ = [("format", c_char_p), ("name", c_char_p), ("metadata", c_char_p), ("flags", c_int64),
                   ("n_children", c_int64), ("children", POINTER(POINTER(Schema))), ("dictionary", POINTER(Schema)),
                   ("release", _RELEASE_SCHEMA), ("private_data", c_void_p)]
Array._fields_ = [("length", c_int64), ("null_count", c_int64), ("offset", c_int64), ("n_buffers", c_int64),
                  ("n_children", c_int64), ("buffers", POINTER(c_void_p)), ("children", POINTER(POINTER(Array))),
                  ("dictionary", POINTER(Array)), ("release", _RELEASE_ARRAY), ("private_data", c_void_p)]
Stream._fields_ = [("get_schema", _GET_SCHEMA), ("get_next", _GET_NEXT), ("get_last_error", _LAST_ERROR),
                   ("release", _RELEASE_STREAM), ("private_data", c_void_p)]

# format of a number: its letter in the module struct, and numpy's type
_NUMBERS = {"c": ("b", "int8"), "C": ("B", "uint8"), "s": ("h", "int16"), "S": ("H", "uint16"), "i": ("i", "int32"),
            "I": ("I", "uint32"), "l": ("q", "int64"), "L": ("Q", "uint64"), "f": ("f", "float32"),
            "g": ("d", "float64"), "tsn:UTC": ("q", "datetime64[ns]"), "tDn": ("q", "timedelta64[ns]")}


# ---- reading ----

class Column:
    """A column of one batch. What it gives is copied: the batch may go."""

    def __init__(self, format: str, array: Array, item: str = "") -> None:
        self.format, self.item, self._array, self.rows = format, item, array, array.length

    def _bytes(self, i: int, size: int) -> Any:
        at = self._array.buffers[i]
        return (ctypes.c_char * size).from_address(at) if at and size else b""

    def _numbers(self, format: str, array: Array, count: int) -> memoryview:
        letter = _NUMBERS[format][0]
        size = count * struct.calcsize(letter)
        at = array.buffers[1]
        data = (ctypes.c_char * size).from_address(at) if at and size else b""
        return memoryview(data).cast("B").cast(letter)

    def _present(self) -> list[bool] | None:
        """Which rows have a value; None: all."""
        if not self._array.null_count or not self._array.buffers[0]:
            return None
        bits = bytes(self._bytes(0, (self.rows + 7) // 8))
        return [bool(bits[i >> 3] >> (i & 7) & 1) for i in range(self.rows)]

    def _ends(self) -> memoryview:
        return memoryview(self._bytes(1, 4 * (self.rows + 1))).cast("B").cast("i")

    def values(self) -> list[Any]:
        """One Python value a row; None of a null. Times are int, in nanoseconds."""
        out: list[Any]
        if self.format in _NUMBERS:
            out = self._numbers(self.format, self._array, self.rows).tolist()
        elif self.format == "+l":
            ends = self._ends()
            items = self._numbers(self.item, self._array.children[0].contents, ends[self.rows]).tolist()
            out = [items[ends[i]:ends[i + 1]] for i in range(self.rows)]
        else:
            ends = self._ends()
            data = bytes(self._bytes(2, ends[self.rows]))
            parts = (data[ends[i]:ends[i + 1]] for i in range(self.rows))
            out = list(parts) if self.format == "z" else [part.decode() for part in parts]
        present = self._present()
        return out if present is None else [value if there else None for value, there in zip(out, present)]

    def numpy(self, numpy: Any) -> Any:
        """The same as an array: of a number's or a time's own type where no value is missing; integers with
        missing values become float64, times NaT; all else are objects."""
        if self.format not in _NUMBERS:
            out = numpy.empty(self.rows, dtype=object)
            out[:] = self.values()
            return out
        out = numpy.array(self._numbers(self.format, self._array, self.rows)).view(_NUMBERS[self.format][1])
        present = self._present()
        if present is None:
            return out
        missing = ~numpy.array(present, dtype=bool)
        if out.dtype.kind in "iu":
            out = out.astype("float64")
        out[missing] = "NaT" if out.dtype.kind in "mM" else numpy.nan
        return out


class Reader:
    """The batches of a stream, which it owns. `fail` makes the exception of an error's text."""

    def __init__(self, stream: Stream, fail: Callable[[str], Exception]) -> None:
        self._stream, self._fail = stream, fail
        schema = Schema()
        self._check(stream.get_schema(stream, schema))
        children = [schema.children[i].contents for i in range(schema.n_children)]
        self.names = [child.name.decode() for child in children]
        self._formats = [child.format.decode() for child in children]
        self._items = [child.children[0].contents.format.decode() if child.n_children else "" for child in children]
        schema.release(schema)

    def _check(self, status: int) -> None:
        if status:
            text = self._stream.get_last_error(self._stream)
            raise self._fail(ctypes.string_at(text).decode(errors="replace") if text else f"error {status}")

    def batches(self) -> Iterator[list[Column]]:
        """The columns of batch after batch, each good until the next one."""
        while self._stream.release:
            batch = Array()
            self._check(self._stream.get_next(self._stream, batch))
            if not batch.release:
                return
            try:
                yield [Column(format, batch.children[i].contents, item)
                       for i, (format, item) in enumerate(zip(self._formats, self._items))]
            finally:
                batch.release(batch)

    def close(self) -> None:
        if self._stream.release:
            self._stream.release(self._stream)

    def __del__(self) -> None:
        self.close()


# ---- a stream as a capsule ----

_NAME = b"arrow_array_stream"
_owned: dict[int, tuple[Stream, Any]] = {}  # streams in capsules, and what they need

# prototypes of our own: attributes of those in ctypes.pythonapi are everybody's
_capsule_new = ctypes.PYFUNCTYPE(ctypes.py_object, c_void_p, c_char_p, c_void_p)(("PyCapsule_New", ctypes.pythonapi))
_capsule_pointer = ctypes.PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))


@ctypes.PYFUNCTYPE(None, c_void_p)
def _capsule_free(capsule: int) -> None:
    stream, _ = _owned.pop(_capsule_pointer(capsule, _NAME))
    if stream.release:
        stream.release(stream)


def capsule(stream: Stream, needs: Any = None) -> Any:
    """A PyCapsule that owns the stream and keeps `needs` for as long."""
    at = ctypes.addressof(stream)
    _owned[at] = (stream, needs)
    return _capsule_new(at, _NAME, ctypes.cast(_capsule_free, c_void_p))


# ---- writing ----

def format_of(values: Sequence[Any]) -> str:
    """The type that all values have, None apart: bool, integer, number, bytes, text; what is mixed is text."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return "b"
    if kinds == {int}:
        return "l" if all(value is None or -(1 << 63) <= value < 1 << 63 for value in values) else "u"
    if kinds and kinds <= {int, float}:
        return "g"
    return "z" if kinds == {bytes} else "u"


def _bitmap(bits: list[bool]) -> bytes:
    out = bytearray(len(bits) // 8 + 1)
    for i, bit in enumerate(bits):
        out[i >> 3] |= bit << (i & 7)
    return bytes(out)


def _buffers(format: str, values: Sequence[Any]) -> list[bytes | None]:
    present = None if None not in values else _bitmap([value is not None for value in values])
    if format == "b":
        return [present, _bitmap([bool(value) for value in values])]
    if format in ("u", "z"):
        parts = [b"" if value is None else value if isinstance(value, bytes) else str(value).encode(errors="replace")
                 for value in values]
        ends, at = [0], 0
        for part in parts:
            at += len(part)
            ends.append(at)
        return [present, memoryview((c_int * len(ends))(*ends)).tobytes(), b"".join(parts)]
    kind = ctypes.c_double if format == "g" else ctypes.c_longlong
    return [present, memoryview((kind * len(values))(*[0 if value is None else value for value in values])).tobytes()]


class _Export:
    """Columns of Python values as a stream of one batch. Of each structure that is given away, `_given` has what it
    points to until it is released, by the number that is its private_data: who takes it may move it."""

    _given: dict[int, Any] = {}
    _next = 1

    def __init__(self, columns: dict[str, Sequence[Any]], formats: dict[str, str]) -> None:
        self._columns, self._formats, self._done = columns, formats, False
        self.stream = Stream(_GET_SCHEMA(self._schema), _GET_NEXT(self._batch), _LAST_ERROR(lambda stream: None),
                             _release_stream, self.keep(self))

    @classmethod
    def keep(cls, what: Any) -> int:
        cls._next += 1
        cls._given[cls._next] = what
        return cls._next

    def _schema(self, stream: Any, out: Any) -> int:
        children = []
        for name in self._columns:
            format, text = self._formats[name].encode(), name.encode()
            child = Schema(format, text, None, NULLABLE, 0, None, None, _release_schema, 0)
            child.private_data = self.keep((format, text))
            children.append(child)
        pointers = (POINTER(Schema) * len(children))(*[ctypes.pointer(child) for child in children])
        ctypes.memmove(out, ctypes.byref(Schema(b"+s", b"", None, 0, len(children), pointers, None, _release_schema,
                                                self.keep((children, pointers)))), ctypes.sizeof(Schema))
        return 0

    def _batch(self, stream: Any, out: Any) -> int:
        if self._done:
            ctypes.memset(out, 0, ctypes.sizeof(Array))
            return 0
        self._done = True
        rows, children = len(next(iter(self._columns.values()), ())), []
        for name, values in self._columns.items():
            parts = _buffers(self._formats[name], values)
            held = [None if part is None else ctypes.create_string_buffer(part, len(part) + 8) for part in parts]
            pointers = (c_void_p * len(held))(*[ctypes.addressof(one) if one is not None else None for one in held])
            nulls = sum(value is None for value in values)
            children.append(Array(rows, nulls, 0, len(held), 0, pointers, None, None, _release_array,
                                  self.keep((held, pointers))))
        pointers = (POINTER(Array) * len(children))(*[ctypes.pointer(child) for child in children])
        none = (c_void_p * 1)(None)
        ctypes.memmove(out, ctypes.byref(Array(rows, 0, 0, 1, len(children), none, pointers, None, _release_array,
                                               self.keep((children, pointers, none)))), ctypes.sizeof(Array))
        return 0


def _release(what: Any) -> None:
    """A structure and its children that were not released by themselves."""
    one = what.contents
    for i in range(one.n_children):
        child = one.children[i]
        if child.contents.release:
            child.contents.release(child)
    one.release = type(one.release)()
    _Export._given.pop(one.private_data, None)


_release_schema = _RELEASE_SCHEMA(_release)
_release_array = _RELEASE_ARRAY(_release)


@_RELEASE_STREAM
def _release_stream(stream: Any) -> None:
    stream.contents.release = _RELEASE_STREAM()
    _Export._given.pop(stream.contents.private_data, None)


def export(columns: dict[str, Sequence[Any]], formats: dict[str, str]) -> Any:
    """A capsule with the columns, all of one length, whose formats are those of format_of() or "l"."""
    return capsule(_Export(columns, formats).stream)
