// Draws the timeline on its canvas: the ruler, the row of decisions, and the bars of the visible lanes.

// A phase differs from another by its height as well, and an outcome by its hatching, so colour is not needed.
const kHeights = {launch: 0.3, shuffle: 0.6, merge: 0.8, map: 1, reduce: 1};
const kFont = "11px system-ui, sans-serif";
const kCharacter = 6.3;  // average pixels of a character in that font: measuring each would cost more than drawing

function paletteOf(node) {
  const style = getComputedStyle(node);
  const of = (name) => style.getPropertyValue("--" + name).trim();
  const palette = {hatches: {}, stages: []};
  for (const name of ["page", "text", "quiet", "line", "stripe", "accent", "bad", "bar-text", "tick", "select"]) {
    palette[name] = of(name);
  }
  for (const phase of kPhases) palette[phase] = of("phase-" + phase);
  for (let i = 0; i < 8; i++) palette.stages.push(of("stage-" + i));
  return palette;
}

function hatchOf(ctx, palette, outcome) {
  if (palette.hatches[outcome]) return palette.hatches[outcome];
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const c = tile.getContext("2d");
  c.strokeStyle = palette.page;
  c.lineWidth = 1.6;
  c.beginPath();
  if (outcome === "replica") {
    c.moveTo(0, 3);
    c.lineTo(6, 3);
  } else {
    for (const d of [-6, 0, 6]) {
      c.moveTo(d - 1, 7);
      c.lineTo(d + 7, -1);
      if (outcome === "failed") {
        c.moveTo(d - 1, -1);
        c.lineTo(d + 7, 7);
      }
    }
  }
  c.stroke();
  return palette.hatches[outcome] = ctx.createPattern(tile, "repeat");
}

function fillOf(page, palette, a, phase) {
  return page.view.colour === "stage" ? palette.stages[a.stage % palette.stages.length] : palette[phase];
}

// Draws one attempt from x0 to x1 in a row whose bars begin at y.
function drawBar(ctx, page, palette, a, x0, x1, y, x) {
  const outcome = outcomeOf(a);
  if (x1 - x0 > 5) x1 -= 1;  // a gap to the next one
  const width = Math.max(2, x1 - x0);
  const parts = phasesOf(page.model, a);
  if (width < 4) {
    const longest = parts.reduce((best, p) => best && best.to - best.from >= p.to - p.from ? best : p, null);
    ctx.fillStyle = outcome === "failed" ? palette.bad : fillOf(page, palette, a, longest ? longest.phase : "launch");
    ctx.fillRect(x0, y, width, kBar);
  } else {
    ctx.fillStyle = palette.quiet;
    ctx.fillRect(x0, y + kBar / 2 - 0.5, width, 1);
    for (const p of parts) {
      const from = Math.max(x0, x(p.from));
      const high = kBar * kHeights[p.phase];
      ctx.fillStyle = fillOf(page, palette, a, p.phase);
      ctx.fillRect(from, y + (kBar - high) / 2, Math.max(1, Math.min(x1, x(p.to)) - from), high);
    }
    if (outcome === "replica" || outcome === "failed" || outcome === "killed") {
      ctx.fillStyle = hatchOf(ctx, palette, outcome);
      ctx.fillRect(x0, y, width, kBar);
      ctx.strokeStyle = outcome === "failed" ? palette.bad : palette.quiet;
      ctx.lineWidth = outcome === "failed" ? 1.5 : 1;
      ctx.strokeRect(x0 + 0.5, y + 0.5, width - 1, kBar - 1);
    }
    if (width >= 12) drawBarText(ctx, page, palette, a, x0, width, y, x, outcome, parts);
  }
  if (a.critical) {
    ctx.strokeStyle = palette.text;
    ctx.lineWidth = 2;
    ctx.strokeRect(x0, y, width, kBar);
  }
}

