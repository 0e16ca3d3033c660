// Draws the timeline's legend with the same code as its bars, so that the two cannot differ.

const kSwatch = 40;

// The phases that an attempt may have: of a map, of a reduce, and of one that merges its inputs.
const kMapPhases = ["launch", "map"];
const kReducePhases = ["launch", "shuffle", "reduce"];
const kMergePhases = ["launch", "shuffle", "merge", "reduce"];

// Returns the phases, causes and outcomes that occur in the report, and whether an attempt is on the critical path.
function occurring(model) {
  if (model.occurring) return model.occurring;
  const found = {phases: new Set(), causes: new Set(), outcomes: new Set(), critical: false};
  for (const a of model.report.attempts) {
    const possible = kindOf(model, a) === "map" ? kMapPhases : a.sort_us == null ? kReducePhases : kMergePhases;
    // With all possible phases found an attempt has no new one, which is the case for nearly all.
    if (possible.some((p) => !found.phases.has(p))) for (const p of phasesOf(model, a)) found.phases.add(p.phase);
    found.causes.add(a.cause);
    found.outcomes.add(outcomeOf(a));
    found.critical ||= a.critical;
  }
  return model.occurring = found;
}

// Returns what a legend of this report would show, to tell whether it must be filled again.
function legendKey(page) {
  const {phases, causes, outcomes, critical} = occurring(page.model);
  const stages = page.view.colour === "stage" ? page.model.report.stages.map((s) => s.id) : null;
  return JSON.stringify([stages, [...phases].sort(), [...causes].sort(), [...outcomes].sort(), critical]);
}

// Groups: colours, causes other than the first attempt, outcomes. A kind that does not occur has no entry.
function fillTimelineLegend(page, palette, list) {
  const {stages} = page.model.report;
  const {phases, causes, outcomes, critical} = occurring(page.model);
  const bar = {stage: 0, task: 0, cause: "first", state: "committed", won: true, critical: false, launched_us: 0,
    started_us: 0, inputs_us: 0, sort_us: null, reduce_us: null, ended_us: kSwatch};
  const put = (has, text, changes) => has && [text, {...bar, ...changes}];
  const colours = page.view.colour === "phase" ? [
    put(phases.has("launch"), "launch", {started_us: kSwatch, inputs_us: kSwatch}),
    put(phases.has("map"), "map", {kind: "map"}),
    put(phases.has("shuffle"), "shuffle", {inputs_us: kSwatch}),
    put(phases.has("merge"), "merge", {sort_us: 0}),
    put(phases.has("reduce"), "reduce", {reduce_us: 0}),
  ] : stages.slice(0, 40).map((s, i) => put(true, s.id, {stage: i, kind: "map"}));
  const groups = [
    [page.view.colour === "phase" ? "Phase" : "Stage", colours],
    ["Cause", Object.entries(kCauses).map(([cause, {text}]) =>
      put(cause !== "first" && causes.has(cause), text, {cause, kind: "map"}))],
    ["Outcome", [
      put(outcomes.has("won"), "committed", {kind: "map"}),
      put(outcomes.has("replica"), "kept as a replica", {kind: "map", won: false}),
      put(outcomes.has("failed"), "failed", {kind: "map", state: "failed"}),
      put(outcomes.has("killed"), "killed", {kind: "map", state: "killed"}),
      put(outcomes.has("running"), "running", {kind: "map", state: "running"}),
      put(outcomes.has("waiting"), "waiting", {kind: "map", state: "waiting"}),
      put(critical, "on the critical path", {kind: "map", critical: true}),
    ]],
  ];
  list.replaceChildren(...groups.map(([title, entries]) => [title, entries.filter(Boolean)])
      .filter(([, entries]) => entries.length > 0)
      .map(([title, entries]) => el("div", null, el("dt", null, title), entries.map(([text, a]) =>
        el("dd", null, swatch(page, palette, a), sentence(text))))));
}

function swatch(page, palette, a) {
  const canvas = el("canvas", {"aria-hidden": "true", class: "swatch"});
  canvas.style.width = `${kSwatch + 4}px`;
  const ctx = sizedContext(canvas, kSwatch + 4, kRow);
  ctx.font = kFont;
  ctx.fillStyle = palette.page;
  ctx.fillRect(0, 0, kSwatch + 4, kRow);
  // A swatch has a kind and stages of its own. Without a stage name there is no label.
  const stages = page.model.report.stages.map((s) => ({...s, id: ""}));
  stages[a.stage] = {id: "", kind: a.kind || "reduce"};
  const model = {now: kSwatch, report: {stages}};
  drawBar(ctx, {view: page.view, model}, palette, a, 2, 2 + kSwatch, (kRow - kBar) / 2, (us) => 2 + us);
  return canvas;
}
