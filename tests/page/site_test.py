"""Opens the live pages of a master in a real browser: `site_test.py BUILD_DIRECTORY [LINK PATH...]`.

With a link of `mrctl page`: the paths of a running mrmaster, in light and dark, wide and narrow. Without one: the same of made-up
documents (fixture_site.py), and what only those can show: updates, lost connections, hidden tabs, hostile names. Leaves
screenshots in BUILD_DIRECTORY/screenshots. Needs the pages of page_samples there.
"""

import json
import os
import sys
import tempfile
import urllib.request

import fixture_documents
from browser import Browser, Driver
from checks import PAINT, axe_source, expect, failures, inert, look, wait_for
from fixture_site import Site

JOB = "api/v1/jobs/job_1_0001/report"
SHOWN = """const state = document.querySelector(".connection").textContent;
  const cells = document.querySelector(".racks");
  return /Live|Final/.test(state) && (!cells || !cells.querySelector("details[open] > .cells:empty"));"""
CONNECTION = "return document.querySelector('.connection').textContent"
LOST = "const n = document.querySelector('.lost-note'); return n.hidden ? '' : n.textContent"
HIDE = """Object.defineProperty(document, "hidden", {configurable: true, get: () => arguments[0]});
  document.dispatchEvent(new Event("visibilitychange"));"""
COUNT = "return document.querySelector('#attempts .count').textContent"
# The longest task since this ran is in window.longest; 0 if none took 50 ms.
WATCH = """window.longest = 0;
  new PerformanceObserver((list) => {
    for (const e of list.getEntries()) window.longest = Math.max(window.longest, e.duration);
  }).observe({type: "longtask"});"""


def looks(driver, shots, samples, axe):
    pages = {"busy": {"cluster": "", "worker": "workers/w2", "store": "store", "history": "history",
                      "scheduler": "scheduler", "job-failed": "jobs/job_1_0002"},
             "large": {"cluster-1000": "", "store-1000": "store"},
             "none": {"cluster-none": "", "history-none": "history", "store-none": "store"},
             "hostile": {"cluster-hostile": "", "worker-hostile": "workers/w2", "store-hostile": "store",
                         "history-hostile": "history", "scheduler-hostile": "scheduler",
                         "job-hostile": "jobs/job_1_0004"}}
    for documents, paths in pages.items():
        site = Site(fixture_documents.documents(documents, samples), prefix="/proxy/of/cluster/")
        try:
            site.set(JOB, fixture_documents.at(fixture_documents.sample(samples, "medium"), 0.5))
            if documents == "busy":
                paths["job-running"] = "jobs/job_1_0001"
                for name, path in (("missing-job", "jobs/job_9_9999"), ("missing-page", "nowhere")):
                    look(driver, site.base + path, "site-" + name, shots, axe, allowed=["404 (Not Found)"])
            for name, path in paths.items():
                look(driver, site.base + path, "site-" + name, shots, axe, SHOWN)
                if documents == "hostile":
                    with Browser(driver, 1400, 1000, False) as browser:
                        browser.open(site.base + path)
                        wait_for(lambda b=browser: b.run(SHOWN), f"{name}: all is shown")
                        inert(browser, name)
        finally:
            site.close()


