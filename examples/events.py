#!/usr/bin/python3
"""Prints time, stream, name and a field of each event, by libyore through ctypes.

    events.py TRACE [FIELD]
"""
import ctypes
import sys


class Error(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int), ("text", ctypes.c_char * 512)]


YORE_BOOL, YORE_INT, YORE_UINT, YORE_DOUBLE, YORE_STRING = range(5)  # enum yore_kind

lib = ctypes.CDLL("libyore.so.0")
for name, result in (("yore_event_time", ctypes.c_int64), ("yore_event_class", ctypes.c_void_p),
                     ("yore_class_name", ctypes.c_char_p), ("yore_event_stream", ctypes.c_void_p),
                     ("yore_stream_name", ctypes.c_char_p), ("yore_event_field", ctypes.c_void_p),
                     ("yore_field_int", ctypes.c_int64), ("yore_field_uint", ctypes.c_uint64),
                     ("yore_field_double", ctypes.c_double), ("yore_field_text", ctypes.c_char_p)):
    getattr(lib, name).restype = result


def call(function, *arguments):
    """What the function returns; an error of libyore's as an exception."""
    err = Error()
    status = function(*arguments, ctypes.byref(err))
    if status == -1:
        raise OSError(err.text.decode())
    return status


def value(events, name):
    field = lib.yore_event_field(events, name.encode(), None)
    if not field:
        return None
    field = ctypes.c_void_p(field)
    kind = lib.yore_field_kind(field)
    if kind == YORE_UINT:
        return lib.yore_field_uint(field)
    if kind in (YORE_BOOL, YORE_INT):
        return lib.yore_field_int(field)
    if kind == YORE_DOUBLE:
        return lib.yore_field_double(field)
    if kind == YORE_STRING:
        return lib.yore_field_text(field, None).decode(errors="replace")
    return "..."


def main():
    yore, events = ctypes.c_void_p(), ctypes.c_void_p()
    call(lib.yore_open, sys.argv[1].encode(), None, ctypes.byref(yore))
    call(lib.yore_events_open, yore, None, ctypes.byref(events))
    while call(lib.yore_events_next, events):
        stream = lib.yore_stream_name(ctypes.c_void_p(lib.yore_event_stream(events)))
        name = lib.yore_class_name(ctypes.c_void_p(lib.yore_event_class(events)))
        words = [str(lib.yore_event_time(events)), stream.decode(), name.decode()]
        print(*words, *(str(value(events, word)) for word in sys.argv[2:3]))
    lib.yore_events_close(events)
    lib.yore_close(yore)


main()
