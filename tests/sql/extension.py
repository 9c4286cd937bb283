"""The module in Python's sqlite3: connections, threads, a trace opened twice."""
import sqlite3
import sys
import threading

module, demo, other = sys.argv[1:]


def connect():
    db = sqlite3.connect(":memory:", check_same_thread=False)
    db.enable_load_extension(True)
    db.load_extension(module)
    return db


def one(db, query, *values):
    return db.execute(query, values).fetchone()[0]


# two connections, each with the trace of the other, too
first, second = connect(), connect()
for db in (first, second):
    assert one(db, "SELECT count(*) FROM yore_events(?)", demo) == 955
    assert one(db, "SELECT count(*) FROM yore_events(?)", demo) == 955
    db.execute("SELECT yore_open(?)", (demo,))
rows = first.execute("SELECT ts, next_pid FROM sched_switch ORDER BY ts")
half = [next(rows) for _ in range(100)]
# a scan inside a scan, and one in the other connection
assert one(first, "SELECT count(*) FROM sched_switch") == 261
whole = second.execute("SELECT ts, next_pid FROM sched_switch ORDER BY ts").fetchall()
assert half + rows.fetchall() == whole and len(whole) == 261
pairs = first.execute(
    "SELECT count(*) FROM sched_switch a JOIN sched_switch b ON a.ts = b.ts AND a.cpu = b.cpu")
assert pairs.fetchone()[0] >= 261

# values that are bound, of every type
name = "sched:sched_switch"
assert one(first, "SELECT count(*) FROM events WHERE name = ?", name) == 261
assert one(first, "SELECT count(*) FROM events WHERE name = ?", 5) == 0
assert one(first, "SELECT count(*) FROM events WHERE ts >= ?", whole[0][0] - 0.5) > 0
assert one(first, "SELECT count(*) FROM events WHERE ts >= ?", None) == 0
assert one(first, "SELECT count(*) FROM events WHERE ts < ?", "a text") == 955
assert one(first, "SELECT count(*) FROM events WHERE ts < ?", b"a blob") == 955

# another trace takes the plain names
first.execute("SELECT yore_open(?)", (other,)).fetchone()
assert one(first, "SELECT count(*) FROM sched_switch") == \
    one(first, "SELECT count(*) FROM yore_events(?) WHERE name GLOB '*sched_switch'", other)
first.close()
assert one(second, "SELECT count(*) FROM events") == 955

# errors leave a connection that works
for wrong in ("SELECT * FROM yore_events('/nowhere')", "SELECT ts('noon or so')",
              "SELECT state_at('cpu[', 1)", "SELECT percentile(1, 101)",
              "SELECT * FROM state('cpu[*')", "SELECT yore_open('/nowhere')"):
    try:
        second.execute(wrong).fetchall()
        sys.exit("no error: " + wrong)
    except sqlite3.Error as error:
        assert str(error), wrong
assert one(second, "SELECT count(*) FROM state('cpu[*]/thread')") > 200

# threads, a connection each, at once
failed = []


def work(path, count):
    try:
        db = connect()
        db.execute("SELECT yore_open(?)", (path,))
        for _ in range(20):
            got = db.execute("SELECT name, count(*) FROM events GROUP BY name").fetchall()
            assert sum(n for _, n in got) == count, got
            db.execute("SELECT * FROM events").fetchall()
            db.execute("SELECT * FROM state('cpu[*]/thread') LIMIT 5").fetchall()
        db.close()
    except Exception as error:  # told by the main thread
        failed.append(error)


counts = {path: one(second, "SELECT count(*) FROM yore_events(?)", path) for path in (demo, other)}
threads = [threading.Thread(target=work, args=(path, counts[path]))
           for path in (demo, other, demo, other)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not failed, failed