def updates(driver, site, samples):
    """A report that grows and ends keeps what its reader does."""
    report = fixture_documents.sample(samples, "medium")
    site.set(JOB, fixture_documents.at(report, 0.5))
    with Browser(driver, 1400, 1000, False) as browser:
        browser.open(site.base + "jobs/job_1_0001")
        wait_for(lambda: browser.run(SHOWN), "updates: the page is live")
        follow = "return [...document.querySelectorAll('#timeline button')].find((b) => b.textContent === 'Follow')"
        expect(browser.run(follow + ".getAttribute('aria-pressed')") == "true", "updates: the timeline follows the job")
        browser.run("""const grid = document.querySelector("#attempts .grid-frame");
          grid.scrollTop = 500;""")
        wait_for(lambda: browser.run("""const row = document.querySelectorAll("#attempts tbody button")[8];
          return Number(row.closest("tr").dataset.index) > 15 && (row.click(), true)"""), "updates: the table scrolls")
        browser.run("""document.querySelector("#attempts tbody .selected button").focus();
          document.querySelector("#timeline .frame").dispatchEvent(
              new KeyboardEvent("keydown", {key: "+", bubbles: true}));
          getSelection().selectAllChildren(document.querySelector("h1"));
          for (const s of ["h1", "#stages table", "#details .terms", "#attempts tbody .selected td:last-child"]) {
            document.querySelector(s).mark = "kept";
          }
          document.querySelector("#graph details").open = true;
          window.scrollTo(0, 700);""")
        kept = """return [document.activeElement.dataset.key, String(getSelection()),
          document.querySelector("#attempts .grid-frame").scrollTop, document.querySelector("#details h2").textContent,
          document.querySelector("#graph details").open,
          Math.round(document.querySelector("#timeline").getBoundingClientRect().top), location.hash, ...
          ["h1", "#stages table", "#details .terms", "#attempts tbody .selected td:last-child"].map(
              (s) => document.querySelector(s).mark)]"""
        before, count = browser.run(kept), browser.run(COUNT)
        expect(before[0] and before[1] == "words" and before[2] == 500 and before[7:] == ["kept"] * 4,
               f"updates: the page is as it was prepared: {before}")
        site.set(JOB, fixture_documents.at(report, 0.7))
        wait_for(lambda: browser.run(COUNT) != count, "updates: new attempts are shown")
        after = browser.run(kept)
        expect(after == before, f"updates: focus, selection, scroll and elements stay: {before} {after}")
        expect(browser.run(follow + ".getAttribute('aria-pressed')") == "false", "updates: a zoom ends the following")
        browser.run(follow + ".click()")
        wait_for(lambda: browser.run(follow + ".getAttribute('aria-pressed')") == "true", "updates: Follow follows")
        zoom = """document.querySelector("#timeline .frame").dispatchEvent(
            new KeyboardEvent("keydown", {key: arguments[0], bubbles: true}))"""
        browser.run(zoom, "+")
        wait_for(lambda: browser.run(follow + ".getAttribute('aria-pressed')") == "false", "updates: until a zoom")
        browser.run(zoom, "0")
        wait_for(lambda: browser.run(follow + ".getAttribute('aria-pressed')") == "true",
                 "updates: the whole job is followed, too")
        site.set(JOB, report, final=True)
        wait_for(lambda: "Final" in browser.run(CONNECTION), "updates: the connection is final")
        expect("SUCCEEDED" in browser.run("return document.querySelector('.states').textContent + document.title"),
               "updates: the end of the job is shown")
        expect("SUCCEEDED" in browser.run("return document.querySelector('[aria-live=polite]').textContent"),
               "updates: the end of the job is said")
        after = browser.run(kept)
        expect(after[:7] == before[:7], f"updates: the end of the job keeps them, too: {before} {after}")
        wait_for(lambda: site.open_streams() == 0, "updates: the stream is closed")
        for line in browser.log():
            expect(False, f"updates: console: {line}")


def links(driver, site, samples):
    """Addresses of attempts and tasks select them."""
    report = fixture_documents.sample(samples, "medium")
    site.set(JOB, report)
    attempts = report["report"]["attempts"]
    two = next(a for a in attempts if a["number"] == 2 and a["won"])
    for linked in (two["id"], two["id"].replace("attempt", "task").rpartition("_")[0]):
        with Browser(driver, 1400, 1000, False) as browser:
            browser.open(site.base + "jobs/job_1_0001#" + linked)
            text = browser.run("const d = document.getElementById('details'); return d.hidden ? '' : d.textContent")
            expect(two["id"] in text, f"links: {linked} is selected: {text[:80]}")
    with Browser(driver, 1400, 1000, False) as browser:
        browser.open(site.base + "workers/w1")
        href = browser.run("return document.querySelector('#why a[href*=attempt]').href")
        expect(href == site.base + "jobs/job_1_0001#attempt_1_0001_0_m_000000_1", f"links: of ids in texts: {href}")


