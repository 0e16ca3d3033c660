"""A browser for tests: Debian's chromium, driven by its chromedriver over the WebDriver protocol.

Needs /usr/bin/chromium and /usr/bin/chromedriver (packages chromium and chromium-driver), and nothing else.
"""

import base64
import json
import re
import subprocess
import urllib.request


class Driver:
    """One chromedriver process on a port of its own choice."""

    def __init__(self):
        self.process = subprocess.Popen(["/usr/bin/chromedriver", "--port=0"], stdout=subprocess.PIPE, text=True)
        port = None
        for line in self.process.stdout:
            found = re.search(r"started successfully on port (\d+)", line)
            if found:
                port = found.group(1)
                break
        if port is None:
            raise RuntimeError("chromedriver did not start")
        self.base = f"http://127.0.0.1:{port}"

    def close(self):
        self.process.terminate()
        self.process.wait()


class Browser:
    """One window. Use as a context manager; its session ends with it."""

    def __init__(self, driver, width, height, dark):
        self.base = driver.base
        options = {"args": ["--headless=new", "--no-sandbox", "--disable-gpu", f"--window-size={width},{height}"]}
        # Bounds for a failure, in milliseconds: on a busy machine axe-core takes long.
        capabilities = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"},
                        "timeouts": {"script": 120000, "pageLoad": 120000}}
        answer = self._post("/session", {"capabilities": {"alwaysMatch": capabilities}})
        self.session = "/session/" + answer["sessionId"]
        self.width = width
        self.cdp("Emulation.setDeviceMetricsOverride",
                 {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.cdp("Emulation.setEmulatedMedia", {"features": [scheme]})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._call("DELETE", self.session, None)

    def _call(self, method, path, body):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=180) as reply:
                return json.load(reply)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{path}: {error.read().decode()[:500]}") from error

    def _post(self, path, body):
        return self._call("POST", path, body)

    def open(self, url):
        self._post(self.session + "/url", {"url": url})

    def run(self, script, *arguments):
        """Returns what the body of a function returns in the page."""
        return self._post(self.session + "/execute/sync", {"script": script, "args": list(arguments)})

    def run_async(self, script, *arguments):
        """As run(); the script calls its last argument with the result."""
        return self._post(self.session + "/execute/async", {"script": script, "args": list(arguments)})

    def cdp(self, command, parameters):
        return self._post(self.session + "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def keys(self, *names):
        """Presses keys one after the other: "Tab", "Enter", "ArrowRight", "+"."""
        for name in names:
            text = "\r" if name == "Enter" else name if len(name) == 1 else ""
            code = {"Tab": 9, "Enter": 13, "Escape": 27, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38,
                    "ArrowRight": 39, "ArrowDown": 40}.get(name, 0)
            key = {"key": name, "windowsVirtualKeyCode": code}
            self.cdp("Input.dispatchKeyEvent", {"type": "keyDown", "text": text, **key})
            self.cdp("Input.dispatchKeyEvent", {"type": "keyUp", **key})

    def log(self):
        """Returns what the page wrote to its console since the last call."""
        return [entry["message"] for entry in self._post(self.session + "/se/log", {"type": "browser"})
                if entry["level"] != "DEBUG"]

    def screenshot(self, path):
        height = min(9000, self.run("return document.documentElement.scrollHeight"))
        clip = {"x": 0, "y": 0, "width": self.width, "height": height, "scale": 1}
        answer = self.cdp("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
        with open(path, "wb") as file:
            file.write(base64.b64decode(answer["data"]))
