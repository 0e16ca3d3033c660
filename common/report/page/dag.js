// Draws the stages and edges of a job as a picture, and lists the edges as a table.

const kEdgeTexts = {files: "input files", all_to_all: "all to all", many_to_one: "many to one",
  one_to_one: "one to one", broadcast: "broadcast"};
const kMostStages = 300;  // more boxes than that are no picture any more

function dagSection(page) {
  const body = el("div");
  const make = ({report, job}) => {
    const {edges} = report;
    const stages = report.stages.slice(0, kMostStages);
    if (stages.length === 0) return [el("p", {class: "quiet"}, "No stages yet.")];
    const layout = layoutOf(stages, edges);
    const parts = new Map();
    for (const s of report.critical_path.shares) {
      if (s.stage != null) parts.set(s.stage, (parts.get(s.stage) || 0) + s.share);
    }
    const states = new Map(job.stages.map((s) => [s.id, s]));
    const label = `Graph of ${plural(stages.length, "stage")} and ${plural(edges.length, "edge")}. ` +
        "The table of edges below and the stages table have the same data.";
    const picture = svg("svg", {class: "dag", role: "img", "aria-label": label, width: layout.width,
      height: layout.height, viewBox: `0 0 ${layout.width} ${layout.height}`},
    svg("defs", null, svg("marker", {id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 10,
      markerHeight: 10, markerUnits: "userSpaceOnUse", orient: "auto"}, svg("path", {d: "M0 0 8 4 0 8z"}))),
    layout.edges.map(edgeNode), layout.nodes.map((n) => stageNode(n, states.get(n.id), parts.get(n.id))));
    return [
      el("div", {class: "scroll dag-scroll", tabindex: "0", role: "group", "aria-label": "Graph of the stages",
        "data-key": "dag"}, picture),
      report.stages.length > kMostStages && el("p", {class: "quiet"}, `The first ${kMostStages} stages are drawn.`),
      el("p", {class: "quiet small"}, "Line style: all to all is thick, broadcast is dashed, many to one is " +
          "dash-dotted, one to one is thin, input files are dotted. The bar at the foot of a box and the percentage " +
          "are its share of the critical path."),
      el("details", {"data-key": "edges"}, el("summary", null, `Edges (${whole(edges.length)})`),
          plainTable("Edges", [["From"], ["To"], ["Kind"], ["Bytes", true], ["Records", true]],
              edges.slice(0, 1000).map((e) => [e.from == null ? "input files" : nameOf(e.from), nameOf(e.to),
                kEdgeTexts[e.kind], [bytes(e.bytes), exactBytes(e.bytes)], whole(e.records)]))),
    ];
  };
  return {
    node: section("graph", "Graph of stages", body),
    show: (model) => refill(body, [model.report.stages, model.report.edges, model.job.stages,
      model.report.critical_path.shares], () => make(model)),
  };
}

function edgeNode({edge, x0, y0, x1, y1, bends}) {
  let d = `M${x0} ${y0}`;
  let [x, y] = [x0, y0];
  const curve = (toX, toY) => {
    const middle = (x + toX) / 2;
    d += ` C${middle} ${y} ${middle} ${toY} ${toX} ${toY}`;
    [x, y] = [toX, toY];
  };
  for (const [bx, by, width] of bends) {
    curve(bx, by);
    d += ` H${x += width}`;
  }
  // The last part is level, to carry the two lines of text.
  curve(x1 - kGapX + 45, y1);
  d += ` H${x1 - 1}`;
  const numbers = bytes(edge.bytes) + (edge.records == null ? "" : `, ${compact(edge.records)} rec.`);
  return svg("g", {class: "edge edge-" + edge.kind},
      svg("title", null, `${kEdgeTexts[edge.kind]}: ${exactBytes(edge.bytes)}, ` +
          `${edge.records == null ? "unknown" : whole(edge.records)} records`),
      svg("path", {d, fill: "none", "marker-end": "url(#arrow)"}),
      svg("text", {x: x1 - 12, y: y1 - 5, "text-anchor": "end"}, kEdgeTexts[edge.kind]),
      svg("text", {x: x1 - 12, y: y1 + 14, "text-anchor": "end", class: "strong"}, numbers));
}

function stageNode(n, state, part) {
  const {x, y, width, height, stage: s} = n;
  const box = svg("rect", {x, y, width, height, rx: 4});
  const text = (line, content, props) => svg("text", {x: x + 10, y: y + 20 + line * 17, ...props}, content);
  if (!s) return svg("g", {class: "node files"}, box, svg("text", {x: x + 12, y: y + 23}, "input files"));
  const median = quantile(s.durations_us.quantiles, 0.5);
  const last = quantile(s.durations_us.quantiles, 1);
  const time = s.first_us == null ? "not started" :
    `${duration(s.first_us)} to ${s.last_us == null || (state && state.done < s.tasks) ? "…" : duration(s.last_us)}`;
  const tasks = state && state.done < s.tasks ? `${whole(state.done)} of ${plural(s.tasks, "task")} done` :
    plural(s.tasks, "task");
  return svg("g", {class: "node kind-" + s.kind},
      svg("title", null, `${s.id} (${s.kind}): ${tasks}, output ${exactBytes(s.output_bytes)}`),
      box, svg("rect", {class: "edge-mark", x, y, width: 4, height}),
      text(0, [svg("tspan", {class: "strong"}, shorten(visible(s.id), part ? 13 : 17)), ` ${s.kind}`]),
      text(1, tasks + (state && state.failed ? `, ✕ ${whole(state.failed)} failed` : "")),
      text(2, shorten(time, 30)),
      text(3, median == null ? "" : `median ${duration(median)}, max ${duration(last)}`),
      part && svg("text", {x: x + width - 8, y: y + 20, "text-anchor": "end", class: "part-text"}, percent(part)),
      part && svg("rect", {class: "part", x: x + 4, y: y + height - 5, height: 5,
        width: (width - 4) * Math.min(1, part)}));
}