def logs(driver, site):
    """The end of a failed attempt's log is read in its details; without one they have the command."""
    names = [f"attempt_1_0001_1_r_000001_{n}" for n in (4, 3)]
    site.logs[names[0]] = "reading row 17\n" * 400 + "no such column \u202e<b>price</b>\n"
    with Browser(driver, 1400, 1000, False) as browser:
        text = "const d = document.getElementById('details'); return d.hidden ? '' : d.innerText"
        for name in names:
            browser.open(site.base + "jobs/job_1_0002#" + name)
            wait_for(lambda n=name: n in browser.run(text), f"logs: {name} is selected")
            browser.run("document.querySelector('#details [data-key=log]').focus()")
            browser.keys("Enter")
            if name in site.logs:
                wait_for(lambda: "no such column \\u202e<b>price</b>" in browser.run(text), "logs: the end is shown")
                expect(browser.run("const l = document.querySelector('.log'); return l.scrollTop > 0"),
                       "logs: its last lines are in view")
                href = browser.run("return document.querySelector('[data-key=log-text]').href")
                expect(href == f"{site.base}api/v1/attempts/{name}/log", f"logs: there is a link to the text: {href}")
                expect(browser.run("return document.activeElement.dataset.key") == "log", "logs: the focus stays")
            else:
                wait_for(lambda n=name: f"mrctl logs {n}" in browser.run(text), "logs: without one, the command")
                expect("keeps no log" in browser.run(text), "logs: and what the master answered")
        log = [line for line in browser.log() if "404" not in line]
        expect(not log, f"logs: console: {log}")


def overview(driver, site):
    """Who holds the slots: a column of the jobs, and a chart by job with links."""
    with Browser(driver, 1400, 1000, False) as browser:
        browser.open(site.base)
        wait_for(lambda: browser.run(SHOWN), "overview: the page is live")
        slots = browser.run("""const i = [...document.querySelectorAll("#jobs thead th")].findIndex(
            (th) => th.textContent.startsWith("Slots"));
          return [...document.querySelectorAll("#jobs tbody tr")].map((tr) => Number(tr.children[i].textContent))""")
        busy = browser.run("return document.querySelector('header .tiles dd').textContent")
        expect(f"{sum(slots)} of " in busy, f"overview: jobs hold the busy slots: {slots} {busy}")
        jobs = browser.run("""return [...document.querySelectorAll("#slots .job-legend li")].map(
            (li) => [li.querySelector("a").getAttribute("href"), Number(/ (\\d+) slot/.exec(li.textContent)[1])])""")
        expect(jobs and jobs == sorted(jobs, key=lambda j: -j[1]) and sum(j[1] for j in jobs) == sum(slots) and
               all("jobs/job_1_" in j[0] for j in jobs), f"overview: the chart has the jobs with their slots: {jobs}")
        areas = browser.run("return document.querySelectorAll('#slots .job-area').length")
        expect(areas == len(jobs), f"overview: each has an area: {areas}")


def worker(driver, site):
    """The attempts that ended are a table, the latest first, with links."""
    with Browser(driver, 1400, 1000, False) as browser:
        browser.open(site.base + "workers/w2")
        rows = browser.run("""return [...document.querySelectorAll("#ended tbody tr")].map(
            (tr) => [...tr.children].map((c) => c.textContent))""")
        expect(len(rows) == 100 and [r[0] for r in rows] == sorted((r[0] for r in rows), reverse=True),
               f"worker: a hundred attempts, the latest first: {rows[:2]}")
        expect(rows[2][1:4] == ["logs of may", "extract 2", "1"] and "no such column" in rows[2][6],
               f"worker: job, task, attempt and outcome: {rows[2]}")
        hrefs = browser.run("""const links = document.querySelectorAll("#ended tbody tr:nth-child(3) a");
          return [...links].map((a) => a.href)""")
        job = site.base + "jobs/job_1_0800"
        expect(hrefs == [job, job + "#task_1_0800_0_m_000002", job + "#attempt_1_0800_0_m_000002_1"],
               f"worker: with links: {hrefs}")


