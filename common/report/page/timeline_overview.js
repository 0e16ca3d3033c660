// Draws how many attempts run over the whole job, and the part of it that the timeline shows.

const kOverviewHeight = 40;

// Returns the number of running attempts in each of `buckets` equal parts of the job, at its most. An attempt that
// begins when another ends does not run beside it.
function runningOver(model, buckets) {
  const events = [];
  for (const a of model.report.attempts) events.push([a.launched_us, 1], [endOf(model, a), -1]);
  events.sort((x, y) => x[0] - y[0] || x[1] - y[1]);
  const most = new Array(buckets).fill(0);
  let sum = 0;
  let bucket = 0;
  for (const [at, change] of events) {
    const next = Math.min(buckets - 1, Math.floor(at / model.end * buckets));
    while (bucket < next) most[++bucket] = sum;
    sum += change;
    most[bucket] = Math.max(most[bucket], sum);
  }
  while (bucket < buckets - 1) most[++bucket] = sum;
  return most;
}

function createOverview(page, redraw) {
  const canvas = el("canvas", {class: "overview", "aria-hidden": "true"});
  let running = [];
  let gutter = 0;
  const draw = (palette, left, printing) => {
    gutter = left;
    const width = printing ? 1040 : canvas.clientWidth;
    const ctx = sizedContext(canvas, width, kOverviewHeight);
    if (!ctx || width <= left) return;
    const plot = width - left;
    const most = Math.max(1, ...running);
    ctx.font = kFont;
    ctx.fillStyle = palette.page;
    ctx.fillRect(0, 0, width, kOverviewHeight);
    ctx.fillStyle = palette.quiet;
    ctx.fillText("Running", 4, 15);
    ctx.fillText(`at most ${compact(most)}`, 4, 30);
    const base = kOverviewHeight - 2;
    const whole = page.model.end * 1.01;
    ctx.beginPath();
    ctx.moveTo(left, base);
    running.forEach((n, i) => {
      const y = base - n / most * (base - 4);
      ctx.lineTo(left + i / running.length / 1.01 * plot, y);
      ctx.lineTo(left + (i + 1) / running.length / 1.01 * plot, y);
    });
    ctx.lineTo(left + plot / 1.01, base);
    ctx.fill();
    if (page.view.from == null) return;
    const x0 = left + page.view.from / whole * plot;
    const x1 = left + page.view.to / whole * plot;
    ctx.strokeStyle = palette.accent;
    ctx.lineWidth = 2;
    ctx.strokeRect(x0, 1, Math.max(4, x1 - x0), kOverviewHeight - 2);
  };
  const move = (event) => {
    if (page.view.from == null || event.buttons === 0) return;
    const plot = canvas.clientWidth - gutter;
    const length = page.view.to - page.view.from;
    setSpan(page, (event.offsetX - gutter) / plot * page.model.end * 1.01 - length / 2, length);
    redraw();
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    move(event);
  });
  canvas.addEventListener("pointermove", move);
  return {node: canvas, draw, show: (model) => { running = runningOver(model, 600); }};
}

// Returns the drawing context of a canvas with that size in CSS pixels. Clears it only if the size has changed.
function sizedContext(canvas, width, height) {
  const scale = window.devicePixelRatio || 1;
  const w = Math.round(width * scale);
  const h = Math.round(height * scale);
  if (w < 1 || h < 1) return null;
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
    canvas.style.height = height + "px";
  }
  const ctx = canvas.getContext("2d", {alpha: false});
  ctx.setTransform(scale, 0, 0, scale, 0, 0);
  return ctx;
}
