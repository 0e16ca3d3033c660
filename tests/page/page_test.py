"""Opens the page of a report in a real browser: `page_test.py BUILD_DIRECTORY`.

Checks each sample of page_samples in light and dark, wide and narrow: nothing on the console, no rule of axe-core
broken (skipped, saying so, where the package axe-core-python cannot be had), hostile names inert, and the way by
keyboard. Leaves screenshots in BUILD_DIRECTORY/screenshots, and prints times, which it does not judge.
"""

import os
import subprocess
import sys
import tempfile
import zipfile

from browser import Browser, Driver

SAMPLES = ["small", "medium", "large", "failed", "running", "hostile", "empty"]
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
# Scrolls and zooms the timeline for some seconds. The longest task is 0 if none took 50 ms.
SCROLL = """const done = arguments[arguments.length - 1];
  let longest = 0;
  new PerformanceObserver((list) => {
    for (const e of list.getEntries()) longest = Math.max(longest, e.duration);
  }).observe({type: "longtask"});
  const frame = document.querySelector("#timeline .frame");
  const gaps = [];
  let last = performance.now();
  const step = (n) => {
    const now = performance.now();
    gaps.push(now - last);
    last = now;
    frame.scrollTop = n * 37 % Math.max(1, frame.scrollHeight);
    if (n % 40 === 0) frame.dispatchEvent(new KeyboardEvent("keydown", {key: n % 80 ? "+" : "0", bubbles: true}));
    if (n < 240) requestAnimationFrame(() => step(n + 1));
    else setTimeout(() => done([longest, Math.max(...gaps.slice(1)), frame.scrollHeight]), 200);
  };
  requestAnimationFrame(() => step(1));"""

failures = []


def expect(holds, what):
    if not holds:
        failures.append(what)
        print("FAIL", what)


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


def look(driver, page, name, shots, axe):
    for dark in (False, True):
        for width in (1400, 400):
            what = f"{name}, {'dark' if dark else 'light'}, {width} px"
            with Browser(driver, width, 1000, dark) as browser:
                browser.open(page)
                browser.screenshot(os.path.join(shots, f"{name}-{'dark' if dark else 'light'}-{width}.png"))
                expect(browser.run("return document.querySelectorAll('h1').length") == 1, f"{what}: one heading")
                expect(browser.run("return document.documentElement.scrollWidth") <= width, f"{what}: fits the window")
                browser.run(OPEN_ALL)
                if axe is not None:
                    browser.run(axe)
                    for violation in browser.run_async(AXE):
                        expect(False, f"{what}: {violation}")
                for line in browser.log():
                    expect(False, f"{what}: console: {line}")


def hostile(driver, page):
    with Browser(driver, 1400, 1000, False) as browser:
        browser.open(page)
        browser.run(OPEN_ALL)
        expect(browser.run("return document.images.length") == 0, "hostile: no element of a name is made")
        text = browser.run("return document.title + document.body.innerText")
        for mark in ("\u202e", "\x01", "\x1b"):
            expect(mark not in text, f"hostile: {mark!r} is shown as an escape")
        expect("<img src=x" in text, "hostile: names are shown")


def by_keyboard(driver, page):
    with Browser(driver, 1400, 1000, False) as browser:
        browser.open(page)
        focused = "const a = document.activeElement; return a.className + ' ' + a.id + ' ' + a.tagName"
        for _ in range(80):
            browser.keys("Tab")
            if "frame" in browser.run(focused) and browser.run("return !!document.activeElement.closest('#timeline')"):
                break
        expect("frame" in browser.run(focused), "keyboard: Tab reaches the timeline")
        said = []
        for key in ("ArrowRight", "ArrowRight", "ArrowDown", "End", "Home"):
            browser.keys(key)
            said.append(browser.run("return document.querySelector('[aria-live=polite]').textContent"))
        expect(len(set(said)) >= 3 and all(said), f"keyboard: arrows say which attempt they reach: {said}")
        browser.keys("Enter")
        expect(not browser.run("return document.getElementById('details').hidden"), "keyboard: Enter opens the details")
        browser.keys("Escape")
        expect(browser.run("return document.getElementById('details').hidden"), "keyboard: Escape closes them")
        expect("frame" in browser.run(focused), "keyboard: the focus comes back")


def times(driver, pages):
    for name in ("medium", "large"):
        with Browser(driver, 1400, 1000, False) as browser:
            paints = []
            for _ in range(5):
                browser.open(pages[name])
                paints.append(browser.run_async(PAINT))
            longest, gap, height = browser.run_async(SCROLL)
            print(f"{name}: first paint {sorted(paints)[2]:.0f} ms (median of 5); scrolling {height} px, longest task "
                  f"{'below 50' if longest == 0 else f'{longest:.0f}'} ms, longest gap between frames {gap:.0f} ms")


def main(build):
    shots = os.path.join(build, "screenshots")
    os.makedirs(shots, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        axe = axe_source(scratch)
        subprocess.run([os.path.join(build, "bin", "page_samples"), shots], check=True)
        pages = {name: f"file://{os.path.abspath(shots)}/{name}.html" for name in SAMPLES}
        driver = Driver()
        try:
            for name in SAMPLES:
                look(driver, pages[name], name, shots, axe)
            hostile(driver, pages["hostile"])
            by_keyboard(driver, pages["small"])
            times(driver, pages)
        finally:
            driver.close()
    print(f"{len(failures)} failures; screenshots in {shots}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