def store(driver, site):
    """Warnings come first; a store without any says so in a sentence."""
    source = "api/v1/store"
    document = json.loads(site.document(source)[0])
    notes = """const h = document.querySelector("header");
      return [...h.querySelectorAll(".note li, h1 + p")].map((n) => n.textContent)"""
    with Browser(driver, 1400, 1000, False) as browser:
        document["store"]["workers"][0]["used_bytes"] = document["store"]["workers"][0]["capacity_bytes"]
        site.set(source, document)
        browser.open(site.base + "store")
        said = browser.run(notes)
        expect([s.split()[:3] for s in said] == [["1", "block", "is"], ["12", "blocks", "have"], ["The", "disk", "of"]],
               f"store: what is missing comes first: {said}")
        document["store"] = {**document["store"], "missing": 0, "under_replicated": 0, "copying": 0}
        document["store"]["workers"][0]["used_bytes"] = 0
        site.set(source, document)
        browser.open(site.base + "store")
        said = browser.run(notes)
        expect(said == ["\u2713All blocks have the replicas that their files ask for."], f"store: all is well: {said}")


def scheduler(driver, site):
    with Browser(driver, 1400, 1000, False) as browser:
        browser.open(site.base + "scheduler")
        cards = browser.run("return [...document.querySelectorAll('#policies .card')].map((c) => c.children.length)")
        expect(len(cards) == 3 and min(cards) > 1, f"scheduler: no card is empty: {cards}")
        causes = browser.run("return [...document.querySelectorAll('#causes tbody tr')].length")
        expect(causes == 3, f"scheduler: causes without an attempt are left out: {causes}")
        expect("own" in browser.run("return document.querySelector('#policies').textContent"),
               "scheduler: a policy without a text is named")


def connection(driver, site):
    """Lost connections, hidden tabs, pauses and documents that are gone."""
    cluster = "api/v1/cluster"
    rng_document = fixture_documents.documents("none", None)[cluster]

    def change(busy):
        rng_document["cluster"]["slots"] = {"total": 100, "busy": busy}
        site.set(cluster, rng_document)

    with Browser(driver, 1400, 1000, False) as browser:
        shows = lambda busy: f"{busy} of 100" in browser.run("return document.body.innerText")
        change(1)
        browser.open(site.base)
        wait_for(lambda: browser.run(SHOWN), "connection: the page is live")
        change(2)
        wait_for(lambda: shows(2), "connection: a change is shown")
        site.down = True
        site.cut()
        wait_for(lambda: "Connection lost at" in browser.run(LOST), "connection: its loss is said")
        expect(shows(2), "connection: the data stay")
        site.down = False
        wait_for(lambda: browser.run(LOST) == "", "connection: its return is said", 60)
        change(3)
        wait_for(lambda: shows(3), "connection: changes are shown again")
        browser.run(HIDE, True)
        wait_for(lambda: site.open_streams() == 0, "connection: a hidden tab has none")
        change(4)
        asked = len(site.requests)
        browser.run(HIDE, False)
        wait_for(lambda: shows(4), "connection: a tab that is visible again is brought up to date")
        expect(sum(path.endswith(cluster) for path in site.requests[asked:]) <= 2, "connection: by one fetch")
        wait_for(lambda: site.open_streams() == 1, "connection: and gets one stream")
        browser.run("document.querySelector('.pause').click()")
        wait_for(lambda: site.open_streams() == 0, "connection: a paused page has none")
        expect("Paused" in browser.run(CONNECTION), "connection: a pause is said")
        change(5)
        browser.run("document.querySelector('.pause').click()")
        wait_for(lambda: shows(5), "connection: a resumed page is brought up to date")
        site.signed_out = True
        site.cut()
        wait_for(lambda: "run mrctl page" in browser.run(LOST), "connection: the end of the session is said", 60)
        expect(shows(5), "connection: the state of then stays")
        site.signed_out = False
        browser.open(site.base)
        wait_for(lambda: browser.run(SHOWN), "connection: the page is live again")
        site.forget(cluster)
        wait_for(lambda: "no longer knows" in browser.run(LOST), "connection: what is gone is said")
        expect(shows(5), "connection: the last state stays")


