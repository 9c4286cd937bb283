#!/usr/bin/env python3
"""Pictures, as a browser shows them: `timeline --svg` in headless Chromium, moved by wheel, mouse and keys.

What is asserted is what the page then is, and that the intervals are those of `yore state`. Without
Chromium the rows that need it are skipped, and it is said. YORE_PICTURES=DIR keeps screenshots there."""
import json, os, subprocess, sys, tempfile
import xml.etree.ElementTree as ET

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import Browser

TOP = os.path.abspath(os.environ.get("srcdir", "."))
YORE = os.path.join(os.path.abspath(os.environ.get("top_builddir", ".")), "yore")
TRACE = os.path.join(TOP, "fixtures/golden/sched-demo")
SVG = "{http://www.w3.org/2000/svg}"
KEEP = os.environ.get("YORE_PICTURES")
os.environ.update(TZ="UTC", YORE_LUA_DIR=os.path.join(TOP, "lua-lib"))
failed = 0


def row(good, name, *why):
    global failed
    print("PASS:" if good else "FAIL:", name, *([] if good else why))
    failed += not good


def yore(*words):
    done = subprocess.run([YORE, words[0], "--no-index", *words[1:]], capture_output=True, text=True, cwd=TOP)
    if done.returncode:
        sys.exit("FAIL: yore %s: %s" % (" ".join(words), done.stderr))
    return done.stdout


def data_of(path):
    """The timeline's data: rows of (begin, end, text, count), the range's begin and length."""
    data = json.loads(ET.parse(path).getroot().find(SVG + "metadata").text)
    rows = {}
    for item in data["rows"]:
        at, segments = 0, []
        for gap, length, value, *more in item["s"]:
            text = data["values"][value][1] if value >= 0 else None
            segments.append((at + gap, at + gap + length, text, more[0] if more else 1))
            at += gap + length
        rows[item["label"]] = segments
    return data, rows


def intervals(path, first, last):
    """What `yore state` says of the path, from the range's begin on: by attribute."""
    found = {}
    for line in yore("state", TRACE, path, "--format", "json").splitlines():
        item = json.loads(line)
        begin = max(item["begin"], first) if item["begin"] is not None else first
        end = min(item["end"], last) if item["end"] is not None else last
        text = str(item["value"]) + (" " + item["comm"] if path.endswith("/thread") and item.get("comm") else "")
        if begin < end:
            found.setdefault(item["path"], []).append((begin - first, end - first, text, 1))
    return found


def same_as_state(svg, paths):
    data, rows = data_of(svg)
    first = json.loads(yore("info", TRACE, "--format", "json"))["begin"]
    drawn = {label.split(" ")[0]: segments for label, segments in rows.items()}
    for path in paths:
        for attribute, expected in intervals(path, first, first + data["span"]).items():
            got = drawn.pop(attribute, None)
            row(got == expected, "%s: %d intervals are those of `state`" % (attribute, len(expected)),
                [pair for pair in zip(got or [], expected) if pair[0] != pair[1]][:2])
    row(not drawn, "no other rows", *drawn)
    row(data["grain"] == 0, "of a small trace nothing is joined")


def view(browser):
    return tuple(float(browser.run('return document.documentElement.getAttribute("data-%s")' % end))
                 for end in ("from", "to"))


def near(a, b, by):
    return abs(a - b) <= by


def zoom_and_move(browser, data):
    left, span = data["left"], data["span"]
    width = int(browser.run('return document.querySelector(".plot").getAttribute("width")'))
    row(view(browser) == (0, span), "all of the range at first", view(browser))
    x = left + width // 4
    browser.wheel(x, 200, -200)
    begin, end = view(browser)
    row(near(end - begin, span / 2, 1) and near(begin + (end - begin) / 4, span / 4, span / width),
        "the wheel zooms, and the moment under the pointer stays", begin, end)
    browser.drag(left + 500, 200, left + 400, 200)
    moved = view(browser)[0] - begin
    row(near(moved, 100 / width * (end - begin), (end - begin) / width * 2), "dragging moves as far as the mouse", moved)
    before = view(browser)
    browser.type("ArrowRight")
    row(near(view(browser)[0] - before[0], (before[1] - before[0]) / 4, 1), "an arrow moves a quarter", view(browser))
    browser.type("+")
    row(near(view(browser)[1] - view(browser)[0], (end - begin) / 2, 1), "+ zooms", view(browser))
    for _ in range(40):
        browser.type("+")
    row(view(browser)[1] - view(browser)[0] >= 20, "zooming ends", view(browser))
    browser.type("0")
    row(view(browser) == (0, span), "0 shows all again", view(browser))


