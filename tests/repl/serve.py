#!/usr/bin/env python3
"""yore serve: who may ask, and what the operations of the Trace Server Protocol answer.

What they answer is compared with what other commands print: events, state, at, info, analyses.
"""
import bisect
import collections
import concurrent.futures
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean
import results
from results import finish, result, top
from serving import DEMO, Server, yore_json

EVENTS = yore_json("events", DEMO, "--no-index")
BEGIN, END = EVENTS[0]["ts"], EVENTS[-1]["ts"]


def state_of(path, *words):
    """{attribute: [(begin, end, value)]}, ends within the trace"""
    found = collections.defaultdict(list)
    for row in yore_json("state", DEMO, path, "--all", "--no-index", *words):
        begin = BEGIN if row["begin"] is None else max(row["begin"], BEGIN)
        end = END + 1 if row["end"] is None else min(row["end"], END + 1)
        found[row["path"]].append((begin, end, row["value"]))
    return found


# ---- who may ask ----

def allowed(server):
    page = "http://" + server.host
    for name, wanted, told in (
            ("no token", 403, server.ask_at("/tsp/api/health")), ("a wrong token", 403, server.ask_at("/" + "0" * 32 + "/tsp/api/health")),
            ("a token with more behind it", 403, server.ask_at(server.base[:-1] + "0/tsp/api/health")),
            ("another host", 403, server.ask("tsp/api/health", Host="example.com:80")),
            ("another port of this host", 403, server.ask("tsp/api/health", Host="127.0.0.1:1")),
            ("another page", 403, server.ask("tsp/api/health", Origin="https://example.com")),
            ("a page whose name begins alike", 403, server.ask("tsp/api/health", Origin=page + ".example.com")),
            ("a sandboxed page", 403, server.ask("tsp/api/health", Origin="null")),
            ("a file above", 404, server.ask("../../../etc/passwd")), ("a file above, escaped", 404, server.ask("..%2f..%2f..%2fetc%2fpasswd")),
            ("a zero in the path", 400, server.ask("tsp/api%00/health")), ("half an escape", 400, server.ask("tsp/api/%4")),
            ("another method", 405, server.ask("tsp/api/health", {})), ("no operation", 404, server.ask("tsp/api/nothing"))):
        result(told[0] == wanted and "Access-Control-Allow-Origin" not in told[1] and "title" in told[2], "%s: %d" % (name, wanted), told)
    for origin in (page, "vscode-webview://0123abcd", "https://abc.vscode-cdn.net", "https://viewer.example"):
        status, headers, answer = server.ask("tsp/api/health", Origin=origin)
        result((status, headers.get("Access-Control-Allow-Origin"), answer) == (200, origin, {"status": "UP"}), "a page of " + origin, headers)
    status, headers, _ = server.ask("tsp/api/traces", method="OPTIONS", raw=True, Origin="vscode-webview://1", Access_Control_Request_Method="POST")
    result(status == 204 and "DELETE" in headers["Access-Control-Allow-Methods"], "a browser asks before it asks", (status, headers))
    result(server.ask("tsp/api/health", Host=server.host.replace("127.0.0.1", "localhost"))[0] == 200, "localhost is this machine")
    status, headers, answer = server.ask("tsp/api/health")
    result(headers["Content-Type"] == "application/json" and headers["X-Content-Type-Options"] == "nosniff", "the type of answers", headers)


def bodies(server):
    lines = "tsp/api/experiments/%s/outputs/table/events/lines" % server.experiment()["UUID"]
    for name, body in (("no JSON", b"{"), ("no object", b"[1]"), ("deeply nested", b'{"a":' * 200 + b"1" + b"}" * 200), ("more behind it", b"{}{}")):
        told = server.ask(lines, body)
        result(told[0] == (200 if name == "more behind it" else 400), "a body that is %s" % name, told[2])
    result(server.ask(lines, b'{"a":"' + b"x" * (1 << 20) + b'"}')[0] == 413, "a body over 1 MB")
    for body in ({"parameters": 1}, {"parameters": {"requested_timerange": 3, "requested_items": "x", "requested_times": [{}, None]}},
                 {"parameters": {"requested_table_index": 1e300, "requested_table_count": -5}},
                 {"parameters": {"requested_table_index": -(1 << 80), "requested_table_column_ids": [99, -1, "a"]}}):
        status, _, answer = server.ask(lines, body)
        result(status == 200 and answer["status"] == "COMPLETED", "odd parameters: %s" % json.dumps(body)[:60], answer)
    status, _, answer = server.ask(lines, {"parameters": {"table_search_expressions": {"3": "("}, "table_search_direction": "NEXT"}})
    result(status == 400 and "parenthesis" in answer["title"], "a pattern that is none", answer)


