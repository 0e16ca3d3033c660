// The page of a worker: its state and why, its drain, the attempts that it runs, and those that ended on it.

function workerView() {
  const head = el("div");
  const running = el("div");
  const why = el("div");
  const ended = el("div");
  const drain = el("div");
  const drainSection = section("drain", "Drain", drain);
  return {
    node: el("main", {class: "main"}, el("header", null, head), section("running", "Running attempts", running),
        drainSection, section("why", "State", why), section("ended", "Attempts that ended", ended)),
    title: ({workers: [w]}) => `${visible(w.id)} ${visible(w.state)} - Paceline worker`,
    show: ({workers: [w]}) => {
      refill(head, [w, info.id], () => workerHead(w));
      refill(running, w.running, () => runningAttempts(w.running || []));
      drainSection.hidden = !w.drain;
      if (w.drain) refill(drain, [w.drain, w.safe_to_stop], () => drainState(w.drain, w.safe_to_stop));
      refill(why, w.why, () => (w.why || []).length === 0 ? el("p", {class: "quiet"}, "Nothing to say.") :
        el("ul", {class: "lead"}, w.why.slice(0, 200).map((line) => el("li", null, linkedSentence(line)))));
      refill(ended, [w.ended, w.id], () => endedAttempts(w.ended || [], w.id));
    },
  };
}

function workerHead(w) {
  return [
    el("p", {class: "over"}, "Worker"),
    el("h1", null, nameOf(w.name || w.id)),
    el("p", {class: "states"}, workerBadge(w.state), el("code", null, nameOf(w.id)),
        w.safe_to_stop && el("span", {class: "badge good"}, sign("✓"), "safe to stop")),
    terms([
      ["Slots busy", el("span", {class: "share"}, shareBar(w.slots ? w.busy / w.slots : 0),
          `${whole(w.busy)} of ${whole(w.slots)}`)],
      ["Rack", nameOf(w.rack || kNone)], ["Address", nameOf(w.address || kNone)],
      ["Memory for attempts", w.memory_bytes ? bytes(w.memory_bytes) : "no limit", exactBytes(w.memory_bytes)],
      w.slot_memory_bytes > 0 && ["Memory per slot", bytes(w.slot_memory_bytes), exactBytes(w.slot_memory_bytes)],
      ["Stored", el("span", {class: "share"}, shareBar(w.capacity_bytes ? w.used_bytes / w.capacity_bytes : 0),
          `${bytes(w.used_bytes)} of ${bytes(w.capacity_bytes)}`), exactBytes(w.used_bytes)],
      ["Blocks", whole(w.blocks)], ["Rooms of tasks", w.tier == null ? kNone : `tier ${whole(w.tier)}`],
      ["Outputs damaged in memory",
        w.wrong_outputs > 0 ? el("span", {class: "bad-text"}, sign("✕"), whole(w.wrong_outputs)) : "0"],
      ["Process id", String(w.pid ?? kNone)], ["Incarnation", el("code", null, nameOf(w.incarnation ?? kNone))],
      (w.labels || []).length > 0 && ["Labels", nameOf(w.labels.join(", "))],
    ], "terms tiles"),
  ];
}

function runningAttempts(list) {
  if (list.length === 0) return el("p", {class: "quiet"}, "The worker runs nothing.");
  return plainTable("Running attempts", [["Attempt"], ["State"], ["Cause"], ["Progress"], ["Runs for", true],
    ["Why the scheduler launched it"]], list.map((a) => [
    el("a", {href: attemptUrl(a.id), "data-key": "a"}, nameOf(a.id)),
    marked(kOutcomes, a.state || "running"),
    marked(kCauses, a.cause || "first"),
    el("span", {class: "share"}, shareBar(a.progress || 0), percent(a.progress)),
    [duration(a.ran_us), exactTime(a.ran_us)], sentence(a.reason || "")]), list.map((a) => a.id));
}

// Returns the attempts in the order of the document: the latest end first.
function endedAttempts(list, worker) {
  if (list.length === 0) return el("p", {class: "quiet"}, "No attempt of a recent job ended here.");
  const outcome = (a) => {
    const {mark, text} = known(kOutcomes, outcomeOf(a));
    const message = oneLine(a.message || "");
    return el("span", null, el("span", {class: a.state === "failed" ? "bad-text" : null}, sign(mark), text),
        message && [": ", linkedSentence(shorten(message, 200))]);
  };
  const rows = list.map((a) => {
    const [, epoch, job, stage, letter, task, number] = a.id.split("_");
    return [
      [el("span", {class: "whole"}, localTime(a.launched_unix_ms).slice(0, 19)), localTime(a.launched_unix_ms)],
      el("a", {href: jobUrl(`job_${epoch}_${job}`), "data-key": "job"}, nameOf(a.job || `job_${epoch}_${job}`)),
      el("a", {href: attemptUrl(`task_${epoch}_${job}_${stage}_${letter}_${task}`), "data-key": "task"},
          nameOf(`${a.stage || stage} ${Number(task)}`)),
      el("a", {href: attemptUrl(a.id), "data-key": "attempt", "aria-label": `Attempt ${visible(a.id)}`}, number),
      marked(kCauses, a.cause || "first"), [duration(a.ran_us), exactTime(a.ran_us)], outcome(a)];
  });
  return [
    plainTable("Attempts that ended", [["Launched"], ["Job"], ["Task"], ["Attempt"], ["Cause"], ["Duration", true],
      ["Outcome"]], rows, list.map((a) => a.id)),
    el("p", {class: "quiet small"}, `The latest first, at most 100 of recent jobs. The command "mrctl why ` +
        `${visible(worker)}" has the scheduler's decisions about this worker.`),
  ];
}

function marked(kinds, name) {
  const {mark, text} = known(kinds, name);
  return el("span", null, sign(mark), text);
}

function drainState(d, safe) {
  const files = (title, list) => (list || []).length > 0 && [el("h3", null, title), el("ul", {class: "lead"},
      list.slice(0, 50).map((f) => el("li", null, linkedSentence(f))))];
  return [
    el("p", null, safe ? "The worker is safe to stop: nothing is lost or must be repeated." :
      "The worker is not safe to stop yet."),
    terms([
      ["Attempts still running", whole(d.attempts)],
      ["Blocks to copy away", `${whole(d.left_blocks)} (${bytes(d.left_bytes)})`],
      ["Blocks in all", `${whole(d.blocks)} (${bytes(d.bytes)})`],
      ["Blocks being written", whole(d.being_written)],
      ["Outputs to copy away, which jobs still read", `${whole(d.outputs)} (${bytes(d.output_bytes)})`],
      ["Blocks with too few replicas", whole(d.thin_blocks)],
    ], "terms tiles"),
    files("It waits for", d.waits_for), files("Files with blocks to copy", d.left_files),
    files("Files with too few replicas", d.thin_files),
    (d.jobs || []).length > 0 && [el("h3", null, "Jobs that need its outputs"), el("ul", {class: "lead"},
        d.jobs.slice(0, 50).map((id) => el("li", {"data-key": id}, el("a", {href: urlOfId(id), "data-key": "a"},
            nameOf(id)))))],
  ];
}