def texts(browser, select):
    return browser.run("return [...document.querySelectorAll(%s)].map(at => at.textContent)" % json.dumps(select))


def place_of(data, rows, label, segment, width):
    x = data["left"] + (segment[0] + segment[1]) / 2 / data["span"] * width
    return int(x), data["top"] + list(rows).index(label) * data["step"] + 8


def tooltip_and_click(browser, data, rows):
    width = int(browser.run('return document.querySelector(".plot").getAttribute("width")'))
    label = "thread[10893]/state demo-sleep"
    segment = max((s for s in rows[label] if s[2] == "sleeping"), key=lambda s: s[1] - s[0])
    x, y = place_of(data, rows, label, segment, width)
    browser.point(x, y)
    lines = texts(browser, ".tip text")
    told = json.loads(yore("state", TRACE, "thread[10893]/state", "--format", "json").splitlines()[0])
    row(lines[:2] == [label, "sleeping"], "the tooltip names row and value", lines)
    text = yore("state", TRACE, "thread[10893]/state")
    times = lines[2].split(", ")[0].split(" to ") if len(lines) > 2 else []
    row(times and any(all(time in line for time in times) and "sleeping" in line for line in text.splitlines()),
        "the tooltip's moments stand in `yore state`", lines, told)
    browser.click(x, y, 2)
    begin, end = view(browser)
    row(near(begin, segment[0] - 0.1 * (segment[1] - segment[0]), 2) and
        near(end, segment[1] + 0.1 * (segment[1] - segment[0]), 2), "a double click zooms to the interval", begin, end)
    row("sleeping" in texts(browser, ".row .on"), "an interval with room has its value on it")
    browser.type("0")
    browser.point(x, data["top"] + list(rows).index("thread[18]/state migration/0") * data["step"] + 8)
    row("unknown, or none" in texts(browser, ".tip text"), "what is not known is called unknown", texts(browser, ".tip text"))


def search(browser, data, rows):
    browser.type("/", "blocked")
    count = sum(s[2] == "blocked" for segments in rows.values() for s in segments)
    found = texts(browser, "#found")
    row(count and found[0].endswith(" %d intervals" % count), "the search tells how many it found", found, count)
    hits = sum(any(s[2] == "blocked" for s in segments) for segments in rows.values())
    missed = browser.run('return document.querySelectorAll(".row.miss").length')
    row(missed == len(rows) - hits, "rows without one step back", missed, hits)
    browser.type("Enter")
    row(browser.run('return document.querySelectorAll(".mark").length') == 1, "Enter marks the first")
    browser.type("Escape")
    row(not browser.run('return document.querySelectorAll(".miss, .mark").length'), "Escape ends the search")
    browser.type("0")


def colours(browser, name, select):
    fills = {}
    for scheme in ("light", "dark"):
        browser.scheme(scheme)
        fills[scheme] = browser.run("return %s.map(at => { const look = getComputedStyle(document.querySelector(at));"
                                    "return look.fill + look.stroke; })" % json.dumps(select))
        if KEEP:
            browser.screenshot(os.path.join(KEEP, "%s-%s.png" % (name, scheme)))
    row(all(a != b for a, b in zip(fills["light"], fills["dark"])), "a dark scheme has colours of its own", fills)
    browser.scheme("light")


def alone(browser, svg):
    row(browser.messages() == [], "the browser has nothing to complain of", browser.messages())
    row(browser.run('return performance.getEntriesByType("resource").length') == 0, "nothing else is loaded")
    with open(svg, encoding="utf-8") as file:
        text = file.read().replace("http://www.w3.org/", "")
    row("http:" not in text and "https:" not in text, "and nothing else is named")


HOSTILE = ['</script><script>document.title="taken"</script>', "]]>", "'\\\"<b>&amp;", "<!--", "${alert(1)}", "&lt;"]