# ---- traces ----

def traces(server):
    found = server.experiment()
    result((found["start"], found["end"], found["nbEvents"]) == (BEGIN, END, len(EVENTS)), "the experiment's bounds and events", found)
    trace = found["traces"][0]
    result(trace["path"] == os.path.realpath(DEMO) and server.tsp("traces")[1] == [trace] and server.tsp("traces/" + trace["UUID"])[1] == trace,
           "the trace that was named", trace)
    for uri in (DEMO, "file://" + os.path.realpath(DEMO) + "/"):
        result(server.tsp("traces", {"uri": uri, "name": "x"})[1].get("UUID") == trace["UUID"], "it may be opened as " + uri[:7])
    for uri in ("/etc/passwd", os.path.join(top, "fixtures/golden/memory-demo"), DEMO + "/metadata", DEMO + "/../sched-demo", ""):
        result(server.tsp("traces", {"uri": uri})[0] == 404, "nothing else may: " + uri[-20:])
    result(server.tsp("traces", {"name": "x"})[0] == 400, "without a path")
    result(server.tsp("experiments", {"name": "x", "traces": [trace["UUID"]]})[1]["UUID"] == found["UUID"], "an experiment of it")
    result(server.tsp("experiments", {"traces": [trace["UUID"]] * 2})[0] == 400 and server.tsp("experiments", {"traces": ["x"]})[0] == 404,
           "none of two, or of others")
    result(server.tsp("traces/" + trace["UUID"], method="DELETE")[0] == 200 and server.tsp("traces")[1] == [] and os.path.exists(DEMO),
           "closed, it is in no list, and its files stay")
    server.tsp("traces", {"uri": DEMO})
    result(server.tsp("experiments")[1][0]["UUID"] == found["UUID"], "and it may be opened again")
    who = server.tsp("identifier")[1]
    result(who["productId"] == "yore" and who["os"] == "Linux" and all(isinstance(value, str) for value in who.values()), "who it is", who)


def outputs(server):
    found = {output["id"]: output for output in server.tsp("experiments/%s/outputs" % server.experiment()["UUID"])[1]}
    kinds = {found[name]["type"] for name in ("events", "density", "cpu.thread", "analysis.latency")}
    result(kinds == {"TABLE", "TREE_TIME_XY", "TIME_GRAPH", "DATA_TREE"} and found["thread.state"]["name"] == "thread[*]/state", "outputs", list(found))
    one = server.tsp("experiments/%s/outputs/cpu.thread" % server.experiment()["UUID"])[1]
    result(one == found["cpu.thread"], "one of them", one)
    result(server.tsp("experiments/%s/outputs/no.such" % server.experiment()["UUID"])[0] == 404 and server.tsp("experiments/x/outputs")[0] == 404,
           "one that is not there")


# ---- the table ----

def same_events(lines, first):
    wrong = []
    for i, line in enumerate(lines):
        event, cells = EVENTS[first + i], [cell["content"] for cell in line["cells"]]
        fields = {**event["fields"], **event["context"]}
        texts = ", ".join("%s=%s" % (name, json.dumps(value, separators=(",", ":"))) for name, value in fields.items())
        wanted = [str(event["ts"]), str(event["cpu"]), event["name"], texts]
        if line["index"] != first + i or cells[:4] != wanted or cells[5] != event["stream"]:
            wrong.append((line, wanted))
    return wrong


