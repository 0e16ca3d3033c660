"""Made-up documents of a master, for the browser test of the live pages. The same call makes the same documents."""

import json
import os
import random
import re

NOW = 1_790_000_000_000
HOSTILE = "</script><img src=x onerror=alert(1)>{{script}}\u202e\x01\x1b[31m & \"quotes\" <!--"
STATES = ["draining", "away", "excluded", "distrusted", "stalled", "unfit", "full", "stopped", "lost"]


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
            kept = {key: a[key] if a[key] is not None and a[key] <= now else None
                       for key in ("started_us", "inputs_us", "sort_us", "reduce_us")}
            a = {**a, **kept, "ended_us": None, "state": "running", "won": False, "critical": False,
                 "progress": (now - a["launched_us"]) / max(1, a["ended_us"] - a["launched_us"])}
        attempts.append(a)
    report["attempts"] = attempts
    report["attempts_total"] = len(attempts)
    report["decisions"] = [{**d, "attempt": new_index.get(d["attempt"])} for d in report["decisions"]
                           if d["at_us"] <= now]
    report["decisions_total"] = len(report["decisions"])
    report["live"] = True
    report["taken_unix_ms"] = NOW + now // 1000
    count = lambda i, holds: sum(holds(a) for a in attempts if a["stage"] == i)
    stages = [{**s, "done": count(i, lambda a: a["won"]), "running": count(i, lambda a: a["state"] == "running"),
               "failed": count(i, lambda a: a["state"] == "failed"), "elapsed_us": min(s["elapsed_us"], now)}
              for i, s in enumerate(report["job"]["stages"])]
    causes = {}
    for a in attempts:
        cause = causes.setdefault(a["cause"], {"launched": 0, "won": 0, "wasted_slot_s": 0})
        cause["launched"] += 1
        cause["won"] += a["won"]
        if a["ended_us"] is not None and not a["won"]:
            cause["wasted_slot_s"] += (a["ended_us"] - a["launched_us"]) / 1e6
    report["job"] = {**report["job"], "state": "RUNNING", "elapsed_us": now, "stages": stages, "attempts": causes}
    report["stages"] = [reached(s, stages[i], [a for a in attempts if a["stage"] == i], now)
                        for i, s in enumerate(report["stages"])]
    done, tasks = (sum(s[key] for s in stages) for key in ("done", "tasks"))
    report["summary"] = [f"The job runs: {done} of {tasks} tasks are done."]
    report["findings"] = []
    report["critical_path"] = {"us": 0, "segments": [], "segments_total": 0, "shares": []}
    return {"version": 1, "report": report}