def search(driver, site):
    with Browser(driver, 1400, 1000, False) as browser:
        browser.open(site.base + "store")
        browser.run("document.querySelector('.find input').focus()")
        browser.keys(*"wordc")
        wait_for(lambda: browser.run("return document.querySelectorAll('.found a').length") > 2, "search: lists jobs")
        browser.keys("ArrowDown", "Enter")
        wait_for(lambda: "/jobs/job_1_" in browser.run("return location.href"), "search: Enter follows a result")
        for typed, path in (("w2", "/workers/w2"), ("attempt_1_0003_0_m_000000_1",
                                                    "/jobs/job_1_0003#attempt_1_0003_0_m_000000_1")):
            browser.open(site.base + "scheduler")
            browser.run("document.querySelector('.find input').focus()")
            browser.keys(*typed, "Enter")
            wait_for(lambda p=path: browser.run("return location.href").endswith(p), f"search: {typed} leads to {path}")


def history(driver, site):
    with Browser(driver, 1400, 1000, False) as browser:
        states = """return [...new Set([...document.querySelectorAll("#ended .badge")].map(
            (b) => b.lastChild.textContent))]"""
        count = "return document.querySelector('.count').textContent"
        browser.open(site.base + "history")
        wait_for(lambda: browser.run(SHOWN), "history: the page is live")
        first = browser.run("return document.querySelector('#ended tbody a').href")
        press = """[...document.querySelectorAll("#ended button")].find(
            (b) => b.textContent === arguments[0]).click()"""
        browser.run(press, "Older")
        wait_for(lambda: browser.run("return document.querySelector('#ended tbody a').href") != first,
                 "history: Older shows older jobs")
        expect("before=" in browser.run("return location.search"), "history: the address says from where")
        browser.run("history.back()")
        wait_for(lambda: browser.run("return document.querySelector('#ended tbody a').href") == first,
                 "history: the way back shows the newest")
        browser.run("""const s = document.querySelector("#ended select");
          s.value = "failed"; s.dispatchEvent(new Event("change"));""")
        wait_for(lambda: browser.run(states) == ["FAILED"], "history: only failed jobs are shown")
        browser.open(site.base + "history?state=killed&name=logs")
        wait_for(lambda: browser.run(states) == ["KILLED"], "history: the address has the filter")
        expect(browser.run("return document.querySelector('#ended input').value") == "logs",
               "history: the filter is shown")
        expect("jobs" in browser.run(count), "history: jobs are counted")


def frame(driver, site):
    """What all pages have: the skip link, the theme, and paper."""
    with Browser(driver, 1400, 1000, False) as browser:
        browser.open(site.base + "scheduler")
        browser.keys("Tab", "Enter")
        expect(browser.run("return document.activeElement.id") == "content",
               "frame: the skip link leads to the content")
        theme = "return document.documentElement.dataset.theme"
        browser.run("""const s = document.querySelector(".status select");
          s.value = "dark"; s.dispatchEvent(new Event("change"));""")
        expect(browser.run(theme) == "dark", "frame: the theme changes")
        browser.open(site.base + "store")
        expect(browser.run(theme) == "dark", "frame: other pages have it, too")
        browser.run("""addEventListener("beforeprint", () => {
          window.printed = document.documentElement.dataset.theme + document.querySelectorAll(".grid tbody tr").length;
        });""")
        pages = browser.cdp("Page.printToPDF", {})["data"]
        expect(len(pages) > 1000 and browser.run("return window.printed").startswith("light"), "frame: paper is light")
        expect(browser.run(theme) == "dark", "frame: the theme comes back")
        browser.open(site.base + "jobs/%zz")
        expect("%zz" in browser.run("return document.querySelector('h1').textContent"),
               "frame: an address that is not encoded right has a page")