def hostile(work):
    """Values and keys that would end an element, a script or a string; by rules, since a trace may hold any."""
    rules, svg = os.path.join(work, "own.rules"), os.path.join(work, "hostile.svg")
    with open(rules, "w", encoding="utf-8") as file:
        for i, text in enumerate(HOSTILE):
            quoted = '"%s"' % text.replace("\\", "\\\\").replace('"', '\\"')
            file.write('event *\n\tx[%d]/name = %s\n\ty[%s]/is = %s\n' % (i, quoted, quoted, quoted))
    yore("timeline", TRACE, "x[*]/name", "y[*]/is", "--rules", rules, "--svg", svg)
    data, rows = data_of(svg)
    row(sorted(set(s[2] for segments in rows.values() for s in segments)) == sorted(set(HOSTILE)),
        "hostile values come back as they were", rows)
    row(len(rows) == 2 * len(HOSTILE), "and so do hostile keys", *rows)
    return svg


FLAMES = os.path.join(TOP, "fixtures/golden/ovni-demo")
CHAINS = os.path.join(os.environ.get("YORE_CORPUS", ""), "perf-data/dwarf-stack/perf.data")


def stacks_of(lines):
    """Weights by stack of frames, of every stack that begins one: what a flame graph is to show."""
    weights = {}
    for line in lines:
        stack, weight = line.rsplit(" ", 1)
        frames = tuple(stack.split(";"))
        for depth in range(len(frames) + 1):
            weights[frames[:depth]] = weights.get(frames[:depth], 0) + int(weight)
    return weights


def drawn_stacks(svg):
    """The same, read from the rectangles: a frame's parent is the one below that it lies on."""
    levels, weights = {}, {}
    for group in ET.parse(svg).getroot().iter(SVG + "g"):
        if not group.get("class", "").startswith("frame "):
            continue
        box, name = group.find(SVG + "rect"), group.find(SVG + "title").text.split("\n")[0]
        x, wide, y = (float(box.get(key)) for key in ("x", "width", "y"))
        below = [at for at in levels.get(y + 18, []) if at[0] - 1e-4 <= x and x + wide <= at[1] + 1e-4]
        path = below[0][2] + (name,) if below else ()
        levels.setdefault(y, []).append((x, x + wide, path))
        weights[path] = weights.get(path, 0) + int(group.get("data-weight"))
        if below and len(below) != 1:
            return None
    return weights


def flame_graph(work, trace, name):
    svg = os.path.join(work, name + ".svg")
    yore("run", "flamegraph", trace, "--svg", svg)
    expected = stacks_of(yore("run", "flamegraph", trace).splitlines())
    got = drawn_stacks(svg)
    row(got == expected, "flame graph of %s: %d stacks are those of the text" % (name, len(expected)),
        sorted(set((got or {}).items()) ^ set(expected.items()))[:3])
    return svg, expected


def frame_place(browser, name):
    return browser.run("""const found = [...document.querySelectorAll('.frame')].find(at => at.style.display !== "none" &&
        at.querySelector("text") && at.querySelector("text").textContent === %s);
        const box = found.querySelector("rect").getBoundingClientRect();
        return [Math.floor(box.x + box.width / 2), Math.floor(box.y + box.height / 2), box.width];""" % json.dumps(name))


