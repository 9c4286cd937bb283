"""libyore-state by ctypes: structures and functions of yore.h and yore-state.h that the package uses."""
from __future__ import annotations

import ctypes
import os
import pathlib
from ctypes import POINTER, byref, c_char, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint64, c_void_p
from typing import Any

from . import _arrow

TIME_MIN = -(1 << 63)
TIME_MAX = (1 << 63) - 1


class YoreError(Exception):
    """What libyore or SQLite said: one line, with file, offset and cause where a trace is damaged."""


class Error(ctypes.Structure):
    _fields_ = [("kind", c_int), ("text", c_char * 512)]


SAY = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_char_p)


class Options(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("input", c_char_p), ("more", POINTER(c_char_p)), ("nmore", c_size_t),
                ("offsets", POINTER(c_int64)), ("strict", c_int), ("no_map", c_int), ("index_dir", c_char_p),
                ("no_index", c_int), ("say", SAY), ("arg", c_void_p)]


class EventsOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("begin", c_int64), ("end", c_int64), ("backward", c_int), ("losses", c_int),
                ("names", POINTER(c_char_p)), ("nnames", c_size_t), ("streams", c_void_p), ("nstreams", c_size_t),
                ("fields", c_int)]


class FollowOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("patience", c_int64), ("begin", c_int64), ("names", POINTER(c_char_p)),
                ("nnames", c_size_t), ("losses", c_int), ("fields", c_int)]


class ColumnsOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("begin", c_int64), ("end", c_int64), ("columns", POINTER(c_char_p)),
                ("ncolumns", c_size_t), ("rows", c_size_t)]


class StateOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("rules", POINTER(c_char_p)), ("nrules", c_size_t)]


class Loss(ctypes.Structure):
    _fields_ = [("until", c_int64), ("events", c_uint64), ("known", c_int), ("packets", c_uint64)]


class Value(ctypes.Structure):
    _fields_ = [("kind", c_int), ("i", c_int64), ("u", c_uint64), ("f", c_double), ("text", c_void_p),
                ("len", c_size_t)]


INTERVAL = ctypes.CFUNCTYPE(c_int, c_void_p, c_char_p, c_int64, c_int64, POINTER(Value))

# enum yore_kind
BOOL, INT, UINT, DOUBLE, STRING, BYTES, STRUCT, ARRAY, VARIANT, OPTIONAL = range(10)
# enum yore_value_kind
VALUE_UNKNOWN, VALUE_NONE, VALUE_INT, VALUE_UINT, VALUE_DOUBLE, VALUE_STRING, VALUE_BOOL = range(7)
# enum yore_scope
CONTEXT, PAYLOAD = 4, 5

_RESULTS: dict[str, tuple[Any, list[Any]]] = {
    "yore_version": (c_char_p, []),
    "yore_open": (c_int, [c_char_p, POINTER(Options), POINTER(c_void_p), POINTER(Error)]),
    "yore_close": (None, [c_void_p]),
    "yore_range": (c_int, [c_void_p, POINTER(c_int64), POINTER(c_int64), POINTER(Error)]),
    "yore_damaged": (c_uint64, [c_void_p]),
    "yore_class_count": (c_size_t, [c_void_p]),
    "yore_class": (c_void_p, [c_void_p, c_size_t]),
    "yore_class_name": (c_char_p, [c_void_p]),
    "yore_stream_count": (c_size_t, [c_void_p]),
    "yore_stream": (c_void_p, [c_void_p, c_size_t]),
    "yore_stream_name": (c_char_p, [c_void_p]),
    "yore_events_open": (c_int, [c_void_p, POINTER(EventsOptions), POINTER(c_void_p), POINTER(Error)]),
    "yore_events_close": (None, [c_void_p]),
    "yore_events_next": (c_int, [c_void_p, POINTER(Error)]),
    "yore_columns_open": (c_int, [c_void_p, c_char_p, POINTER(ColumnsOptions), POINTER(_arrow.Stream), POINTER(Error)]),
    "yore_follow_open": (c_int, [c_char_p, POINTER(Options), POINTER(FollowOptions), POINTER(c_void_p),
                                 POINTER(Error)]),
    "yore_follow_close": (None, [c_void_p]),
    "yore_follow_next": (c_int, [c_void_p, c_int, POINTER(c_void_p), POINTER(Error)]),
    "yore_event_time": (c_int64, [c_void_p]),
    "yore_event_class": (c_void_p, [c_void_p]),
    "yore_event_stream": (c_void_p, [c_void_p]),
    "yore_event_cpu": (c_int, [c_void_p]),
    "yore_event_loss": (c_int, [c_void_p, POINTER(Loss)]),
    "yore_event_scope": (c_void_p, [c_void_p, c_int, POINTER(Error)]),
    "yore_field_kind": (c_int, [c_void_p]),
    "yore_field_int": (c_int64, [c_void_p]),
    "yore_field_uint": (c_uint64, [c_void_p]),
    "yore_field_double": (c_double, [c_void_p]),
    "yore_field_text": (c_void_p, [c_void_p, POINTER(c_size_t)]),
    "yore_field_bytes": (c_void_p, [c_void_p, POINTER(c_size_t)]),
    "yore_field_count": (c_uint64, [c_void_p]),
    "yore_field_item": (c_void_p, [c_void_p, c_uint64]),
    "yore_field_item_name": (c_char_p, [c_void_p, c_uint64]),
    "yore_state_open": (c_int, [c_void_p, POINTER(StateOptions), POINTER(c_void_p), POINTER(Error)]),
    "yore_state_close": (None, [c_void_p]),
    "yore_state_at": (c_int, [c_void_p, c_int64, c_char_p, POINTER(Value), POINTER(c_int64), POINTER(Error)]),
    "yore_state_intervals": (c_int, [c_void_p, c_int64, c_int64, c_char_p, INTERVAL, c_void_p, POINTER(Error)]),
}


def _candidates(name: str, variable: str) -> list[str]:
    """Where a shared object may be: as told, in the prefix that the package was installed in, where the loader looks."""
    told = os.environ.get(variable)
    if told:
        return [told]
    here = pathlib.Path(__file__).resolve()
    return [str(up / "lib" / name) for up in here.parents if (up / "lib" / name).is_file()] + [name]


def _load() -> ctypes.CDLL:
    for path in _candidates("libyore-state.so.0", "YORE_LIBRARY"):
        try:
            library = ctypes.CDLL(path)
            break
        except OSError as error:
            cause = error
    else:
        raise YoreError(f"{cause}: install libyore, or say where libyore-state.so.0 is with YORE_LIBRARY")
    for name, (result, arguments) in _RESULTS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def module_path() -> str:
    """Of the SQLite module, for load_extension()."""
    return _candidates("mod_yore.so", "YORE_MODULE")[0]


lib: Any = _load()


def call(function: Any, *arguments: Any) -> int:
    """What the function returns; its error as an exception."""
    err = Error()
    status: int = function(*arguments, byref(err))
    if status < 0:
        raise YoreError(err.text.decode(errors="replace"))
    return status


def texts(items: list[str]) -> Any:
    return (c_char_p * len(items))(*[item.encode() for item in items])