def workers(driver, samples):
    """A thousand workers: one cell each, of which only those change that must, and the arrows move between them."""
    documents = fixture_documents.documents("large", samples)
    site = Site(documents)
    try:
        with Browser(driver, 1400, 1000, False) as browser:
            browser.open(site.base)
            cells = "return document.querySelectorAll('.racks a.cell').length"
            wait_for(lambda: browser.run(cells) == 1000, "workers: each has a cell")
            paint = browser.run_async(PAINT)
            browser.run(WATCH)
            browser.run("""document.querySelector(".rack a.cell").focus();
              for (const c of document.querySelectorAll(".racks a.cell, #jobs tr, .rack")) c.mark = "kept";
              window.touched = new Set();
              new MutationObserver((list) => list.forEach(({target}) => {
                if (target.closest && target.closest("a.cell")) window.touched.add(target);
              })).observe(document.querySelector(".racks"),
                  {subtree: true, childList: true, attributeFilter: ["class", "style", "title"]});""")
            browser.keys("ArrowRight", "ArrowDown")
            focused = browser.run("return document.activeElement.getAttribute('aria-label')")
            expect("slots busy" in focused, f"workers: the arrows move between cells: {focused}")
            list_of = documents["api/v1/workers"]["workers"]
            list_of[0]["state"] = "lost"
            documents["api/v1/cluster"]["cluster"]["slots"]["busy"] += 1
            site.set("api/v1/workers", documents["api/v1/workers"])
            first = """return document.querySelector(".racks a[href$='workers/w1']").getAttribute("aria-label")"""

            def told():
                for job in documents["api/v1/cluster"]["cluster"]["open"]:
                    job["elapsed_us"] += 1_000_000
                site.set("api/v1/cluster", documents["api/v1/cluster"])
                return "lost" in browser.run(first)

            wait_for(told, "workers: a lost one is shown")
            expect(browser.run("""return [...document.querySelectorAll(".racks a.cell, #jobs tr, .rack")].every(
                (c) => c.mark === "kept")"""), "workers: no element is made again")
            expect(browser.run("return document.activeElement.getAttribute('aria-label')") == focused,
                   "workers: the focus stays")
            touched = browser.run("return [...window.touched].map((c) => c.getAttribute('aria-label'))")
            expect(len(touched) == 1, f"workers: no other cell changes: {touched[:3]}")
            print(f"1,000 workers: first paint {paint:.0f} ms, longest task of updates "
                  f"{browser.run('return window.longest'):.0f} ms")
    finally:
        site.close()


def sorting(driver, site):
    with Browser(driver, 1400, 1000, False) as browser:
        browser.open(site.base)
        wait_for(lambda: browser.run(SHOWN), "sorting: the page is live")
        states = "return [...document.querySelectorAll('#jobs .badge')].map((b) => b.lastChild.textContent)"
        browser.run("document.querySelector('#jobs tbody tr:nth-child(4) a').focus()")
        focused = browser.run("return document.activeElement.href")
        before = browser.run(states)
        browser.run("document.querySelectorAll('#jobs thead button')[1].click()")
        wait_for(lambda: browser.run(states) == sorted(before), "sorting: jobs are in the order of their states")
        expect(before != sorted(before), "sorting: they were not before")
        expect(browser.run("return document.activeElement.href") == focused, "sorting: the focus stays")
        expect(browser.run("return document.querySelectorAll('#jobs thead th')[1].getAttribute('aria-sort')") ==
               "ascending", "sorting: the header says so")


