// Derives from a report what several sections need: lanes, phases, names, and decisions per attempt.

const kCauses = {
  first: {mark: "", text: "first"},
  retry: {mark: "R", text: "retry"},
  clone: {mark: "C", text: "clone"},
  speculative: {mark: "S", text: "speculative"},
  restart: {mark: "↻", text: "restart"},
  opportunistic: {mark: "O", text: "opportunistic"},
};

const kOutcomes = {
  running: {mark: "▸", text: "running"},
  waiting: {mark: "…", text: "waiting"},
  won: {mark: "✓", text: "committed"},
  replica: {mark: "≡", text: "committed, kept as a replica"},
  failed: {mark: "✕", text: "failed"},
  killed: {mark: "■", text: "killed"},
};

// Returns the entry of a kind. A master of a later release may have others.
function known(kinds, name) {
  return Object.hasOwn(kinds, name) ? kinds[name] : {mark: "?", text: String(name)};
}

const kPhases = ["launch", "map", "shuffle", "merge", "reduce"];

function outcomeOf(a) {
  return a.state === "committed" ? (a.won ? "won" : "replica") : a.state;
}

// Returns [{phase, from, to}] of an attempt in time order. Phases of no length are left out.
function phasesOf(model, a) {
  const end = endOf(model, a);
  const parts = [];
  const put = (phase, from, to) => to > from && parts.push({phase, from, to});
  // Short attempts end before they are seen to start.
  const started = a.started_us ?? (a.won ? a.launched_us : end);
  put("launch", a.launched_us, started);
  if (kindOf(model, a) === "map") {
    put("map", started, end);
    return parts;
  }
  const inputs = a.inputs_us ?? a.sort_us ?? a.reduce_us ?? (a.won ? started : end);
  put("shuffle", started, inputs);
  if (a.sort_us != null) put("merge", Math.max(a.sort_us, inputs), a.reduce_us ?? end);
  if (a.reduce_us != null || a.sort_us == null) put("reduce", Math.max(a.reduce_us ?? inputs, inputs), end);
  return parts;
}

function endOf(model, a) {
  return a.ended_us ?? Math.max(model.now, a.launched_us);
}

function kindOf(model, a) {
  const stage = model.report.stages[a.stage];
  return stage ? stage.kind : "map";
}

function stageName(model, index) {
  const stage = model.report.stages[index];
  return stage ? stage.id : String(index);
}

function workerName(model, index) {
  const worker = index == null ? null : model.report.workers[index];
  return worker ? worker.id : index == null ? kNone : String(index);
}

function attemptName(model, a) {
  return `${stageName(model, a.stage)} task ${a.task}, attempt ${a.number}`;
}

// Returns the attempts per lane in time order. The lanes are in the order of workers and slots.
function lanesOf(report, latest) {
  const lanes = [];
  const first = [];  // per worker: the index of its first lane
  const counts = report.workers.map((w) => w.lanes);
  for (const a of report.attempts) counts[a.worker] = Math.max(counts[a.worker] || 0, a.lane + 1);
  counts.forEach((count, worker) => {
    first[worker] = lanes.length;
    for (let lane = 0; lane < count; lane++) lanes.push({worker, lane, attempts: [], ends: []});
  });
  report.attempts.forEach((a, i) => lanes[first[a.worker] + a.lane].attempts.push(i));
  for (const lane of lanes) {
    lane.attempts.sort((x, y) => report.attempts[x].launched_us - report.attempts[y].launched_us || x - y);
    // The latest end so far is sorted even if attempts overlap, so the first visible one can be searched for.
    let end = 0;
    for (const i of lane.attempts) lane.ends.push(end = Math.max(end, report.attempts[i].ended_us ?? latest));
  }
  return lanes;
}

function modelOf(report) {
  const now = report.job.elapsed_us;
  let end = Math.max(now, 1);
  for (const a of report.attempts) end = Math.max(end, a.ended_us ?? a.launched_us);
  for (const d of report.decisions) end = Math.max(end, d.at_us);
  const model = {report, job: report.job, now, end, lanes: lanesOf(report, end)};
  model.byId = new Map(report.attempts.map((a, i) => [a.id, i]));
  model.place = [];  // per attempt: [lane, position in it]
  model.lanes.forEach((lane, l) => lane.attempts.forEach((a, k) => { model.place[a] = [l, k]; }));
  model.decisions = report.decisions.map((d, i) => ({...d, index: i})).sort((x, y) => x.at_us - y.at_us);
  model.decisionsOf = new Map();
  for (const d of model.decisions) {
    if (d.attempt == null) continue;
    if (!model.decisionsOf.has(d.attempt)) model.decisionsOf.set(d.attempt, []);
    model.decisionsOf.get(d.attempt).push(d);
  }
  return model;
}

// Returns the index of the first element of a sorted list for which `value` is at least `least`.
function lowerBound(list, least, value) {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (value(list[middle]) < least) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Returns the quantile at `at` in 0..1 of evenly spaced quantiles, or null if there are none.
function quantile(quantiles, at) {
  if (quantiles.length === 0) return null;
  const x = at * (quantiles.length - 1);
  const i = Math.floor(x);
  const next = quantiles[Math.min(i + 1, quantiles.length - 1)];
  return Math.round(quantiles[i] + (next - quantiles[i]) * (x - i));
}
