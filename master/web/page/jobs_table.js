// Shows jobs as a table that can be sorted. Rows are made again only if their job has changed, and in slices of time.

// open: the jobs have not ended; they hold slots, and may wait.
function createJobsTable(caption, open) {
  const progress = (j) => (j.stages || []).reduce((sum, s) => sum + s.done / Math.max(1, s.tasks), 0) /
      Math.max(1, (j.stages || []).length);
  // title, is numeric, what it is sorted by
  const columns = [["Job", false, (j) => j.name || j.id], ["State", false, (j) => j.state],
    ...(open ? [["Slots", true, slotsHeld]] : []),
    ["Progress", false, progress], [open ? "Why it waits" : "Error", false, (j) => j.error || (j.waits || [])[0]],
    ["Queue", false, (j) => j.queue], ["Elapsed", true, (j) => j.elapsed_us],
    ["Submitted", false, (j) => j.submitted_unix_ms]];
  const node = plainTable(caption, columns, []);
  const body = node.querySelector("tbody");
  const heads = [...node.querySelectorAll("thead th")];
  const rows = new Map();  // by id: {tr, text of the job}
  let order = {column: columns.length - 1, down: true};
  let all = [];
  let turn = 0;
  const mark = () => heads.forEach((th, i) => markSorted(th, i === order.column, order.down));
  heads.forEach((th, i) => th.replaceChildren(sortButton(columns[i][0], () => {
    order = {column: i, down: order.column === i && !order.down};
    mark();
    node.scrollTop = 0;
    show(all);
  })));
  node.firstChild.classList.add("sortable");
  mark();

  const show = async (jobs) => {
    const own = ++turn;
    all = jobs;
    node.hidden = jobs.length === 0;
    const kept = new Set(jobs.map((j) => j.id));
    for (const [id, {tr}] of rows) {
      if (kept.has(id)) continue;
      tr.remove();
      rows.delete(id);
    }
    const active = body.contains(document.activeElement) ? document.activeElement : null;
    let at = body.firstChild;
    let begun = performance.now();
    for (const job of sortedRows(jobs, columns[order.column][2], order.down)) {
      const text = JSON.stringify(job);
      let row = rows.get(job.id);
      if (!row) rows.set(job.id, row = {tr: tableRow(columns, jobRow(job, open), job.id)});
      else if (row.text !== text) patchKids(row.tr, tableRow(columns, jobRow(job, open), job.id));
      row.text = text;
      if (row.tr === at) at = at.nextSibling;
      else body.insertBefore(row.tr, at);
      if (performance.now() - begun <= kSlice) continue;
      await wait(0);
      if (own !== turn) return;
      begun = performance.now();
    }
    // A move takes the focus from an element.
    if (active && active.isConnected && document.activeElement === document.body) active.focus({preventScroll: true});
  };
  return {node, show};
}
