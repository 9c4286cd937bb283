"""The package `yore` against what the program prints: python_package.py YORE TRACE INDEX_DIR

Events, tables by each way (iterated, batches, numpy, pandas, Arrow's stream), states, values and SQL of one trace.
"""
import ctypes
import json
import subprocess
import sys

import yore
from yore import _arrow

program, path, index = sys.argv[1:]


def printed(*words):
    """Lines of JSON that the program prints; its exit status may tell of damage or losses."""
    done = subprocess.run([program, *words], capture_output=True, text=True)
    assert done.returncode in (0, 2, 3), (words, done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


def streamed(owner):
    """The rows that a library gets from Arrow's stream, by column."""
    capsule = owner.__arrow_c_stream__()
    take = ctypes.pythonapi.PyCapsule_GetPointer
    take.restype, take.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    theirs = _arrow.Stream.from_address(take(capsule, b"arrow_array_stream"))
    mine = _arrow.Stream()
    ctypes.memmove(ctypes.byref(mine), ctypes.byref(theirs), ctypes.sizeof(mine))
    theirs.release = type(theirs.release)()  # moved, as the interface says
    del capsule
    reader = _arrow.Reader(mine, yore.YoreError)
    columns = {name: [] for name in reader.names}
    for batch in reader.batches():
        for name, column in zip(reader.names, batch):
            columns[name] += column.values()
    reader.close()
    return columns


def plain(value):
    """As JSON has it: bytes are compared elsewhere."""
    return {key: plain(one) for key, one in value.items()} if isinstance(value, dict) else value


trace = yore.open(path, index_dir=index)
lines = [line for line in printed("events", path, "--all", "--format", "json", "--no-index", "--no-symbols")
         if "name" in line]
events = list(trace.events())
assert len(events) == len(lines) > 0
for event, line in zip(events, lines):
    assert event.name == line["name"] and event.stream == line["stream"], (event, line)
    assert event.time == line["ts"] or event.time is None, (event, line)
    for name, value in line.get("fields", {}).items():
        mine = event.fields[name]
        if not isinstance(mine, (bytes, float, list, dict)) and not isinstance(value, (dict, list)):
            assert mine == value or str(mine) == str(value), (event, name, value)

# each table: a row for each event of the name, the same by every way
tables = 0
for name in trace.names:
    of = trace.events(name)
    mine = [event for event in events if event.name == name]
    columns = streamed(of)
    assert all(len(column) == len(mine) for column in columns.values()), name
    assert columns["ts"] == [event.time for event in mine] or set(columns["ts"]) == {None}, name  # no clock
    assert columns["stream"] == [event.stream for event in mine], name
    assert columns["cpu"] == [event.cpu for event in mine], name
    for field, values in columns.items():
        for event, value in zip(mine, values):
            if field in event.fields and field not in ("ts", "stream", "cpu") and isinstance(event.fields[field], (int, str)):
                assert value == event.fields[field] or str(value) == str(event.fields[field]), (event, field, value)
    pieces = {field: [] for field in columns}
    for batch in of.batches():
        for field, values in batch.items():
            pieces[field] += values
    assert pieces == columns or any(value != value for values in columns.values() for value in values), name
    tables += bool(mine)
assert tables

# a range, backward, some columns, a glob
first, last = trace.range
middle = (first + last) // 2
inside = [event for event in events if event.time is not None and first <= event.time < middle]
assert list(trace.events(begin=first, end=middle)) == inside
assert [one.time for one in trace.events(begin=first, end=middle, backward=True)] == [one.time for one in inside][::-1]
name = next(event.name for event in events)
assert list(trace.events(name[:-1] + "*"))[0] == events[0]
assert list(streamed(trace.events(name, columns=["cpu"]))) == ["cpu"]

try:
    import numpy
    import pandas

    for each in trace.names:
        arrays, frame = trace.events(each).to_numpy(), trace.events(each).to_pandas()
        columns = streamed(trace.events(each))
        for field, values in columns.items():
            if not values:
                continue
            assert len(arrays[field]) == len(frame[field]) == len(values)
            kind = arrays[field].dtype.kind
            for value, number in zip(values, arrays[field]):
                if value is None:
                    assert number is None or number != number, (each, field)
                elif kind in "mM":
                    assert number.astype("int64") == value, (each, field)
                elif kind == "f":
                    assert float(value) == number or value != value, (each, field)
                else:
                    assert value == number, (each, field)
    with_pandas = True
except ImportError:
    with_pandas = False

# SQL
rows = trace.sql('SELECT name, count(*) AS n, min(ts) AS t, NULL AS missing, 1.5 AS half FROM events GROUP BY name')
theirs = printed("sql", path, "SELECT name, count(*) AS n, min(ts) AS t, NULL AS missing, 1.5 AS half FROM events "
                 "GROUP BY name", "--format", "json", "--no-index")
assert rows.columns == list(theirs[0]) and len(rows) == len(theirs)
assert [list(row) for row in rows] == [list(row.values()) for row in theirs], (list(rows), theirs)
assert streamed(rows) == {name: [row[i] for row in rows] for i, name in enumerate(rows.columns)}
if with_pandas:
    assert rows.to_pandas()["n"].sum() == len(events)
try:
    trace.sql("SELECT 1 FROM nowhere")
    sys.exit("no error for a wrong query")
except yore.YoreError as error:
    assert "nowhere" in str(error)

# state: values at moments, and intervals
states = 0
for query in ("cpu[*]/thread", "thread[*]/state"):
    try:
        mine = trace.state(query)
    except yore.YoreError:
        continue
    theirs = printed("state", path, query, "--format", "json", "--no-index")
    assert len(mine) == len(theirs), (query, len(mine), len(theirs))
    for one in list(mine)[:200]:
        if one.begin is not None:
            assert trace.at(one.begin, one.path) == one.value, one
    columns = streamed(mine)
    assert columns["path"] == [one.path for one in mine]
    assert columns["ts"] == [one.begin for one in mine]
    states += len(mine)
assert trace.at(first - 10 ** 12, "cpu[0]/thread") is yore.UNKNOWN
for call in (lambda: trace.at(first, "cpu[0]/thraed"), lambda: trace.state("cpi[*]/thread")):
    try:
        call()
        sys.exit("no error for an attribute that no rule has")
    except yore.YoreError as error:
        assert "no attribute" in str(error), error

# what was closed says so, and a stream outlives its trace
reader = trace.events(name).batches()
following = iter(trace.events())
next(following)
stream = trace.events(name)._stream()
trace.close()
assert list(following) == []
assert sum(batch[0].rows for batch in _arrow.Reader(stream, yore.YoreError).batches()) > 0
for call in (lambda: trace.range, lambda: list(trace.events()), lambda: trace.at(0, "cpu[0]/thread"),
             lambda: trace.sql("SELECT 1")):
    try:
        call()
        sys.exit("a closed trace answers")
    except yore.YoreError as error:
        assert "closed" in str(error)
assert not _arrow._Export._given and not _arrow._owned
print(f"{len(events)} events, {tables} tables, {states} states{'' if with_pandas else ', without pandas'}")