function drawBarText(ctx, page, palette, a, x0, width, y, x, outcome, parts) {
  const cause = known(kCauses, a.cause).mark;
  const end = outcome === "won" ? "" : known(kOutcomes, outcome).mark;
  const chip = (mark, left, ink) => {
    ctx.fillStyle = palette.page;
    ctx.fillRect(left, y + 1.5, 11, kBar - 3);
    ctx.fillStyle = ink;
    ctx.fillText(mark, left + (mark === "C" || mark === "S" || mark === "R" ? 2 : 1.5), y + kBar - 3.5);
  };
  let left = x0 + 2;
  let right = x0 + width - 2;
  if (cause) {
    chip(cause, left, palette.text);
    left += 13;
  }
  if (end && right - left >= 11) {
    chip(end, right - 11, outcome === "failed" ? palette.bad : palette.text);
    right -= 13;
  }
  const name = visible(stageName(page.model, a.stage));
  if (name === "") return;
  const plain = outcome === "won" || outcome === "running" || outcome === "waiting";
  const widest = plain && parts.reduce((best, p) => kHeights[p.phase] >= 0.8 &&
      (!best || p.to - p.from > best.to - best.from) ? p : best, null);
  const from = widest ? Math.max(left, x(widest.from) + 2) : left;
  const to = widest ? Math.min(right, x(widest.to)) : right;
  const room = Math.floor((to - from - 4) / kCharacter);
  // Without room for the stage the task's number says more than the start of a name.
  const task = String(a.task);
  const shown = name.length + 1 + task.length <= room || room > 12 ?
    `${shorten(name, room - 1 - task.length)} ${task}` : task;
  if (shown.length > room) return;
  if (!widest) {  // Between hatches a text needs a ground of its own.
    ctx.fillStyle = palette.page;
    ctx.fillRect(from, y + 1.5, shown.length * kCharacter + 5, kBar - 3);
  }
  ctx.fillStyle = widest ? palette["bar-text"] : palette.text;
  ctx.fillText(shown, from + 2, y + kBar - 3.5);
}

function drawLane(ctx, page, palette, area, index) {
  const {model} = page;
  const lane = model.lanes[index];
  const y = kTop + index * kRow - area.scroll + (kRow - kBar) / 2;
  const x = (us) => xOf(area, us);
  let drawn = -1;  // the pixel that the last bar ended at
  for (let k = lowerBound(lane.ends, area.from, (end) => end); k < lane.attempts.length; k++) {
    const a = model.report.attempts[lane.attempts[k]];
    if (a.launched_us > area.to) break;
    const x0 = Math.max(area.gutter - 4, x(a.launched_us));
    const x1 = Math.min(area.width + 4, x(endOf(model, a)));
    if (x1 < area.gutter) continue;
    const marked = a.critical || a.state === "failed" || a.id === page.view.selected;
    if (x1 <= drawn && !marked) continue;
    drawBar(ctx, page, palette, a, x0, x1, y, x);
    drawn = Math.max(drawn, Math.ceil(x1));
    if (a.id === page.view.selected) {
      ctx.strokeStyle = palette.page;
      ctx.lineWidth = 5;
      ctx.strokeRect(x0 - 2, y - 1, Math.max(2, x1 - x0) + 4, kBar + 2);
      ctx.strokeStyle = palette.select;
      ctx.lineWidth = 2.5;
      ctx.strokeRect(x0 - 2, y - 1, Math.max(2, x1 - x0) + 4, kBar + 2);
    }
  }
}

function drawDecisions(ctx, page, palette, area) {
  const list = page.model.decisions;
  const selected = page.model.byId.get(page.view.selected);
  let drawn = -1;
  ctx.fillStyle = palette.tick;
  for (let i = lowerBound(list, area.from, (d) => d.at_us); i < list.length && list[i].at_us <= area.to; i++) {
    const x = Math.round(xOf(area, list[i].at_us));
    if (x <= drawn) continue;
    ctx.fillRect(x - 0.5, kRuler + 3, 1.5, kTicks - 5);
    drawn = x + 1;
  }
  if (selected == null) return;
  ctx.fillStyle = palette.select;
  for (const d of page.model.decisionsOf.get(selected) || []) {
    if (d.at_us < area.from || d.at_us > area.to) continue;
    const x = Math.round(xOf(area, d.at_us));
    ctx.beginPath();
    ctx.moveTo(x - 5, kRuler);
    ctx.lineTo(x + 5, kRuler);
    ctx.lineTo(x, kTop - 1);
    ctx.fill();
  }
}

