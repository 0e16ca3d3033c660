// Shows the tables of attempts and decisions with their filters.

// Returns a labelled choice. fill() replaces its options, and keeps the chosen one if it still exists.
function choice(label, onchange) {
  const select = el("select", {onchange});
  let last = "";
  return {
    node: el("label", {class: "field"}, el("span", null, label), select),
    value: () => select.value,
    set: (value) => { select.value = value; },
    fill: (options) => {
      if (JSON.stringify(options) === last) return;
      last = JSON.stringify(options);
      const kept = select.value;
      select.replaceChildren(el("option", {value: ""}, "all"));
      // The value is set as a property: it must stay equal to the name, which may have hidden characters.
      for (const [value, text] of options) {
        const option = el("option", null, text);
        option.value = value;
        select.append(option);
      }
      select.value = options.some(([value]) => value === kept) ? kept : "";
    },
  };
}

function searchField(label, oninput) {
  const input = el("input", {type: "search", oninput, autocomplete: "off", spellcheck: "false"});
  return {
    node: el("label", {class: "field"}, el("span", null, label), input),
    value: () => input.value.trim().toLowerCase(),
    set: (value) => { input.value = value; },
  };
}

function attemptsSection(page) {
  let texts = [];  // per attempt: what the filter searches, made at its first use
  const {attempt: of, apart} = attemptColumns(page);
  const grid = createGrid({label: "Attempts", columns: apart, key: (row) => row.a.id,
    pick: ({a}) => page.select(a.id, {open: true, focus: true, from: "attempts"}),
    sorted: {id: "launched", down: false}});
  const apply = () => {
    const [text, stage, cause, state] = [search.value(), stages.value(), causes.value(), states.value()];
    const rows = [];
    page.model.report.attempts.forEach((a, i) => {
      if (stage && stageName(page.model, a.stage) !== stage) return;
      if (cause && a.cause !== cause || state && outcomeOf(a) !== state) return;
      if (text && !matches(texts[i] ||= searchedText(page.model, a), text)) return;
      rows.push(of(a));
    });
    const {attempts, attempts_total: total} = page.model.report;
    count.textContent = `${whole(rows.length)} of ${plural(attempts.length, "attempt")}`;
    sample.hidden = total <= attempts.length;
    sample.textContent = `This is a sample of ${whole(attempts.length)} of the job's ${whole(total)} attempts.`;
    grid.setRows(rows);
  };
  const search = searchField("Search", apply);
  const stages = choice("Stage", apply);
  const causes = choice("Cause", apply);
  const states = choice("State", apply);
  const count = el("p", {role: "status", class: "count"});
  const sample = el("p", {class: "note warn", hidden: true});
  const clear = () => {
    search.set("");
    for (const c of [stages, causes, states]) c.set("");
  };
  return {
    node: section("attempts", "Attempts", sample, el("div", {class: "controls"}, search.node, stages.node,
        causes.node, states.node, button("Clear filters", () => {
          clear();
          apply();
        }), count), grid.node),
    show: (model) => {
      texts = [];
      stages.fill(model.report.stages.map((s) => [s.id, s.id]));
      causes.fill(Object.entries(kCauses).map(([value, {text}]) => [value, text]));
      states.fill(Object.entries(kOutcomes).map(([value, {text}]) => [value, text]));
      apply();
    },
    filter: ({text, stage, cause}) => {
      clear();
      if (text != null) search.set(text);
      if (stage != null) stages.set(stage);
      if (cause != null) causes.set(cause);
      apply();
      search.node.scrollIntoView({block: "center"});
      search.node.lastChild.focus({preventScroll: true});
    },
    select: (from) => grid.select(page.view.selected, from !== "attempts"),
    print: grid.print,
  };
}

function searchedText(model, a) {
  const worker = model.report.workers[a.worker] || {};
  return [attemptName(model, a), a.id, worker.name, worker.id, worker.rack, a.reason, a.message].join("\n")
      .toLowerCase();
}

