"""A headless Chromium for tests of pictures, driven over the WebDriver protocol (W3C).

Debian's packages chromium and chromium-driver. Browser.missing() says which program is not there."""
import base64, json, os, re, shutil, subprocess, tempfile, urllib.request

KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "ArrowLeft": "\ue012", "ArrowRight": "\ue014"}


class Browser:
    @staticmethod
    def missing():
        return [name for name in ("chromium", "chromedriver") if not shutil.which(name)]

    def __init__(self, width=1300, height=700):
        self.profile = tempfile.mkdtemp(prefix="yore-browser-")
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL, text=True)
        self.session = None
        for line in self.driver.stdout:
            found = re.search(r"started successfully on port (\d+)", line)
            if found:
                break
        self.url = "http://127.0.0.1:%s/session" % found.group(1)
        options = {"args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                            "--user-data-dir=" + self.profile, "--window-size=%d,%d" % (width, height)]}
        answer = self.ask("POST", "", {"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}}})
        self.session = answer["sessionId"]

    def ask(self, method, path, body=None):
        where = self.url + ("/" + self.session if self.session else "") + path
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(where, data, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)["value"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.ask("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait()
            shutil.rmtree(self.profile, ignore_errors=True)

    def open(self, path):
        self.ask("POST", "/url", {"url": "file://" + os.path.abspath(path)})
        self.settle()

    def run(self, script):
        return self.ask("POST", "/execute/sync", {"script": script, "args": []})

    def settle(self):
        """Two frames later all that was asked for is drawn."""
        self.ask("POST", "/execute/async", {"args": [], "script":
                 "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()));"})

    def act(self, kind, actions, parameters=None):
        source = {"type": kind, "id": kind, "actions": actions}
        if parameters:
            source["parameters"] = parameters
        self.ask("POST", "/actions", {"actions": [source]})
        self.settle()

    def wheel(self, x, y, delta):
        self.act("wheel", [{"type": "scroll", "x": x, "y": y, "deltaX": 0, "deltaY": delta, "duration": 0}])

    def point(self, x, y):
        self.act("pointer", [{"type": "pointerMove", "x": x, "y": y, "duration": 0}])

    def click(self, x, y, times=1):
        press = [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        self.act("pointer", [{"type": "pointerMove", "x": x, "y": y, "duration": 0}] + press * times)

    def drag(self, x, y, to_x, to_y):
        self.act("pointer", [{"type": "pointerMove", "x": x, "y": y, "duration": 0},
                             {"type": "pointerDown", "button": 0},
                             {"type": "pointerMove", "x": to_x, "y": to_y, "duration": 50},
                             {"type": "pointerUp", "button": 0}])

    def type(self, *keys):
        actions = []
        for key in keys:
            for letter in [KEYS[key]] if key in KEYS else key:
                actions += [{"type": "keyDown", "value": letter}, {"type": "keyUp", "value": letter}]
        self.act("key", actions)

    def scheme(self, name):
        self.ask("POST", "/goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": {
            "features": [{"name": "prefers-color-scheme", "value": name}]}})
        self.settle()

    def messages(self):
        return [entry["message"] for entry in self.ask("POST", "/se/log", {"type": "browser"})]

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.ask("GET", "/screenshot")))