function drawTimeline(ctx, page, palette, area) {
  const {model} = page;
  ctx.font = kFont;
  ctx.textBaseline = "alphabetic";
  ctx.direction = "ltr";
  ctx.fillStyle = palette.page;
  ctx.fillRect(0, 0, area.width, area.height);
  const first = Math.max(0, Math.floor(area.scroll / kRow));
  const last = Math.min(model.lanes.length, Math.ceil((area.scroll + area.height - kTop) / kRow));
  for (let i = first; i < last; i++) {
    if (model.lanes[i].worker % 2 === 1) continue;
    ctx.fillStyle = palette.stripe;
    ctx.fillRect(0, kTop + i * kRow - area.scroll, area.width, kRow);
  }
  const step = rulerStep(area.to - area.from, (area.width - area.gutter) / 90);
  const marks = [];
  for (let t = Math.ceil(area.from / step) * step; t <= area.to; t += step) marks.push(t);
  ctx.fillStyle = palette.line;
  for (const t of marks) ctx.fillRect(Math.round(xOf(area, t)), kRuler - 4, 1, area.height);
  for (let i = first; i < last; i++) drawLane(ctx, page, palette, area, i);
  if (model.now > area.from && model.now < area.to) {
    ctx.fillStyle = palette.quiet;
    ctx.fillRect(Math.round(xOf(area, model.now)), kTop, 1, area.height);
  }
  drawGutter(ctx, page, palette, area, first, last);
  ctx.fillStyle = palette.page;
  ctx.fillRect(area.gutter, 0, area.width, kTop);
  ctx.fillStyle = palette.text;
  for (const t of marks) {
    ctx.fillRect(Math.round(xOf(area, t)), kRuler - 4, 1, 4);
    ctx.fillText(duration(t), Math.round(xOf(area, t)) + 3, kRuler - 7);
  }
  drawDecisions(ctx, page, palette, area);
  ctx.fillStyle = palette.line;
  ctx.fillRect(0, kTop - 1, area.width, 1);
}

function drawGutter(ctx, page, palette, area, first, last) {
  const {model} = page;
  const room = Math.floor((area.gutter - 34) / kCharacter - 1);
  for (let i = first; i < last; i++) {
    const lane = model.lanes[i];
    const y = kTop + i * kRow - area.scroll;
    ctx.fillStyle = lane.worker % 2 === 1 ? palette.page : palette.stripe;
    ctx.fillRect(0, y, area.gutter, kRow);
    if (lane.lane === 0) {
      ctx.fillStyle = palette.line;
      ctx.fillRect(0, y, area.width, 1);
    }
    ctx.fillStyle = palette.text;
    if (lane.lane === 0 || i === first) {
      ctx.fillText(shorten(visible(workerName(model, lane.worker)), room), 4, y + 13);
    }
    ctx.fillStyle = palette.quiet;
    ctx.fillText(String(lane.lane), area.gutter - 24, y + 13);
  }
  ctx.fillStyle = palette.page;
  ctx.fillRect(0, 0, area.gutter, kTop);
  ctx.fillStyle = palette.quiet;
  ctx.fillText("Worker", 4, kRuler - 7);
  ctx.fillText("Slot", area.gutter - 28, kRuler - 7);
  ctx.fillText("Decisions", 4, kTop - 4);
  ctx.fillStyle = palette.line;
  ctx.fillRect(area.gutter - 1, 0, 1, area.height);
}
