#!/usr/bin/env python3
"""The metrics of a running master and worker, and what is made for them: alert rules and the dashboard.

    metrics_test.py BIN      BIN: the built programs

promtool checks the pages and the rules. Each metric that a rule or a panel names must be on a page. Without promtool
(Debian: prometheus; ./dev test unpacks it) these checks are skipped.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MONITORING = os.path.join(ROOT, "docker", "prometheus")
SKIPPED = 77

# Histograms that a job must have filled.
FILLED = {"master": ["mr_rpc_handling_seconds", "mr_journal_sync_seconds", "mr_attempt_start_seconds",
                     "mr_attempt_run_seconds"],
          "worker": ["mr_rpc_handling_seconds"]}
# What an operator needs to know of a worker.
POSITIVE = {"worker": ["mr_worker_disk_bytes", "mr_worker_memory_bytes", "mr_worker_memory_available_bytes",
                       "mr_worker_cpus", "mr_worker_task_cpu_seconds_total", "mr_worker_block_bytes",
                       "process_resident_memory_bytes", "process_cpu_seconds_total", "process_open_fds"],
            "master": ["process_resident_memory_bytes", "process_cpu_seconds_total", "process_open_fds"]}


def expect(holds, why):
    if not holds:
        sys.exit("metrics_test: " + why)


def promtool():
    unpacked = os.path.join(ROOT, "build", "promtool", "usr", "bin", "promtool")
    return unpacked if os.path.exists(unpacked) else shutil.which("promtool")


class Daemon:
    """A daemon on any ports of loopback, which ends with this process."""

    def __init__(self, arguments):
        ready, ready_write = os.pipe()
        life_read, self.life = os.pipe()
        self.process = subprocess.Popen(
            arguments + ["--port=0", "--http_port=0", f"--ready_fd={ready_write}", f"--lifeline_fd={life_read}"],
            pass_fds=(ready_write, life_read))
        os.close(ready_write)
        os.close(life_read)
        words = os.read(ready, 100).split()
        os.close(ready)
        expect(len(words) == 3, arguments[0] + " does not start")
        self.port, self.http_port = int(words[1]), int(words[2])

    def page(self, secrets):
        # Without certificates the secret of the HTTP port is the bearer token.
        for name in os.listdir(secrets):
            if not name.startswith(f"127.0.0.1_{self.http_port}_"):
                continue
            with open(os.path.join(secrets, name), encoding="ascii") as file:
                token = re.search(r"^client (.*)$", file.read(), re.M).group(1)
            request = urllib.request.Request(f"http://127.0.0.1:{self.http_port}/metrics",
                                             headers={"Authorization": "Bearer " + token})
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.read().decode()
        return sys.exit(f"metrics_test: no secret of the port {self.http_port}")

    def stop(self):
        os.close(self.life)
        self.process.wait(30)


def value(page, sample):
    found = re.search("^" + re.escape(sample) + r"(?:\{[^}]*\})? (\S+)$", page, re.M)
    return float(found.group(1)) if found else None


def run_job(bin_directory, data):
    secrets = os.path.join(data, "secrets")
    environment = dict(os.environ, MR_SECRET_DIR=secrets, XDG_STATE_HOME=data)
    environment.pop("MR_MASTER", None)
    secret = f"--secret_dir={secrets}"
    master = Daemon([f"{bin_directory}/mrmaster", f"--data={data}/master", secret])
    address = f"127.0.0.1:{master.port}"
    worker = Daemon([f"{bin_directory}/mrworker", f"--data={data}/worker", f"--master={address}", "--slots=2", secret,
                     "--housekeeping=1s"])
    text = os.path.join(data, "text")
    with open(text, "w", encoding="ascii") as file:
        file.write("to be or not to be\n" * 1000)
    mrctl = [f"{bin_directory}/mrctl", "--master", address, "-q"]
    subprocess.run(mrctl + ["fs", "put", text, "/text"], env=environment, check=True)
    subprocess.run(mrctl + ["submit", "wordcount", "--input", "/text", "--output", "/counts"], env=environment,
                   check=True, stdout=subprocess.DEVNULL)
    # Its processes end with the attempt, and their CPU time counts then.
    subprocess.run(mrctl + ["submit", "stream", "--map", "sort", "--input", "/text", "--output", "/sorted"],
                   env=environment, check=True, stdout=subprocess.DEVNULL)
    pages = {"master": master.page(secrets), "worker": worker.page(secrets)}
    worker.stop()
    master.stop()
    return pages


def check_pages(pages, tool):
    for daemon, names in FILLED.items():
        for name in names:
            expect((value(pages[daemon], name + "_count") or 0) > 0, f"{name} of the {daemon} counts nothing")
            expect(value(pages[daemon], name + "_sum") > 0, f"{name} of the {daemon} has no sum")
    for daemon, names in POSITIVE.items():
        for name in names:
            expect((value(pages[daemon], name) or 0) > 0, f"{name} of the {daemon} is not above 0")
    for name in ["mr_worker_log_bytes", "mr_worker_library_bytes", "mr_worker_fetch_seconds_count"]:
        expect(value(pages["worker"], name) is not None, f"the worker has no {name}")
    for daemon, page in pages.items():
        checked = subprocess.run([tool, "check", "metrics"], input=page, text=True, capture_output=True, check=False)
        expect(checked.returncode == 0, f"promtool finds in the metrics of the {daemon}:\n{checked.stderr}")


def check_names(pages):
    # Names of samples, such as NAME_bucket, and those of their metrics.
    known = set(re.findall(r"^(?:# TYPE )?(\w+)(?:\{|\s)", "\n".join(pages.values()), re.M))
    with open(os.path.join(MONITORING, "dashboard.json"), encoding="utf-8") as file:
        panels = json.load(file)["panels"]
    sources = {panel["title"]: " ".join(target["expr"] for target in panel["targets"]) for panel in panels}
    with open(os.path.join(MONITORING, "alerts.yml"), encoding="utf-8") as file:
        sources["alerts.yml"] = file.read()
    for page in ("operating.md", "access.md", "runbook.md"):
        with open(os.path.join(ROOT, "docs", page), encoding="utf-8") as file:
            sources[page] = " ".join(re.findall(r"`[^`]*\bmr_[^`]*`", file.read()))
    for place, text in sources.items():
        for name in re.findall(r"\b(?:mr|process)_\w+\b", text):
            expect(name in known, f"{place} names {name}, which no daemon has")


def check_rules(tool):
    for arguments in (["check", "rules", "alerts.yml"], ["test", "rules", "alerts_test.yml"]):
        ran = subprocess.run([tool] + arguments, cwd=MONITORING, capture_output=True, text=True, check=False)
        expect(ran.returncode == 0, f"promtool {' '.join(arguments)}:\n{ran.stdout}{ran.stderr}")


def main():
    tool = promtool()
    if tool is None:
        print("skipped: no promtool (Debian package prometheus)")
        sys.exit(SKIPPED)
    check_rules(tool)
    with tempfile.TemporaryDirectory() as data:
        pages = run_job(sys.argv[1], data)
    check_names(pages)
    check_pages(pages, tool)


main()
