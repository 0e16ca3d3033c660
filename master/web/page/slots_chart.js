// Draws the slots over time: an area per job, on top of each other, below the line of all slots, with a legend of jobs.

const kJobColours = 8;
const kLabelHeight = 13;  // pixels that an area must have for its number

function createSlotsChart(label) {
  const areas = svg("g");
  const parts = {
    line: svg("path", {class: "limit"}), axis: svg("path", {class: "axis"}),
    most: svg("text", {x: kChartLeft - 6, y: 16, "text-anchor": "end"}),
    zero: svg("text", {x: kChartLeft - 6, y: kChartBase, "text-anchor": "end"}, "0"),
    from: svg("text", {x: kChartLeft, y: kChartHeight - 6}),
    to: svg("text", {y: kChartHeight - 6, "text-anchor": "end"}),
    cursor: svg("path", {class: "cursor"}),
  };
  const picture = svg("svg", {class: "time-chart", role: "img", height: kChartHeight}, areas, Object.values(parts));
  const reading = el("p", {class: "quiet small", "aria-hidden": "true"});
  const legend = el("div");
  const holder = el("div", null, picture, reading, legend);
  const places = new Map();  // per job: its number, which it keeps while it is shown
  let data = null;  // {period, to, slots: [], busy: [], jobs: [{id, name, busy: []}]}
  let layers = [];  // {number, id, name, busy: []}, from the lowest; number 0: all other jobs
  let at = null;  // index that the pointer is at

  const place = () => {
    const ids = new Set(data.jobs.map((j) => j.id));
    for (const id of places.keys()) if (!ids.has(id)) places.delete(id);
    for (const {id} of data.jobs) {
      for (let n = 1; n <= kJobColours && !places.has(id); n++) {
        if (![...places.values()].includes(n)) places.set(id, n);
      }
    }
    layers = data.jobs.filter((j) => places.has(j.id)).map((j) => ({...j, number: places.get(j.id)}))
        .sort((a, b) => a.number - b.number);
    const others = data.busy.map((n, i) => Math.max(0, n - layers.reduce((sum, l) => sum + (l.busy[i] || 0), 0)));
    if (layers.length === 0 || others.some((n) => n > 0)) layers.push({number: 0, id: null, name: "", busy: others});
  };
  // A name with the id where another job has the same.
  const nameOfLayer = (l) => {
    if (l.number === 0) return layers.length > 1 ? "other jobs" : "jobs";
    const same = layers.filter((other) => other.name === l.name).length > 1;
    return visible(l.name || l.id) + (same && l.name ? ` (${visible(l.id)})` : "");
  };
  const read = (i) => {
    const own = layers.filter((l) => l.busy[i] > 0).map((l) => `${nameOfLayer(l)} ${whole(l.busy[i])}`);
    return `${clockTime(data.to - (data.busy.length - 1 - i) * data.period)}: ${whole(data.busy[i])} of ` +
        `${plural(data.slots[i] || 0, "slot")} busy${own.length > 0 ? ": " + own.join(", ") : ""}`;
  };
  const draw = () => {
    const width = holder.clientWidth || 640;
    const count = data ? data.busy.length : 0;
    picture.setAttribute("width", width);
    picture.setAttribute("viewBox", `0 0 ${width} ${kChartHeight}`);
    picture.classList.toggle("unseen", count === 0);
    if (count === 0) {
      reading.textContent = "No figures yet.";
      return;
    }
    const right = width - 4;
    const most = Math.max(1, ...data.busy, ...data.slots);
    const x = (i) => kChartLeft + i / count * (right - kChartLeft);
    const y = (n) => kChartBase - n / most * (kChartBase - 10);
    const base = new Array(count).fill(0);
    areas.replaceChildren(...layers.flatMap((l) => {
      const top = base.map((n, i) => n + (l.busy[i] || 0));
      const path = svg("path", {class: `job-area job-${l.number}`, d: bandPath(base, top, x, y)});
      const middle = widest(l.busy, (n) => n / most * (kChartBase - 10) >= kLabelHeight);
      const text = l.number > 0 && middle != null && svg("text", {class: "job-number", "text-anchor": "middle",
        x: x(middle + 0.5).toFixed(1), y: (y((base[middle] + top[middle]) / 2) + 4).toFixed(1)}, String(l.number));
      top.forEach((n, i) => { base[i] = n; });
      return text ? [path, text] : [path];
    }));
    parts.line.setAttribute("d", data.slots.map((n, i) => i > 0 && n === data.slots[i - 1] ? "" :
      `${i ? "H" : "M"}${x(i).toFixed(1)}${i ? "V" : " "}${y(n).toFixed(1)}`).join("") + `H${right}`);
    parts.axis.setAttribute("d", `M${kChartLeft} 6V${kChartBase}H${right}`);
    parts.most.textContent = whole(most);
    parts.from.textContent = clockTime(data.to - (count - 1) * data.period);
    parts.to.setAttribute("x", right);
    parts.to.textContent = clockTime(data.to);
    const shown = at == null ? null : Math.min(at, count - 1);
    parts.cursor.setAttribute("d", shown == null ? "" : `M${x(shown + 0.5).toFixed(1)} 6V${kChartBase}`);
    reading.textContent = read(shown ?? count - 1);
    picture.setAttribute("aria-label", `${label}: ${read(count - 1)}; at most ${whole(Math.max(...data.busy))} busy ` +
        `in ${duration(count * data.period * 1000)}`);
  };
  const fillLegend = () => refill(legend, layers.map((l) => [l.number, l.id, l.name, l.busy[l.busy.length - 1]]), () =>
    layers.length > 0 && layers[0].number > 0 && el("ul", {class: "job-legend"}, layers.map((l) =>
      el("li", {"data-key": l.id || "others"},
          el("span", {class: `key job-key job-${l.number}`}, l.number > 0 ? String(l.number) : "…"),
          l.id ? el("a", {href: jobUrl(l.id), "data-key": "a"}, nameOf(l.name || l.id)) : "other jobs",
          l.id && l.name && el("code", {class: "quiet"}, nameOf(l.id)),
          el("span", {class: "quiet"}, ` ${plural(l.busy[l.busy.length - 1] || 0, "slot")} now`)))));
  picture.addEventListener("pointermove", (event) => {
    if (!data || data.busy.length === 0) return;
    const share = (event.offsetX - kChartLeft) / (picture.clientWidth - 4 - kChartLeft);
    at = Math.max(0, Math.min(data.busy.length - 1, Math.floor(share * data.busy.length)));
    draw();
  });
  picture.addEventListener("pointerleave", () => {
    at = null;
    draw();
  });
  new ResizeObserver(draw).observe(holder);
  return {node: holder, show: (next) => {
    data = next;
    place();
    fillLegend();
    draw();
  }};
}

