// Handles the pointer, the wheel and the keys of the timeline.

// Returns the attempt that a key moves to from the selected one, or null if the key does not move.
function attemptAfterKey(page, key) {
  const {model} = page;
  const {lanes} = model;
  const selected = model.byId.get(page.view.selected);
  const keys = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"];
  if (!keys.includes(key)) return null;
  if (selected == null) {
    const used = lanes.find((lane) => lane.attempts.length > 0);
    return used ? used.attempts[0] : null;
  }
  const [l, k] = model.place[selected];
  const own = lanes[l].attempts;
  if (key === "Home") return own[0];
  if (key === "End") return own[own.length - 1];
  if (key === "ArrowLeft") return own[Math.max(0, k - 1)];
  if (key === "ArrowRight") return own[Math.min(own.length - 1, k + 1)];
  const step = key === "ArrowUp" ? -1 : 1;
  let next = l + step;
  while (next >= 0 && next < lanes.length && lanes[next].attempts.length === 0) next += step;
  if (next < 0 || next >= lanes.length) return selected;
  const {attempts} = model.report;
  const middle = (a) => (a.launched_us + endOf(model, a)) / 2;
  const at = middle(attempts[selected]);
  return lanes[next].attempts.reduce((best, i) =>
    Math.abs(middle(attempts[i]) - at) < Math.abs(middle(attempts[best]) - at) ? i : best);
}

function addTimelineKeys(page, frame, redraw) {
  frame.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== frame) return;
    const [from, to] = spanOf(page);
    const pan = {"<": -0.2, ">": 0.2, ",": -0.2, ".": 0.2, a: -0.2, d: 0.2}[event.key];
    const next = attemptAfterKey(page, event.key);
    const selected = page.model.byId.get(page.view.selected);
    const a = page.model.report.attempts[selected];
    const middle = a && (a.launched_us + endOf(page.model, a)) / 2;
    const at = a && middle > from && middle < to ? middle : null;
    if (next != null) page.select(page.model.report.attempts[next].id, {from: "timeline"});
    else if (event.key === "Enter" && selected != null) page.select(page.view.selected, {open: true, focus: true});
    else if (event.key === "+" || event.key === "=" || event.key === "w") zoomBy(page, 1 / 1.5, at);
    else if (event.key === "-" || event.key === "s") zoomBy(page, 1.5, at);
    else if (event.key === "f" && a) zoomTo(page, a.launched_us, endOf(page.model, a));
    else if (event.key === "0") showWhole(page);
    else if (pan) panBy(page, (to - from) * pan);
    else return;
    event.preventDefault();
    redraw();
  });
}

// area: returns the current area. tip: shows or hides the box at the pointer.
function addTimelinePointer(page, canvas, frame, area, tip, redraw) {
  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    drag = {x: event.offsetX, y: event.offsetY, top: frame.scrollTop, span: spanOf(page), moved: false,
      touch: event.pointerType === "touch"};
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!drag) {
      hover(event);
      return;
    }
    const dx = event.offsetX - drag.x;
    const dy = event.offsetY - drag.y;
    if (!drag.moved && Math.abs(dx) + Math.abs(dy) < 5) return;
    drag.moved = true;
    tip.hide();
    const now = area();
    const length = drag.span[1] - drag.span[0];
    if (page.view.from != null) setSpan(page, drag.span[0] - dx * length / (now.width - now.gutter), length);
    // The browser scrolls by itself for a finger that moves up or down.
    if (!drag.touch) frame.scrollTop = drag.top - dy;
    redraw();
  });
  canvas.addEventListener("pointerup", (event) => {
    const was = drag;
    drag = null;
    if (!was || was.moved) return;
    const [a, d] = under(event);
    const target = a ?? (d.find((one) => one.attempt != null) || {}).attempt;
    if (target != null) page.select(page.model.report.attempts[target].id, {open: true, from: "timeline"});
  });
  canvas.addEventListener("pointercancel", () => { drag = null; });
  canvas.addEventListener("pointerleave", () => tip.hide());
  const under = (event) => [attemptAt(page, area(), event.offsetX, event.offsetY),
    decisionsAt(page, area(), event.offsetX, event.offsetY)];
  const hover = (event) => {
    const [a, d] = under(event);
    canvas.style.cursor = a != null || d.length > 0 ? "pointer" : page.view.from == null ? "" : "grab";
    tip.show(a, d, event.offsetX, event.offsetY);
  };
  frame.addEventListener("wheel", (event) => {
    const [from, to] = spanOf(page);
    const now = area();
    const sideways = event.shiftKey ? event.deltaX || event.deltaY : event.deltaX;
    if (event.ctrlKey || event.metaKey) {
      const x = event.clientX - canvas.getBoundingClientRect().left;
      zoomBy(page, Math.exp(Math.max(-100, Math.min(100, event.deltaY)) / 200), timeAt(now, Math.max(now.gutter, x)));
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      panBy(page, sideways * (to - from) / (now.width - now.gutter));
    } else {
      return;
    }
    event.preventDefault();
    tip.hide();
    redraw();
  }, {passive: false});
}
