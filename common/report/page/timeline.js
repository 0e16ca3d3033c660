// Puts the timeline together: controls, legend, overview, the scrolling canvas, and the box at the pointer.

const kPrintedLanes = 28;  // as many as fit on a landscape page below the overview

function timelineSection(page) {
  const canvas = el("canvas", {class: "lanes", "aria-hidden": "true"});
  const space = el("div", {"aria-hidden": "true"});
  const box = el("div", {class: "tip", "aria-hidden": "true", hidden: true});
  const frame = el("div", {class: "frame", tabindex: "0", role: "application", "aria-roledescription": "timeline",
    "aria-label": "Attempts per worker and slot over time. The attempts table below has the same data.",
    "aria-describedby": "timeline-keys"}, canvas, space);
  const keys = el("p", {class: "quiet small", id: "timeline-keys"},
      "Keys: arrows move between attempts and lanes, Home and End go to the first and last attempt of a lane, " +
      "Enter opens the details, Escape closes them, + and - or W and S zoom, < and > or A and D pan, F zooms to the " +
      "selected attempt, 0 shows the whole job. Pointer: drag pans, Ctrl and wheel zoom, Shift and wheel pan.");
  const sample = el("p", {class: "quiet"});
  let sampled = "";
  const legend = el("dl", {class: "legend"});
  const holder = el("div", {class: "holder"}, frame, box);
  const empty = el("p", {class: "quiet"}, "No attempts yet.");
  let palette = null;
  let asked = false;
  let printing = false;

  const area = () => {
    const width = printing ? 1040 : frame.clientWidth;
    const [from, to] = printing ? [0, page.model.end * 1.01] : spanOf(page);
    const height = printing ? kTop + Math.min(page.model.lanes.length, kPrintedLanes) * kRow : frame.clientHeight;
    return {width, height, gutter: width < 640 ? 96 : 168, scroll: printing ? 0 : frame.scrollTop, from, to};
  };
  const draw = () => {
    asked = false;
    followNow.setAttribute("aria-pressed", String(page.view.from == null || page.view.follow));
    const now = area();
    const ctx = holder.hidden ? null : sizedContext(canvas, now.width, now.height);
    if (!ctx || now.width <= now.gutter) return;
    palette ||= paletteOf(document.documentElement);
    drawTimeline(ctx, page, palette, now);
    overview.draw(palette, now.gutter, printing);
  };
  const redraw = () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(draw);
  };
  const overview = createOverview(page, redraw);
  const zoom = (factor) => () => {
    if (factor === 0) showWhole(page);
    else zoomBy(page, factor);
    redraw();
  };
  const colour = el("select", {onchange: () => {
    page.view.colour = colour.value;
    fillLegend();
    redraw();
  }}, el("option", {value: "phase"}, "Phase"), el("option", {value: "stage"}, "Stage"));
  const followNow = button("Follow", () => {
    follow(page);
    redraw();
  }, {title: "Keep the present at the right edge, until you zoom or pan"});
  const controls = el("div", {class: "controls"},
      el("label", {class: "field"}, el("span", null, "Colour by"), colour),
      el("span", {class: "group", role: "group", "aria-label": "Zoom"},
          button("−", zoom(1.5), {"aria-label": "Zoom out"}), button("+", zoom(1 / 1.5), {"aria-label": "Zoom in"}),
          button("Whole job", zoom(0)), followNow));

  const tip = {
    hide: () => { box.hidden = true; },
    show: (index, decisions, x, y) => {
      const a = page.model.report.attempts[index];
      if (!a && decisions.length === 0) return tip.hide();
      box.replaceChildren(...(a ? [
        el("p", {class: "strong"}, sentence(attemptName(page.model, a))),
        el("p", null, `${known(kCauses, a.cause).text}, ${known(kOutcomes, outcomeOf(a)).text}, ` +
            duration(endOf(page.model, a) - a.launched_us)),
        el("p", null, "on ", nameOf(workerName(page.model, a.worker)), ` slot ${a.lane}`),
        el("p", null, phasesOf(page.model, a).map((p) => `${p.phase} ${duration(p.to - p.from)}`).join(", ")),
      ] : [
        ...decisions.slice(0, 4).map((d) => el("p", null, `${duration(d.at_us)}: `, sentence(d.what),
            d.reason && [" \u2014 ", sentence(shorten(visible(d.reason), 160))])),
        decisions.length > 4 && el("p", null, `and ${whole(decisions.length - 4)} more`),
      ]).filter(Boolean));
      box.hidden = false;
      const right = x > frame.clientWidth / 2;
      box.style.left = right ? "auto" : `${x + 14}px`;
      box.style.right = right ? `${frame.clientWidth - x + 14}px` : "auto";
      box.style.top = `${Math.min(y + 14, Math.max(0, frame.clientHeight - box.offsetHeight - 4))}px`;
    },
  };
  addTimelineKeys(page, frame, redraw);
  addTimelinePointer(page, canvas, frame, area, tip, redraw);
  frame.addEventListener("keydown", (event) => event.key === "Escape" && tip.hide());
  frame.addEventListener("scroll", () => {
    tip.hide();
    redraw();
  }, {passive: true});
  new ResizeObserver(redraw).observe(frame);

  let legendOf = "";
  const fillLegend = () => {
    const key = legendKey(page);
    if (key === legendOf) return;
    legendOf = key;
    palette ||= paletteOf(document.documentElement);
    fillTimelineLegend(page, palette, legend);
  };
  return {
    node: section("timeline", "Timeline", empty, controls, overview.node, holder, keys,
        el("details", {class: "legends", "data-key": "legend", open: true}, el("summary", null, "Legend"), legend),
        sample),
    show: (model) => {
      const {report} = model;
      const none = report.attempts.length === 0 && report.decisions.length === 0;
      empty.hidden = !none;
      for (const node of [controls, overview.node, holder, keys, legend.parentNode]) node.hidden = none;
      if (printing) return;
      // The canvas is sticky at the top and has a height of its own, so the space below it makes up the rest.
      const all = kTop + model.lanes.length * kRow;
      const high = Math.min(all + 2, Math.max(240, Math.round(innerHeight * 0.6)));
      frame.style.height = `${high + 2}px`;
      space.style.height = `${Math.max(0, all - high)}px`;
      sampled = report.attempts_total > report.attempts.length ?
        `A sample: ${whole(report.attempts.length)} of ${whole(report.attempts_total)} attempts are shown.` : "";
      sample.textContent = sampled;
      followNow.hidden = !report.live;
      if (page.view.follow) follow(page);
      overview.show(model);
      fillLegend();
      redraw();
    },
    select: (from) => {
      const index = page.model.byId.get(page.view.selected);
      if (index == null) return redraw();
      revealSpan(page, page.model.report.attempts[index]);
      const top = page.model.place[index][0] * kRow;
      if (top < frame.scrollTop) frame.scrollTop = top;
      else if (top + kRow > frame.scrollTop + frame.clientHeight - kTop) {
        frame.scrollTop = top + kRow - (frame.clientHeight - kTop) + (from === "timeline" ? 0 : kRow * 3);
      }
      redraw();
    },
    recolour: () => {
      palette = null;
      legendOf = "";
      fillLegend();
      redraw();
    },
    print: (on) => {
      printing = on;
      palette = null;
      legendOf = "";
      fillLegend();
      draw();
      if (!on) sample.textContent = sampled;
      else if (page.model.lanes.length > kPrintedLanes) {
        sample.textContent = `Printed: the first ${kPrintedLanes} of ${whole(page.model.lanes.length)} lanes.`;
      }
    },
    focus: () => frame.focus(),
  };
}