def reached(stage, state, attempts, now):
    """Returns what a report has of a stage whose attempts so far are these."""
    times = sorted(a["ended_us"] - a["launched_us"] for a in attempts if a["won"])
    ran = [(a["ended_us"] or now) - a["launched_us"] for a in attempts]
    share = sum(ran) / max(1, stage["slot_us"])
    return {**stage, "first_us": min((a["launched_us"] for a in attempts), default=None),
            "last_us": max((a["ended_us"] or now for a in attempts), default=None),
            "durations_us": {"count": len(times), "quantiles": times[::max(1, len(times) // 100)]},
            "slot_us": sum(ran), **{key: int(stage[key] * share) for key in ("launch_us", "shuffle_us", "compute_us")},
            "output_bytes": stage["output_bytes"] * state["done"] // max(1, state["tasks"])}


def worker(number, racks, rng, state=None):
    state = state or (STATES[number % 97 % len(STATES)] if number % 29 == 0 else "live")
    blocks = rng.randrange(9000)
    lost = state in ("lost", "stopped")
    return {"id": f"w{number}", "name": f"node-{number:04}", "state": state, "address": f"10.0.0.{number % 250}:7071",
            "rack": f"rack-{number % racks + 1}", "slots": 0 if lost else 4, "busy": 0 if lost else rng.randrange(5),
            "blocks": blocks, "used_bytes": blocks << 26, "capacity_bytes": 1 << 40,
            "memory_bytes": 64 << 30, "slot_memory_bytes": 0 if lost else 16 << 30,
            "wrong_outputs": 1 if state == "distrusted" else 0,
            "incarnation": str(number), "pid": 0 if lost else 4000 + number, "labels": [], "safe_to_stop": False,
            "tier": 1}


def stage(name, tasks, done, running, failed=0):
    return {"id": name, "planned": True, "tasks": tasks, "done": done, "running": running, "waiting": 0,
            "failed": failed, "input_bytes": tasks << 26, "taken_bytes": done << 26, "output_bytes": done << 20,
            "output_records": done * 1000, "elapsed_us": 4_000_000}


def job(number, state, rng, running=0):
    """Returns a job that was submitted in minute `number` of the last thousand."""
    tasks = rng.randrange(5, 400) + running
    done = tasks if state == "SUCCEEDED" else 0 if state == "PENDING" else rng.randrange(tasks - running)
    age = (1000 - number) * 60_000
    elapsed = age if state in ("PENDING", "RUNNING") else rng.randrange(90, age)
    return {"id": f"job_1_{number:04}", "name": rng.choice(["wordcount", "logs of may", "join", "sessions"]),
            "state": state, "queue": rng.choice(["default", "reports"]), "priority": 0, "owner": "anna",
            "submission_id": "",
            "submitted_unix_ms": NOW - age, "elapsed_us": elapsed * 1000, "output": "",
            "output_parts": 0, "output_bytes": 0, "output_records": 0, "output_digest": "0" * 32,
            "error": f"stage 'extract': attempt_1_{number:04}_0_m_000007_4 failed on w2: no such column 'price'\n"
                     "  at line 7" if state == "FAILED" else "",
            "last_failure": "", "attempts": {}, "warnings": [], "skew": [],
            "waits": ["queue reports has its maximum of 8 slots"] if state == "PENDING" else [],
            "stages": [stage("extract", tasks, done, running, 4 if state == "FAILED" else 0), stage("count", 12, 0, 0)]
            if state != "SUCCEEDED" else [stage("extract", tasks, tasks, 0), stage("count", 12, 12, 0)],
            **({"deadline": {"deadline_s": elapsed / 1000 + 1200.0, "steered": True, "best_effort": False,
                             "predicted": True, "earlier_runs": 3, "input_scale": 1.0, "guaranteed_slots": 6,
                             "held_slots": 6}} if number % 5 == 0 else {})}


def shared(busy, count):
    """Returns slots for so many running jobs: 8 at most for each second one, which are of queue reports."""
    parts = []
    for i in range(count):
        part = busy if i + 1 == count else min(busy, 4 if i % 2 else busy // 3)
        parts.append(part)
        busy -= part
    return parts


def attempt(worker, number):
    return {"id": f"attempt_1_0001_0_m_{number:06}_{1 + number % 2}", "state": "running",
            "cause": ["first", "clone"][number % 2], "worker": worker, "progress": .2 + .2 * (number % 4),
            "ran_us": 1_200_000 * (number + 1), "message": "", "reason": "a slot was free, and it was first",
            "launched_us": 900_000, "started_us": 910_000, "inputs_us": None, "sort_us": None, "reduce_us": None,
            "ended_us": None, "won": False, "failure": ""}


def ended(number):
    """Returns an attempt that ended on a worker, `number` ago."""
    state = ["committed", "committed", "failed", "killed", "committed"][number % 5]
    return {"id": f"attempt_1_{800 - number // 4:04}_0_m_{number:06}_1", "job": "logs of may", "stage": "extract",
            "state": state, "won": state == "committed", "cause": ["first", "speculative"][number % 7 == 3],
            "launched_unix_ms": NOW - 60_000 * (number + 1), "ran_us": 1_500_000 + 130_000 * number,
            "failure": {"committed": "", "failed": "user", "killed": "killed"}[state],
            "message": {"committed": "", "failed": "no such column 'price'\n  at line 7",
                        "killed": "another attempt of its task won"}[state]}


def cluster(workers, open_jobs, ended):
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
    running = sorted((j for j in open_jobs if held(j)), key=held, reverse=True)
    # Each job holds more and more slots, and at the end those that it holds.
    by_job = [{"id": j["id"], "name": j["name"], "busy": [held(j) * min(300, i + 40 * n) // 300 for i in range(300)]}
              for n, j in enumerate(running)]
    for j in by_job:
        j["busy"][-1] = held(next(r for r in running if r["id"] == j["id"]))
    series = [sum(j["busy"][i] for j in by_job) for i in range(300)]
    return {"version": 1, "cluster": {
        "id": "0123456789abcdef", "release": "sample", "epoch": 1, "address": "127.0.0.1:7070",
        "policies": "fair,dolly,delay_assignment,late", "taken_unix_ms": NOW, "insecure": False,
        "warnings": ["1 block of the store has no good replica on a live worker"] if workers else
        ["no worker is registered: jobs wait until one is"],
        "slots": {"total": slots, "busy": busy}, "workers": states, "racks": list(racks.values()),
        "jobs": {"pending": count("PENDING"), "running": count("RUNNING"), "committing": 0,
                 "succeeded": count("SUCCEEDED"), "failed": count("FAILED"), "killing": 0, "killed": count("KILLED")},
        "attempts": {"live": busy, "launched": 8952 + busy, "committed": 8800, "failed": 12, "killed": 140}
        if open_jobs or ended else dict.fromkeys(("live", "launched", "committed", "failed", "killed"), 0),
        "series": {"period_ms": 1000, "to_unix_ms": NOW, "slots": [slots] * 300, "busy": series,
                   "jobs": [len(open_jobs) if i > 100 else 1 for i in range(300)], "by_job": by_job[:8]},
        "store": store(workers)["store"], "queues": queues(open_jobs) if open_jobs or ended else [],
        "open": open_jobs, "open_left_out": 0 if len(open_jobs) < 200 else 17, "ended": ended[:50]}}


def held(job):
    return sum(s["running"] for s in job["stages"])


def queues(jobs):
    own = {name: [j for j in jobs if j["queue"] == name] for name in ("default", "reports")}
    slots = {name: sum(held(j) for j in own[name]) for name in own}
    return [{"id": "default", "weight": 1, "min_share": 0, "max_share": 0, "jobs": len(own["default"]),
             "held_slots": slots["default"], "waits": False},
            {"id": "reports", "weight": 2.5, "min_share": 4, "max_share": slots["reports"] or 8,
             "jobs": len(own["reports"]), "held_slots": slots["reports"],
             "waits": any(j["state"] == "PENDING" for j in own["reports"])}]


def store(workers):
    keys = ("id", "name", "rack", "state", "blocks", "used_bytes", "capacity_bytes")
    return {"version": 1, "store": {
        "blocks": sum(w["blocks"] for w in workers) // 3, "missing": 1 if workers else 0,
        "under_replicated": 12 if workers else 0, "copying": 3 if workers else 0, "suspect": 0,
        "used_bytes": sum(w["used_bytes"] for w in workers),
        "capacity_bytes": sum(w["capacity_bytes"] for w in workers), "safe_mode": "",
        "workers": [{key: w[key] for key in keys} for w in workers],
        "entries": [{"id": f"/data-{i}", "type": ["directory", "file"][i % 2], "bytes": i << 20, "replication": 3}
                    for i in range(30 if workers else 0)], "more_entries": False}}


def scheduler(jobs):
    policy = lambda name, text, scope, does: {"id": name, "text": text, "scope": scope, "does": does}
    figure = lambda name, value, label="": {"id": name, "label": label, "value": value}
    cause = lambda name, launched, won, wasted: {"cause": name, "launched": launched, "won": won, "wasted_us": wasted}
    return {"version": 1, "scheduler": {
        "policies": [policy("fair", "fair(preempt_after=5s)", "cluster", ["Shares slots between queues by weight."]),
                     policy("dolly", "dolly(budget=0.05)", "job", ["Launches clones of tasks of small jobs.",
                                                                   "Keeps the first replica that ends."]),
                     policy("late", "late", "job", ["Launches speculative attempts of slow tasks."]),
                     policy("own", "own", "job", [])],
        "list": "fair(preempt_after=5s),dolly(budget=0.05),late,own", "seed": 7, "version": 27,
        "figures": [figure("clone_budget_slots", 12), figure("clone_budget_used_slots", 3.5),
                    figure("clone_lent_slots", 2), figure("clone_omega_seconds", None, "1"),
                    figure("clone_omega_seconds", 3.4, "2"), figure("jockey_guaranteed_slots", 6, "job_1_0900")],
        "causes": [cause("first", 9000, 8700, 0), cause("clone", 300, 140, 44_000_000),
                   cause("speculative", 60, 31, 9_000_000), cause("restart", 0, 0, 0)],
        "clones": {"killed": 120, "extra_us": 44_000_000, "lent_killed": 3, "lent_extra_us": 1_000_000,
                   "exclusive": 900, "contended": 31, "rebound": 4},
        "queues": queues(jobs)}}


def documents(name, samples):
    """Returns a document per source. Names: "busy", "large" (1,000 workers), "none" (no job yet), "hostile"."""
    rng = random.Random(7)  # any seed
    size = {"busy": 12, "large": 1000, "none": 0, "hostile": 3}[name]
    given = {2: "draining", 7: "lost"} if size == 12 else {}
    workers = [worker(i + 1, 40 if size == 1000 else 3, rng, given.get(i + 1)) for i in range(size)]
    states = ["PENDING" if i % 3 == 2 else "RUNNING" for i in range(min(200, size))]
    slots = iter(shared(sum(w["busy"] for w in workers), states.count("RUNNING")))
    open_jobs = [job(900 - i, s, rng, next(slots) if s == "RUNNING" else 0) for i, s in enumerate(states)]
    past = [job(800 - i, ["SUCCEEDED", "SUCCEEDED", "FAILED", "KILLED"][i % 4], rng)
            for i in range(230 if size == 12 else min(50, size))]
    # Jobs of queue reports wait, or hold its slots; those that wait are of no other queue.
    for i, j in enumerate(j for j in open_jobs if held(j)):
        j["queue"] = ["default", "reports"][i % 2]
    for j in open_jobs:
        if j["state"] == "PENDING":
            j["queue"] = "reports"
            j["waits"] = [f"queue reports has its maximum of {queues(open_jobs)[1]['held_slots']} slots"]
    if name == "hostile":
        for j in open_jobs + past:
            j["name"] = j["queue"] = j["error"] = HOSTILE
            j["waits"] = [HOSTILE]
            for s in j["stages"]:
                s["id"] = HOSTILE
        for w in workers:
            w["name"] = w["rack"] = w["address"] = HOSTILE
            w["labels"] = [HOSTILE]
    found = {"api/v1/cluster": cluster(workers, open_jobs, past),
             "api/v1/workers": {"version": 1, "workers": workers}, "api/v1/store": store(workers),
             "api/v1/scheduler": scheduler(open_jobs), "api/v1/jobs": {"version": 1, "jobs": past}}
    if name == "hostile":
        found["api/v1/store"]["store"]["entries"][0]["id"] = HOSTILE
        found["api/v1/store"]["store"]["safe_mode"] = HOSTILE
        found["api/v1/cluster"]["cluster"]["warnings"] = [HOSTILE]
        found["api/v1/scheduler"]["scheduler"]["policies"][0]["does"] = [HOSTILE]
        found["api/v1/scheduler"]["scheduler"]["figures"][-1]["label"] = HOSTILE
    for i, w in enumerate(workers[:40]):
        drain = {"attempts": w["busy"], "blocks": 40, "bytes": 40 << 26, "left_blocks": 11, "left_bytes": 11 << 26,
                 "left_files": ["/data-1"], "being_written": 0, "outputs": 3, "output_bytes": 3 << 20,
                 "jobs": ["job_1_0900"], "waits_for": ["11 blocks to copy"], "thin_blocks": 0, "thin_files": []}
        why = [HOSTILE] if name == "hostile" else [f"{w['id']} at {w['address']} is {w['state']}",
                                                   "3 attempts failed on it, the last was attempt_1_0001_0_m_000000_1"]
        done = [ended(n) for n in range(100)]
        if name == "hostile":
            for a in done:
                a["job"] = a["stage"] = a["message"] = HOSTILE
        found[f"api/v1/workers/{w['id']}"] = {"version": 1, "workers": [
            {**w, "running": [attempt(w["id"], n) for n in range(w["busy"])], "ended": done, "why": why,
             **({"drain": drain} if i == 1 else {})}]}
    for i, report in enumerate(["medium", "failed", "small", "hostile"] if size else []):
        found[f"api/v1/jobs/job_1_{i + 1:04}/report"] = sample(samples, report)
    return found


def contradictions(found):
    """Returns what cannot be in the documents of a cluster, and in its reports."""
    wrong = []
    cluster = found["api/v1/cluster"]["cluster"]
    series = cluster["series"]
    wrong += [w["id"] for w in found["api/v1/workers"]["workers"] if w["busy"] > w["slots"]]
    wrong += [j["id"] for j in cluster["open"] + cluster["ended"]
              if any(s["done"] + s["running"] > s["tasks"] for s in j["stages"]) or
              j["submitted_unix_ms"] + j["elapsed_us"] // 1000 > cluster["taken_unix_ms"]]
    if {sum(held(j) for j in cluster["open"]), series["busy"][-1]} != {cluster["slots"]["busy"]}:
        wrong.append("slots of jobs, of workers and over time differ")
    if any(sum(j["busy"][i] for j in series["by_job"]) > n for i, n in enumerate(series["busy"])):
        wrong.append("jobs hold more slots than are busy")
    for source, document in found.items():
        for a in document.get("report", {}).get("attempts", []):
            times = [a[key] for key in ("launched_us", "started_us", "inputs_us", "sort_us", "reduce_us", "ended_us")
                     if a[key] is not None]
            if times != sorted(times):
                wrong.append(f"{source}: {a['id']}: {times}")
        for w in document.get("report", {}).get("workers", []):
            if w["lanes"] > w["slots"]:
                wrong.append(f"{source}: {w['id']} has {w['lanes']} lanes on {w['slots']} slots")
    return wrong
