"""The live pages of a master with made-up documents, for the browser test: site.html as mrmaster serves it.

`fixture_site.py SAMPLES_DIRECTORY [PORT]` serves them until it ends, to look at; the test uses Site.
"""

import hashlib
import base64
import json
import os
import queue
import re
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import fixture_documents

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
REPORT = os.path.join(ROOT, "common", "report", "page")
PAGES = os.path.join(ROOT, "master", "web", "page")


def read(*parts):
    with open(os.path.join(*parts), encoding="utf-8") as file:
        return file.read()


def scripts(directory, leave_out=()):
    return "".join(read(directory, name) for name in read(directory, "files.txt").split() if name not in leave_out)


def hash_of(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


class Site:
    """A server on a port of its own. `documents` has a document per source, such as "api/v1/cluster"; set() replaces
    one, and tells the open pages. `down` makes it refuse everything."""

    def __init__(self, documents, prefix="/", port=0):
        self.prefix = prefix  # the path of a reverse proxy that the pages are below
        self.documents = {}
        self.logs = {}  # per attempt: the end of its log that the master keeps
        self.final = set()
        self.lock = threading.Lock()
        self.streams = []  # (source, queue)
        self.requests = []  # paths, in their order
        self.down = False
        self.signed_out = False
        self.style = read(REPORT, "style.css") + read(PAGES, "site.css")
        self.script = ("(() => {\n\"use strict\";\n" + scripts(REPORT, ["start.js"]) + scripts(PAGES) + "})();\n")
        self.html = read(PAGES, "site.html")
        for source, document in documents.items():
            self.set(source, document)
        handler = type("Handler", (Handler,), {"site": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", port), handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # a browser that ends leaves broken connections
        self.base = f"http://127.0.0.1:{self.server.server_address[1]}{prefix}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def close(self):
        self.cut()
        self.server.shutdown()
        self.server.server_close()

    def set(self, source, document, final=False):
        text = json.dumps(document)
        etag = '"' + hashlib.sha256(text.encode()).hexdigest()[:16] + '"'
        with self.lock:
            self.documents[source] = (text, etag)
            self.final.discard(source)
            if final:
                self.final.add(source)
            self.tell(source, "changed", {"etag": etag.strip('"')})
            if final:
                self.tell(source, "final", {})

    def forget(self, source):
        with self.lock:
            self.documents.pop(source, None)
            self.tell(source, "gone", {})

    def tell(self, source, name, data):
        for of, stream in self.streams:
            if of == source:
                stream.put(f"event: {name}\ndata: {json.dumps(data)}\n\n")

    def cut(self):
        """Ends all event streams."""
        with self.lock:
            for _, stream in self.streams:
                stream.put(None)
            self.streams.clear()

    def open_streams(self):
        with self.lock:
            return len(self.streams)

    def document(self, source):
        """Returns (text, etag) or None. Lists of jobs have a filter."""
        path, _, query = source.partition("?")
        with self.lock:
            if source in self.documents:
                return self.documents[source]
            if path == "api/v1/jobs" and "api/v1/jobs" in self.documents:
                return self.jobs(urllib.parse.parse_qs(query))
            if path == "api/v1/search":
                return self.search(urllib.parse.parse_qs(query).get("q", [""])[0])
        return None

    def jobs(self, query):
        jobs = json.loads(self.documents["api/v1/jobs"][0])["jobs"]
        states = query.get("state", [""])[0].upper().split(",")
        name = query.get("name", [""])[0]
        jobs = [j for j in jobs if j["state"] in states and name in j["name"]]
        if "before" in query:
            jobs = [j for j in jobs if j["id"] < query["before"][0]]
        page = {"version": 1, "jobs": jobs[:100], "next": jobs[99]["id"] if len(jobs) > 100 else None}
        text = json.dumps(page)
        return text, '"' + hashlib.sha256(text.encode()).hexdigest()[:16] + '"'

    def search(self, text):
        found = []
        for job in json.loads(self.documents["api/v1/jobs"][0])["jobs"] if "api/v1/jobs" in self.documents else []:
            if text in job["name"] or text in job["id"]:
                found.append({"kind": "job", "id": job["id"], "text": f"{job['name']} {job['state']}"})
        return json.dumps({"version": 1, "results": found[:20]}), None

    def page(self, view, name, root, source):
        got = self.document(source) if source else None
        text, etag = got if got else (json.dumps(fixture_documents.error(f"there is no {name or 'page'} here")), None)
        page = {"view": view if got else "missing", "id": name, "root": root, "source": source if got else None,
                "release": "sample", "etag": etag}
        values = {"{{title}}": "Paceline", "{{style}}": self.style, "{{script}}": self.script,
                  "{{page}}": json.dumps(page).replace("<", "\\u003c"), "{{document}}": text.replace("<", "\\u003c")}
        return got is not None, re.sub(r"\{\{\w+\}\}", lambda m: values[m.group()], self.html)


class Handler(BaseHTTPRequestHandler):
    site = None
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, kind, text, headers=()):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        site = self.site
        site.requests.append(self.path)
        if site.down:
            return self.answer(503, "application/json", json.dumps(fixture_documents.error("the master starts")))
        if not self.path.startswith(site.prefix):
            return self.answer(404, "text/plain", "not below the prefix of the proxy")
        whole = self.path[len(site.prefix):]
        path, _, query = whole.partition("?")
        if site.signed_out:
            return self.answer(401, "application/json", json.dumps(fixture_documents.error("the session has ended")))
        if path == "api/v1/events":
            return self.events("api/v1/" + urllib.parse.parse_qs(query)["of"][0])
        if path.startswith("api/v1/attempts/") and path.endswith("/log"):
            log = site.logs.get(path.split("/")[3])
            if log is None:
                return self.answer(404, "application/json", json.dumps(fixture_documents.error(
                    f"the master keeps no log of {path.split('/')[3]}")))
            return self.answer(200, "text/plain; charset=utf-8", log, [("X-Content-Type-Options", "nosniff")])
        if path.startswith("api/"):
            got = site.document(whole)
            if got is None:
                return self.answer(404, "application/json", json.dumps(fixture_documents.error("not found")))
            if got[1] and self.headers.get("If-None-Match") == got[1]:
                return self.answer(304, "application/json", "")
            return self.answer(200, "application/json", got[0], [("ETag", got[1])] if got[1] else [])
        kinds = {"jobs/": ("job", "api/v1/jobs/{}/report"), "workers/": ("worker", "api/v1/workers/{}")}
        for start, (view, source) in kinds.items():
            if path.startswith(start):
                name = urllib.parse.unquote(path[len(start):])
                return self.send_page(view, name, "../", source.format(name))
        views = {"": ("cluster", "api/v1/cluster"), "store": ("store", "api/v1/store"),
                 "scheduler": ("scheduler", "api/v1/scheduler"),
                 "history": ("history", "api/v1/jobs?state=succeeded,failed,killed")}
        view, source = views.get(path, ("missing", None))
        return self.send_page(view, None, "", source)

    def send_page(self, view, name, root, source):
        site = self.site
        found, html = site.page(view, name, root, source)
        policy = (f"default-src 'none'; style-src {hash_of(site.style)}; script-src {hash_of(site.script)}; "
                  "img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
        self.answer(200 if found else 404, "text/html; charset=utf-8", html, [("Content-Security-Policy", policy)])

    def events(self, source):
        site = self.site
        stream = queue.Queue()
        got = site.document(source)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Connection", "close")
        self.end_headers()
        with site.lock:
            site.streams.append((source, stream))
        self.close_connection = True
        try:
            self.wfile.write(b"retry: 300\n\n")
            if got is None:
                self.wfile.write(b"event: gone\ndata: {}\n\n")
            elif source in site.final:
                self.wfile.write(b"event: final\ndata: {}\n\n")
            else:
                self.wfile.write(f"event: changed\ndata: {json.dumps({'etag': got[1].strip(chr(34))})}\n\n".encode())
            self.wfile.flush()
            while True:
                try:
                    text = stream.get(timeout=0.5)
                except queue.Empty:
                    text = ": still here\n\n"
                if text is None:
                    break
                self.wfile.write(text.encode())
                self.wfile.flush()
        except OSError:
            pass
        with site.lock:
            site.streams = [s for s in site.streams if s[1] is not stream]


def main(samples, port):
    site = Site(fixture_documents.documents("busy", samples), port=port)
    print(site.base)
    report = fixture_documents.sample(samples, "medium")
    at = 0
    while True:
        at = (at + 1000) % 200
        site.set("api/v1/jobs/job_1_0001/report", fixture_documents.at(report, at / 200))
        time.sleep(1)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0)
