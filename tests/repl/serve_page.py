#!/usr/bin/env python3
"""The page of `yore serve` in headless Chromium: rows, wheel, drag, search, keys, moments, panels, address, schemes.

What is asserted is what the page then shows, and that values are those of `yore state` and `at`. YORE_PICTURES=DIR keeps screenshots
there. YORE_SERVE_LARGE=TRACE[,INDEX] also measures zooms into that trace."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.parse

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean
import results
from browser import Browser
from results import HANGS, finish, result, top
from serving import DEMO, Server, yore_json

KEEP = os.environ.get("YORE_PICTURES")
BEGIN = yore_json("events", DEMO, "--limit", "1", "--no-index")[0]["ts"]


class Page:
    def __init__(self, browser, url, address="", rows=True):
        self.browser = browser
        browser.ask("POST", "/url", {"url": "about:blank"})
        browser.ask("POST", "/url", {"url": url + address})
        self.wait("return window.yore && yore.rows.all.length > 0 && (yore.stats.count > 0 || %s)" % ("false" if rows else "true"), "the page is there")

    def run(self, script):
        return self.browser.run(script)

    def wait(self, script, what, seconds=HANGS):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if self.run(script):
                self.browser.settle()
                return True
            time.sleep(0.02)
        result(False, what, (script, self.run("return [document.getElementById('told').textContent, JSON.stringify(window.yore && yore.stats)]")))
        return False

    def view(self):
        return self.run("return [yore.view.from, yore.view.to]")

    def loaded(self):
        """All rows that are seen have the data of what is seen."""
        self.wait("const v = yore.view, s = (yore.stats.loaded || '').split(',').map(Number);"
                  "return s[0] <= v.from && s[1] >= v.to && (s[1] - s[0]) <= 2.1 * (v.to - v.from) + 2", "its rows are loaded")

    def place(self):
        """Where the rows' canvas is: left, top, and the width of the plot."""
        return self.run("const at = yore.canvases.view.getBoundingClientRect();"
                        "return [at.left, at.top, at.width - yore.plot.left - yore.plot.right, yore.plot.left, yore.plot.step]")

    def shot(self, name):
        if KEEP:
            os.makedirs(KEEP, exist_ok=True)
            self.browser.screenshot(os.path.join(KEEP, name + ".png"))

    def text(self, element):
        return self.run("return document.getElementById(%s).textContent" % json.dumps(element))

    def labels(self):
        return self.run("return yore.rows.shown.map(row => row.path + ' ' + row.name)")


def near(a, b, by):
    return abs(a - b) <= by


def rows_and_values(page):
    span = page.run("return yore.trace.span")
    result(page.view() == [0, span] and "thread[10893]/state demo-sleep" in page.labels(), "all of the trace at first; rows have names", page.labels())
    page.loaded()
    wrong, count = [], 0
    rows = page.run("return yore.rows.all.map(row => [row.path, row.data ? row.data.placed : []])")
    for path, runs in rows:
        known = yore_json("state", DEMO, path, "--all", "--no-index")
        for run in runs[::3]:
            middle = BEGIN + (run["begin"] + run["end"]) / 2
            held = [str(row["value"]) for row in known if (row["begin"] or BEGIN) <= middle + 12000 and (row["end"] or middle + 1) > middle - 12000]
            count += 1
            wrong += [] if run["text"].split(" ")[0] in held else [(path, run, held)]
    result(not wrong and count > 100, "%d values are those of `state`" % count, wrong[:3])
    page.run("const f = document.getElementById('path'); f.value = 'thread[*]/cpu'; f.dispatchEvent(new Event('change'))")
    page.wait("return yore.rows.all.some(row => row.path === 'thread[10893]/cpu')", "rows of another path")
    result("thread[10893]/cpu demo-sleep" in page.labels(), "rows of any path are added")


