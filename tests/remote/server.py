"""A server of files over HTTP with ranges and ETags, which counts what is asked, and misbehaves where it is told.

    with Server(folder) as server:
        ... yore at server.url("trace/") ...
        server.rounds(), server.sent

`fault`: called with a request's method, path and range (first, last), or None; it returns None (answer as usual), or the name of
a fault below.
"""
import email.utils
import html
import os
import re
import socketserver
import threading
import time
import urllib.parse

FAULTS = ("503", "404", "403", "cut", "changed", "whole", "slow", "other bytes", "few bytes", "elsewhere", "moved", "no size", "long")


class Server:
    def __init__(self, folder, delay=0.0, fault=None, tags=True, token=None):
        self.folder, self.delay, self.fault, self.tags, self.token = folder, delay, fault, tags, token
        self.lock, self.log, self.sent, self.versions = threading.Lock(), [], 0, {}
        self.page, self.listing = 1000, None  # of lists of S3
        self.heads = []  # headers of requests, as text
        outer = self

        class Handler(socketserver.StreamRequestHandler):
            disable_nagle_algorithm = True

            def handle(self):
                while outer.one(self):
                    pass

        class Threads(socketserver.ThreadingTCPServer):
            daemon_threads = allow_reuse_address = True
            request_queue_size = 256

            def handle_error(self, request, client_address):
                pass  # a viewer that goes away is no fault of the server

        self.server = Threads(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def url(self, path=""):
        return "http://127.0.0.1:%d/%s" % (self.port, path)

    def forget(self):
        with self.lock:
            self.log, self.sent = [], 0

    def rounds(self):
        """The longest chain of requests each of which began when the one before had been answered."""
        with self.lock:
            log = sorted(self.log)
        best = []  # (end, depth)
        for begin, end in log:
            best.append((end, 1 + max((depth for before, depth in best if before <= begin), default=0)))
        return max((depth for _, depth in best), default=0)

    def tag(self, path, info):
        return '"%x-%x-%d"' % (info.st_size, info.st_mtime_ns, self.versions.get(path, 0))

    def one(self, handler):
        line = handler.rfile.readline(65536).decode("latin-1").split()
        if len(line) != 3:
            return False
        headers, text = {}, ""
        while True:
            header = handler.rfile.readline(65536).decode("latin-1")
            if header in ("\r\n", "\n", ""):
                break
            text += header
            name, value = header.split(":", 1)
            headers[name.strip().lower()] = value.strip()
        begin = time.monotonic()
        with self.lock:
            self.heads.append(text)
        if self.delay:
            time.sleep(self.delay)
        try:
            return self.answer(handler.wfile, line[0], line[1], headers)
        finally:
            with self.lock:
                self.log.append((begin, time.monotonic()))

    def answer(self, out, method, target, headers):
        path = re.sub(r"%([0-9A-Fa-f]{2})", lambda m: chr(int(m.group(1), 16)), target.split("?")[0].lstrip("/"))
        if "list-type=2" in target:
            return self.list(out, path, urllib.parse.parse_qs(target.split("?")[1], keep_blank_values=True))
        full = os.path.join(self.folder, path.encode("latin-1").decode("utf-8", "surrogateescape"))
        asked = re.match(r"bytes=(\d+)-(\d+)$", headers.get("range", ""))
        asked = (int(asked.group(1)), int(asked.group(2))) if asked else None
        fault = self.fault(method, path, asked) if self.fault else None
        if self.token and headers.get("authorization") != "Bearer " + self.token:
            fault = "403"
        if fault in ("403", "503") or fault == "404" or not os.path.isfile(full):
            status = fault or "404"
            return self.send(out, status, [], b"" if method == "HEAD" else b"no\n")
        if fault in ("elsewhere", "moved"):
            to = "http://localhost:%d/%s" % (self.port, path) if fault == "elsewhere" else "/real/" + path
            return self.send(out, "302", ["Location: " + to], b"")
        info = os.stat(full)
        if fault == "changed":
            with self.lock:
                self.versions[path] = self.versions.get(path, 0) + 1
        extra = ["ETag: " + self.tag(path, info)] if self.tags else []
        if self.tags is None:
            extra = ["Last-Modified: " + email.utils.formatdate(info.st_mtime, usegmt=True)]
        if method == "HEAD":
            return self.send(out, "200", extra, b"", size=None if fault == "no size" else info.st_size)
        with open(full, "rb") as file:
            if asked is None or fault == "whole":
                return self.send(out, "200", extra, file.read(), cut=fault == "cut")
            first, last = asked[0], min(asked[1], info.st_size - 1)
            if first > last:
                return self.send(out, "416", extra + ["Content-Range: bytes */%d" % info.st_size], b"")
            if fault == "other bytes":
                first, last = first + 1, last + 1
            if fault == "few bytes":
                last = first + (last - first) // 2
            file.seek(first)
            data = file.read(last - first + 1)
        if fault == "long":
            data += b"more"
        if fault == "slow":
            time.sleep(30)
        return self.send(out, "206", extra + ["Content-Range: bytes %d-%d/%d" % (first, last, info.st_size)], data, cut=fault == "cut")

    def list(self, out, bucket, query):
        """ListObjectsV2, `page` keys an answer. `listing` changes the text where it is set."""
        prefix, top = query["prefix"][0], os.path.join(self.folder, bucket)
        keys = sorted(os.path.relpath(os.path.join(place, name), top) for place, _, names in os.walk(top) for name in names)
        keys = [key for key in keys if key.startswith(prefix)]
        begin = int(query.get("continuation-token", ["at/0"])[0][3:])
        rows = "".join("<Contents><Key>%s</Key><ETag>&quot;x&quot;</ETag><Size>%d</Size></Contents>" % (html.escape(key), os.path.getsize(os.path.join(top, key)))
                       for key in keys[begin:begin + self.page])
        more = begin + self.page < len(keys)
        text = ('<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name><IsTruncated>%s</IsTruncated>%s%s'
                "</ListBucketResult>" % ("true" if more else "false", "<NextContinuationToken>at/%d</NextContinuationToken>" % (begin + self.page) if more else "", rows))
        return self.send(out, "200", [], (self.listing(text) if self.listing else text).encode())

    def send(self, out, status, headers, data, size=None, cut=False):
        head = ["HTTP/1.1 %s x" % status, *headers, "Content-Length: %d" % (len(data) if size is None else size)]
        if cut:
            data = data[: len(data) // 2]
        out.write(("\r\n".join(head) + "\r\n\r\n").encode("latin-1") + data)
        out.flush()
        with self.lock:
            self.sent += len(data)
        return not cut

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
