#!/usr/bin/python3
"""What a notebook does with a trace: cells, each of which prints what it finds.

    notebook.py TRACE        a recording of the scheduler: perf record -e 'sched:*' -a, or LTTng, or trace-cmd

Editors that know cells (Visual Studio Code, Spyder, Jupyter with jupytext) run them one by one. It needs pandas
(apt install python3-pandas).
"""
# %% Open it, and see what is in it
import sys

import yore

trace = yore.open(sys.argv[1])
first, last = trace.range
print(f"{(last - first) / 1e9:.3f} s, {len(trace.streams)} streams, {len(trace.names)} names of events")

# %% Which thread ran last on each CPU? The state is known without a look at what lies before.
middle = (first + last) // 2
cpus = sorted({one.path for one in trace.state("cpu[*]/thread", middle, middle + 1)})
for path in cpus:
    print(path, trace.at(middle, path))

# %% The switches as a table: one row for each event, one column for each field
switch = next(name for name in trace.names if name.endswith("sched_switch"))
frame = trace.events(switch, columns=["ts", "cpu", "next_comm"]).to_pandas()
print(frame.groupby("next_comm").size().sort_values(ascending=False).head(5).to_string())

# %% How long did threads run? A state is a table, too.
running = trace.state("cpu[*]/thread").to_pandas()
busy = running[running.value_int != 0].groupby("path").dur.sum() / (last - first)
print(busy.round(3).to_string())

# %% The same trace by SQL
for cpu, count in trace.sql(f'SELECT cpu, count(*) FROM "{switch}" GROUP BY cpu ORDER BY cpu'):
    print(f"CPU {cpu}: {count} switches")

# %% Events one by one, for what is no table
for event in trace.events(switch, begin=middle):
    print(event.time, event.name, event.fields["next_comm"])
    break
trace.close()