def zoom_and_drag(page):
    left, top_, width, names, _ = page.place()
    span = page.run("return yore.trace.span")
    page.browser.type("0")
    x = int(left + names + width / 4)
    page.browser.wheel(x, int(top_ + 50), -200)
    begin, end = page.view()
    result(near(end - begin, span / 2, 2) and near(begin + (end - begin) / 4, span / 4, span / width * 2),
           "the wheel zooms, and the moment under the pointer stays", (begin, end))
    page.browser.drag(int(left + names + 500), int(top_ + 50), int(left + names + 400), int(top_ + 50))
    moved = page.view()[0] - begin
    result(near(moved, 100 / width * (end - begin), (end - begin) / width * 3), "dragging moves as far as the mouse", moved)
    page.browser.type("+")
    result(near(page.view()[1] - page.view()[0], span / 4, 2), "+ zooms", page.view())
    before = page.view()
    page.browser.type("ArrowRight")
    result(near(page.view()[0] - before[0], (before[1] - before[0]) / 4, 2), "an arrow moves a quarter", page.view())
    for _ in range(25):
        page.browser.type("w")
    result(20 <= page.view()[1] - page.view()[0] < 50, "zooming ends", page.view())
    page.loaded()
    page.browser.type("0")
    result(page.view() == [0, span], "0 shows all again", page.view())
    page.loaded()


def search(page):
    page.browser.type("/", "demo-lock")
    page.wait("return yore.view.search === 'demo-lock'", "words are typed")
    found = page.labels()
    result(found and all("demo-lock" in label or label.startswith("cpu") for label in found), "search hides other rows", found)
    page.browser.type("Escape")
    page.browser.type("/", "blocked")
    page.browser.settle()
    found = page.labels()
    wanted = {row["path"] for row in yore_json("when", DEMO, "thread[*]/state=blocked", "--no-index")}
    result(found and set(label.split(" ")[0] for label in found) <= wanted | {"thread[10886]/state"}, "and finds values", (found, wanted))
    page.browser.type("Enter")
    page.browser.type("Escape", "Escape")
    page.browser.type("Escape")
    result(page.run("return yore.rows.shown.length === yore.rows.all.length"), "Escape shows them again")


def order(page):
    page.browser.type("o", "o")
    page.wait("return yore.rows.shown.every((row, i, all) => !i || all[i - 1].active >= row.active)", "by activity")
    shown = page.run("return yore.rows.shown.map(row => [row.path, row.active])")
    active = [share for _, share in shown]
    busy = max(yore_json("cputop", DEMO, "threads", "--no-index"), key=lambda row: row["total"])["tid"]
    threads = [path for path, _ in shown if path.startswith("thread") and path.endswith("/state")]
    result(active == sorted(active, reverse=True) and len(set(active)) > 3, "rows are sorted by activity", shown)
    result(any(str(busy) in path for path in threads[:3]), "the busiest thread is in front", (busy, threads))
    page.browser.type("o")
    page.wait("return yore.rows.shown[0].path === 'cpu[0]/thread' && yore.rows.shown[2].path === 'thread[15]/state'", "by path again")


def moments(page):
    left, top_, width, names, step = page.place()
    page.browser.type("Escape")
    page.browser.click(int(left + names + 300), int(top_ + step / 2))
    page.wait("return document.getElementById('panel').dataset.kind === 'why'", "a click tells the value")
    t = page.run("return yore.view.a")
    told = yore_json("at", DEMO, "@%d" % (BEGIN + t), page.run("return yore.view.selected"), "--why", "--no-index")[0]
    text = page.text("panel")
    result(str(told["value"]) in text and (told["why"]["event"] or "lost") in text and "linux.rules:%d" % told["why"]["line"] in text,
           "exactly, with the event and the rule", (told, text))
    page.browser.ask("POST", "/actions", {"actions": [
        {"type": "key", "id": "k", "actions": [{"type": "keyDown", "value": "\ue008"}, {"type": "pause"}, {"type": "pause"}, {"type": "pause"},
                                               {"type": "keyUp", "value": "\ue008"}]},
        {"type": "pointer", "id": "pointer", "actions": [{"type": "pause"}, {"type": "pointerMove", "x": int(left + names + 500), "y": int(top_ + step / 2), "duration": 0},
                                                         {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}, {"type": "pause"}]}]})
    page.browser.settle()
    a, b, told = page.run("return [yore.view.a, yore.view.b, document.getElementById('moments').textContent]")
    result(near(b - a, 200 / width * page.run("return yore.trace.span"), 2e4) and "B - A 2." in told, "two moments and their difference", (a, b, told))
    page.shot("moments")


