"""Made-up documents of a master, for the browser test of the live pages. The same call makes the same documents."""

import json
import os
import random
import re

NOW = 1_790_000_000_000
HOSTILE = "</script><img src=x onerror=alert(1)>{{script}}\u202e\x01\x1b[31m & \"quotes\" <!--"
STATES = ["draining", "away", "excluded", "distrusted", "stalled", "full", "lost"]


def error(message):
    return {"version": 1, "error": {"code": "NOT_FOUND", "message": message, "hint": "mrctl jobs lists all jobs"}}


def sample(directory, name):
    """Returns the report in a page of page_samples."""
    with open(os.path.join(directory, name + ".html"), encoding="utf-8", errors="replace") as file:
        text = re.search(r'id="document">(.*?)</script>', file.read(), re.DOTALL).group(1)
    document = json.loads(text)
    return {"version": 1, "report": document.get("report", document)}


def at(document, share):
    """Returns the report of an ended job as it was when a share of its time had passed."""
    report = dict(document["report"])
    now = int(report["job"]["elapsed_us"] * share)
    new_index = {}
    attempts = []
    for i, a in enumerate(report["attempts"]):
        if a["launched_us"] > now:
            continue
        new_index[i] = len(attempts)
        if a["ended_us"] is not None and a["ended_us"] > now:
            reached = {key: a[key] if a[key] is not None and a[key] <= now else None
                       for key in ("started_us", "inputs_us", "sort_us", "reduce_us")}
            a = {**a, **reached, "ended_us": None, "state": "running", "won": False, "critical": False,
                 "progress": (now - a["launched_us"]) / max(1, a["ended_us"] - a["launched_us"])}
        attempts.append(a)
    report["attempts"] = attempts
    report["attempts_total"] = len(attempts)
    report["decisions"] = [{**d, "attempt": new_index.get(d["attempt"])} for d in report["decisions"]
                           if d["at_us"] <= now]
    report["decisions_total"] = len(report["decisions"])
    report["live"] = True
    report["taken_unix_ms"] = NOW + now // 1000
    stages = [{**s, "done": sum(a["won"] for a in attempts if a["stage"] == i),
               "running": sum(a["state"] == "running" for a in attempts if a["stage"] == i)}
              for i, s in enumerate(report["job"]["stages"])]
    report["job"] = {**report["job"], "state": "RUNNING", "elapsed_us": now, "stages": stages}
    report["critical_path"] = {"us": 0, "segments": [], "segments_total": 0, "shares": []}
    return {"version": 1, "report": report}


def worker(number, racks, rng):
    state = STATES[number % 97 % len(STATES)] if number % 29 == 0 else "live"
    return {"id": f"w{number}", "name": f"node-{number:04}", "state": state, "address": f"10.0.0.{number % 250}:7071",
            "rack": f"rack-{number % racks + 1}", "slots": 4, "busy": 0 if state == "lost" else rng.randrange(5),
            "blocks": rng.randrange(9000), "used_bytes": rng.randrange(1 << 40), "capacity_bytes": 1 << 40,
            "memory_bytes": 64 << 30, "wrong_outputs": 1 if state == "distrusted" else 0,
            "incarnation": f"{number:016x}", "pid": 4000 + number, "labels": [], "safe_to_stop": False}


def stage(name, tasks, done, running, failed=0):
    return {"id": name, "planned": True, "tasks": tasks, "done": done, "running": running, "waiting": 0,
            "failed": failed, "input_bytes": tasks << 26, "taken_bytes": done << 26, "output_bytes": done << 20,
            "output_records": done * 1000, "elapsed_us": 4_000_000}


