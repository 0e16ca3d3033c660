// Shows workers as a map: a box per rack, and in it a cell per worker with a mark of its state and its busy part.

const kOpenWorkers = 2000;  // up to here all racks are open at first
const kCellsPerRack = 2000;
const kByNumber = new Intl.Collator("en", {numeric: true});

function createRackMap() {
  const racks = new Map();  // per rack: {node, head, cells, more, links: by worker}
  const list = el("div", {class: "racks"});
  const setAll = (open) => () => { for (const {node} of racks.values()) node.open = open; };
  const legend = el("p", {class: "quiet small rack-legend"}, "A filled cell is a busy worker.",
      Object.entries(kWorkerStates).map(([state, [mark, tone]]) => el("span", null,
          el("span", {class: "cell " + tone, "aria-hidden": "true"}, mark), state)));
  let workers = new Map();  // per rack, in the order of their numbers

  const fill = (id) => {
    const rack = racks.get(id);
    if (!rack || !rack.node.open) return;
    const own = workers.get(id) || [];
    const gone = new Set(rack.links.keys());
    let place = null;
    for (const w of own.slice(0, kCellsPerRack)) {
      gone.delete(w.id);
      let cell = rack.links.get(w.id);
      if (!cell) rack.links.set(w.id, cell = {link: el("a", {href: workerUrl(w.id), tabindex: "-1"}), key: ""});
      const key = `${w.state} ${w.busy} ${w.slots} ${w.name}`;
      if (cell.key !== key) fillCell(cell.link, w);
      cell.key = key;
      const at = place ? place.nextSibling : rack.cells.firstChild;
      if (at !== cell.link) rack.cells.insertBefore(cell.link, at);
      place = cell.link;
    }
    for (const w of gone) {
      rack.links.get(w).link.remove();
      rack.links.delete(w);
    }
    rack.more.textContent = own.length > kCellsPerRack ?
      `The first ${whole(kCellsPerRack)} are shown. The table below has all.` : "";
    if (!rack.cells.querySelector("[tabindex='0']") && rack.cells.firstChild) rack.cells.firstChild.tabIndex = 0;
  };
  const rackOf = (id, open) => {
    if (racks.has(id)) return racks.get(id);
    const head = el("summary");
    const cells = el("div", {class: "cells", onkeydown: moveInCells});
    const more = el("p", {class: "quiet small"});
    const node = el("details", {class: "rack", open, ontoggle: () => fill(id)}, head, cells, more);
    const rack = {node, head, cells, more, links: new Map()};
    racks.set(id, rack);
    return rack;
  };
  const showRacks = (given) => {
    const sum = given.reduce((all, r) => all + r.workers, 0);
    const sorted = [...given].sort((a, b) => kByNumber.compare(a.id, b.id));
    sorted.forEach((r, i) => {
      const rack = rackOf(r.id, sum <= kOpenWorkers);
      refill(rack.head, r, () => [nameOf(r.id || "no rack"), el("span", {class: "quiet"},
          ` ${plural(r.workers, "worker")}`), r.lost > 0 && el("span", {class: "bad-text"}, ` ✕ ${whole(r.lost)} lost`),
      el("span", {class: "share"}, shareBar(r.slots ? r.busy / r.slots : 0),
          `${whole(r.busy)} of ${plural(r.slots, "slot")} busy`)]);
      if (list.children[i] !== rack.node) list.insertBefore(rack.node, list.children[i] || null);
    });
    const kept = new Set(sorted.map((r) => r.id));
    for (const [id, rack] of racks) {
      if (kept.has(id)) continue;
      rack.node.remove();
      racks.delete(id);
    }
    for (const id of racks.keys()) fill(id);
  };
  return {
    node: el("div", null, el("div", {class: "controls"}, button("Open all racks", setAll(true)),
        button("Close all", setAll(false))), legend, list),
    showRacks,
    // Takes the workers of all racks, in the order in which they are shown.
    showWorkers: async (all) => {
      workers = new Map();
      for (const w of all) {
        const rack = w.rack || "";
        if (!workers.has(rack)) workers.set(rack, []);
        workers.get(rack).push(w);
      }
      let begun = performance.now();
      for (const id of racks.keys()) {
        fill(id);
        if (performance.now() - begun <= kSlice) continue;
        await wait(0);
        begun = performance.now();
      }
    },
  };
}

function fillCell(link, w) {
  const [mark, tone] = workerState(w.state);
  const text = `${visible(w.id)} ${visible(w.name)}: ${visible(w.state)}, ` +
      `${whole(w.busy)} of ${plural(w.slots, "slot")} busy`;
  link.className = "cell " + tone;
  link.textContent = mark;
  link.title = text;
  link.setAttribute("aria-label", text);
  link.style.setProperty("--busy", `${w.slots ? Math.min(100, w.busy / w.slots * 100) : 0}%`);
}

// Arrows move between cells, of which one is in the tab order.
function moveInCells(event) {
  const cells = [...event.currentTarget.children];
  const i = cells.indexOf(document.activeElement);
  const wrap = cells.findIndex((c) => c.offsetTop > cells[0].offsetTop);
  const row = wrap < 0 ? cells.length : wrap;
  const step = {ArrowRight: 1, ArrowLeft: -1, ArrowDown: row, ArrowUp: -row, Home: -i, End: cells.length - 1 - i};
  if (i < 0 || !(event.key in step)) return;
  event.preventDefault();
  const next = cells[i + step[event.key]];
  if (!next) return;
  cells[i].tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}