def panels(page):
    page.browser.type("Escape", "e")
    page.wait("return document.getElementById('panel').dataset.kind === 'events'", "events of the range")
    result(page.run("return document.querySelectorAll('#panel tbody tr').length") == 500, "the first 500 events")
    page.run("const f = document.getElementById('where'); f.value = 'name == \"sched:sched_switch\" && cpu == 1'; f.dispatchEvent(new Event('change'))")
    wanted = len(yore_json("events", DEMO, "--where", 'name == "sched:sched_switch" && cpu == 1', "--no-index"))
    page.wait("return document.getElementById('panel').textContent.includes('%d events where')" % wanted, "a condition leaves %d events" % wanted)
    page.wait("return yore.overlay.matched !== null", "they are marked")
    result(page.run("return yore.overlay.matched.counts.reduce((sum, count) => sum + count, 0)") == wanted, "and marked on the rows")
    page.run("const f = document.getElementById('where'); f.value = 'cpu[cpu]/thread == 10893'; f.dispatchEvent(new Event('change'))")
    wanted = len(yore_json("events", DEMO, "--where", "cpu[cpu]/thread == 10893", "--no-index"))
    page.wait("return document.getElementById('panel').textContent.includes('%d events where')" % wanted, "one that reads the state: %d" % wanted)
    page.run("const f = document.getElementById('where'); f.value = 'nothing =='; f.dispatchEvent(new Event('change'))")
    page.wait("return document.getElementById('told').className === 'wrong'", "one that is wrong is told")
    page.run("const f = document.getElementById('where'); f.value = ''; f.dispatchEvent(new Event('change'))")
    page.run("const f = document.getElementById('analysis'); f.value = 'latency'; f.dispatchEvent(new Event('change'))")
    page.wait("return document.getElementById('panel').dataset.kind === 'analysis'", "an analysis")
    result(page.run("return document.querySelectorAll('#panel tbody tr').length") == len(yore_json("latency", DEMO, "--no-index")), "its rows are there")


def critical_path(page):
    page.browser.type("Escape", "0")
    page.run("yore.view.selected = 'thread[10893]/state'")
    page.browser.type("c")
    page.wait("return document.getElementById('panel').dataset.kind === 'critical'", "the critical path")
    wanted = yore_json("critical-path", DEMO, "log", "--tid", "10893", "--no-index")
    got = page.run("return yore.overlay.critical.map(part => [part.path, part.from, part.to])")
    result(got == [["thread[%s]/state" % ("null" if row["tid"] is None else row["tid"]), row["begin"] - BEGIN, row["end"] - BEGIN] for row in wanted], "%d stretches" % len(wanted), got[:3])
    page.shot("critical-path")
    page.browser.type("Escape")


def flames(browser):
    trace = os.path.join(top, "fixtures/golden/ovni-demo")
    with Server(trace) as server:
        page = Page(browser, server.url)
        page.browser.type("f")
        page.wait("return document.getElementById('panel').dataset.kind === 'flames'", "the flame graph")
        wanted = sum(row["weight"] for row in yore_json("flamegraph", trace, "--no-index"))
        result(page.run("return yore.flames.root.weight") == wanted and page.run("return yore.flames.boxes.length") > 3, "its weight: %d" % wanted)
        page.shot("flames")
        x, y, left, wide = page.run("const at = document.getElementById('flame').getBoundingClientRect(), box = yore.flames.boxes[yore.flames.boxes.length - 1];"
                                    "return [at.left + box.left + 2, at.top + box.depth * 18 + 8, box.left, box.width]")
        page.browser.click(int(x), int(y))
        result(page.run("return yore.flames.top !== yore.flames.root"), "a click fills the width", (left, wide))


def address(page, server):
    page.run("yore.look(1e6, 3e6)")
    page.browser.type("/", "demo", "Escape")
    page.run("const f = document.getElementById('search'); f.value = 'demo'; f.dispatchEvent(new Event('input'))")
    time.sleep(0.4)
    told = page.run("return location.hash")
    before = page.labels()
    again = Page(page.browser, server.url, told)
    result(again.view() == [1e6, 3e6] and again.labels() == before and "v=1000000%2C3000000" in told, "the address holds range, rows and search", (told, again.view()))
    hostile = Page(page.browser, server.url, "#" + urllib.parse.urlencode({"p": "cpu[*]/thread", "s": "<img src=x onerror=alert(1)>", "v": "NaN,-5"}), rows=False)
    result(hostile.view()[0] >= 0 and not hostile.run("return document.querySelector('img')"), "whatever stands in it", hostile.view())


