// Places the stages of a job in layers from left to right, so that edges lead to the right and rarely cross.

const kBoxWidth = 206;
const kBoxHeight = 92;
const kPort = 34;  // vertical pixels per incoming edge: two lines of text
const kGapX = 175;
const kGapY = 26;

// Returns {nodes, edges, width, height}. A node is {stage or null for input files, x, y, width, height}. An edge is
// {edge, x0, y0, x1, y1, bends: [[x, y, width]]}.
function layoutOf(stages, list) {
  const nodes = new Map(stages.map((s) => [s.id, {id: s.id, stage: s, layer: 0, ins: [], outs: []}]));
  const links = [];
  list.forEach((edge) => {
    const to = nodes.get(edge.to);
    let from = edge.from == null ? null : nodes.get(edge.from);
    if (!to || from === undefined || from === to) return;
    if (!from) {
      // Input files have no stage. Each edge from them gets a node; the key cannot be a stage's id.
      from = {id: null, stage: null, layer: 0, ins: [], outs: []};
      nodes.set(edge, from);
    }
    links.push({edge, from, to});
  });
  layer([...nodes.values()], links);
  const layers = [];
  const place = (node) => (layers[node.layer] ||= []).push(node);
  nodes.forEach(place);
  for (let l = 0; l < layers.length; l++) layers[l] ||= [];  // a cycle can skip a layer
  // A long edge passes a point in each layer between, so that it leads around the boxes there.
  for (const link of links) {
    let last = link.from;
    link.points = [];
    for (let l = link.from.layer + 1; l < link.to.layer; l++) {
      const point = {id: null, point: true, layer: l, ins: [], outs: []};
      place(point);
      link.points.push(point);
      last.outs.push(point);
      point.ins.push(last);
      last = point;
    }
    last.outs.push(link.to);
    link.to.ins.push(last);
  }
  order(layers);
  return coordinates(layers, links);
}

function layer(nodes, links) {
  // Each round settles at least one more layer. The bound ends it if the edges form a cycle.
  for (let round = 0; round < nodes.length; round++) {
    let changed = false;
    for (const {from, to} of links) {
      if (to.layer > from.layer) continue;
      to.layer = Math.min(nodes.length, from.layer + 1);
      changed = true;
    }
    if (!changed) break;
  }
  // Input files stand just left of their stage.
  for (const {from, to} of links) {
    if (!from.stage) from.layer = Math.max(0, to.layer - 1);
  }
}

function order(layers) {
  const rank = () => layers.forEach((nodes) => nodes.forEach((n, i) => { n.rank = i; }));
  const sortBy = (nodes, side) => {
    for (const n of nodes) {
      n.weight = n[side].length ? n[side].reduce((sum, m) => sum + m.rank, 0) / n[side].length : n.rank;
    }
    nodes.sort((a, b) => a.weight - b.weight || a.rank - b.rank).forEach((n, i) => { n.rank = i; });
  };
  rank();
  for (let round = 0; round < 4; round++) {
    layers.forEach((nodes) => sortBy(nodes, "ins"));
    [...layers].reverse().forEach((nodes) => sortBy(nodes, "outs"));
  }
}

function coordinates(layers, links) {
  const heightOf = (n) => n.point ? 8 : !n.stage ? 36 : Math.max(kBoxHeight, n.ins.length * kPort + 14);
  const columns = layers.map((nodes) => nodes.reduce((sum, n) => sum + heightOf(n) + kGapY, -kGapY));
  const height = Math.max(0, ...columns);
  let x = 8;
  layers.forEach((nodes, l) => {
    const wide = nodes.some((n) => n.stage) ? kBoxWidth : 96;
    let y = (height - columns[l]) / 2 + 8;
    for (const n of nodes) {
      n.width = n.stage ? kBoxWidth : n.point ? wide : 96;
      n.height = heightOf(n);
      n.x = x + wide - n.width;
      n.y = y;
      y += n.height + kGapY;
    }
    x += wide + kGapX;
  });
  const port = (node, side, other) => {
    const ends = [...node[side]].sort((a, b) => a.y - b.y);
    return node.y + node.height * (ends.indexOf(other) + 1) / (ends.length + 1);
  };
  const edges = links.map(({edge, from, to, points}) => {
    const last = points[points.length - 1] || from;
    const ends = [...to.ins].sort((a, b) => a.y - b.y);
    const y1 = to.y + to.height / 2 + (ends.indexOf(last) - (ends.length - 1) / 2) * kPort;
    return {edge, x0: from.x + from.width, y0: port(from, "outs", points[0] || to), x1: to.x, y1,
      bends: points.map((p) => [p.x, p.y + p.height / 2, p.width])};
  });
  const nodes = layers.flat().filter((n) => !n.point);
  return {nodes, edges, height: height + 16, width: x - kGapX + 8};
}
