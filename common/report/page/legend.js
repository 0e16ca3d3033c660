// Draws the timeline's legend with the same code as its bars, so that the two cannot differ.

const kSwatch = 40;

function fillTimelineLegend(page, palette, list) {
  const {stages} = page.model.report;
  const bar = {stage: 0, task: 0, cause: "first", state: "committed", won: true, critical: false, launched_us: 0,
    started_us: 0, inputs_us: 0, sort_us: null, reduce_us: null, ended_us: kSwatch};
  const entries = [];
  const put = (text, changes) => entries.push([text, {...bar, ...changes}]);
  if (page.view.colour === "phase") {
    put("launch", {started_us: kSwatch, inputs_us: kSwatch});
    put("map", {kind: "map"});
    put("shuffle", {inputs_us: kSwatch});
    put("merge", {sort_us: 0});
    put("reduce", {reduce_us: 0});
  } else {
    stages.slice(0, 40).forEach((s, i) => put(`stage ${s.id}`, {stage: i, kind: "map"}));
  }
  for (const [cause, {text}] of Object.entries(kCauses)) {
    if (cause !== "first") put(text, {cause, kind: "map"});
  }
  put("committed", {kind: "map"});
  put("replica kept", {kind: "map", won: false});
  put("failed", {kind: "map", state: "failed"});
  put("killed", {kind: "map", state: "killed"});
  put("running", {kind: "map", state: "running"});
  put("waiting", {kind: "map", state: "waiting"});
  put("critical path", {kind: "map", critical: true});
  list.replaceChildren(...entries.map(([text, a]) => el("li", null, swatch(page, palette, a), sentence(text))));
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
