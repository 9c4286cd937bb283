#!/usr/bin/env python3
"""yore view: what the page gets is what convert writes, once, and nobody else gets it.

The page's requests are made here, with the headers that a browser sends. Port 9001 must be free: else it skips.
"""
import bisect
import collections
import http.client
import json
import os
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean
import results
from results import finish, result, top

sys.path.insert(0, os.path.join(top, "tests/convert"))
import perfetto_read

DEMO = os.path.join(top, "fixtures/golden/sched-demo")
PAGE, PORT, NAME = "https://ui.perfetto.dev", 9001, "/sched-demo.pftrace"
LINK = PAGE + "/#!/?url=http://127.0.0.1:9001" + NAME


class View:
    def __init__(self, work, *words, index=None):
        stored = ["--index-dir", index] if index else ["--no-index"]
        self.work = os.path.join(work, "tmp")
        os.makedirs(self.work, exist_ok=True)
        self.process = subprocess.Popen([results.yore, "view", *words, *stored], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env=dict(os.environ, TMPDIR=self.work), text=True)
        self.line = self.process.stdout.readline().strip()

    def end(self, by=None):
        """(status, messages, what is left in TMPDIR)"""
        if by:
            self.process.send_signal(by)
        try:
            said = self.process.communicate(timeout=results.HANGS)[1]
        except subprocess.TimeoutExpired:
            self.process.kill()
            return "it goes on", self.process.communicate()[1], []
        return self.process.returncode, said, os.listdir(self.work)


def ask(path=NAME, method="GET", **headers):
    """(status, headers, body)"""
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=results.HANGS)
    connection.putrequest(method, path, skip_host="Host" in headers)
    for name, value in headers.items():
        connection.putheader(name.replace("_", "-"), value)
    connection.endheaders()
    reply = connection.getresponse()
    body = reply.read()
    connection.close()
    return reply.status, dict(reply.getheaders()), body


def converted(work, *words):
    path = os.path.join(work, "out.pftrace")
    subprocess.run([results.yore, "convert", DEMO, path, *words, "--no-index"], check=True, stderr=subprocess.DEVNULL)
    with open(path, "rb") as file:
        return file.read()


def fetched(work):
    for words in ([], ["thread[*]/state", "--begin", "+5ms", "--end", "+7ms"], ["--name", "sched_switch", "--cpu", "1"]):
        view = View(work, DEMO, *words)
        status, headers, body = ask(Origin=PAGE)
        whole = converted(work, *words)
        result(view.line == LINK and status == 200 and body == whole and headers.get("Access-Control-Allow-Origin") == PAGE,
               "the page gets what convert writes: %d bytes" % len(whole), (view.line, status, headers, len(body)))
        ended, said, left = view.end()
        result(ended == 0 and not left and "is given once" in said, "and then it ends", (ended, said, left))


def examples(work):
    text = subprocess.run([results.yore, "help", "view"], stdout=subprocess.PIPE, text=True, check=True).stdout
    lines = [line.split("$ yore view ")[1] for line in text.splitlines() if "$ yore view " in line]
    for line in lines:
        words = shlex.split(line)
        view = View(work, os.path.join(top, words[0]), *words[1:])
        result(ask(Origin=PAGE)[0] == 200 and view.end()[0] == 0, "yore view " + line, view.line)
    result(lines, "the help has examples")


