"""yore: traces of programs and kernels, asked from Python.

    import yore

    with yore.open("trace") as trace:
        for event in trace.events("sched_switch"):
            print(event.time, event.cpu, event.fields["next_comm"])
        frame = trace.events("sched_switch", columns=["ts", "cpu", "next_tid"]).to_pandas()
        print(trace.at(frame.ts[0], "cpu[0]/thread"))
        print(trace.sql("SELECT cpu, count(*) AS n FROM sched_switch GROUP BY cpu").to_pandas())

All formats that yore reads are read. Times are whole numbers of nanoseconds since the Unix epoch where the trace's
clock says so, else since the clock's origin. Where a moment is passed, a datetime with a time zone does as well.

What has rows (events of one name, states, answers of SQL) gives them as Python values when it is iterated, as
columns by to_numpy(), as a table by to_pandas(), and to any library that takes Arrow's streams (polars.DataFrame(),
pyarrow.table(), duckdb) by itself. numpy and pandas are imported only then.
"""
from __future__ import annotations

import ctypes
import datetime
import sqlite3
from ctypes import byref
from typing import Any, Callable, Iterable, Iterator, NamedTuple, Sequence, Union

from . import _arrow
from . import _library as _c
from ._library import YoreError, lib

__all__ = ["Event", "Events", "Interval", "Rows", "States", "Trace", "UNKNOWN", "YoreError", "follow", "open"]
__version__: str = lib.yore_version().decode()

Moment = Union[int, datetime.datetime, None]
Value = Union[int, float, str, bool, bytes, list, dict, None]


class _Unknown:
    """What nothing says: before a stream begins, after the recording ended, beside a loss."""

    def __repr__(self) -> str:
        return "yore.UNKNOWN"

    def __bool__(self) -> bool:
        return False


UNKNOWN = _Unknown()


def _ns(moment: Moment, otherwise: int) -> int:
    if moment is None:
        return otherwise
    if isinstance(moment, datetime.datetime):
        if moment.tzinfo is None:
            raise ValueError(f"{moment}: a moment needs a time zone, such as datetime.timezone.utc")
        since = moment - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
        return (since.days * 86400 + since.seconds) * 10 ** 9 + since.microseconds * 1000
    return int(moment)


# ---- rows ----

class Rows:
    """Rows with named columns: an answer of SQL, or what states and events are as a table."""

    #: names of the columns
    columns: list[str]

    def __init__(self, columns: Sequence[str], rows: Iterable[tuple]) -> None:
        self.columns = list(columns)
        self._rows = list(rows)

    def __iter__(self) -> Iterator[tuple]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, i: int) -> tuple:
        return self._rows[i]

    def __repr__(self) -> str:
        return f"<yore.Rows {len(self)} of {', '.join(self.columns)}>"

    def _table(self) -> list[tuple]:
        """The rows as their columns have them."""
        return self._rows

    def _lists(self) -> dict[str, list[Any]]:
        rows = self._table()
        lists = zip(*rows) if rows else ([] for _ in self.columns)
        return dict(zip(self.columns, map(list, lists)))

    def _formats(self, lists: dict[str, list[Any]]) -> dict[str, str]:
        """Arrow's format of each column."""
        return {name: _arrow.format_of(values) for name, values in lists.items()}

    def to_numpy(self) -> dict[str, Any]:
        """An array for each column. Texts, and columns with missing values that are no numbers, are of objects."""
        import numpy

        lists, out = self._lists(), {}
        formats = self._formats(lists)
        for name, values in lists.items():
            format = formats[name]
            if format == "g" or (format == "l" and None in values):
                out[name] = numpy.array([numpy.nan if value is None else value for value in values], dtype=float)
            elif format in ("l", "b") and None not in values:
                out[name] = numpy.array(values)
            else:
                out[name] = numpy.empty(len(values), dtype=object)
                out[name][:] = values
        return out

    def to_pandas(self) -> Any:
        """A pandas.DataFrame."""
        import pandas

        return pandas.DataFrame(self.to_numpy(), columns=self.columns)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        lists = self._lists()
        return _arrow.export(lists, self._formats(lists))


class Interval(NamedTuple):
    """An attribute had a value from `begin` until `end`, None where it is not known since or until when."""
    path: str
    begin: int | None
    end: int | None
    value: Any


