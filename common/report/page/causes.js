// Shows the attempts per cause of their launch, clones, the deadline, and the slots that were guaranteed for it.

function causesSection(page) {
  const body = el("div");
  const slotSeconds = (s) => [seconds(s), `${s} slot seconds`];
  const causes = (attempts) => {
    const rows = Object.keys(kCauses).filter((c) => attempts[c]).map((c) => [c, attempts[c]]);
    if (rows.length === 0) return el("p", {class: "quiet"}, "No attempts yet.");
    const all = Math.max(1, rows.reduce((sum, [, r]) => sum + r.launched, 0));
    return plainTable("Attempts per cause",
        [["Cause"], ["Launched", true], ["Share of launches"], ["Won", true], ["Success rate", true],
          ["Slot time wasted", true]],
        rows.map(([c, r]) => [
          el("span", null, el("span", {class: "mark", "aria-hidden": "true"}, known(kCauses, c).mark),
              button(known(kCauses, c).text, () => page.filterAttempts({cause: c}), {
                class: "link", "data-key": "cause:" + c,
                title: "Show the attempts with this cause"})),
          whole(r.launched), shareBar(r.launched / all), whole(r.won),
          percent(r.launched ? r.won / r.launched : null), slotSeconds(r.wasted_slot_s)]));
  };
  const clones = (c) => [el("h3", null, "Clones"), terms([
    ["Launched", whole(c.launched)], ["Won", whole(c.won)], ["Killed", whole(c.killed)],
    ["Extra slot time", ...slotSeconds(c.extra_slot_s)],
    ["Budget used", `${whole(c.budget_used_slots)} of ${plural(c.budget_slots, "slot")}`],
    ["Reads of an exclusive replica", whole(c.reads.exclusive)],
    ["Reads of a contended replica", whole(c.reads.contended)],
    ["Reads moved to another replica", whole(c.reads.rebound)],
    ["Clones on idle slots launched", whole(c.opportunistic.launched)],
    ["Clones on idle slots won", whole(c.opportunistic.won)],
    ["Clones on idle slots killed", whole(c.opportunistic.killed)],
    ["Extra slot time of clones on idle slots", ...slotSeconds(c.opportunistic.extra_slot_s)],
    c.omega_s != null && ["Longest wait for an exclusive replica (ω)",
      typeof c.omega_s === "number" ? seconds(c.omega_s) : "unlimited"],
  ], "terms tiles")];
  const deadline = (d) => [el("h3", null, "Deadline"), terms([
    ["Deadline", d.deadline_s == null ? "none" : seconds(d.deadline_s)],
    ["Guarantee is adjusted", d.steered ? "yes" : "no"], ["Best effort", d.best_effort ? "yes" : "no"],
    ["Predicted from earlier runs", d.predicted ? whole(d.earlier_runs) : "no"],
    ["Input against these runs", times(d.input_scale)],
    ["Guaranteed slots", whole(d.guaranteed_slots)], ["Held slots", whole(d.held_slots)],
  ], "terms tiles")];
  return {
    node: section("causes", "Attempts by cause", body),
    show: ({job}) => refill(body, [job.attempts, job.clones, job.steering, job.deadline], () => [
      causes(job.attempts),
      job.clones && clones(job.clones),
      job.deadline && deadline(job.deadline),
      job.steering && [el("h3", null, "Guaranteed slots over time"),
        terms([["Slot time held", ...slotSeconds(job.steering.held_slot_s)]]),
        job.steering.points.length > 0 && steeringChart(job.steering.points)],
    ]),
  };
}

// Returns a step chart of guaranteed slots, a filled area, and of those that would be sufficient, a dashed line.
function steeringChart(points) {
  const [w, h, left, base] = [640, 160, 40, 136];
  const end = Math.max(1e-6, points[points.length - 1].at_s) * 1.03;
  const most = Math.max(1, ...points.map((p) => Math.max(p.slots, p.asked_slots)));
  const x = (s) => (left + s / end * (w - left - 8)).toFixed(1);
  const y = (n) => (base - n / most * (base - 10)).toFixed(1);
  const steps = (of) => points.map((p, i) => `${i ? "H" : "M"}${x(p.at_s)}${i ? "V" : " "}${y(of(p))}`).join("") +
      `H${x(end)}`;
  const last = points[points.length - 1];
  const text = `Guaranteed slots over ${plural(points.length, "estimate")}: at most ${whole(most)}. ` +
      `The last estimate has ${plural(last.slots, "slot")} and needs ${whole(last.asked_slots)}.`;
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((f) => f * end / 1.03);
  return [
    el("div", {class: "scroll", tabindex: "0", role: "group", "aria-label": "Guaranteed slots over time",
      "data-key": "steering"},
        svg("svg", {width: w, height: h, viewBox: `0 0 ${w} ${h}`, role: "img", "aria-label": text, class: "chart"},
            svg("title", null, text),
            svg("path", {class: "area", d: `${steps((p) => p.slots)}V${base}H${x(points[0].at_s)}z`}),
            svg("path", {class: "asked", d: steps((p) => p.asked_slots)}),
            svg("path", {class: "axis", d: `M${left} 6V${base}H${w - 4}`}),
            svg("text", {x: left - 5, y: 14, "text-anchor": "end"}, whole(most)),
            svg("text", {x: left - 5, y: base, "text-anchor": "end"}, "0"),
            ticks.map((t, i) =>
              svg("text", {x: x(t), y: h - 8, "text-anchor": i === 4 ? "end" : "middle"}, seconds(t))))),
    el("p", {class: "quiet small"}, "Area: guaranteed slots. Dashed line: slots that would " +
        "meet the deadline, as estimated at that time."),
    el("details", {"data-key": "points"}, el("summary", null, `Estimates (${whole(points.length)})`),
        points.length > 500 && el("p", {class: "quiet"}, "The first 500 are shown."),
        plainTable("Estimates", [["Time", true], ["Guaranteed slots", true], ["Sufficient slots", true],
          ["Progress", true], ["Predicted rest", true], ["Deadline", true]],
        points.slice(0, 500).map((p) => [[seconds(p.at_s), `${p.at_s} s`], whole(p.slots), whole(p.asked_slots),
          percent(p.progress), [seconds(p.left_s), `${p.left_s} s`], [seconds(p.deadline_s), `${p.deadline_s} s`]]))),
  ];
}