// Returns a path around the steps between two lists of values.
function bandPath(base, top, x, y) {
  let d = "";
  let [lastX, lastY] = [null, null];
  const to = (px, py) => {
    if (px === lastX && py === lastY) return;
    d += d === "" ? `M${px} ${py}` : px === lastX ? `V${py}` : py === lastY ? `H${px}` : `L${px} ${py}`;
    [lastX, lastY] = [px, py];
  };
  const n = top.length;
  for (let i = 0; i < n; i++) {
    if (i > 0 && top[i] === top[i - 1]) continue;
    if (i > 0) to(x(i).toFixed(1), y(top[i - 1]).toFixed(1));
    to(x(i).toFixed(1), y(top[i]).toFixed(1));
  }
  to(x(n).toFixed(1), y(top[n - 1]).toFixed(1));
  for (let i = n - 1; i >= 0; i--) {
    if (i < n - 1 && base[i] === base[i + 1]) continue;
    if (i < n - 1) to(x(i + 1).toFixed(1), y(base[i + 1]).toFixed(1));
    to(x(i + 1).toFixed(1), y(base[i]).toFixed(1));
  }
  to(x(0).toFixed(1), y(base[0]).toFixed(1));
  return d + "z";
}

// Returns the middle of the longest run of values for which `holds`, or null.
function widest(values, holds) {
  let best = [0, 0];
  let begin = 0;
  for (let i = 0; i <= values.length; i++) {
    if (i < values.length && holds(values[i])) continue;
    if (i - begin > best[1] - best[0]) best = [begin, i];
    begin = i + 1;
  }
  return best[1] - best[0] < values.length / 60 || best[1] === best[0] ? null : Math.floor((best[0] + best[1] - 1) / 2);
}