class States(Rows):
    """Intervals of attributes. Iterated, they are Interval; as a table the columns are path, ts, dur, value (as
    text) and value_int, value_float, value_bool, as in exported files."""

    def __init__(self, intervals: list[Interval]) -> None:
        super().__init__(["path", "ts", "dur", "value", "value_int", "value_float", "value_bool"], intervals)

    def _table(self) -> list[tuple]:
        return [self._row(one) for one in self._rows]

    @staticmethod
    def _row(one: Interval) -> tuple:
        value = one.value
        known = one.begin is not None and one.end is not None
        text = None if value is None or value is UNKNOWN else str(value).lower() if isinstance(value, bool) \
            else str(value)
        return (one.path, one.begin, one.end - one.begin if known else None, text,
                value if type(value) is int else None, value if type(value) is float else None,
                value if type(value) is bool else None)

    def _formats(self, lists: dict[str, list[Any]]) -> dict[str, str]:
        return dict(zip(self.columns, ["u", "l", "l", "u", "l", "g", "b"]))


# ---- events ----

class Event(NamedTuple):
    """An event, or with losses=True also a loss, whose name is None and whose fields say what is known of it."""
    time: int | None
    name: str | None
    stream: str
    cpu: int | None
    fields: dict[str, Value]


def _bytes(function: Any, field: int) -> bytes:
    size = ctypes.c_size_t()
    at = function(field, byref(size))
    return ctypes.string_at(at, size.value) if at else b""


def _value(field: int) -> Value:
    kind = lib.yore_field_kind(field)
    if kind == _c.UINT:
        return int(lib.yore_field_uint(field))
    if kind == _c.INT:
        return int(lib.yore_field_int(field))
    if kind == _c.STRING:
        return _bytes(lib.yore_field_text, field).decode(errors="replace")
    if kind == _c.BOOL:
        return bool(lib.yore_field_int(field))
    if kind == _c.DOUBLE:
        return float(lib.yore_field_double(field))
    if kind == _c.BYTES:
        return _bytes(lib.yore_field_bytes, field)
    count = lib.yore_field_count(field)
    if kind == _c.STRUCT:
        return {lib.yore_field_item_name(field, i).decode(): _value(lib.yore_field_item(field, i))
                for i in range(count)}
    items = [_value(lib.yore_field_item(field, i)) for i in range(count)]
    return items if kind == _c.ARRAY else items[0] if items else None


def _fields(events: Any) -> dict[str, Value]:
    out: dict[str, Value] = {}
    for scope in (_c.CONTEXT, _c.PAYLOAD):  # a name of the payload counts before that of a context
        field = lib.yore_event_scope(events, scope, None)
        if field:
            value = _value(field)
            if isinstance(value, dict):
                out.update(value)
    return out


def _event(events: Any) -> Event:
    loss, time, cpu = _c.Loss(), lib.yore_event_time(events), lib.yore_event_cpu(events)
    stream = lib.yore_stream_name(lib.yore_event_stream(events)).decode()
    when, where = None if time == _c.TIME_MIN else time, None if cpu < 0 else cpu
    if lib.yore_event_loss(events, byref(loss)):
        until = None if loss.until == _c.TIME_MAX else loss.until
        return Event(when, None, stream, where,
                     {"until": until, "events": loss.events if loss.known else None, "packets": loss.packets})
    name = lib.yore_class_name(lib.yore_event_class(events)).decode()
    return Event(when, name, stream, where, _fields(events))


class Events:
    """Events of a range. Iterated, they are Event, one after the other. Those of one name are a table as well,
    which takes a tenth of the time: to_numpy(), to_pandas(), or any library that takes Arrow's streams."""

    def __init__(self, trace: "Trace", names: Sequence[str], begin: int, end: int, columns: Sequence[str] | None,
                 backward: bool, losses: bool) -> None:
        self._trace, self._names, self._begin, self._end = trace, list(names), begin, end
        self._columns, self._backward, self._losses = columns, backward, losses

    def __iter__(self) -> Iterator[Event]:
        names = _c.texts(self._names)
        options = _c.EventsOptions(ctypes.sizeof(_c.EventsOptions), self._begin, self._end, self._backward,
                                   self._losses, names if self._names else None, len(self._names), None, 0, True)
        events = ctypes.c_void_p()
        _c.call(lib.yore_events_open, self._trace._handle(), byref(options), byref(events))
        self._trace._cursors.add(events.value)
        try:
            while self._trace._yore and _c.call(lib.yore_events_next, events):
                yield _event(events)
        finally:
            self._trace._end_cursor(events.value)

    def _stream(self) -> _arrow.Stream:
        if len(self._names) != 1 or self._backward or self._losses:
            raise ValueError("a table is of the events of one name, forward and without losses: events(NAME)")
        columns = None if self._columns is None else _c.texts(list(self._columns))
        options = _c.ColumnsOptions(ctypes.sizeof(_c.ColumnsOptions), self._begin, self._end, columns,
                                    0 if columns is None else len(columns), 0)
        stream = _arrow.Stream()
        _c.call(lib.yore_columns_open, self._trace._handle(), self._names[0].encode(), byref(options), byref(stream))
        return stream

    def batches(self) -> Iterator[dict[str, list[Value]]]:
        """The table piece by piece: lists of Python values by column."""
        reader = _arrow.Reader(self._stream(), YoreError)
        try:
            for columns in reader.batches():
                yield dict(zip(reader.names, (column.values() for column in columns)))
        finally:
            reader.close()

    def to_numpy(self) -> dict[str, Any]:
        """An array for each column. Integers with missing values become float64, times NaT."""
        import numpy

        reader = _arrow.Reader(self._stream(), YoreError)
        parts: list[list[Any]] = [[] for _ in reader.names]
        for columns in reader.batches():
            for part, column in zip(parts, columns):
                part.append(column.numpy(numpy))
        reader.close()
        return {name: numpy.concatenate(part) if part else numpy.empty(0) for name, part in zip(reader.names, parts)}

    def to_pandas(self) -> Any:
        """A pandas.DataFrame."""
        import pandas

        return pandas.DataFrame(self.to_numpy())

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return _arrow.capsule(self._stream(), self._trace)