def refused(work):
    view = View(work, DEMO)
    for name, wanted, told in (("another file", 404, ask("/other", Origin=PAGE)), ("a folder", 404, ask("/../sched-demo.pftrace")),
                               ("another page", 403, ask(Origin="https://example.com")),
                               ("another name of this machine", 403, ask(Host="example.com:9001")),
                               ("what would change something", 405, ask(method="DELETE", Origin=PAGE))):
        result(told[0] == wanted and "Access-Control-Allow-Origin" not in told[1] and len(told[2]) < 100, "%s: %d" % (name, wanted), told)
    status, headers, _ = ask(method="OPTIONS", Origin=PAGE, Access_Control_Request_Private_Network="true")
    result(status == 204 and headers.get("Access-Control-Allow-Private-Network") == "true" and
           headers.get("Access-Control-Allow-Origin") == PAGE, "a browser may ask whether it may", (status, headers))
    status, headers, body = ask(method="HEAD", Origin=PAGE)
    result(status == 200 and int(headers["Content-Length"]) > 0 and not body, "and how much it is", (status, headers))
    with socket.create_connection(("127.0.0.1", PORT)) as half:
        half.sendall(b"GET /sched-demo.pftrace HTTP/1.1\r\nHost: local")
    time.sleep(0.3)
    result(view.process.poll() is None, "after these it still waits")
    other = subprocess.run([results.yore, "view", DEMO, "--no-index"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    result(other.returncode == 1 and "127.0.0.1:9001: Address already in use" in other.stderr and not other.stdout and
           other.stderr.count("\n") == 1, "a second one is told that the port is in use", (other.returncode, other.stderr))
    status, _, body = ask(Host="localhost:9001")
    result(status == 200 and body == converted(work), "a program names no page", status)
    result(view.end()[0] == 0, "and that was the one time")


def interrupted(work):
    view = View(work, DEMO, "--format", "json")
    told = json.loads(view.line)
    ended, said, left = view.end(signal.SIGINT)
    result(told["link"] == LINK and told["bytes"] == len(converted(work)), "as JSON", told)
    result(ended == 130 and not left, "Ctrl-C ends it, and nothing is left", (ended, said, left))


def nothing(work):
    view = View(work, DEMO, "--begin", "+1s")
    ended, said, left = view.end()
    result(ended == 1 and not view.line and not left and "begins after the last event" in said and "no part of the trace is in the range" in said,
           "a range beside the trace has no link", (ended, view.line, said, left))


def padded(work):
    """A trace whose last packet has much padding: 3 GB, of which the disk has little."""
    folder = os.path.join(work, "large")
    subprocess.run([os.path.join(os.environ.get("top_builddir", "."), "fixtures/yore-gen"), "--out", folder, "--size", "300K",
                    "--packet-size", "16K", "--cpus", "1", "--no-truth"], check=True, stdout=subprocess.DEVNULL)
    path = os.path.join(folder, "channel0_0")
    with open(path, "r+b") as file:
        data = file.read()
        at = last = 0
        while at < len(data):
            last, at = at, at + struct.unpack_from("<Q", data, at + 56)[0] // 8
        file.seek(last + 56)
        file.write(struct.pack("<Q", 3 << 33))
        file.truncate(last + (3 << 30))
    return folder


def longest(folder, edges):
    """Of each stretch between edges and each CPU the thread that held longest, {(cpu, i): tid}; not where that is a close call."""
    done = subprocess.run([results.yore, "state", folder, "cpu[*]/thread", "--all", "--format", "json", "--no-index"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=True)
    held = collections.defaultdict(collections.Counter)
    for row in map(json.loads, done.stdout.splitlines()):
        begin = edges[0] if row["begin"] is None else row["begin"]
        end = edges[-1] if row["end"] is None else row["end"]
        i = max(bisect.bisect_right(edges, begin) - 1, 0)
        while i < len(edges) - 1 and edges[i] < end:
            held[row["path"][4:-8], i][row["value"]] += min(end, edges[i + 1]) - max(begin, edges[i])
            i += 1
    first = {}
    for key, times in held.items():
        (value, most), (_, next_most) = (times.most_common(2) + [(None, 0)])[:2]
        if most > next_most + 2:
            first[key] = value
    return first


def too_large(work):
    folder = padded(work)
    done = subprocess.run([results.yore, "view", folder, "--no-index"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    result(done.returncode == 2 and "the page has room for about 1074: name a shorter one" in done.stderr and not done.stdout,
           "what the page has no room for", (done.returncode, done.stderr))
    view = View(work, folder, "--end", "+1us")
    result(view.line.endswith("/large.pftrace"), "a part of it fits", view.line)
    view.end(signal.SIGINT)
    index = os.path.join(work, "index")
    subprocess.run([results.yore, "index", folder, "--timelines", "--index-dir", index], check=True, stderr=subprocess.DEVNULL)
    view = View(work, folder, "cpu[*]/thread", index=index)
    path = os.path.join(work, "overview.pftrace")
    with open(path, "wb") as file:
        file.write(ask("/large.pftrace", Origin=PAGE)[2])
    _, said, _ = view.end()
    info = json.loads(subprocess.run([results.yore, "info", folder, "--format", "json", "--no-index"], stdout=subprocess.PIPE,
                                     stderr=subprocess.DEVNULL, check=True).stdout)
    begin, end = info["begin"], info["end"] + 1
    edges = [begin + (end - begin) * i // 4000 for i in range(4001)]
    read, wrong, right = perfetto_read.Reader(path), [], 0
    tracks = {read.track_path(uuid)[1][4:]: sorted(changes) for uuid, changes in read.states.items()}
    for (cpu, i), tid in longest(folder, edges).items():
        changes = tracks[cpu]
        at = bisect.bisect_right([change[0] for change in changes], (edges[i] + edges[i + 1]) // 2) - 1
        shown = changes[at][1] if at >= 0 else None
        good = shown is not None and shown.split()[-1] == str(tid)
        right += good
        wrong += [] if good else [(cpu, i, tid, shown)]
    result(right > 100 and not wrong and "of each of 4000 stretches" in said, "at low resolution from timelines: %d stretches" % right,
           (wrong[:3], len(wrong), said))
    shutil.rmtree(folder)


if __name__ == "__main__":
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", PORT))
        except OSError as why:
            print("SKIP: port %d: %s" % (PORT, why))
            sys.exit(77)
    with tempfile.TemporaryDirectory() as directory:
        for check in (fetched, examples, refused, interrupted, nothing, too_large):
            check(directory)
    finish()
