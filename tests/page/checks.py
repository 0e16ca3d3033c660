"""What the browser tests share: how a failure is noted, and the checks that each page must pass."""

import os
import subprocess
import sys
import time
import zipfile

from browser import Browser

OPEN_ALL = """for (const d of document.querySelectorAll("details")) d.open = true;
  const row = document.querySelector("#attempts tbody button");
  if (row) row.click();"""
AXE = """const done = arguments[arguments.length - 1];
  axe.run(document, {resultTypes: ["violations"]}).then((r) => done(r.violations.map(
      (v) => `${v.id}: ${v.nodes.length} x, first ${v.nodes[0].html.slice(0, 200)}`)));"""
PAINT = """const done = arguments[arguments.length - 1];
  new PerformanceObserver((list) => {
    for (const e of list.getEntries()) if (e.name === "first-contentful-paint") done(e.startTime);
  }).observe({type: "paint", buffered: true});"""

failures = []


def expect(holds, what):
    if not holds:
        failures.append(what)
        print("FAIL", what)


def wait_for(holds, what, seconds=20):
    """Waits until a function returns true. The bound is for a failure: a page that is slow does not fail."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return expect(False, what)
        time.sleep(0.05)


def axe_source(scratch):
    """Returns axe-core's script, or None."""
    got = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", scratch,
                          "axe-core-python==0.1.0"], check=False, capture_output=True, text=True)
    wheels = [name for name in os.listdir(scratch) if name.startswith("axe_core_python")]
    if got.returncode != 0 or not wheels:
        print("SKIP axe-core: axe-core-python cannot be downloaded")
        return None
    with zipfile.ZipFile(os.path.join(scratch, wheels[0])) as wheel:
        return wheel.read("axe_core_python/axe.min.js").decode()


# Lays out the sections below the window, too, which else wait until they come near it.
LAY_OUT = """for (const s of document.querySelectorAll(".main > section")) s.style.contentVisibility = "visible";"""


def look(driver, page, name, shots, axe, ready="return true", allowed=(), cookie=None):
    """Checks a page in light and dark, wide and narrow. ready: a function's body that returns whether all is shown.
    allowed: parts of lines that may be on the console. cookie: (name, value) of a session."""
    for dark in (False, True):
        for width in (1400, 400):
            what = f"{name}, {'dark' if dark else 'light'}, {width} px"
            with Browser(driver, width, 1000, dark) as browser:
                if cookie:
                    browser.cdp("Network.setCookie", {"name": cookie[0], "value": cookie[1], "url": page})
                browser.open(page)
                wait_for(lambda b=browser: b.run(ready), f"{what}: all is shown")
                browser.run(LAY_OUT)
                browser.screenshot(os.path.join(shots, f"{name}-{'dark' if dark else 'light'}-{width}.png"))
                expect(browser.run("return document.querySelectorAll('h1').length") == 1, f"{what}: one heading")
                expect(browser.run("return document.documentElement.scrollWidth") <= width, f"{what}: fits the window")
                browser.run(OPEN_ALL)
                if axe is not None:
                    browser.run(axe)
                    for violation in browser.run_async(AXE):
                        expect(False, f"{what}: {violation}")
                for line in browser.log():
                    expect(any(part in line for part in allowed), f"{what}: console: {line}")


def inert(browser, name):
    """Checks a page that shows hostile names."""
    browser.run(OPEN_ALL)
    expect(browser.run("return document.images.length") == 0, f"{name}: no element of a name is made")
    text = browser.run("return document.title + document.body.innerText")
    for mark in ("\u202e", "\x01", "\x1b"):
        expect(mark not in text, f"{name}: {mark!r} is shown as an escape")
    expect("<img src=x" in text, f"{name}: names are shown")
