"""Runs inside `perf script -s`: prints each sample as perf decoded it, one JSON object a line.

Bytes become {"hex": ...}: an array of numbers, or a text that perf does not find printable.
"""
from __future__ import print_function

import json


def plain(value):
    if isinstance(value, (bytes, bytearray)):
        return {"hex": bytes(value).hex()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def sample(data, fields):
    kept = dict(data["sample"])
    for name in ("cpumode", "datasrc_decode"):
        kept.pop(name, None)
    print("@" + json.dumps({
        "name": data["ev_name"], "attr": data["attr"].hex(), "sample": plain(kept),
        "raw": data["raw_buf"].hex(), "comm": data["comm"], "fields": fields}))


def trace_unhandled(name, context, fields, data):
    sample(data, {k: plain(v) for k, v in fields.items() if k not in (
        "common_cpu", "common_s", "common_ns", "common_pid", "common_comm", "common_callchain")})


def process_event(data):
    sample(data, None)
