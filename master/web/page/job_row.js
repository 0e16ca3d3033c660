// Makes the row of a job: state, slots, progress per stage, what it waits for or its error, queue and times.

const kShownStages = 6;

// open: with the slots that it holds.
function jobRow(job, open) {
  return [
    el("span", null, el("a", {href: jobUrl(job.id), "data-key": "a"}, nameOf(job.name || job.id)), " ",
        el("code", {class: "quiet"}, nameOf(job.id))),
    stateBadge(job.state), ...(open ? [slotsCell(job)] : []), stagesProgress(job), remarkOn(job), el("span", {class: "queue"}, nameOf(job.queue || kNone)),
    [duration(job.elapsed_us), exactTime(job.elapsed_us)],
    [el("span", {class: "whole"}, localTime(job.submitted_unix_ms).slice(0, 19)), localTime(job.submitted_unix_ms)],
  ];
}

// Returns the attempts of the job that hold a slot now.
function slotsHeld(job) {
  return (job.stages || []).reduce((sum, s) => sum + (s.running || 0) + (s.waiting || 0), 0);
}

function slotsCell(job) {
  const waiting = (job.stages || []).reduce((sum, s) => sum + (s.waiting || 0), 0);
  const running = slotsHeld(job) - waiting;
  return [whole(slotsHeld(job)), `${plural(running, "attempt")} running` +
      (waiting > 0 ? `, ${whole(waiting)} waiting for inputs` : "")];
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

function oneLine(text) {
  return text.trim().replace(/\s*\n\s*/g, " ");
}

function remarkOn(job) {
  if (job.error) return el("span", {class: "remark"}, linkedSentence(shorten(oneLine(job.error), 300)));
  const lines = (job.waits || []).slice(0, 3).map((line) => el("span", null, linkedSentence(line)));
  const {deadline_s: deadline, guaranteed_slots: slots} = job.deadline || {};
  if (deadline != null && !kEnded.includes(job.state)) {
    lines.push(el("span", null, `Deadline ${clockTime(job.submitted_unix_ms + deadline * 1000)}, ` +
        plural(slots, "guaranteed slot")));
  }
  return lines.length > 0 ? el("span", {class: "remark"}, lines) : "";
}

const kEnded = ["SUCCEEDED", "FAILED", "KILLED"];
