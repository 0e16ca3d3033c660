// The page of a worker: its state and why, its drain, and what it runs.

function workerView() {
  const head = el("div");
  const running = el("div");
  const why = el("div");
  const drain = el("div");
  const drainSection = section("drain", "Drain", drain);
  return {
    node: el("main", {class: "main"}, el("header", null, head), section("running", "Running attempts", running),
        drainSection, section("why", "What happened on the worker", why)),
    title: ({workers: [w]}) => `${visible(w.id)} ${visible(w.state)} - Paceline worker`,
    show: ({workers: [w]}) => {
      refill(head, [w, info.id], () => workerHead(w));
      refill(running, w.running, () => runningAttempts(w.running || []));
      drainSection.hidden = !w.drain;
      if (w.drain) refill(drain, [w.drain, w.safe_to_stop], () => drainState(w.drain, w.safe_to_stop));
      refill(why, w.why, () => (w.why || []).length === 0 ? el("p", {class: "quiet"}, "Nothing yet.") :
        el("ul", {class: "lead"}, w.why.slice(0, 200).map((line) => el("li", null, linkedSentence(line)))));
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
      ["Memory", bytes(w.memory_bytes), exactBytes(w.memory_bytes)],
      ["Stored", el("span", {class: "share"}, shareBar(w.capacity_bytes ? w.used_bytes / w.capacity_bytes : 0),
          `${bytes(w.used_bytes)} of ${bytes(w.capacity_bytes)}`), exactBytes(w.used_bytes)],
      ["Blocks", whole(w.blocks)],
      ["Wrong outputs", w.wrong_outputs > 0 ? el("span", {class: "bad-text"}, sign("✕"), whole(w.wrong_outputs)) : "0"],
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
      ["Outputs that jobs still read", `${whole(d.outputs)} (${bytes(d.output_bytes)})`],
      ["Blocks with too few replicas", whole(d.thin_blocks)],
    ], "terms tiles"),
    files("It waits for", d.waits_for), files("Files with blocks to copy", d.left_files),
    files("Files with too few replicas", d.thin_files),
    (d.jobs || []).length > 0 && [el("h3", null, "Jobs that need its outputs"), el("ul", {class: "lead"},
        d.jobs.slice(0, 50).map((id) => el("li", {"data-key": id}, el("a", {href: urlOfId(id), "data-key": "a"},
            nameOf(id)))))],
  ];
}