def table(server):
    columns = server.output("table/events/columns", {})
    result([column["name"] for column in columns] == ["Timestamp ns", "CPU", "Event type", "Contents", "TID", "Stream"], "columns", columns)
    for first, count in ((0, len(EVENTS)), (500, 100), (len(EVENTS) - 3, 10), (len(EVENTS) + 5, 10)):
        model = server.output("table/events/lines", {"requested_table_index": first, "requested_table_count": count})
        wanted = max(0, min(count, len(EVENTS) - first))
        wrong = same_events(model["lines"], first)
        result(len(model["lines"]) == wanted and not wrong and model["size"] == len(EVENTS) and model["lowIndex"] == first,
               "lines %d to %d are those of `events`" % (first, first + count), (len(model["lines"]), wrong[:2]))
    times = [event["ts"] for event in EVENTS]
    for t in (BEGIN, BEGIN - 5, times[300], times[300] + 1, END, END + 1):
        model = server.output("table/events/lines", {"requested_times": [t], "requested_table_count": 1})
        result(model["lowIndex"] == bisect.bisect_left(times, t), "the first line at or behind @%d" % (t - BEGIN), model)
    model = server.output("table/events/lines", {"requested_table_index": 7, "requested_table_count": 2, "requested_table_column_ids": [2, 0]})
    result(model["columnIds"] == [2, 0] and [cell["content"] for cell in model["lines"][1]["cells"]] == [EVENTS[8]["name"], str(times[8])],
           "columns that were asked for", model)


def search(server):
    def first_of(matches, begin, way):
        places = range(begin, len(EVENTS)) if way == "NEXT" else range(min(begin, len(EVENTS) - 1), -1, -1)
        return next((i for i in places if matches(EVENTS[i])), None)

    text = {"2": lambda event, pattern: re.search(pattern, event["name"]), "1": lambda event, pattern: re.search(pattern, str(event["cpu"])),
            "3": lambda event, pattern: re.search(pattern, ", ".join("%s=%s" % (k, json.dumps(v)) for k, v in event["fields"].items()))}
    for words, begin, way in (({"2": "wakeup$"}, 100, "NEXT"), ({"2": "wakeup$"}, 100, "PREVIOUS"), ({"3": 'next_comm="demo-sle'}, 0, "NEXT"),
                              ({"2": "switch", "1": "^1$"}, 300, "NEXT"), ({"2": "switch", "1": "^1$"}, 300, "PREVIOUS"), ({"2": "no such"}, 0, "NEXT"),
                              ({"3": "prev_state=1[^0-9]"}, 955, "PREVIOUS"), ({"2": "."}, 954, "NEXT"), ({"2": "."}, 955, "NEXT")):
        wanted = first_of(lambda event, words=words: all(text[column](event, pattern) for column, pattern in words.items()), begin, way)
        model = server.output("table/events/lines", {"requested_table_index": begin, "requested_table_count": 2, "table_search_expressions": words,
                                                     "table_search_direction": way})
        got = model["lines"][0]["index"] if model["lines"] else None
        result(got == wanted and (got is None or model["lines"][0]["tags"] == 1), "%s of %s from %d: %s" % (way, words, begin, wanted), model)
    model = server.output("table/events/lines", {"requested_table_count": 50, "table_search_expressions": {"2": "waking"}})
    result([line["tags"] for line in model["lines"]] == [int("waking" in event["name"]) for event in EVENTS[:50]], "lines that match have a tag", "")
    begun = time.monotonic()
    model = server.output("table/events/lines", {"table_search_expressions": {"3": "(.+)+(.+)+(.+)+#"}, "table_search_direction": "NEXT"})
    result(model["lines"] == [] and time.monotonic() - begun < 30, "a pattern that would take for ever ends", model)


# ---- time graphs ----

