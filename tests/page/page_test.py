"""Opens the page of a report in a real browser: `page_test.py BUILD_DIRECTORY`.

Checks each sample of page_samples in light and dark, wide and narrow: nothing on the console, no rule of axe-core
broken (skipped, saying so, where the package axe-core-python cannot be had), hostile names inert, and the way by
keyboard. Leaves screenshots in BUILD_DIRECTORY/screenshots, and prints times, which it does not judge.
"""

import os
import subprocess
import sys
import tempfile

from browser import Browser, Driver
from checks import PAINT, axe_source, expect, failures, inert, look

SAMPLES = ["small", "medium", "large", "failed", "running", "hostile", "empty"]
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

def hostile(driver, page):
    with Browser(driver, 1400, 1000, False) as browser:
        browser.open(page)
        inert(browser, "hostile")


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
