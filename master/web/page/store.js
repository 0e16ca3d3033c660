// The page of the block store: its health, the room on each worker, and the entries of its root directory.

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
      refill(head, {...s, workers: null, entries: null}, () => [
        el("h1", null, "Block store"),
        warningsNote(s.safe_mode ? [s.safe_mode] : []),
        storeTiles(s),
      ]);
      refill(entries, [s.entries, s.more_entries], () => storeEntries(s.entries || [], s.more_entries));
      none.hidden = workers.length > 0;
      grid.node.hidden = workers.length === 0;
      grid.setRows(workers);
    },
  };
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
      entries.map((e) => [nameOf(e.id), e.type || kNone, [bytes(e.bytes), exactBytes(e.bytes)],
        e.type === "directory" ? kNone : whole(e.replication)]), entries.map((e) => e.id)),
  more && el("p", {class: "quiet"}, "There are more. The command \"mrctl fs ls\" lists all.")];
}
