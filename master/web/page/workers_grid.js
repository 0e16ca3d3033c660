// Shows workers as a table with the columns that a page needs.

function numberOf(w) {
  return Number(w.id.slice(1)) || 0;
}

function fullness(w) {
  return w.capacity_bytes ? w.used_bytes / w.capacity_bytes : 0;
}

function workersGrid(label, names) {
  const text = (title, width, of) => ({title, width, sort: of, cell: (w) => nameOf(of(w) || kNone), exact: of});
  const count = (title, of) => ({title, width: 12, numeric: true, sort: of, cell: (w) => whole(of(w))});
  const size = (title, of) => ({title, width: 12, numeric: true, sort: of, cell: (w) => bytes(of(w)),
    exact: (w) => exactBytes(of(w))});
  const columns = {
    id: {title: "Worker", width: 10, sort: numberOf, cell: (w) => nameOf(w.id)},
    name: text("Name", 22, (w) => w.name), rack: text("Rack", 16, (w) => w.rack),
    state: {title: "State", width: 14, sort: (w) => w.state,
      cell: (w) => el("span", null, sign(workerState(w.state)[0]), w.state)},
    busy: count("Busy slots", (w) => w.busy), slots: count("Slots", (w) => w.slots),
    blocks: count("Blocks", (w) => w.blocks), stored: size("Stored", (w) => w.used_bytes),
    capacity: size("Capacity", (w) => w.capacity_bytes),
    full: {title: "Full", width: 20, sort: fullness,
      cell: (w) => el("span", {class: "share"}, shareBar(fullness(w)), percent(fullness(w)))},
  };
  return createGrid({label, key: (w) => w.id, href: (w) => workerUrl(w.id),
    columns: names.map((id) => ({id, ...columns[id]}))});
}