# ---- traces ----

class Trace:
    """An opened trace: see open(). Usable in a `with` statement, which closes it."""

    def __init__(self, path: str, more: Sequence[str], rules: Sequence[str] | None, input: str | None,
                 index_dir: str | None, no_index: bool, say: Callable[[str, str], None] | None) -> None:
        self.path = str(path)
        self._rules, self._state, self._db = rules, ctypes.c_void_p(), None
        self._cursors: set[Any] = set()
        self._yore: ctypes.c_void_p | None = ctypes.c_void_p()
        self._options = _options(input, index_dir, no_index, say, [str(one) for one in more])
        _c.call(lib.yore_open, self.path.encode(), byref(self._options), byref(self._yore))

    def __enter__(self) -> "Trace":
        return self

    def __exit__(self, *unused: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_yore", None):
            self.close()

    def close(self) -> None:
        """Ends the trace, and what iterates over its events. Arrow's streams that others have stay good."""
        for events in list(self._cursors):
            self._end_cursor(events)
        if self._db:
            self._db.close()
        lib.yore_state_close(self._state)
        lib.yore_close(self._yore)
        self._state, self._db, self._yore = ctypes.c_void_p(), None, None

    def _end_cursor(self, events: Any) -> None:
        if events in self._cursors:
            self._cursors.remove(events)
            lib.yore_events_close(events)

    def _handle(self) -> ctypes.c_void_p:
        if not self._yore:
            raise YoreError(f"{self.path}: the trace is closed")
        return self._yore

    @property
    def range(self) -> tuple[int, int] | None:
        """Times of the first and of the last event; None: there is none."""
        first, last = ctypes.c_int64(), ctypes.c_int64()
        has = _c.call(lib.yore_range, self._handle(), byref(first), byref(last))
        return (first.value, last.value) if has else None

    @property
    def names(self) -> list[str]:
        """Names of event classes, each once."""
        yore = self._handle()
        return list(dict.fromkeys(lib.yore_class_name(lib.yore_class(yore, i)).decode()
                                  for i in range(lib.yore_class_count(yore))))

    @property
    def streams(self) -> list[str]:
        """Names of the streams."""
        yore = self._handle()
        return [lib.yore_stream_name(lib.yore_stream(yore, i)).decode() for i in range(lib.yore_stream_count(yore))]

    @property
    def damaged(self) -> int:
        """Packets and files, up to now, of which something could not be read."""
        return int(lib.yore_damaged(self._handle()))

    def events(self, *names: str, begin: Moment = None, end: Moment = None, columns: Sequence[str] | None = None,
               backward: bool = False, losses: bool = False) -> Events:
        """The events from `begin` up to, and without, `end`, of these names (with * as in file names) or all. What
        lies before `begin` is not read. `columns`: of the table, only these."""
        self._handle()
        return Events(self, names, _ns(begin, _c.TIME_MIN), _ns(end, _c.TIME_MAX), columns, backward, losses)

    def _states(self) -> ctypes.c_void_p:
        if not self._state:
            rules = _c.texts(list(self._rules or ()))
            options = _c.StateOptions(ctypes.sizeof(_c.StateOptions), rules if self._rules else None,
                                      len(self._rules or ()))
            _c.call(lib.yore_state_open, self._handle(), byref(options), byref(self._state))
        self._handle()
        return self._state

    def at(self, moment: Moment, path: str) -> Any:
        """The value of an attribute ("cpu[3]/thread") after all events of that time; None: it is known to be
        nothing; UNKNOWN: nothing says it."""
        value = _c.Value()
        _c.call(lib.yore_state_at, self._states(), _ns(moment, _c.TIME_MAX), path.encode(), byref(value), None)
        return _state_value(value)

    def state(self, path: str, begin: Moment = None, end: Moment = None) -> States:
        """The intervals of all attributes that match ("cpu[*]/thread"), as far as they touch the range, with their
        true beginnings and ends."""
        out: list[Interval] = []

        @_c.INTERVAL
        def each(arg: Any, name: bytes, since: int, until: int, value: Any) -> int:
            out.append(Interval(name.decode(), None if since == _c.TIME_MIN else since,
                                None if until == _c.TIME_MAX else until, _state_value(value.contents)))
            return 0

        _c.call(lib.yore_state_intervals, self._states(), _ns(begin, _c.TIME_MIN), _ns(end, _c.TIME_MAX),
                path.encode(), each, None)
        return States(out)

    def sql(self, query: str, parameters: Sequence[Any] = ()) -> Rows:
        """The answer to a query over the tables of the trace: events, one table for each name of events, state,
        threads, wakeups, syscalls and so on. The tables are of `path` alone, as SQL opens it. What yore notes about
        an answer is in the table `notes`."""
        self._handle()
        try:
            if not self._db:
                self._db = _connect(self.path)
            cursor = self._db.execute(query, parameters)
            return Rows([column[0] for column in cursor.description or ()], cursor)
        except sqlite3.Error as error:
            raise YoreError(str(error)) from None


def _state_value(value: _c.Value) -> Any:
    kind = value.kind
    if kind == _c.VALUE_STRING:
        return ctypes.string_at(value.text, value.len).decode(errors="replace")
    return {_c.VALUE_UNKNOWN: UNKNOWN, _c.VALUE_NONE: None, _c.VALUE_INT: value.i, _c.VALUE_UINT: value.u,
            _c.VALUE_DOUBLE: value.f, _c.VALUE_BOOL: bool(value.i)}[kind]


def _connect(path: str) -> sqlite3.Connection:
    db = sqlite3.connect(":memory:", check_same_thread=False)
    if not hasattr(db, "enable_load_extension"):
        raise YoreError("this Python's sqlite3 loads no extensions; Debian's does: /usr/bin/python3")
    db.enable_load_extension(True)
    db.load_extension(_c.module_path())
    db.enable_load_extension(False)
    db.execute("SELECT yore_open(?)", (path,)).fetchone()
    return db


def _options(input: str | None, index_dir: str | None, no_index: bool, say: Callable[[str, str], None] | None,
             more: list[str]) -> _c.Options:
    kinds = ("info", "warning", "damage")
    told = _c.SAY(lambda arg, kind, text: say(kinds[kind], text.decode(errors="replace"))) if say else _c.SAY()
    return _c.Options(ctypes.sizeof(_c.Options), input.encode() if input else None, _c.texts(more) if more else None,
                      len(more), None, False, False, str(index_dir).encode() if index_dir else None, no_index, told,
                      None)


def open(path: str, *more: str, rules: Sequence[str] | None = None, input: str | None = None,
         index_dir: str | None = None, no_index: bool = False,
         say: Callable[[str, str], None] | None = None) -> Trace:
    """Opens a trace, a file or folder, and `more` of them on the same time line.

    rules      rule files, or names of sets, in place of those that come with yore, for at() and state()
    input      FORMAT[,KEY=VALUE...], where the content does not tell it
    index_dir  where packet tables are stored, else as the program does
    no_index   stores nothing
    say        is called with "info", "warning" or "damage" and a line of text, from any thread
    """
    return Trace(path, more, rules, input, index_dir, no_index, say)


def follow(path: str, *names: str, begin: Moment = None, patience: float = 2.0, losses: bool = False,
           timeout: float | None = None, input: str | None = None,
           say: Callable[[str, str], None] | None = None) -> Iterator[Event]:
    """The events of a trace while it is written, in order of time, each when no earlier one can come any more. Ends
    when the recording says that it has ended, or when nothing came for `timeout` seconds. `patience`: seconds that a
    stream which brings nothing holds back the others."""
    wanted = _c.texts(list(names))
    options = _options(input, None, True, say, [])
    how = _c.FollowOptions(ctypes.sizeof(_c.FollowOptions), int(patience * 1e9), _ns(begin, _c.TIME_MIN),
                           wanted if names else None, len(names), losses, True)
    following, events = ctypes.c_void_p(), ctypes.c_void_p()
    _c.call(lib.yore_follow_open, str(path).encode(), byref(options), byref(how), byref(following))
    try:
        while _c.call(lib.yore_follow_next, following, -1 if timeout is None else int(timeout * 1000),
                      byref(events)) == 1:
            yield _event(events)
    finally:
        lib.yore_follow_close(following)
