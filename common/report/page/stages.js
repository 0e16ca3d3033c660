// Shows the stages table with a plot of the tasks' times and bytes, and the hot keys.

function stagesSection(page) {
  const body = el("div");
  const hot = el("div");
  const at = (d, q) => quantile(d.quantiles, q);
  const time = (us) => [duration(us), exactTime(us)];
  const size = (n) => [bytes(n), exactBytes(n)];
  const row = (s, state) => [
    el("span", null, button("", () => page.filterAttempts({stage: s.id}),
        {class: "link", "data-key": "stage:" + s.id, title: "Show the attempts of this stage"}, nameOf(s.id)),
    el("span", {class: "quiet"}, " " + s.kind)),
    whole(s.tasks), state ? whole(state.done) : kNone,
    state ? (state.failed ? el("span", {class: "bad-text"}, sign("✕"), whole(state.failed)) : "0") : kNone,
    time(at(s.durations_us, 0)), time(at(s.durations_us, 0.5)), time(at(s.durations_us, 0.95)),
    time(at(s.durations_us, 1)), sortedPlot(s.durations_us, duration, `task times of ${s.id}`),
    sortedPlot(s.task_bytes, bytes, `task bytes of ${s.id}`),
    time(s.slot_us), slotPlot(s), size(s.input_bytes), size(s.output_bytes), whole(s.output_records),
  ];
  const columns = [["Stage"], ["Tasks", true], ["Done", true], ["Failed", true], ["Min time", true], ["Median time", true],
    ["p95 time", true], ["Max time", true], ["Task times, sorted"], ["Task bytes, sorted"], ["Slot time", true],
    ["Launch, shuffle, compute"], ["Input", true], ["Output", true], ["Records", true]];
  return {
    node: section("stages", "Stages", body, hot),
    show: ({report, job}) => {
      const states = new Map(job.stages.map((s) => [s.id, s]));
      refill(body, [report.stages, job.stages], () => report.stages.length === 0 ?
          [el("p", {class: "quiet"}, "No stages yet.")] :
          [plainTable("Stages", columns, report.stages.map((s) => row(s, states.get(s.id))), null, "tight"),
            el("p", {class: "quiet small"}, "Times are those of committed attempts, from the launch to the end, " +
                "without the wait for outputs of earlier stages. The duration of an attempt has that wait. " +
                "The plots show a stage's tasks from the least to the greatest. " +
                "The dashed line marks the median. A peak at the right end is skew.")]);
      refill(hot, [job.skew], () => [el("h3", null, "Hot keys"), job.skew.length === 0 ?
        el("p", {class: "quiet"}, "No hot keys found.") : hotKeys(job.skew)]);
    },
  };
}

function hotKeys(skew) {
  return plainTable("Hot keys", [["Stage"], ["Key"], ["Bytes", true], ["Share of the stage"], ["Records", true],
    ["Partition", true], ["Partition bytes", true], ["Median partition", true], ["Meaning"]],
  skew.slice(0, 200).map((k) => [nameOf(k.stage), el("code", null, nameOf(k.key), k.key_cut && "\u2026"),
    [bytes(k.bytes), exactBytes(k.bytes)],
    el("span", {class: "share"}, shareBar(k.stage_bytes ? k.bytes / k.stage_bytes : 0),
        percent(k.stage_bytes ? k.bytes / k.stage_bytes : null)),
    whole(k.records), String(k.partition), [bytes(k.partition_bytes), exactBytes(k.partition_bytes)],
    [bytes(k.median_bytes), exactBytes(k.median_bytes)], sentence(k.text)]));
}

// Returns a plot of sorted values: an even stage is a level line, and skew is a peak at the right end.
function sortedPlot({count, quantiles}, format, what) {
  if (quantiles.length === 0) return kNone;
  const [w, h] = [120, 30];
  const most = Math.max(1, quantiles[quantiles.length - 1]);
  const y = (v) => h - 1 - v / most * (h - 3);
  const step = (i) => quantiles.length === 1 ? i * w : i / (quantiles.length - 1) * w;
  const points = quantiles.length === 1 ? [quantiles[0], quantiles[0]] : quantiles;
  const median = quantile(quantiles, 0.5);
  const ratio = median > 0 ? most / median : null;
  const text = `${what}: ${plural(count, "task")}, median ${format(median)}, greatest ${format(most)}`;
  return el("span", {class: "plot"},
      svg("svg", {width: w, height: h, viewBox: `0 0 ${w} ${h}`, role: "img", "aria-label": text},
          svg("title", null, text),
          svg("path", {class: "area", d: `M0 ${h}` + points.map((v, i) => ` L${step(i).toFixed(1)} ${y(v).toFixed(1)}`)
              .join("") + ` L${w} ${h}z`}),
          svg("path", {class: "median", d: `M0 ${y(median).toFixed(1)}H${w}`})),
      ratio != null && el("span", {class: "ratio" + (ratio >= 3 ? " strong" : "")},
          `max ${times(ratio)}`));
}

// Returns a bar of the parts of a stage's slot time. The rest is time after the last known phase.
function slotPlot(s) {
  const parts = [["launch", s.launch_us], ["shuffle", s.shuffle_us],
    [s.kind === "map" ? "map" : "reduce", s.compute_us]];
  const sum = Math.max(1, s.slot_us, s.launch_us + s.shuffle_us + s.compute_us);
  const text = parts.map(([name, us]) => `${name} ${duration(us)} (${percent(us / sum)})`).join(", ");
  let x = 0;
  return svg("svg", {width: 120, height: 16, role: "img", "aria-label": text, class: "slots"}, svg("title", null, text),
      parts.map(([name, us]) => {
        const width = us / sum * 120;
        const high = 16 * kHeights[name];
        x += width;
        return svg("rect", {class: "phase-" + name, x: x - width, y: (16 - high) / 2, width, height: high});
      }));
}
