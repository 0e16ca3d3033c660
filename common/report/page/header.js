// Shows the job's name, state, numbers, error, warnings and summary.

const kStates = {
  PENDING: ["○", "waits"], RUNNING: ["▸", "runs"], COMMITTING: ["▸", "runs"], SUCCEEDED: ["✓", "good"],
  FAILED: ["✕", "bad"], KILLING: ["■", "bad"], KILLED: ["■", "bad"],
};

function stateBadge(state) {
  const [mark, tone] = kStates[state] || ["○", "waits"];
  return el("span", {class: "badge " + tone}, sign(mark), state);
}

// A frame has the choice of the theme.
function headerSection(page) {
  const {frame} = page;
  const body = el("div");
  const node = el("header", null, body, !frame && el("div", {class: "corner"}, themeChoice()));
  const show = ({report, job}) => refill(body, [report.id, job, report.summary, report.live, report.taken_unix_ms,
    report.findings.map((f) => f.text), report.attempts.length], () => [
    el("p", {class: "over"}, "Job report ", report.live && el("span", {class: "badge runs"}, sign("●"), "live"),
        report.live ? " updated " : " taken ", timeNode(report.taken_unix_ms)),
    el("h1", null, nameOf(job.name || report.id)),
    el("p", {class: "states"}, stateBadge(job.state), el("code", null, nameOf(report.id))),
    terms([
      ...(report.live ? progressOf(job) : []),
      ["Elapsed", duration(job.elapsed_us), exactTime(job.elapsed_us)],
      ["Submitted", timeNode(job.submitted_unix_ms)],
      job.deadline && job.deadline.deadline_s != null && ["Deadline", deadlineText(job)],
      ["Queue", nameOf(job.queue || "default")],
      ["Priority", String(job.priority)],
      ...(report.live ? [] : [
        ["Output", bytes(job.output_bytes), exactBytes(job.output_bytes)],
        ["Records", whole(job.output_records)],
        ["Parts", whole(job.output_parts)],
      ]),
      job.output && ["Output path", nameOf(job.output)],
    ], "terms tiles"),
    job.error && el("div", {class: "note bad", role: "group", "aria-label": "Error"},
        el("p", {class: "strong"}, sign("✕"), "Error"), linkedLines(page, job.error, 10)),
    report.summary.length > 0 && el("ul", {class: "lead"},
        report.summary.map((line) => el("li", null, linked(page, line)))),
    report.live && job.waits.length > 0 && el("div", {class: "note warn", role: "group", "aria-label": "Waits"},
        el("p", {class: "strong"}, sign("…"), "Why it waits"),
        el("ul", null, job.waits.slice(0, 20).map((w) => el("li", null, linked(page, w))))),
    !job.error && job.last_failure && el("div", {class: "note warn", role: "group", "aria-label": "Last failure"},
        el("p", {class: "strong"}, sign("!"), "Last failure of an attempt"), linkedLines(page, job.last_failure, 10)),
    job.warnings.length > 0 && el("div", {class: "note warn", role: "group", "aria-label": "Warnings"},
        el("p", {class: "strong"}, sign("!"), job.warnings.length === 1 ? "Warning" : "Warnings"),
        el("ul", null, job.warnings.slice(0, 50).map((w) => el("li", null, linked(page, w))))),
  ]);
  return {node, show};
}

// Returns the deadline, and whether the job has met it.
function deadlineText(job) {
  const late = job.elapsed_us / 1e6 - job.deadline.deadline_s;
  const met = job.state === "SUCCEEDED" ? ", met" : "";
  return seconds(job.deadline.deadline_s) + (late > 0 ? `, missed by ${seconds(late)}` : met);
}

// Returns the terms of a job that has not ended.
function progressOf(job) {
  const sum = (key) => job.stages.reduce((n, s) => n + (s[key] || 0), 0);
  return [
    ["Tasks done", `${whole(sum("done"))} of ${whole(sum("tasks"))}`],
    ["Running", whole(sum("running"))],
    ["Failed attempts", whole(sum("failed"))],
  ];
}

function timeNode(ms) {
  const d = new Date(ms);
  return el("time", {datetime: Number.isNaN(d.getTime()) ? null : d.toISOString()}, localTime(ms));
}
