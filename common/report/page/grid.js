// Shows a table of many rows: only the visible ones are in the document, and columns can be sorted.

const kGridRow = 27;  // pixels, as in the style sheet
const kPrintedRows = 100;

// columns: [{id, title, width in characters, numeric, sort(row), cell(row), exact(row)}]. key(row) identifies a row.
// pick(row): called if a row's button is used. href(row): where a row's link leads. The first column gets the button or
// link; without both, rows cannot be used.
function createGrid({label, columns, key, pick, href, sorted}) {
  let rows = [];
  let shown = [];
  let order = sorted || {id: columns[0].id, down: false};
  let active = null;  // key of the row whose button is in the tab order
  let selected = null;
  let printing = false;
  let asked = false;
  const cache = new Map();
  const stale = new Set();  // keys of cached rows whose cells may have changed
  const before = el("tr", {"aria-hidden": "true", class: "space"});
  const after = el("tr", {"aria-hidden": "true", class: "space"});
  const tbody = el("tbody", null, before, after);
  const heads = columns.map((c) => el("th", {scope: "col", class: c.numeric && "number"},
      sortButton(c.title, () => sortBy(c.id))));
  const table = el("table", {class: "grid sortable"}, el("caption", {class: "unseen"}, label),
      el("colgroup", null, columns.map((c) => el("col", {style: {width: c.width + "ch"}}))),
      el("thead", null, el("tr", {"aria-rowindex": "1"}, heads)), tbody);
  table.style.minWidth = columns.reduce((sum, c) => sum + c.width, 0) + "ch";
  const frame = el("div", {class: "scroll grid-frame", tabindex: "0", role: "group", "aria-label": label}, table);
  const note = el("p", {class: "quiet small printed"});

  const sortBy = (id) => {
    order = {id, down: order.id === id && !order.down};
    arrange();
    frame.scrollTop = 0;
    render();
  };
  const arrange = () => {
    shown = sortedRows(rows, columns.find((c) => c.id === order.id).sort, order.down);
    heads.forEach((th, i) => markSorted(th, columns[i].id === order.id, order.down));
  };
  const rowNode = (row) => el("tr", null, columns.map((c, i) => {
    const content = c.cell(row);
    const title = c.exact ? c.exact(row) : typeof content === "string" ? content : null;
    const cls = c.numeric && "number";
    if (i > 0) return el("td", {class: cls, title}, content);
    if (href) {
      return el("th", {scope: "row", class: cls, title}, el("a", {href: href(row), class: "link", tabindex: "-1",
        "data-key": `${label}:${key(row)}`}, content));
    }
    if (!pick) return el("th", {scope: "row", class: cls, title}, content);
    return el("th", {scope: "row", class: cls, title}, button("", () => {
      active = key(row);
      pick(row);
    }, {class: "link", tabindex: "-1", "data-key": `${label}:${key(row)}`}, content));
  }));
  const render = () => {
    asked = false;
    const high = frame.clientHeight || 400;
    const first = printing ? 0 : Math.max(0, Math.min(shown.length, Math.floor(frame.scrollTop / kGridRow)) - 4);
    const last = printing ? Math.min(shown.length, kPrintedRows) :
      Math.min(shown.length, first + Math.ceil(high / kGridRow) + 8);
    const visibleRows = shown.slice(first, last);
    const used = new Set(visibleRows.map(key));
    const focused = tbody.contains(document.activeElement) ? document.activeElement : null;
    for (const [id, tr] of cache) {
      if (used.has(id)) continue;
      if (tr.contains(focused)) frame.focus({preventScroll: true});
      tr.remove();
      cache.delete(id);
      stale.delete(id);
    }
    let place = before;
    visibleRows.forEach((row, i) => {
      const id = key(row);
      let tr = cache.get(id);
      if (!tr) cache.set(id, tr = rowNode(row));
      else if (stale.has(id)) patchKids(tr, rowNode(row));
      stale.delete(id);
      tr.setAttribute("aria-rowindex", first + i + 2);
      tr.dataset.index = first + i;
      tr.classList.toggle("selected", id === selected);
      if (pick) {
        if (id === selected) tr.setAttribute("aria-current", "true");
        else tr.removeAttribute("aria-current");
      }
      if (place.nextSibling !== tr) place.after(tr);
      place = tr;
    });
    // A move takes the focus from an element.
    if (focused && focused.isConnected && focused !== document.activeElement) focused.focus({preventScroll: true});
    before.style.height = `${first * kGridRow}px`;
    after.style.height = `${(shown.length - last) * kGridRow}px`;
    if (printing) before.style.height = after.style.height = "0px";
    table.setAttribute("aria-rowcount", shown.length + 1);
    if (pick || href) {
      const stop = cache.get(active) || cache.get(selected) ||
        (before.nextSibling !== after ? before.nextSibling : null);
      cache.forEach((tr) => { controlOf(tr).tabIndex = tr === stop ? 0 : -1; });
    }
  };
  const controlOf = (tr) => tr.querySelector("th > .link");
  const ask = () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(render);
  };
  const reveal = (i) => {
    const top = i * kGridRow;
    const high = frame.clientHeight - 2 * kGridRow;
    if (top < frame.scrollTop) frame.scrollTop = top;
    else if (top > frame.scrollTop + high) frame.scrollTop = top - high;
    render();
  };
  frame.addEventListener("scroll", ask, {passive: true});
  new ResizeObserver(ask).observe(frame);
  tbody.addEventListener("keydown", (event) => {
    const tr = event.target.closest("tr");
    const page = Math.max(1, Math.floor(frame.clientHeight / kGridRow) - 2);
    const moves = {ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -shown.length, End: shown.length};
    if (!pick && !href || !tr || !(event.key in moves) || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const i = Math.max(0, Math.min(shown.length - 1, Number(tr.dataset.index) + moves[event.key]));
    active = key(shown[i]);
    reveal(i);
    controlOf(cache.get(active)).focus({preventScroll: true});
  });
  return {
    node: el("div", null, frame, note),
    setRows: (list) => {
      const top = frame.scrollTop;
      rows = list;
      for (const id of cache.keys()) stale.add(id);
      arrange();
      render();
      if (frame.scrollTop !== top) frame.scrollTop = top;
    },
    select: (id, scroll) => {
      selected = id;
      if (id != null) active = id;
      const i = scroll && id != null ? shown.findIndex((row) => key(row) === id) : -1;
      if (i >= 0) reveal(i);
      else render();
    },
    print: (on) => {
      printing = on;
      note.textContent = on && shown.length > kPrintedRows ?
        `Printed: the first ${kPrintedRows} of ${whole(shown.length)} rows.` : "";
      render();
    },
  };
}