def sparse(driver, samples):
    """Documents of another release may lack members."""
    documents = fixture_documents.documents("busy", samples)
    job = {"id": "job_1_0001", "state": "SOMETHING"}
    bare = {"api/v1/cluster": {"cluster": {"open": [job], "racks": [{"id": "r"}], "queues": [{"id": "q"}]}},
            "api/v1/workers": {"workers": [{"id": "w1"}]}, "api/v1/store": {"store": {"workers": [{"id": "w1"}]}},
            "api/v1/scheduler": {"scheduler": {"policies": [{"id": "new"}], "figures": [{"id": "f"}],
                                               "causes": [{"cause": "new"}]}},
            "api/v1/workers/w1": {"workers": [{"id": "w1", "state": "new", "running": [{"id": "attempt_1_1_0_m_1_1"}],
                                               "drain": {}}]}}
    site = Site({**documents, **{source: {"version": 2, "new": 1, **given} for source, given in bare.items()}})
    try:
        for path in ("", "store", "scheduler", "workers/w1"):
            with Browser(driver, 1400, 1000, False) as browser:
                browser.open(site.base + path)
                wait_for(lambda b=browser: b.run(SHOWN), f"sparse, /{path}: all is shown")
                browser.run("for (const d of document.querySelectorAll('details')) d.open = true;")
                text = browser.run("return document.title + document.body.innerText")
                for mark in ("undefined", "NaN", "[object"):
                    at = text.find(mark)
                    expect(at < 0, f"sparse, /{path}: {text[max(0, at - 60):at + 20]!r}")
                for line in browser.log():
                    expect(False, f"sparse, /{path}: console: {line}")
    finally:
        site.close()


def growth(driver, site, samples):
    """A job that grows to 10,000 attempts. Prints times, which it does not judge."""
    report = fixture_documents.sample(samples, "large")
    site.set(JOB, fixture_documents.at(report, 0.4))
    with Browser(driver, 1400, 1000, False) as browser:
        browser.open(site.base + "jobs/job_1_0001")
        wait_for(lambda: browser.run(SHOWN), "growth: the page is live")
        paint = browser.run_async(PAINT)
        browser.run(WATCH)
        for step in range(1, 6):
            elapsed = ("return [...document.querySelectorAll('header .terms dt')]"
                       ".find((t) => t.textContent === 'Elapsed').nextElementSibling.textContent")
            count = browser.run(elapsed)
            site.set(JOB, fixture_documents.at(report, 0.4 + step / 15))
            wait_for(lambda c=count: browser.run(elapsed) != c, f"growth: step {step} is shown")
        print(f"10,000 attempts: first paint {paint:.0f} ms, longest task of updates "
              f"{browser.run('return window.longest'):.0f} ms")


def log_in(link):
    """Exchanges a link for its session. Returns the base URL and the cookie."""
    with urllib.request.urlopen(link) as answer:
        name, value = answer.headers["Set-Cookie"].split(";")[0].split("=", 1)
    return link[:link.rindex("/") + 1], (name, value)


def main(build, link, paths):
    shots = os.path.join(build, "screenshots")
    os.makedirs(shots, exist_ok=True)
    driver = Driver()
    try:
        with tempfile.TemporaryDirectory() as scratch:
            axe = axe_source(scratch)
        if link:
            base, cookie = log_in(link)
            for path in ["", "history", "scheduler", "store", *paths]:
                look(driver, base + path, "master-" + (path.replace("/", "-") or "cluster"), shots, axe, SHOWN,
                     cookie=cookie)
        else:
            looks(driver, shots, shots, axe)
            for name in ("busy", "large", "none", "hostile"):
                wrong = fixture_documents.contradictions(fixture_documents.documents(name, shots))
                expect(not wrong, f"the documents {name} contradict themselves: {wrong[:5]}")
            site = Site(fixture_documents.documents("busy", shots), prefix="/proxy/")
            try:
                updates(driver, site, shots)
                links(driver, site, shots)
                logs(driver, site)
                overview(driver, site)
                worker(driver, site)
                scheduler(driver, site)
                store(driver, site)
                search(driver, site)
                frame(driver, site)
                sorting(driver, site)
                history(driver, site)
                growth(driver, site, shots)
                connection(driver, site)
            finally:
                site.close()
            workers(driver, shots)
            sparse(driver, shots)
    finally:
        driver.close()
    print(f"{len(failures)} failures; screenshots in {shots}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None, sys.argv[3:]))