// Returns how to make a row of an attempt, and the columns.
function attemptColumns(page) {
  const attempt = (a) => ({a, end: endOf(page.model, a), parts: null});
  const part = (row, phases) => {
    row.parts ||= phasesOf(page.model, row.a);
    return row.parts.reduce((sum, p) => phases.includes(p.phase) ? sum + p.to - p.from : sum, 0);
  };
  const timeColumn = (id, title, of) => ({id, title, width: 11, numeric: true, sort: of,
    cell: (row) => duration(of(row)), exact: (row) => exactTime(of(row))});
  const sizeColumn = (id, title, of) => ({id, title, width: 11, numeric: true, sort: of,
    cell: (row) => bytes(of(row)), exact: (row) => exactBytes(of(row))});
  const apart = [
    {id: "attempt", title: "Attempt", width: 22, sort: ({a}) => a.stage * 1e9 + a.task * 100 + a.number,
      cell: ({a}) => nameOf(`${stageName(page.model, a.stage)}/${a.task}.${a.number}`), exact: ({a}) => a.id},
    {id: "worker", title: "Worker", width: 10, sort: ({a}) => a.worker,
      cell: ({a}) => nameOf(workerName(page.model, a.worker)), exact: ({a}) => workerName(page.model, a.worker)},
    {id: "cause", title: "Cause", width: 15, sort: ({a}) => a.cause,
      cell: ({a}) => el("span", null, el("span", {class: "mark", "aria-hidden": "true"}, known(kCauses, a.cause).mark),
          known(kCauses, a.cause).text), exact: ({a}) => a.reason || null},
    {id: "state", title: "State", width: 15, sort: ({a}) => outcomeOf(a),
      cell: ({a}) => el("span", {class: a.state === "failed" ? "bad-text" : null},
          sign(known(kOutcomes, outcomeOf(a)).mark),
          a.state === "committed" && !a.won ? "replica" : a.state), exact: ({a}) => a.message || null},
    timeColumn("launched", "Launched", ({a}) => a.launched_us),
    timeColumn("duration", "Duration", (row) => row.end - row.a.launched_us),
    timeColumn("launch", "Launch", (row) => part(row, ["launch"])),
    timeColumn("shuffle", "Shuffle", (row) => part(row, ["shuffle"])),
    timeColumn("compute", "Compute", (row) => part(row, ["map", "merge", "reduce"])),
    sizeColumn("input", "Input", ({a}) => a.input_bytes),
    sizeColumn("output", "Output", ({a}) => a.output_bytes),
    {id: "critical", title: "Critical", width: 10, sort: ({a}) => a.critical ? 0 : 1,
      cell: ({a}) => a.critical ? "yes" : ""},
  ];
  return {attempt, apart};
}

function decisionsSection(page) {
  const name = (d) => {
    const a = page.model.report.attempts[d.attempt];
    return a ? attemptName(page.model, a) : kNone;
  };
  const grid = createGrid({label: "Decisions", key: (d) => d.index, columns: [
    {id: "at", title: "Time", width: 14, sort: (d) => d.at_us, cell: (d) => duration(d.at_us),
      exact: (d) => exactTime(d.at_us)},
    {id: "what", title: "Decision", width: 18, sort: (d) => d.what, cell: (d) => sentence(d.what),
      exact: (d) => d.what},
    {id: "attempt", title: "Attempt", width: 26, sort: (d) => d.attempt == null ? null : name(d),
      cell: (d) => sentence(name(d)), exact: name},
    {id: "worker", title: "Worker", width: 18,
      sort: (d) => d.worker == null ? null : workerName(page.model, d.worker),
      cell: (d) => nameOf(workerName(page.model, d.worker)), exact: (d) => workerName(page.model, d.worker)},
    {id: "reason", title: "Reason", width: 60, sort: (d) => d.reason, cell: (d) => sentence(d.reason),
      exact: (d) => d.reason},
  ], pick: (d) => {
    const a = page.model.report.attempts[d.attempt];
    if (a) page.select(a.id, {open: true, focus: true, from: "decisions"});
  }});
  let texts = [];
  const apply = () => {
    const [text, what] = [search.value(), kinds.value()];
    const rows = page.model.decisions.filter((d) => (!what || d.what === what) && (!text ||
      matches(texts[d.index] ||= [d.what, d.reason, name(d), workerName(page.model, d.worker)].join("\n").toLowerCase(),
          text)));
    const {decisions, decisions_total: total} = page.model.report;
    count.textContent = `${whole(rows.length)} of ${plural(decisions.length, "decision")}` +
        (total > decisions.length ? ` (a sample of ${whole(total)})` : "");
    grid.setRows(rows);
  };
  const search = searchField("Search", apply);
  const kinds = choice("Decision", apply);
  const count = el("p", {role: "status", class: "count"});
  return {
    node: section("decisions", "Decisions", el("div", {class: "controls"}, search.node, kinds.node, count), grid.node),
    show: (model) => {
      texts = [];
      kinds.fill([...new Set(model.report.decisions.map((d) => d.what))].sort().map((w) => [w, w]));
      apply();
    },
    print: grid.print,
  };
}