def job(number, state, rng, name=None):
    tasks = rng.randrange(5, 400)
    done = tasks if state == "SUCCEEDED" else 0 if state == "PENDING" else rng.randrange(tasks)
    running = min(tasks - done, 12) if state == "RUNNING" else 0
    return {"id": f"job_1_{number:04}", "name": name or rng.choice(["wordcount", "logs of may", "join", "sessions"]),
            "state": state, "queue": rng.choice(["default", "reports"]), "priority": 0, "submission_id": "",
            "submitted_unix_ms": NOW + number * 60_000, "elapsed_us": rng.randrange(90_000, 900_000_000), "output": "",
            "output_parts": 0, "output_bytes": 0, "output_records": 0, "output_digest": "0" * 32,
            "error": "stage 'count': attempt failed: no such column 'price'\n  at line 7" if state == "FAILED" else "",
            "last_failure": "", "attempts": {}, "warnings": [], "skew": [],
            "waits": ["queue reports has its maximum of 8 slots"] if state == "PENDING" else [],
            "stages": [stage("extract", tasks, done, running, 1 if state == "FAILED" else 0), stage("count", 12, 0, 0)]
            if state != "SUCCEEDED" else [stage("extract", tasks, tasks, 0), stage("count", 12, 12, 0)],
            **({"deadline": {"deadline_s": 1200.0, "steered": True, "best_effort": False, "predicted": True,
                             "earlier_runs": 3, "input_scale": 1.0, "guaranteed_slots": 6, "held_slots": 6}}
               if number % 5 == 0 else {})}


def attempt(number):
    return {"id": f"attempt_1_0001_0_m_{number:06}_1", "state": "running", "cause": ["first", "clone"][number % 2],
            "worker": "w1", "progress": .25 * (number % 5), "ran_us": 1_200_000 * number, "message": "",
            "reason": "a slot was free, and it was first", "launched_us": 0, "started_us": 1000, "inputs_us": None,
            "sort_us": None, "reduce_us": None, "ended_us": None, "won": False, "failure": ""}


