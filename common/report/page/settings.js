// Shows the counters, the inputs, options and settings, and what ran the job.

function countersSection() {
  const grid = createGrid({label: "Counters", key: (c) => c.key, columns: [
    {id: "group", title: "Group", width: 30, sort: (c) => c.group, cell: (c) => nameOf(c.group),
      exact: (c) => c.group},
    {id: "name", title: "Counter", width: 40, sort: (c) => c.name, cell: (c) => nameOf(c.name), exact: (c) => c.name},
    {id: "value", title: "Value", width: 20, numeric: true, sort: (c) => c.value, cell: (c) => whole(c.value)},
  ]});
  let counters = [];
  const apply = () => {
    const text = search.value();
    const rows = counters.filter((c) => !text || c.text.includes(text));
    count.textContent = `${whole(rows.length)} of ${plural(counters.length, "counter")}`;
    grid.setRows(rows);
  };
  const search = searchField("Search", apply);
  const count = el("p", {role: "status", class: "count"});
  const none = el("p", {class: "quiet"}, "The report has no counters.");
  const all = el("div", null, el("div", {class: "controls"}, search.node, count), grid.node);
  return {
    node: section("counters", "Counters", none, all),
    show: ({job}) => {
      counters = (job.counters || []).map((c, key) => ({...c, key,
        text: `${c.group}\n${c.name}\n${c.id}`.toLowerCase()}));
      none.hidden = counters.length > 0;
      all.hidden = counters.length === 0;
      apply();
    },
    print: grid.print,
  };
}

function settingsSection() {
  const body = el("div");
  return {
    node: section("settings", "Settings", body),
    show: ({report, job}) => refill(body, [report.settings, job.inputs, job.options, report.policies,
      report.release, job.owner, job.submission_id, job.output_digest], () => [
      terms([
        ["Release", nameOf(report.release)], ["Scheduling policies", nameOf(report.policies)],
        job.owner && ["Owner", nameOf(job.owner)],
        job.submission_id && ["Submission id", el("code", null, nameOf(job.submission_id))],
        job.output_digest && ["Output digest", el("code", null, nameOf(job.output_digest))],
      ]),
      job.inputs.length > 0 && plainTable("Inputs", [["Stage"], ["Input"], ["Format"]],
          job.inputs.map((i) => [nameOf(i.stage), el("code", null, nameOf(i.uri)), nameOf(i.format)])),
      job.options.length > 0 && plainTable("Options of the job", [["Stage"], ["Option"], ["Value"]],
          job.options.map((o) => [o.stage === null ? "" : nameOf(o.stage), el("code", null, nameOf(o.name)),
            el("code", null, nameOf(o.value))])),
      report.settings.length > 0 && plainTable("Settings", [["Setting"], ["Value"]],
          report.settings.slice(0, 1000).map((s) => [el("code", null, nameOf(s.name)),
            el("code", null, nameOf(s.value))])),
    ]),
  };
}