def flames_move(browser, svg, stacks):
    browser.open(svg)
    colours(browser, "flamegraph", ["rect.page", ".title", ".tick"])
    row(view(browser) == (0, 1), "a flame graph shows all at first", view(browser))
    total = stacks[()]
    name = max((path[-1] for path in stacks if len(path) == 1), key=lambda at: stacks[(at,)])
    x, y, _ = frame_place(browser, name)
    browser.point(x, y)
    lines = texts(browser, ".tip text")
    row(lines[:1] == [name] and "%.1f %%" % (100 * stacks[(name,)] / total) in lines[1], "the tooltip has name and share", lines)
    browser.click(x, y)
    begin, end = view(browser)
    row(near(end - begin, stacks[(name,)] / total, 1e-4), "a click makes a frame as wide as the picture", begin, end)
    inside = [path for path in stacks if len(path) == 2 and path[0] == name]
    row(near(sum(frame_place(browser, at[-1])[2] for at in inside[:1]),
             stacks[inside[0]] / stacks[(name,)] * (frame_place(browser, name)[2]), 2), "frames on it grow with it")
    row(name in texts(browser, "#range")[0], "the head names what is shown", texts(browser, "#range"))
    browser.type("Escape")
    row(view(browser) == (0, 1), "Escape resets", view(browser))
    browser.wheel(x, y, -200)
    row(near(view(browser)[1] - view(browser)[0], 0.5, 1e-6), "the wheel zooms", view(browser))
    before = view(browser)
    browser.drag(700, y, 600, y)
    row(view(browser)[0] > before[0], "dragging moves", before, view(browser))
    browser.type("0")
    words = max((path[-1] for path in stacks if len(path) > 1), key=len).lower()
    browser.type("/", words)
    share = sum(weight for path, weight in stacks.items() if path and words in path[-1].lower() and
                not any(words in at.lower() for at in path[:-1])) / total
    found = texts(browser, "#found")[0]
    row(near(float(found.split(", ")[1].split(" ")[0]), 100 * share, 0.06), "a search tells its share of all", found, share)
    row(browser.run('return document.querySelectorAll(".frame.hit").length') > 0, "and marks what it found")
    alone(browser, svg)


CHARTS = """
local draw = require("yore.draw")
local values, points, first, last = {}, {}, trace:bounds()
trace:intervals("thread[*]/state", nil, nil, function(path, from, to, value)
	if value == "ready" and from and to then
		values[#values + 1] = to - from
		points[#points + 1] = { from, to - from }
	end
end)
assert(yore.save(arg[1] .. "/histogram.svg", draw.histogram{ values = values, title = "]]>&<b>" }))
assert(yore.save(arg[1] .. "/heatmap.svg", draw.heatmap{ points = points, from = first, to = last + 1 }))
assert(yore.save(arg[1] .. "/words.svg", draw.heatmap{ points = points, from = first, to = last + 1,
	what = "stretches of time in which a thread waited" }))
local tall = { frames = {}, weight = 7 }
for i = 1, 100 do
	tall.frames[i] = "f" .. i
end
assert(yore.save(arg[1] .. "/tall.svg", draw.flamegraph{ stacks = { tall } }))
local stacks = {}
for i, name in ipairs{ HOSTILE } do
	stacks[i] = { frames = { name, "a\0b\255" }, weight = i }
end
local many = {}
for i = 1, 30000 do
	many[i] = { frames = { "f" .. i }, weight = i }
end
assert(yore.save(arg[1] .. "/many.svg", draw.flamegraph{ stacks = many }))
assert(yore.save(arg[1] .. "/names.svg", draw.flamegraph{ stacks = stacks, title = "</title>" }))
print(select(2, yore.save(arg[1] .. "/nowhere/x", "y")))
"""


def bucket(number):
    begin = 1
    while True:
        for step in (1, 2, 5):
            if number < begin * (2.5 if step == 2 else 2) * step:
                return begin * step
        begin *= 10


def charts(work):
    """Counts of bars and cells against those of intervals as `yore state` prints them."""
    script = os.path.join(work, "charts.lua")
    names = ", ".join("[==[%s]==]" % name for name in HOSTILE)
    with open(script, "w", encoding="utf-8") as file:
        file.write(CHARTS.replace("HOSTILE", names))
    told = yore("run", script, TRACE, work)
    row("No such file" in told, "yore.save() tells why a file cannot be written", told)
    expected = {}
    for line in yore("when", TRACE, 'thread[*]/state="ready"', "--format", "json").splitlines():
        item = json.loads(line)
        if item["begin"] is not None and item["end"] is not None:
            at = bucket(item["end"] - item["begin"])
            expected[at] = expected.get(at, 0) + 1
    counts = {}
    for name in ("histogram", "heatmap"):
        root = ET.parse(os.path.join(work, name + ".svg")).getroot()
        counts[name] = [int(at.get("data-count")) for at in root.iter(SVG + "rect") if at.get("data-count")]
    row([count for count in counts["histogram"] if count] == [expected[at] for at in sorted(expected)],
        "a histogram counts what `when` lists", counts["histogram"], expected)
    row(sum(counts["heatmap"]) == sum(expected.values()), "a heat map has each of them once", sum(counts["heatmap"]))
    ET.parse(os.path.join(work, "names.svg"))
    root = ET.parse(os.path.join(work, "many.svg")).getroot()
    frames = sum(at.get("class", "").startswith("frame ") for at in root.iter(SVG + "g"))
    said = [at.text for at in root.iter(SVG + "text") if at.get("id") == "range"][0]
    row(frames <= 20000 and "%d frames; %d frames of less than" % (frames, 30001 - frames) in said,
        "of too many frames the narrow ones are left out, and it is said", frames, said)


