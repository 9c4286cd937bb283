"""What DuckDB's library reads from the Python package's Arrow streams: arrow_stream.py LIBDUCKDB TRACE FOLDER < NAMES

NAMES is a JSON list of event names. Number i is written to FOLDER/i.parquet. DuckDB makes microseconds of Arrow's times, so that a stream is
read twice: as it is, which becomes the column `us`, and with its times told to be integers, which are nanoseconds then.
"""
import ctypes
import json
import os
import sys

import yore
from yore import _arrow

POINTER = ctypes.c_void_p
library, path, folder = sys.argv[1:]
duckdb = ctypes.CDLL(library)
duckdb.duckdb_result_error.restype = ctypes.c_char_p
duckdb.duckdb_arrow_scan.argtypes = [POINTER, ctypes.c_char_p, POINTER]
capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
capsule_pointer.restype, capsule_pointer.argtypes = POINTER, [ctypes.py_object, ctypes.c_char_p]
database, connection = POINTER(), POINTER()


class Result(ctypes.Structure):
    _fields_ = [("counts", ctypes.c_uint64 * 3), ("rest", POINTER * 3)]  # duckdb_result


def run(query):
    result = Result()
    if duckdb.duckdb_query(connection, query.encode(), ctypes.byref(result)):
        sys.exit("%s: %s" % (query, duckdb.duckdb_result_error(ctypes.byref(result)).decode()))
    duckdb.duckdb_destroy_result(ctypes.byref(result))


def scan(view, capsule, integers):
    """The stream as a view of DuckDB's. What is returned has to live as long as the view."""
    stream = _arrow.Stream.from_address(capsule_pointer(capsule, b"arrow_array_stream"))
    theirs = type(stream.get_schema)(ctypes.cast(stream.get_schema, POINTER).value)  # a copy: the field changes

    def get_schema(self, out):
        failed = theirs(self, out)
        for i in range(0 if failed else out.contents.n_children):
            child = out.contents.children[i].contents
            if child.format in (b"tDn", b"tsn:UTC"):
                child.format = b"l"
        return failed

    own = type(theirs)(get_schema)
    if integers:
        stream.get_schema = own
    if duckdb.duckdb_arrow_scan(connection, view, ctypes.byref(stream)):
        sys.exit("DuckDB does not take the stream")
    return capsule, stream, theirs, own


if duckdb.duckdb_open(None, ctypes.byref(database)) or duckdb.duckdb_connect(database, ctypes.byref(connection)):
    sys.exit("DuckDB does not start")
run("SET threads = 1")
trace = yore.open(path, no_index=True)
for i, name in enumerate(json.load(sys.stdin)):
    held = [scan(view, trace.events(name).__arrow_c_stream__(), view == b"exact") for view in (b"plain", b"exact")]
    run("COPY (FROM exact POSITIONAL JOIN (SELECT epoch_us(ts) AS us FROM plain)) TO '%s'" % os.path.join(folder, "%d.parquet" % i))
    run("DROP VIEW plain; DROP VIEW exact")
    del held