def cluster(workers, open_jobs, ended, rng):
    racks = {}
    for w in workers:
        rack = racks.setdefault(w["rack"], {"id": w["rack"], "workers": 0, "lost": 0, "slots": 0, "busy": 0})
        rack["workers"] += 1
        rack["lost"] += w["state"] == "lost"
        rack["slots"] += w["slots"]
        rack["busy"] += w["busy"]
    states = {}
    for w in workers:
        states[w["state"]] = states.get(w["state"], 0) + 1
    slots, busy = sum(w["slots"] for w in workers), sum(w["busy"] for w in workers)
    count = lambda state: sum(j["state"] == state for j in open_jobs + ended)
    series = [max(0, min(slots, busy + rng.randrange(-3, 4) - (300 - i) * busy // 400)) for i in range(300)]
    return {"version": 1, "cluster": {
        "id": "0123456789abcdef", "release": "sample", "epoch": 1, "address": "127.0.0.1:7070",
        "policies": "fair,dolly,delay_assignment,late", "taken_unix_ms": NOW,
        "warnings": [] if workers else ["no worker is registered: jobs wait"],
        "slots": {"total": slots, "busy": busy}, "workers": states, "racks": list(racks.values()),
        "jobs": {"pending": count("PENDING"), "running": count("RUNNING"), "committing": 0,
                 "succeeded": count("SUCCEEDED"), "failed": count("FAILED"), "killing": 0, "killed": count("KILLED")},
        "attempts": {"live": busy, "launched": 9000, "committed": 8800, "failed": 12, "killed": 140},
        "series": {"period_ms": 1000, "to_unix_ms": NOW, "slots": [slots] * 300, "busy": series,
                   "jobs": [len(open_jobs) if i > 100 else 1 for i in range(300)]},
        "store": store(workers)["store"], "queues": queues() if open_jobs or ended else [],
        "open": open_jobs, "open_left_out": 0 if len(open_jobs) < 200 else 17, "ended": ended[:50]}}


def queues():
    return [{"id": "default", "weight": 1, "min_share": 0, "max_share": 0, "jobs": 3, "held_slots": 17, "waits": False},
            {"id": "reports", "weight": 2.5, "min_share": 4, "max_share": 8, "jobs": 2, "held_slots": 8, "waits": True}]


def store(workers):
    keys = ("id", "name", "rack", "state", "blocks", "used_bytes", "capacity_bytes")
    return {"version": 1, "store": {
        "blocks": sum(w["blocks"] for w in workers), "missing": 1 if workers else 0, "under_replicated": 12,
        "copying": 3, "suspect": 0, "used_bytes": sum(w["used_bytes"] for w in workers),
        "capacity_bytes": sum(w["capacity_bytes"] for w in workers), "safe_mode": "",
        "workers": [{key: w[key] for key in keys} for w in workers],
        "entries": [{"id": f"/data-{i}", "type": ["directory", "file"][i % 2], "bytes": i << 20, "replication": 3}
                    for i in range(30 if workers else 0)], "more_entries": False}}


def scheduler():
    policy = lambda name, text, scope, does: {"id": name, "text": text, "scope": scope, "does": does}
    figure = lambda name, value, label="": {"id": name, "label": label, "value": value}
    cause = lambda name, launched, won, wasted: {"cause": name, "launched": launched, "won": won, "wasted_us": wasted}
    return {"version": 1, "scheduler": {
        "policies": [policy("fair", "fair(preempt_after=5s)", "cluster", ["Shares slots between queues by weight."]),
                     policy("dolly", "dolly(budget=0.05)", "job", ["Launches clones of tasks of small jobs.",
                                                                   "Keeps the first replica that ends."]),
                     policy("late", "late", "job", ["Launches speculative attempts of slow tasks."])],
        "list": "fair(preempt_after=5s),dolly(budget=0.05),late", "seed": 7, "version": 27,
        "figures": [figure("clone_budget_slots", 12), figure("clone_budget_used_slots", 3.5),
                    figure("clone_lent_slots", 2), figure("clone_omega_seconds", None, "0"),
                    figure("clone_omega_seconds", 3.4, "1"), figure("guaranteed_slots", 6, "job_1_0001")],
        "causes": [cause("first", 9000, 8700, 0), cause("clone", 300, 140, 44_000_000),
                   cause("speculative", 60, 31, 9_000_000)],
        "clones": {"killed": 120, "extra_us": 44_000_000, "lent_killed": 3, "lent_extra_us": 1_000_000,
                   "exclusive": 900, "contended": 31, "rebound": 4},
        "queues": queues()}}


def documents(name, samples):
    """Returns a document per source. Names: "busy", "large" (1,000 workers), "none" (no job yet), "hostile"."""
    rng = random.Random(7)  # any seed
    size = {"busy": 12, "large": 1000, "none": 0, "hostile": 3}[name]
    workers = [worker(i + 1, 40 if size == 1000 else 3, rng) for i in range(size)]
    open_jobs = [job(900 - i, "PENDING" if i % 3 == 2 else "RUNNING", rng) for i in range(min(200, size))]
    ended = [job(800 - i, ["SUCCEEDED", "SUCCEEDED", "FAILED", "KILLED"][i % 4], rng)
             for i in range(230 if size == 12 else min(50, size))]
    if name == "hostile":
        for j in open_jobs + ended:
            j["name"] = j["queue"] = j["error"] = HOSTILE
            j["waits"] = [HOSTILE]
            for s in j["stages"]:
                s["id"] = HOSTILE
        for w in workers:
            w["name"] = w["rack"] = w["address"] = HOSTILE
            w["labels"] = [HOSTILE]
    found = {"api/v1/cluster": cluster(workers, open_jobs, ended, rng),
             "api/v1/workers": {"version": 1, "workers": workers}, "api/v1/store": store(workers),
             "api/v1/scheduler": scheduler(), "api/v1/jobs": {"version": 1, "jobs": ended}}
    if name == "hostile":
        found["api/v1/store"]["store"]["entries"][0]["id"] = HOSTILE
        found["api/v1/store"]["store"]["safe_mode"] = HOSTILE
        found["api/v1/cluster"]["cluster"]["warnings"] = [HOSTILE]
        found["api/v1/scheduler"]["scheduler"]["policies"][0]["does"] = [HOSTILE]
        found["api/v1/scheduler"]["scheduler"]["figures"][-1]["label"] = HOSTILE
    for i, w in enumerate(workers[:40]):
        drain = {"attempts": 2, "blocks": 40, "bytes": 40 << 26, "left_blocks": 11, "left_bytes": 11 << 26,
                 "left_files": ["/data-1"], "being_written": 0, "outputs": 3, "output_bytes": 3 << 20,
                 "jobs": ["job_1_0900"], "waits_for": ["11 blocks to copy"], "thin_blocks": 0, "thin_files": []}
        why = [HOSTILE] if name == "hostile" else ["w1 at 10.0.0.1:7071 is live",
                                                          "launched attempt_1_0001_0_m_000000_1 on w1: it had a slot"]
        found[f"api/v1/workers/{w['id']}"] = {"version": 1, "workers": [
            {**w, "running": [attempt(n) for n in range(w["busy"])], "why": why,
             **({"drain": drain} if i == 1 else {})}]}
    for i, report in enumerate(["medium", "failed", "small", "hostile"] if size else []):
        found[f"api/v1/jobs/job_1_{i + 1:04}/report"] = sample(samples, report)
    return found