def schemes(page):
    shades = {}
    for scheme in ("light", "dark"):
        page.browser.scheme(scheme)
        shades[scheme] = page.run("const s = getComputedStyle(document.documentElement), c = document.createElement('canvas').getContext('2d', { willReadFrequently: true });"
                                  "const of = name => { c.fillStyle = s.getPropertyValue(name).trim(); c.fillRect(0, 0, 1, 1); const [r, g, b] = c.getImageData(0, 0, 1, 1).data;"
                                  "return 0.2126 * r + 0.7152 * g + 0.0722 * b; };"
                                  "return ['--page', '--ink', '--t0', '--t1', '--t2', '--t3'].map(of)")
        page.shot("page-" + scheme)
    page.browser.scheme("light")
    result(shades["light"][0] > 200 > 60 > shades["light"][1] and shades["dark"][0] < 60 < 200 < shades["dark"][1], "a dark scheme", shades)
    for scheme, values in shades.items():
        states = sorted(values[2:])
        result(all(b - a > 18 for a, b in zip(states, states[1:])), "%s: states differ in lightness, too" % scheme, states)


def follows(browser, work):
    folder, grown = os.path.join(work, "grown"), os.path.join(work, "growing")
    subprocess.run([os.path.join(os.environ.get("top_builddir", "."), "fixtures/yore-gen"), "--out", folder, "--size", "300K", "--packet-size", "4096",
                    "--cpus", "1", "--no-truth"], check=True, stdout=subprocess.DEVNULL)
    os.mkdir(grown)
    shutil.copy(os.path.join(folder, "metadata"), grown)
    with open(os.path.join(folder, "channel0_0"), "rb") as file:
        data = file.read()
    half = len(data) // 8192 * 4096
    with open(os.path.join(grown, "channel0_0"), "wb") as file:
        file.write(data[:half])
    with Server(grown, "--follow") as server:
        page = Page(browser, server.url)
        span = page.run("return yore.trace.span")
        page.run("yore.look(yore.trace.span * 0.9, yore.trace.span)")
        with open(os.path.join(grown, "channel0_0"), "ab") as file:
            file.write(data[half:])
        page.wait("return yore.trace.span > %d && yore.view.to === yore.trace.span" % span, "a live trace: the view goes on to its end")
        result(near(page.view()[1] - page.view()[0], span * 0.1, 5), "as wide as it was", page.view())


def large(browser):
    trace, _, index = os.environ["YORE_SERVE_LARGE"].partition(",")
    with Server(trace, index=index or None) as server:
        server.experiment()
        page = Page(browser, server.url)
        page.loaded()
        times = []
        page.shot("large")
        for power in range(0, 28, 3):
            begun = time.monotonic()
            page.run("const s = yore.trace.span, w = s / 2 ** %d; window.before = yore.stats.count; yore.look(s * 0.37 - w / 2, s * 0.37 + w / 2)" % power)
            page.wait("return yore.stats.count > window.before", "loaded")
            times.append((round(page.run("return yore.stats.asked")), round((time.monotonic() - begun) * 1000)))
        page.shot("large-deep")
        page.browser.type("0")
        page.loaded()
        frames = page.browser.ask("POST", "/execute/async", {"args": [], "script": """
            const done = arguments[0], paints = []; let last = performance.now(), i = 0;
            function step(now) {
                paints.push(now - last); last = now;
                const s = yore.trace.span, w = s * 0.98 ** i;
                yore.look(s * 0.4 - w / 2, s * 0.4 + w / 2);
                if (++i < 120) requestAnimationFrame(step); else done(paints.slice(2).sort((a, b) => a - b));
            }
            requestAnimationFrame(step);"""})
        result(all(asked < 150 for asked, _ in times), "zooms to any depth in under 150 ms: (server, with the test) %s" % times, times)
        result(frames[len(frames) // 2] < 17.5, "zooming paints %.0f frames a second" % (1000 / frames[len(frames) // 2]), frames[-10:])


if __name__ == "__main__":
    missing = Browser.missing()
    if missing:
        print("SKIP: no " + ", ".join(missing))
        sys.exit(77)
    with Browser(1300, 760) as chromium:
        with Server(DEMO) as demo:
            demo.experiment()
            shown = Page(chromium, demo.url)
            for check in (rows_and_values, zoom_and_drag, search, order, moments, panels, critical_path):
                check(shown)
            address(shown, demo)
            schemes(Page(chromium, demo.url))
            messages = [line for line in chromium.messages() if "400" not in line]
            result(not messages, "the page has no complaints", messages)
        flames(chromium)
        with tempfile.TemporaryDirectory() as directory:
            follows(chromium, directory)
        if os.environ.get("YORE_SERVE_LARGE"):
            large(chromium)
    finish()
