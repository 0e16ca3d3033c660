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


def links(driver, page):
    """Ids in the error lead to the attempt, and to the attempts on a worker."""
    with Browser(driver, 1400, 1000, False) as browser:
        browser.open(page)
        error = "[...document.querySelectorAll('.note.bad a')]"
        expect(browser.run(f"return {error}.map((a) => a.textContent)") == ["attempt_1_0001_1_r_000001_4", "w2"],
               "links: the error has those of its attempt and worker")
        browser.run(f"{error}[0].click()")
        shown = "const d = document.getElementById('details'); return d.hidden ? '' : d.innerText"
        expect("attempt_1_0001_1_r_000001_4" in browser.run(shown), "links: that of the attempt opens its details")
        expect("mrctl logs attempt_1_0001_1_r_000001_4" in browser.run(shown), "links: and the way to its log")
        expect(browser.run("return document.activeElement.id") == "details-title", "links: and the focus")
        browser.run(f"{error}[1].click()")
        workers = browser.run("""const cells = document.querySelectorAll("#attempts tbody td:nth-child(2)");
          return [...new Set([...cells].map((td) => td.textContent))]""")
        expect(workers == ["w2"], f"links: that of the worker filters the attempts: {workers}")
        expect(browser.run("return document.querySelectorAll('#findings a').length") > 0, "links: findings have some")


def plan_and_stages(driver, page):
    with Browser(driver, 1400, 1000, False) as browser:
        browser.open(page)
        hidden = "const s = document.querySelector('#stages .scroll'); return s.scrollWidth - s.clientWidth"
        expect(browser.run(hidden) <= 0, "stages: all columns fit into 1400 pixels")
        rows = browser.run("""return [...document.querySelectorAll("#plan tbody tr")].map(
            (tr) => [...tr.children].map((c) => c.textContent))""")
        expect(rows[0][1:] == ["extract", "12", "text of dfs:///logs/may", "port 0: sorted"],
               f"plan: a stage has its operator, tasks, inputs and outputs: {rows}")
        expect(rows[1][3] == "all to all from extract, grouped", f"plan: edges are said: {rows}")


def legend(driver, page):
    """The legend has the kinds that occur, and no others."""
    with Browser(driver, 1400, 1000, False) as browser:
        browser.open(page)
        shown = browser.run("""return Object.fromEntries([...document.querySelectorAll(".legend > div")].map(
            (g) => [g.querySelector("dt").textContent, [...g.querySelectorAll("dd")].map((d) => d.textContent)]))""")
        expect(shown == {"Phase": ["launch", "map", "shuffle", "reduce"], "Cause": ["clone", "speculative"],
                         "Outcome": ["committed", "killed", "on the critical path"]}, f"legend: {shown}")


def numbers(driver):
    """Numbers of any size have units that people read."""
    given = {"percent(0.5)": "50%", "percent(12.3)": "12.3×", "percent(4e6)": "4.0 M×", "times(2.5)": "2.5×",
             "duration(4.32e9)": "1 h 12 min", "duration(9e13)": "2 y 311 d", "duration(5e15)": "158 y 200 d",
             "bytes(3.4 * 1048576)": "3.4 MiB", "compact(12345678)": "12.3 M"}
    with open(os.path.join(os.path.dirname(__file__), "../../common/report/page/text.js"), encoding="utf-8") as file:
        script = file.read()
    with Browser(driver, 400, 400, False) as browser:
        for call, text in given.items():
            said = browser.run(f"{script}; return {call}").replace("\u00a0", " ")
            expect(said == text, f"numbers: {call} is {said}, not {text}")


def first_paint(browser, page):
    paints = []
    for _ in range(5):
        browser.open(page)
        paints.append(browser.run_async(PAINT))
    return f"first paint {sorted(paints)[2]:.0f} ms (median of 5)"


def times(driver, pages):
    with Browser(driver, 1400, 1000, False) as browser:
        # The limit: a page cannot be faster than one with a single word.
        print(f"a page with one word: {first_paint(browser, 'data:text/html,word')}")
    for name in ("medium", "large"):
        with Browser(driver, 1400, 1000, False) as browser:
            paint = first_paint(browser, pages[name])
            longest, gap, height = browser.run_async(SCROLL)
            print(f"{name}: {paint}; scrolling {height} px, longest task "
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
            links(driver, pages["failed"])
            plan_and_stages(driver, pages["small"])
            legend(driver, pages["small"])
            numbers(driver)
            times(driver, pages)
        finally:
            driver.close()
    print(f"{len(failures)} failures; screenshots in {shots}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
