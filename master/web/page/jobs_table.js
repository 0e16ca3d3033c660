// Shows jobs as a table: state, progress per stage, what holds them up or how they ended, queue and times.

const kShownStages = 6;

// Rows are made again only if their job has changed, and in slices of time.
function createJobsTable(caption) {
  const columns = [["Job"], ["State"], ["Progress"], ["Why it waits, or how it ended"], ["Queue"], ["Elapsed", true],
    ["Submitted"]];
  const node = plainTable(caption, columns, []);
  const body = node.querySelector("tbody");
  const rows = new Map();  // by id: {tr, text of the job}
  let turn = 0;
  const show = async (jobs) => {
    const own = ++turn;
    node.hidden = jobs.length === 0;
    const kept = new Set(jobs.map((j) => j.id));
    for (const [id, {tr}] of rows) {
      if (kept.has(id)) continue;
      tr.remove();
      rows.delete(id);
    }
    let at = body.firstChild;
    let begun = performance.now();
    for (const job of jobs) {
      const text = JSON.stringify(job);
      let row = rows.get(job.id);
      if (!row) rows.set(job.id, row = {tr: tableRow(columns, jobRow(job), job.id)});
      else if (row.text !== text) patchKids(row.tr, tableRow(columns, jobRow(job), job.id));
      row.text = text;
      if (row.tr === at) at = at.nextSibling;
      else body.insertBefore(row.tr, at);
      if (performance.now() - begun <= kSlice) continue;
      await wait(0);
      if (own !== turn) return;
      begun = performance.now();
    }
  };
  return {node, show};
}

function jobRow(job) {
  return [
    el("span", null, el("a", {href: jobUrl(job.id), "data-key": "a"}, nameOf(job.name || job.id)), " ",
        el("code", {class: "quiet"}, nameOf(job.id))),
    stateBadge(job.state), stagesProgress(job), remarkOn(job), el("span", {class: "queue"}, nameOf(job.queue || kNone)),
    [duration(job.elapsed_us), exactTime(job.elapsed_us)],
    [el("span", {class: "whole"}, localTime(job.submitted_unix_ms).slice(0, 19)), localTime(job.submitted_unix_ms)],
  ];
}

// Stages that are done are less interesting than those that run, and those that wait less than both.
function stagesProgress(job) {
  const stages = job.stages || [];
  const open = stages.filter((s) => !s.planned || s.done < s.tasks);
  const shown = (open.length > 0 ? open : stages).slice(0, kShownStages);
  const done = stages.length - open.length;
  if (job.state === "SUCCEEDED") {
    return `${whole(stages.reduce((sum, s) => sum + s.tasks, 0))} tasks in ${plural(stages.length, "stage")}`;
  }
  return el("div", {class: "stage-bars"}, shown.map(stageBar),
      open.length > 0 && done > 0 && el("span", {class: "quiet small"}, `${plural(done, "stage")} done`),
      open.length > kShownStages && el("span", {class: "quiet small"}, `${whole(open.length - kShownStages)} more`));
}

function stageBar(s) {
  const total = Math.max(1, s.tasks);
  const width = (n) => ({width: `${Math.min(100, n / total * 100)}%`});
  const text = s.planned === false ? "not planned yet" : `${whole(s.done)} of ${whole(s.tasks)} done` +
      (s.running ? `, ${whole(s.running)} running` : "") + (s.waiting ? `, ${whole(s.waiting)} waiting` : "") +
      (s.failed ? `, ${plural(s.failed, "attempt")} failed` : "");
  return el("span", {class: "stage-bar", title: text}, nameOf(shorten(visible(s.id), 18)),
      el("span", {class: "bar", "aria-hidden": "true"}, el("span", {style: width(s.done)}),
          el("span", {class: "runs", style: width(s.running || 0)})),
      el("span", {class: "small"}, s.planned === false ? kNone : `${whole(s.done)}/${whole(s.tasks)}`,
          s.failed > 0 && el("span", {class: "bad-text"}, ` ✕${whole(s.failed)}`)),
      el("span", {class: "unseen"}, text));
}

function remarkOn(job) {
  if (job.error) return el("span", {class: "remark"}, sentence(shorten(visible(job.error.split("\n")[0]), 200)));
  const lines = (job.waits || []).slice(0, 3).map((line) => el("span", null, sentence(line)));
  const {deadline_s: deadline, guaranteed_slots: slots} = job.deadline || {};
  if (deadline != null && !kEnded.includes(job.state)) {
    lines.push(el("span", null, `Deadline ${clockTime(job.submitted_unix_ms + deadline * 1000)}, ` +
        plural(slots, "guaranteed slot")));
  }
  return lines.length > 0 ? el("span", {class: "remark"}, lines) : "";
}

const kEnded = ["SUCCEEDED", "FAILED", "KILLED"];
