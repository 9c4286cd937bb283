"""A server under test: `yore serve`, and requests to it as viewers and as others make them."""
import http.client
import json
import os
import signal
import subprocess
import time

import results
from results import top

DEMO = os.path.join(top, "fixtures/golden/sched-demo")


class Server:
    def __init__(self, *words, index=None):
        stored = ["--index-dir", index] if index else ["--no-index"]
        self.process = subprocess.Popen([results.yore, "serve", *words, *stored], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env=dict(os.environ, YORE_LUA_DIR=os.path.join(top, "lua-lib")))
        self.line = self.process.stdout.readline().strip()
        self.url = json.loads(self.line)["url"] if self.line.startswith("{") else self.line
        self.host, self.base = self.url.split("/")[2], "/" + self.url.split("/")[3] + "/"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.end()

    def ask(self, path, body=None, method=None, raw=False, **headers):
        """(status, headers, body as JSON or, `raw`, as bytes); the path is below the token."""
        return self.ask_at(self.base + path, body, method, raw, **headers)

    def ask_at(self, path, body=None, method=None, raw=False, **headers):
        connection = http.client.HTTPConnection(self.host, timeout=results.HANGS)
        data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        connection.putrequest(method or ("GET" if body is None else "POST"), path, skip_host="Host" in headers)
        for name, value in headers.items():
            connection.putheader(name.replace("_", "-"), value)
        if data is not None:
            connection.putheader("Content-Length", str(len(data)))
        connection.endheaders()
        if data is not None:
            try:
                connection.send(data)
            except (BrokenPipeError, ConnectionResetError):
                pass  # it was refused by its head
        reply = connection.getresponse()
        got = reply.read()
        connection.close()
        return reply.status, dict(reply.getheaders()), got if raw else json.loads(got) if got else None

    def tsp(self, path, body=None, method=None):
        """(status, answer) of the Trace Server Protocol; a body is its parameters."""
        status, _, answer = self.ask("tsp/api/" + path, None if body is None else {"parameters": body}, method)
        return status, answer

    def experiment(self, number=0):
        """The experiment, once its events are counted."""
        for _ in range(2400):
            found = self.tsp("experiments")[1][number]
            if found["indexingStatus"] == "COMPLETED":
                return found
            time.sleep(0.05)
        raise TimeoutError("events are not counted")

    def output(self, path, body):
        """The model of an output's answer; what is wrong with it, where it has none."""
        status, answer = self.tsp("experiments/%s/outputs/%s" % (self.experiment()["UUID"], path), body)
        return answer.get("model") or (status, answer)

    def memory_kb(self):
        with open("/proc/%d/status" % self.process.pid) as file:
            return int(file.read().split("RssAnon:")[1].split()[0])

    def descriptors(self):
        return len(os.listdir("/proc/%d/fd" % self.process.pid))

    def end(self):
        """(status, messages)"""
        self.process.send_signal(signal.SIGINT)
        try:
            said = self.process.communicate(timeout=results.HANGS)[1]
        except subprocess.TimeoutExpired:
            self.process.kill()
            return "it goes on", self.process.communicate()[1]
        return self.process.returncode, said


def yore_json(*words):
    """Lines of JSON that the program prints."""
    done = subprocess.run([results.yore, *words, "--format", "json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False,
                          env=dict(os.environ, YORE_LUA_DIR=os.path.join(top, "lua-lib")))
    return [json.loads(line) for line in done.stdout.splitlines()]