def charts_tell(browser, work):
    for name in ("histogram", "heatmap"):
        browser.open(os.path.join(work, name + ".svg"))
        x, y = browser.run("""const box = [...document.querySelectorAll("rect[data-count]")].sort((a, b) =>
            b.dataset.count - a.dataset.count)[0].getBoundingClientRect();
            return [Math.floor(box.x + box.width / 2), Math.floor(box.y + box.height / 2)]""")
        browser.point(x, y)
        row(any("intervals" in line for line in texts(browser, ".tip text")), name + ": the pointer tells the count",
            texts(browser, ".tip text"))
        colours(browser, name, ["rect.page", "text"])
        alone(browser, os.path.join(work, name + ".svg"))
    browser.open(os.path.join(work, "words.svg"))
    apart, inside = browser.run("""const box = at => at.getBoundingClientRect();
        const all = look => [...document.querySelectorAll(look)].map(box), keys = all("rect.bar:not([data-count])");
        const texts = all(".legend"), moments = all(".moment"), page = box(document.documentElement);
        return [keys.length > 1 && keys.every(key => texts.every(text => text.right <= key.left || text.left >= key.right)),
            moments.length > 1 && moments.every((at, i) => at.left >= 0 && at.right <= page.right &&
                (!i || at.left > moments[i - 1].right))]""")
    row(apart, "long words do not cover the legend")
    row(inside, "moments below a heat map are whole, and apart")
    row(all(len(at) < 17 for at in texts(browser, ".moment")), "and round", texts(browser, ".moment"))
    browser.open(os.path.join(work, "tall.svg"))
    bottom, high = browser.run("""const found = [...document.querySelectorAll(".frame")].find(at => at.textContent === "all");
        return [found.getBoundingClientRect().bottom, window.innerHeight]""")
    row(0 < bottom <= high + 1, "a tall flame graph is shown from its bottom", bottom, high)
    browser.open(os.path.join(work, "names.svg"))
    row(browser.run("return document.title") == "</title>" and not browser.messages(), "hostile names of frames do not run")


def in_browser(work, svg, bad, flames):
    data, rows = data_of(svg)
    with Browser() as browser:
        browser.open(svg)
        colours(browser, "timeline", ["rect.page", ".t0", ".t2"])
        zoom_and_move(browser, data)
        tooltip_and_click(browser, data, rows)
        search(browser, data, rows)
        alone(browser, svg)
        browser.open(bad)
        row(browser.run("return document.title") != "taken" and not browser.messages(),
            "a hostile name does not run", browser.run("return document.title"))
        row(set(HOSTILE) <= set(texts(browser, ".row .on")), "it is shown", texts(browser, ".row .on"))
        flames_move(browser, *flames)
        charts_tell(browser, work)


def main():
    with tempfile.TemporaryDirectory(prefix="yore-test-") as work:
        os.environ.update(HOME=work, XDG_CACHE_HOME=work, XDG_CONFIG_HOME=work)
        svg, paths = os.path.join(work, "timeline.svg"), ["cpu[*]/thread", "thread[*]/state"]
        yore("timeline", TRACE, *paths, "--svg", svg)
        same_as_state(svg, paths)
        bad = hostile(work)
        flames = flame_graph(work, FLAMES, "stacks of the state")
        if os.path.exists(CHAINS):
            chains = flame_graph(work, CHAINS, "call chains")
            kinds = {group.get("class") for group in ET.parse(chains[0]).getroot().iter(SVG + "g")}
            row({"frame kernel", "frame user", "frame thread"} <= kinds, "kernel and user frames differ", kinds)
        else:
            print("SKIP: call chains: no", CHAINS)
        charts(work)
        if Browser.missing():
            print("SKIP: pictures in a browser: not installed:", *Browser.missing())
            sys.exit(1 if failed else 77)
        in_browser(work, svg, bad, flames)
    sys.exit(1 if failed else 0)


main()
