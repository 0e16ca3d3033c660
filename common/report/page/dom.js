// Builds elements from hostile text.

const kSvg = "http://www.w3.org/2000/svg";
const handlers = new WeakMap();  // per element: its handlers by event type, so that patch() can replace them

function listen(node, type, handler) {
  if (!handlers.has(node)) handlers.set(node, {});
  handlers.get(node)[type] = handler;
  node.addEventListener(type, (event) => handlers.get(node)[type](event));
}

function build(node, props, kids) {
  for (const [name, value] of Object.entries(props || {})) {
    if (value == null || value === false) continue;
    if (name.startsWith("on")) listen(node, name.slice(2), value);
    else if (name === "style") Object.entries(value).forEach(([k, v]) => node.style.setProperty(k, v));
    else node.setAttribute(name, value === true ? "" : visible(value));
  }
  add(node, kids);
  return node;
}

function add(node, kids) {
  for (const kid of kids) {
    if (Array.isArray(kid)) add(node, kid);
    else if (kid instanceof Node) node.append(kid);
    else if (kid != null && kid !== false) node.append(document.createTextNode(visible(kid)));
  }
}

function el(tag, props, ...kids) {
  return build(document.createElement(tag), props, kids);
}

function svg(tag, props, ...kids) {
  return build(document.createElementNS(kSvg, tag), props, kids);
}

// A name from a user: isolated, so that its direction cannot reorder the text around it.
function nameOf(text) {
  return el("bdi", null, text);
}

// A sentence that may contain such names.
function sentence(text) {
  return el("span", {class: "isolated"}, text);
}

// A block that keeps line ends.
function linesOf(text, most, className) {
  const node = el("pre", {class: className || "lines"});
  node.textContent = visibleLines(text, most);
  return node;
}

function button(label, onclick, props, ...kids) {
  return el("button", {type: "button", onclick, ...props}, label, ...kids);
}

// A sign that screen readers skip: the word beside it says the same.
function sign(text) {
  return el("span", {"aria-hidden": "true", class: "sign"}, text);
}

function section(id, title, ...kids) {
  return el("section", {id, "aria-labelledby": id + "-title"}, el("h2", {id: id + "-title"}, title), ...kids);
}

// A list of terms and values. rows: [term, value, exact value for the title or null]
function terms(rows, className) {
  return el("dl", {class: className || "terms"}, rows.filter((r) => r && r[1] != null)
      .map(([term, value, title]) => el("div", null, el("dt", null, term), el("dd", {title}, value))));
}

// A plain table. columns: [title, is numeric]; rows: lists of cells; keys: per row a data-key, for rows with links or
// buttons that may move; className: further classes.
function plainTable(caption, columns, rows, keys, className) {
  return el("div", {class: "scroll" + (className ? " " + className : ""), tabindex: "0", role: "group", "aria-label": caption, "data-key": "t:" + caption},
      el("table", null, el("caption", {class: "unseen"}, caption),
          el("thead", null, el("tr", null,
              columns.map(([title, numeric]) => el("th", {scope: "col", class: numeric && "number"}, title)))),
          el("tbody", null, rows.map((cells, i) => tableRow(columns, cells, keys && keys[i])))));
}

// cells: each a text, a node or [content, title]
function tableRow(columns, cells, key) {
  return el("tr", {"data-key": key}, cells.map((cell, i) => {
    const [content, title] = Array.isArray(cell) ? cell : [cell, null];
    return i === 0 ? el("th", {scope: "row", title}, content) :
      el("td", {class: columns[i][1] && "number", title}, content);
  }));
}
