// The page of the cluster: warnings, jobs, queues, slots over time by job, workers by rack, and the block store.

function clusterView() {
  const head = el("div");
  const jobs = el("div");
  const open = createJobsTable("Jobs", true);
  const none = el("p", {class: "quiet"}, "No job has ended yet.");
  const ended = createJobsTable("Ended jobs", false);
  const all = el("p", null, el("a", {href: urlOf("history")}, "All ended jobs"));
  const queues = el("div");
  const store = el("div");
  const chart = createSlotsChart("Slots over time by job");
  const jobChart = createTimeChart("Jobs over time", "jobs", "jobs at most");
  const workers = workersSection();
  const node = el("main", {class: "main"}, el("header", null, head), section("jobs", "Jobs", open.node, jobs),
      section("queues", "Queues", queues),
      section("slots", "Slots over time by job", chart.node, el("details", {"data-key": "jobs-over-time"},
          el("summary", null, "Jobs over time"), jobChart.node)),
      section("ended", "Ended jobs", none, ended.node, all), workers.node,
      section("store", "Block store", store));
  return {
    node, print: workers.print,
    title: ({cluster: c}) => `${whole((c.jobs || {}).running || 0)} running - Paceline cluster`,
    show: async ({cluster: c}) => {
      const past = c.ended || [];
      const slots = c.slots || {};
      refill(head, [c.warnings, c.slots, c.workers, c.jobs, c.attempts, c.id, c.epoch, c.address, c.policies],
          () => clusterHead(c));
      refill(jobs, [(c.open || []).length, c.open_left_out, past.length], () =>
        openJobsNote((c.open || []).length, past.length, c.open_left_out));
      none.hidden = past.length > 0;
      all.hidden = past.length === 0;
      refill(queues, [c.queues, slots.total], () => queuesTable(c.queues || [], slots.total));
      refill(store, c.store, () => [storeTiles(c.store || {}),
        el("p", null, el("a", {href: urlOf("store")}, "Files and workers of the store"))]);
      const s = c.series || {};
      const most = Math.max(0, ...(s.jobs || []));
      chart.show({period: s.period_ms || 1000, to: s.to_unix_ms, slots: s.slots || [], busy: s.busy || [],
        jobs: s.by_job || []});
      jobChart.show({period: s.period_ms || 1000, to: s.to_unix_ms, area: s.jobs || [],
        line: (s.jobs || []).map(() => most)});
      await open.show(c.open || []);
      await ended.show(past);
      workers.show(c.racks || [], c.address);
    },
  };
}

function clusterHead(c) {
  const states = Object.entries(c.workers || {}).filter(([, n]) => n > 0);
  const {total = 0, busy = 0} = c.slots || {};
  const jobs = c.jobs || {};
  const attempts = c.attempts || {};
  return [
    el("h1", null, "Cluster"),
    warningsNote(c.warnings || []),
    terms([
      ["Slots busy", el("span", {class: "share"}, shareBar(total ? busy / total : 0),
          `${whole(busy)} of ${whole(total)}`)],
      ["Workers", states.length === 0 ? "none" : states.map(([state, n]) => `${whole(n)} ${state}`).join(", ")],
      ["Jobs running", whole((jobs.running || 0) + (jobs.committing || 0))],
      ["Jobs pending", whole(jobs.pending || 0)],
      ["Attempts running", whole(attempts.live)],
      ["Attempts committed", whole(attempts.committed)],
      ["Attempts failed", whole(attempts.failed)],
    ], "terms tiles"),
    el("details", {class: "more", "data-key": "more"}, el("summary", null, "More about this cluster"), terms([
      ["Cluster id", el("code", null, nameOf(c.id || kNone))], c.address && ["Address", nameOf(c.address)],
      ["Epoch", whole(c.epoch)], ["Policies", el("span", null, nameOf(c.policies || kNone), " ",
          el("a", {href: urlOf("scheduler"), "data-key": "scheduler"}, "Scheduler"))],
      ["Attempts launched", whole(attempts.launched)], ["Attempts killed", whole(attempts.killed)],
      ["Jobs succeeded", whole(jobs.succeeded)], ["Jobs failed", whole(jobs.failed)],
      ["Jobs killed", whole(jobs.killed)],
    ])),
  ];
}

function warningsNote(warnings) {
  return warnings.length > 0 && el("div", {class: "note warn", role: "group", "aria-label": "Warnings"},
      el("p", {class: "strong"}, sign("!"), warnings.length === 1 ? "Warning" : "Warnings"),
      el("ul", null, warnings.slice(0, 50).map((w) => el("li", null, linkedSentence(w)))));
}

function openJobsNote(open, ended, leftOut) {
  if (open === 0) {
    return ended > 0 ? el("p", {class: "quiet"}, "No job runs or waits.") : [
      el("p", null, "No job yet. Run the first one:"),
      el("pre", {class: "lines"}, "mrctl submit wordcount --input book.txt --output counts"),
    ];
  }
  return [leftOut > 0 && el("p", {class: "quiet"},
      `${plural(leftOut, "older job")} more. The command "mrctl jobs" lists all.`)];
}
