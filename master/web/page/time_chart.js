// Draws counts over time: a filled area below a line, with a reading at the pointer.

const kChartHeight = 150;
const kChartLeft = 44;
const kChartBase = 126;

// area, line: names of the two series for people.
function createTimeChart(label, area, line) {
  const parts = {
    area: svg("path", {class: "area"}), line: svg("path", {class: "limit"}), axis: svg("path", {class: "axis"}),
    most: svg("text", {x: kChartLeft - 6, y: 16, "text-anchor": "end"}),
    zero: svg("text", {x: kChartLeft - 6, y: kChartBase, "text-anchor": "end"}, "0"),
    from: svg("text", {x: kChartLeft, y: kChartHeight - 6}),
    to: svg("text", {y: kChartHeight - 6, "text-anchor": "end"}),
    cursor: svg("path", {class: "cursor"}),
  };
  const picture = svg("svg", {class: "time-chart", role: "img", height: kChartHeight}, Object.values(parts));
  const reading = el("p", {class: "quiet small", "aria-hidden": "true"});
  const holder = el("div", null, picture, reading);
  let data = null;  // {period, to, area: [], line: []}
  let at = null;  // index that the pointer is at

  const read = (i) => `${clockTime(data.to - (data.area.length - 1 - i) * data.period)}: ` +
      `${whole(data.area[i])} ${area}, ${whole(data.line[i])} ${line}`;
  const draw = () => {
    const width = holder.clientWidth || 640;
    const count = data ? data.area.length : 0;
    picture.setAttribute("width", width);
    picture.setAttribute("viewBox", `0 0 ${width} ${kChartHeight}`);
    picture.classList.toggle("unseen", count === 0);
    if (count === 0) {
      reading.textContent = "No figures yet.";
      return;
    }
    const right = width - 4;
    const most = Math.max(1, ...data.area, ...data.line);
    const x = (i) => (kChartLeft + i / count * (right - kChartLeft)).toFixed(1);
    const y = (n) => (kChartBase - (n || 0) / most * (kChartBase - 10)).toFixed(1);
    const steps = (list) => list.map((n, i) =>
      i > 0 && n === list[i - 1] ? "" : `${i ? "H" : "M"}${x(i)}${i ? "V" : " "}${y(n)}`).join("") + `H${right}`;
    parts.area.setAttribute("d", `${steps(data.area)}V${kChartBase}H${kChartLeft}z`);
    parts.line.setAttribute("d", steps(data.line));
    parts.axis.setAttribute("d", `M${kChartLeft} 6V${kChartBase}H${right}`);
    parts.most.textContent = whole(most);
    parts.from.textContent = clockTime(data.to - (count - 1) * data.period);
    parts.to.setAttribute("x", right);
    parts.to.textContent = clockTime(data.to);
    const shown = at == null ? null : Math.min(at, count - 1);
    parts.cursor.setAttribute("d", shown == null ? "" : `M${x(shown + 0.5)} 6V${kChartBase}`);
    reading.textContent = read(shown ?? count - 1);
    const peak = Math.max(...data.area);
    picture.setAttribute("aria-label", `${label}: ${read(count - 1)}; at most ${whole(peak)} ${area} in ` +
        duration(count * data.period * 1000));
  };
  picture.addEventListener("pointermove", (event) => {
    if (!data) return;
    const share = (event.offsetX - kChartLeft) / (picture.clientWidth - 4 - kChartLeft);
    at = Math.max(0, Math.min(data.area.length - 1, Math.floor(share * data.area.length)));
    draw();
  });
  picture.addEventListener("pointerleave", () => {
    at = null;
    draw();
  });
  new ResizeObserver(draw).observe(holder);
  return {node: holder, show: (next) => {
    data = next;
    draw();
  }};
}
