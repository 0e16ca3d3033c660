// The page of the block store: what is wrong with it, its figures, the root directory, and the room on each worker.

function storeView() {
  const head = el("div");
  const entries = el("div");
  const grid = workersGrid("Room on the workers", ["id", "name", "rack", "state", "blocks", "stored", "capacity",
    "full"]);
  const none = el("p", {class: "quiet"}, "No worker stores blocks.");
  return {
    node: el("main", {class: "main"}, el("header", null, head), section("entries", "Root directory", entries),
        section("room", "Room on the workers", none, grid.node)),
    print: grid.print,
    title: () => "Block store - Paceline",
    show: ({store: s}) => {
      const workers = s.workers || [];
      refill(head, [{...s, workers: null, entries: null}, fullWorkers(workers)], () => [
        el("h1", null, "Block store"),
        storeHealth(s),
        storeTiles(s),
      ]);
      refill(entries, [s.entries, s.more_entries], () => storeEntries(s.entries || [], s.more_entries));
      none.hidden = workers.length > 0;
      grid.node.hidden = workers.length === 0;
      grid.setRows(workers);
    },
  };
}

const kNearlyFull = 0.9;  // of a disk, from which on it is worth a word; a guess

// Returns the ids of the workers whose part of the store is nearly full.
function fullWorkers(workers) {
  return workers.filter((w) => w.state === "full" || fullness(w) >= kNearlyFull).map((w) => w.id);
}

// Returns what is wrong with the store and what to do, the worst first, or a sentence that nothing is.
function storeHealth(s) {
  const are = (n, one, many) => `${plural(n, "block")} ${n === 1 ? one : many}`;
  const full = fullWorkers(s.workers || []);
  const share = s.capacity_bytes ? s.used_bytes / s.capacity_bytes : 0;
  const warnings = [
    s.safe_mode,
    s.missing > 0 && `${are(s.missing, "is", "are")} missing: no live worker has a good replica. Files with such ` +
        'blocks cannot be read. "mrctl doctor" says which workers hold the replicas; start these again.',
    s.suspect > 0 && `${plural(s.suspect, "replica")} ${s.suspect === 1 ? "is" : "are"} suspect: a reader or the ` +
        "scrubber found damage. The master makes new replicas from good ones.",
    s.under_replicated > 0 && `${are(s.under_replicated, "has", "have")} too few replicas` +
        (s.copying > 0 ? `; ${are(s.copying, "is", "are")} being copied.` : ", and none is being copied now."),
    share >= kNearlyFull && `The store is ${percent(share)} full. Add workers, or remove files with "mrctl fs rm".`,
    full.length > 0 && `${full.length === 1 ? "The disk of a worker is" : "The disks of workers are"} nearly full: ` +
        full.slice(0, 20).join(", ") + (full.length > 20 ? ` and ${whole(full.length - 20)} more.` : "."),
  ].filter(Boolean);
  if (warnings.length > 0) return warningsNote(warnings);
  if (!(s.blocks > 0)) return el("p", null, "The store has no blocks.");
  return el("p", null, sign("✓"), "All blocks have the replicas that their files ask for.");
}

function storeTiles(s) {
  const bad = (n, mark) => n > 0 ? el("span", {class: "bad-text"}, sign(mark), whole(n)) : whole(n);
  return terms([
    ["Blocks", whole(s.blocks)],
    ["Missing blocks", bad(s.missing, "✕")],
    ["Blocks with too few replicas", bad(s.under_replicated, "!")],
    s.copying != null && ["Blocks being copied", whole(s.copying)],
    s.suspect != null && ["Suspect replicas", bad(s.suspect, "!")],
    ["Stored", el("span", {class: "share"}, shareBar(s.capacity_bytes ? s.used_bytes / s.capacity_bytes : 0),
        `${bytes(s.used_bytes)} of ${bytes(s.capacity_bytes)}`), exactBytes(s.used_bytes)],
  ], "terms tiles");
}

function storeEntries(entries, more) {
  if (entries.length === 0) {
    return [el("p", null, "The store has no files. Put the first one there:"),
      el("pre", {class: "lines"}, "mrctl fs put book.txt dfs:///book.txt")];
  }
  return [plainTable("Entries of the root directory", [["Path"], ["Type"], ["Bytes", true], ["Replication", true]],
      entries.map((e) => [nameOf(e.id), e.type || kNone, ...(e.type === "directory" ?
          [kNone, kNone] : [[bytes(e.bytes), exactBytes(e.bytes)], whole(e.replication)])]), entries.map((e) => e.id)),
  more && el("p", {class: "quiet"}, "There are more entries. The command \"mrctl fs ls /\" lists all."),
  entries.some((e) => e.type === "directory") && el("p", {class: "quiet"},
      "\"mrctl fs du --human /\" shows the bytes below directories, \"mrctl fs ls -R PATH\" what is in one.")];
}