def longest(intervals, columns):
    """The value that held longest of each column; None where that is a close call, or much is unknown."""
    edges = [BEGIN + (END + 1 - BEGIN) * i // columns for i in range(columns + 1)]
    held = [collections.Counter() for _ in range(columns)]
    for begin, end, value in intervals:
        i = max(bisect.bisect_right(edges, begin) - 1, 0)
        while i < columns and edges[i] < end:
            held[i][value] += min(end, edges[i + 1]) - max(begin, edges[i])
            i += 1
    return edges, [times.most_common(1)[0][0] if times and (len(times) == 1 or times.most_common(2)[0][1] > times.most_common(2)[1][1] + 2) else None
                   for times in held]


def graphs(server):
    for name, path in (("cpu.thread", "cpu[*]/thread"), ("thread.state", "thread[*]/state")):
        entries = {entry["labels"][0]: entry for entry in server.output("timeGraph/%s/tree" % name, {})["entries"]}
        known = state_of(path)
        result(set(entries) == set(known) and all(entry["parentId"] == -1 for entry in entries.values()), "rows of %s are those of `state`" % path,
               (sorted(entries), sorted(known)))
        columns = 800
        rows = server.output("timeGraph/%s/states" % name, {
            "requested_timerange": {"start": BEGIN, "end": END, "nbTimes": columns}, "requested_items": [entry["id"] for entry in entries.values()]})["rows"]
        paths, wrong, right = {entry["id"]: attribute for attribute, entry in entries.items()}, [], 0
        for row in rows:
            edges, wanted = longest(known[paths[row["entryId"]]], columns)
            for state in row["states"]:
                for i in range(bisect.bisect_left(edges, state["start"]), bisect.bisect_left(edges, state["end"])):
                    good = wanted[i] is None or state["label"].split(" ")[0] == str(wanted[i])
                    right += good
                    wrong += [] if good else [(paths[row["entryId"]], i, state, wanted[i])]
        result(not wrong and right > 800 and len(rows) == len(known), "%d cells of %s hold what held longest" % (right, path), wrong[:3])
    names = {state["label"] for row in rows for state in row["states"]}
    result({"running", "ready", "sleeping", "blocked", "dead"} <= names, "labels", names)
    labels = {entry["labels"][0]: entry["labels"][1] for entry in entries.values()}
    result(labels["thread[10893]/state"] == "demo-sleep", "rows of threads have their names", labels)
    result(server.output("timeGraph/thread.state/states", {"requested_items": [123456, -1], "requested_timerange": {"start": 9, "end": 1}})["rows"] == [],
           "no rows of items that are none")
    result(server.output("timeGraph/no.such/tree", {})[0] == 404, "no such graph")


def filtered(server):
    entries = server.output("timeGraph/thread.state/tree", {})["entries"]
    body = {"requested_timerange": {"start": BEGIN, "end": END, "nbTimes": 200}, "requested_items": [entry["id"] for entry in entries]}
    rows = server.output("timeGraph/thread.state/states", {**body, "filter_query_parameters": {"filter_expressions_map": {"1": ["running"]}}})["rows"]
    states = [state for row in rows for state in row["states"]]
    result(all((state["tags"] == 1) == (state["label"] != "running") for state in states) and states, "others are dimmed", states[:2])
    rows = server.output("timeGraph/thread.state/states", {**body, "filter_query_parameters": {"filter_expressions_map": {"4": ["running"]}}})["rows"]
    result({state["label"] for row in rows for state in row["states"]} == {"running"}, "others are left out", rows[:1])


def arrows_and_tooltip(server):
    entries = {entry["labels"][0]: entry["id"] for entry in server.output("timeGraph/thread.state/tree", {})["entries"]}
    arrows = server.output("timeGraph/thread.state/arrows", {"requested_timerange": {"start": BEGIN, "end": END}})
    wakings = [(begin, path) for path, rows in state_of("thread[*]/waker").items() for begin, _, value in rows if isinstance(value, int) and begin > BEGIN]
    targets = {item: path for path, item in entries.items()}
    result(sorted((arrow["start"], targets.get(arrow["targetId"], "?").replace("/state", "/waker")) for arrow in arrows) == sorted(wakings),
           "%d arrows are the wake-ups" % len(arrows), (len(arrows), len(wakings)))
    t = EVENTS[400]["ts"]
    asked = yore_json("at", DEMO, "@%d" % t, "thread[10893]/state", "--why", "--no-index")[0]
    tip = server.output("timeGraph/thread.state/tooltip", {"requested_times": [t], "requested_items": [entries["thread[10893]/state"]]})
    result((tip["Value"], tip["Since"], tip["Set by"], tip["Rule"]) ==
           (asked["value"], str(asked["since"]), asked["why"]["event"], "%s:%d" % (asked["why"]["rules"], asked["why"]["line"])), "a tooltip is `at --why`", (tip, asked))


# ---- lines over time, results, annotations ----

def lines_over_time(server):
    columns = 64
    edges = [BEGIN + (END + 1 - BEGIN) * i // columns for i in range(columns + 1)]
    body = {"requested_timerange": {"start": BEGIN, "end": END, "nbTimes": columns}}
    series = server.output("XY/density/xy", body)["series"][0]
    counts = [0] * columns
    for event in EVENTS:
        counts[bisect.bisect_right(edges, event["ts"]) - 1] += 1
    result(series["yValues"] == counts and series["xValues"] == edges[:-1], "the density of events", (series["yValues"][:5], counts[:5]))
    entries = server.output("XY/cpu-use/tree", {})["entries"]
    series = {one["seriesName"]: one["yValues"] for one in server.output("XY/cpu-use/xy", {**body, "requested_items": [entries[0]["id"]]})["series"]}
    busy, known = [0] * columns, [0] * columns
    for begin, end, value in state_of("cpu[0]/thread")["cpu[0]/thread"]:
        for i in range(columns):
            part = max(0, min(end, edges[i + 1]) - max(begin, edges[i]))
            known[i] += part
            busy[i] += part if value else 0
    got = series.get("cpu[0]/thread", [])
    result(list(series) == ["cpu[0]/thread"] and all(abs(got[i] - 100 * busy[i] / known[i]) < 1e-6 for i in range(columns) if known[i]), "CPU use", got[:4])
    numbers = [output["id"] for output in server.tsp("experiments/%s/outputs" % server.experiment()["UUID"])[1] if output["id"].startswith("xy.")]
    model = server.output("XY/%s/xy" % numbers[0], body) if numbers else {}
    result(numbers and model["series"] and all(len(one["yValues"]) == columns for one in model["series"]), "numbers over time: %s" % numbers, model)
    result(server.output("XY/no.such/xy", body)[0] == 404, "no such lines")


def results_of_analyses(server):
    model = server.output("data/analysis.cputop/tree", {})
    names = [header["name"] for header in model["headers"]]
    tables = {entry["id"]: entry["labels"][0] for entry in model["entries"] if entry["parentId"] == -1}
    wanted = [[row["table"]] + ["" if row.get(name) is None else str(row[name]) for name in names] for row in yore_json("cputop", DEMO, "--no-index")]
    got = [[tables[entry["parentId"]]] + entry["labels"] for entry in model["entries"] if entry["parentId"] != -1]
    result(got == wanted and len(got) > 5, "%d rows of cputop" % len(got), [pair for pair in zip(got, wanted) if pair[0] != pair[1]][:2])
    _, answer = server.tsp("experiments/%s/outputs/data/analysis.memtop/tree" % server.experiment()["UUID"], {})
    result(answer["status"] == "FAILED" and answer["statusMessage"], "an analysis of which the trace has nothing says so", answer)
    for name in ("no-such", "..%2fcputop", "/etc/passwd"):
        status, _ = server.tsp("experiments/%s/outputs/data/analysis.%s/tree" % (server.experiment()["UUID"], name), {})
        result(status in (400, 404), "no analysis " + name, status)


def lost(work):
    folder = os.path.join(work, "lossy")
    subprocess.run([os.path.join(os.environ.get("top_builddir", "."), "fixtures/yore-gen"), "--out", folder, "--size", "400K", "--packet-size", "4096",
                    "--cpus", "2", "--no-truth", "--lose", "0.1"], check=True, stdout=subprocess.DEVNULL)
    info = yore_json("info", folder, "--no-index")[0]
    wanted = sorted(loss["ts"] for stream in info["streams"] for loss in stream.get("losses", []))
    with Server(folder) as server:
        model = server.output("events/annotations", {})
        got = sorted(mark["time"] for mark in model["annotations"]["Lost events"])
        result(got == wanted and wanted, "%d places where events were lost are annotations" % len(wanted), (got[:3], wanted[:3]))


def annotations(server):
    experiment = "experiments/%s" % server.experiment()["UUID"]
    result(server.tsp(experiment + "/outputs/events/annotations")[1]["model"]["annotationCategories"] == ["Lost events", "Bookmarks"], "categories")
    result(server.tsp(experiment + "/outputs/markerSets")[1]["model"] == [], "marker sets")
    result("t3" in server.output("cpu.thread/style", {})["styles"], "styles")
    made = server.tsp(experiment + "/bookmarks", {"name": "here <b>", "start": BEGIN + 5, "end": BEGIN + 9})[1]
    result(server.tsp(experiment + "/bookmarks")[1] == [made] and made["name"] == "here <b>", "a bookmark", made)
    changed = server.tsp(experiment + "/bookmarks/" + made["UUID"], {"name": "there", "start": BEGIN, "end": BEGIN}, "PUT")[1]
    marks = server.output("events/annotations", {})["annotations"]["Bookmarks"]
    result(changed["name"] == "there" and [mark["label"] for mark in marks] == ["there"], "it is changed, and an annotation", marks)
    result(server.tsp(experiment + "/bookmarks/" + made["UUID"], method="DELETE")[0] == 200 and server.tsp(experiment + "/bookmarks")[1] == [], "and goes")
    result(server.tsp(experiment + "/bookmarks/" + made["UUID"])[0] == 404 and server.tsp(experiment + "/bookmarks", {"name": "x"})[0] == 400, "and is gone")


# ---- rules that a client uploads ----

RULES = 'event "sched:sched_switch"\n\tlast[section/cpu]/comm = field/next_comm\n'


def uploads(server):
    types = server.tsp("config/types")[1]
    result([kind["id"] for kind in types] == ["yore.rules"] and "rules" in types[0]["schema"]["properties"], "a type of configurations", types)
    status, made = server.tsp("config/types/yore.rules/configs", {"name": "mine", "rules": RULES})
    result(status == 200 and made["id"] == "c1" and server.tsp("config/types/yore.rules/configs")[1] == [made], "rules are uploaded", made)
    entries = server.output("timeGraph/c1.last.comm/tree", {})["entries"]
    rows = server.output("timeGraph/c1.last.comm/states", {"requested_items": [entry["id"] for entry in entries],
                                                           "requested_timerange": {"start": BEGIN, "end": END, "nbTimes": 500}})["rows"]
    names = {state["label"] for row in rows for state in row["states"]}
    result([entry["labels"][0] for entry in entries] == ["last[0]/comm", "last[1]/comm"] and "demo-sleep" in names, "what they write is an output", names)
    for name, text, why in (("wrong", "event x\n\ta = (\n", "wrong:3:1"), ("a file", 'include "/etc/passwd"\n', "only a file can include a file"),
                            ("far", 'include "../../../etc/passwd"\n', "only a file can include a file")):
        status, told = server.tsp("config/types/yore.rules/configs", {"name": name, "rules": text})
        result(status == 400 and why in told["title"] and "root:" not in told["title"], "rules that are refused: " + name, told)
    result(server.tsp("config/types/yore.rules/configs", {"name": "x"})[0] == 400 and server.tsp("config/types/other/configs")[0] == 404, "no rules, no type")
    changed = server.tsp("config/types/yore.rules/configs/c1", {"name": "mine", "rules": RULES.replace("last", "now")}, "PUT")[0]
    result(changed == 200 and server.output("timeGraph/c1.now.comm/tree", {})["entries"] and server.output("timeGraph/c1.last.comm/tree", {})[0] == 404,
           "they are changed")
    for _ in range(8):
        server.tsp("config/types/yore.rules/configs", {"name": "many", "rules": RULES})
    result(len(server.tsp("config/types/yore.rules/configs")[1]) == 8, "eight at most")
    for i in range(1, 9):
        server.tsp("config/types/yore.rules/configs/c%d" % i, method="DELETE")
    result(server.tsp("config/types/yore.rules/configs")[1] == [] and server.output("timeGraph/c1.now.comm/tree", {})[0] == 404, "and deleted")


# ---- many at once ----

def storm(server):
    """1,000 requests at once, bad ones among them, some cut short: all that can be answered are, and nothing stays behind."""
    experiment = "tsp/api/experiments/%s/" % server.experiment()["UUID"]
    kinds = [lambda: server.ask("tsp/api/health")[0] == 200, lambda: server.ask("tsp/api/nothing")[0] == 404, lambda: server.ask_at("/x")[0] == 403,
             lambda: server.ask(experiment + "outputs/table/events/lines", {"parameters": {"requested_table_index": 10}})[0] == 200,
             lambda: server.ask(experiment + "outputs/timeGraph/cpu.thread/tree", {})[0] == 200, lambda: server.ask(experiment + "outputs/XY/density/xy", b"{")[0] == 400,
             lambda: server.ask(experiment + "outputs/XY/cpu-use/xy", {})[0] == 200, lambda: server.ask("page/0/rows", {"paths": ["thread[*]/state"]})[0] == 200,
             lambda: cut_short(server)]

    def round_of(count):
        with concurrent.futures.ThreadPoolExecutor(250) as pool:
            return list(pool.map(lambda i: kinds[i % len(kinds)](), range(count)))

    round_of(200)
    before, open_before = server.memory_kb(), server.descriptors()
    with_answers = round_of(1000)
    result(all(with_answers), "1,000 requests at once", with_answers.count(False))
    held = [socket.create_connection(server.host.split(":")) for _ in range(900)]
    result(server.ask("tsp/api/health")[0] == 200, "900 connections that say nothing")
    for one in held:
        one.close()
    round_of(1000)
    time.sleep(1)
    after, open_after = server.memory_kb(), server.descriptors()
    with open(results.yore, "rb") as program:  # a sanitizer keeps what was freed
        sanitized = b"__asan_init" in program.read()
    if sanitized:
        print("SKIP: memory that stays behind: a sanitizer's own memory is counted, too")
    result((sanitized or after < before + 30000) and open_after <= open_before + 5 and server.process.poll() is None, "nothing stays behind: %d KB, %d descriptors" %
           (after - before, open_after - open_before), (before, after, open_before, open_after))


def cut_short(server):
    with socket.create_connection(server.host.split(":")) as half:
        half.sendall(b"POST " + server.base.encode() + b"tsp/api/traces HTTP/1.1\r\nHost: " + server.host.encode() + b"\r\nContent-Length: 99\r\n\r\n{")
    return True


# ---- the command ----

def commands(work):
    text = subprocess.run([results.yore, "help", "serve"], stdout=subprocess.PIPE, text=True, check=True).stdout
    lines = [line.split("$ yore serve ")[1] for line in text.splitlines() if "$ yore serve " in line]
    for line in lines:
        words = [os.path.join(top, word) if word.startswith("fixtures/") else word for word in shlex.split(line)]
        words = [word if word != ":9100" else ":0" for word in words]
        with Server(*words) as server:
            good = server.ask("tsp/api/health")[0] == 200 and len(server.tsp("traces")[1]) == sum(word.startswith(top) for word in words)
            ended, said = server.end()
            result(good and ended == 130 and "open this address" in said, "yore serve " + line, (ended, said))
    result(lines, "the help has examples")
    with Server(DEMO, "--listen", "[::1]:0") as server:
        connection = socket.create_connection(("::1", int(server.host.rsplit(":", 1)[1])))
        connection.sendall(b"GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % ((server.base + "tsp/api/health").encode(), server.host.encode()))
        result(b"200 OK" in connection.recv(4000) and server.url.startswith("http://[::1]:"), "an address of IPv6", server.url)
        port = server.host.rsplit(":", 1)[1]
        done = subprocess.run([results.yore, "serve", DEMO, "--no-index", "--listen", "[::1]:" + port], capture_output=True, text=True, timeout=results.HANGS, check=False)
        result(done.returncode == 1 and "Address already in use" in done.stderr, "a port that is in use", done)
    for words in (["--listen", "nowhere.example"], ["--listen", "0.0.0.0:0"], ["--listen", "[::]:0"], ["--listen", "127.0.0.1:x"], ["--listen", "127.0.0.1:99999"]):
        done = subprocess.run([results.yore, "serve", DEMO, "--no-index", *words], capture_output=True, text=True, timeout=results.HANGS, check=False)
        result(done.returncode == 2 and done.stderr.count("\n") == 1, " ".join(words), done)
    done = subprocess.run([results.yore, "serve", DEMO, os.path.join(work, "none"), "--no-index"], capture_output=True, text=True, timeout=results.HANGS, check=False)
    result(done.returncode == 1 and "none" in done.stderr and not done.stdout, "a trace that is not there", done)


def follows(work):
    folder, grown = os.path.join(work, "grown"), os.path.join(work, "growing")
    subprocess.run([os.path.join(os.environ.get("top_builddir", "."), "fixtures/yore-gen"), "--out", folder, "--size", "300K", "--packet-size", "4096",
                    "--cpus", "1", "--no-truth"], check=True, stdout=subprocess.DEVNULL)
    os.mkdir(grown)
    shutil.copy(os.path.join(folder, "metadata"), grown)
    with open(os.path.join(folder, "channel0_0"), "rb") as file:
        data = file.read()
    with open(os.path.join(grown, "channel0_0"), "wb") as file:
        file.write(data[:len(data) // 8192 * 4096])
    with Server(grown, "--follow") as server:
        half = server.experiment()
        with open(os.path.join(grown, "channel0_0"), "ab") as file:
            file.write(data[len(data) // 8192 * 4096:])
        results.until(lambda: server.experiment()["end"] != half["end"], pause=0.1)
        whole = server.experiment()
        result(half["nbEvents"] < whole["nbEvents"] == len(yore_json("events", folder, "--no-index")) and half["start"] == whole["start"],
               "a trace that grows is opened again", (half["nbEvents"], whole["nbEvents"]))
        result(server.output("timeGraph/cpu.thread/states", {"requested_items": [1]}) is not None and server.end()[0] == 130, "and answers")


def with_timelines(work):
    """Sampled from stored changes: what a state says held at some moment of its columns."""
    index = os.path.join(work, "index")
    subprocess.run([results.yore, "index", DEMO, "--timelines", "--index-dir", index], check=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    with Server(DEMO, index=index) as server:
        for name, path in (("cpu.thread", "cpu[*]/thread"), ("thread.state", "thread[*]/state")):
            known = state_of(path)
            entries = {entry["id"]: entry["labels"][0] for entry in server.output("timeGraph/%s/tree" % name, {})["entries"]}
            result(set(entries.values()) == set(known), "from timelines: rows of %s" % path, (sorted(entries.values()), sorted(known)))
            for columns, begin, end in ((700, BEGIN, END), (300, EVENTS[200]["ts"], EVENTS[260]["ts"])):
                rows = server.output("timeGraph/%s/states" % name, {"requested_items": list(entries), "requested_timerange": {
                    "start": begin, "end": end, "nbTimes": columns}})["rows"]
                edges, cells, wrong = [begin + (end + 1 - begin) * i // columns for i in range(columns + 1)], 0, []
                for row in rows:
                    for state in row["states"]:
                        for i in range(bisect.bisect_left(edges, state["start"]), bisect.bisect_left(edges, state["end"])):
                            t = edges[i] + (edges[i + 1] - edges[i]) // 2
                            held = [str(value) for since, until, value in known[entries[row["entryId"]]] if since <= t < until]
                            cells += 1
                            wrong += [] if state["label"].split(" ")[0] in held else [(entries[row["entryId"]], t, state, held)]
                result(not wrong and cells > 300, "from timelines: %d cells of %s are what `state` says" % (cells, path), wrong[:3])
                touching = [pair for row in rows for pair in zip(row["states"], row["states"][1:])
                            if pair[0]["end"] == pair[1]["start"] and pair[0]["label"] == pair[1]["label"]]
                result(not touching, "from timelines: columns of one value of %s are one state" % path, touching[:2])


if __name__ == "__main__":
    with Server(DEMO, "--origin", "https://viewer.example") as demo:
        for check in (allowed, bodies, traces, outputs, table, search, graphs, filtered, arrows_and_tooltip, lines_over_time, results_of_analyses,
                      annotations, uploads, storm):
            check(demo)
        demo_ended, demo_said = demo.end()
        result(demo_ended == 130 and "Sanitizer" not in demo_said, "Ctrl-C ends it", (demo_ended, demo_said))
    with tempfile.TemporaryDirectory() as directory:
        for check in (lost, commands, follows, with_timelines):
            check(directory)
    finish()
