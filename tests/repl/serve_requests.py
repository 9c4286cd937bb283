#!/usr/bin/env python3
"""Requests to a server, each a file: seeds of tests/fuzz/fuzz_serve.c. The first line is method and path; `@` is the experiment."""
import json
import os
import sys

RANGE = {"requested_timerange": {"start": 2120797350827, "end": 2120811069283, "nbTimes": 20}}
OUTPUT = "tsp/api/experiments/@/outputs/"
RULES = 'event "sched:sched_switch"\n\tlast[section/cpu]/comm = field/next_comm\n'
REQUESTS = [("GET", path, None) for path in (
    "", "tsp/api/health", "tsp/api/identifier", "tsp/api/traces", "tsp/api/traces/x", "tsp/api/experiments", "tsp/api/experiments/@", OUTPUT[:-1],
    OUTPUT + "events", OUTPUT + "markerSets", OUTPUT + "events/annotations", "tsp/api/experiments/@/bookmarks", "tsp/api/config/types",
    "tsp/api/config/types/yore.rules/configs", "tsp/api/config/types/yore.rules/configs/c1", "page/0/info", "%2e%2e/etc/passwd")]
REQUESTS += [("DELETE", path, None) for path in ("tsp/api/traces/x", "tsp/api/config/types/yore.rules/configs/c1", "tsp/api/experiments/@/bookmarks/x")]
REQUESTS += [("POST", path, {"parameters": body}) for path, body in (
    ("tsp/api/traces", {"uri": "/etc/passwd", "name": "x"}), ("tsp/api/experiments", {"name": "x", "traces": ["x"]}),
    (OUTPUT + "table/events/columns", {}), (OUTPUT + "table/events/lines", {"requested_table_index": 7, "requested_table_count": 2}),
    (OUTPUT + "table/events/lines", {"requested_times": [2120802350827], "requested_table_count": 2, "requested_table_column_ids": [2, 0]}),
    (OUTPUT + "table/events/lines", {"table_search_expressions": {"2": "sw.*h$", "3": "next_comm=\"demo"}, "table_search_direction": "PREVIOUS",
                                     "requested_table_index": 90, "requested_table_count": 1}),
    (OUTPUT + "timeGraph/cpu.thread/tree", {}), (OUTPUT + "timeGraph/thread.state/states", {**RANGE, "requested_items": [1, 2, 3]}),
    (OUTPUT + "timeGraph/thread.state/states", {**RANGE, "requested_items": [1], "filter_query_parameters": {"filter_expressions_map": {"1": ["run"], "4": ["a"]}}}),
    (OUTPUT + "timeGraph/thread.state/arrows", RANGE), (OUTPUT + "timeGraph/cpu.thread/tooltip", {"requested_times": [2120802350827], "requested_items": [1]}),
    (OUTPUT + "timeGraph/c1.last.comm/tree", {}), (OUTPUT + "XY/density/xy", RANGE), (OUTPUT + "XY/cpu-use/tree", {}), (OUTPUT + "XY/cpu-use/xy", RANGE),
    (OUTPUT + "XY/xy.thread.cpu/xy", RANGE), (OUTPUT + "data/analysis.cputop/tree", RANGE), (OUTPUT + "events/annotations", RANGE), (OUTPUT + "x/style", {}),
    ("tsp/api/experiments/@/bookmarks", {"name": "here", "start": 5, "end": 9}),
    ("tsp/api/config/types/yore.rules/configs", {"name": "mine", "rules": RULES}), ("tsp/api/config/types/yore.rules", {"name": "x", "rules": 'include "/etc/passwd"'}))]
REQUESTS += [("POST", "page/0/" + path, body) for path, body in (
    ("tree", {"path": "cpu[*]/thread", "from": 0, "to": 9999999}), ("rows", {"paths": ["cpu[*]/thread", "thread[10893]/state"], "columns": 30}),
    ("density", {"columns": 10, "where": "name == \"sched:sched_switch\" && prev_pid > 3"}), ("density", {"columns": 10, "from": 5, "to": 4000000}),
    ("events", {"where": "cpu[cpu]/thread == 10893", "limit": 3}), ("why", {"path": "thread[10893]/state", "from": 5000000}),
    ("analysis", {"name": "critical-path", "tid": 10893, "to": 3000000}))]

if __name__ == "__main__":
    for i, (method, path, body) in enumerate(REQUESTS):
        with open(os.path.join(sys.argv[1], "%03d" % i), "w", encoding="utf-8") as file:
            file.write("%s %s\n%s" % (method, path, "" if body is None else json.dumps(body)))
