// Shows the workers of the cluster as a map and, if asked for, as a table with filters.

const kWorkersPeriod = 5000;  // milliseconds from one list of workers to the next

function workersSection() {
  const map = createRackMap();
  const table = workersTable();
  const none = el("div");
  const some = el("div", null, map.node, table.node);
  let etag = null;
  let asked = 0;
  let loading = false;
  // The racks come with each document of the cluster, the workers less often: they are a list of their own.
  const load = async () => {
    if (loading || Date.now() - asked < kWorkersPeriod) return;
    loading = true;
    const newer = await fetchDocument("api/v1/workers", etag).catch(() => null);  // The frame says what is lost.
    asked = Date.now();
    if (newer) {
      etag = newer.etag;
      const all = (newer.document.workers || []).sort((a, b) => numberOf(a) - numberOf(b));
      await map.showWorkers(all);
      table.show(all);
    }
    loading = false;
  };
  return {
    node: section("workers", "Workers", none, some),
    print: table.print,
    // address: of the master, for the command that starts a worker
    show: (racks, address) => {
      some.hidden = racks.length === 0;
      none.hidden = !some.hidden;
      refill(none, address, () => [el("p", null, "No worker yet. Start one:"),
        el("pre", {class: "lines"}, `mrworker --master ${visible(address || "HOST:7070")} --data DIRECTORY`)]);
      map.showRacks(racks);
      load();
    },
  };
}

function workersTable() {
  const grid = workersGrid("Workers", ["id", "name", "state", "rack", "busy", "slots", "blocks", "stored", "capacity"]);
  let all = [];
  const apply = () => {
    if (!node.open) return;
    const text = typed.value();
    const rows = all.filter((w) => (!states.value() || w.state === states.value()) &&
        (!text || matches([w.id, w.name, w.rack, w.address].join("\n").toLowerCase(), text)));
    count.textContent = `${whole(rows.length)} of ${plural(all.length, "worker")}`;
    grid.setRows(rows);
  };
  const typed = searchField("Find", apply);
  const states = choice("State", apply);
  const count = el("p", {role: "status", class: "count"});
  const node = el("details", {class: "all-workers", ontoggle: apply}, el("summary", null, "All workers as a table"),
      el("div", {class: "controls"}, typed.node, states.node, count), grid.node);
  return {
    node, print: grid.print,
    show: (list) => {
      all = list;
      states.fill([...new Set(all.map((w) => w.state))].sort().map((s) => [s, s]));
      apply();
    },
  };
}
