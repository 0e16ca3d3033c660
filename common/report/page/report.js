// Puts the page of a report together, and connects its sections.

const pages = new WeakMap();

// Renders a report below `root`. A newer report of the same job replaces the data, and keeps the selection, filters,
// zoom, scroll positions and focus.
function showReport(root, report) {
  let page = pages.get(root);
  const fresh = !page || page.model.report.id !== report.id;
  if (fresh) pages.set(root, page = createPage(modelOf(report)));
  else page.model = modelOf(report);
  document.title = `${visible(report.job.name || report.id)} ${visible(report.job.state)} - Paceline job report`;
  page.show();
  // Filled before it is in the document, the page is laid out once instead of once per section.
  if (fresh) root.replaceChildren(page.node);
}

function createPage(model) {
  const page = {model, theme: savedTheme(), view: {selected: null, open: false, colour: "phase", from: null, to: null}};
  const live = el("p", {class: "unseen", "aria-live": "polite"});
  const header = headerSection(page);
  const timeline = timelineSection(page);
  const attempts = attemptsSection(page);
  const sections = [findingsSection(page), timeline, pathSection(page), dagSection(page), stagesSection(page),
    causesSection(page), attempts, decisionsSection(page), countersSection(), settingsSection()];
  const details = detailsPanel(page);
  const all = [header, ...sections, details];
  const each = (what, ...args) => all.forEach((s) => s[what] && s[what](...args));
  const nav = el("nav", {"aria-label": "Sections"}, el("ul", null, sections.map(({node}) =>
    el("li", null, el("a", {href: "#" + node.id}, node.firstChild.textContent)))));
  let origin = null;  // where the focus was before it went to the details

  page.show = () => each("show", page.model);
  page.recolour = () => {
    applyTheme(page.theme);
    each("recolour");
  };
  page.filterAttempts = attempts.filter;
  // from: the section that selects. Others then scroll to the attempt. open: shows the details; focus: focuses them.
  page.select = (id, {open, focus, from} = {}) => {
    page.view.selected = id;
    if (open) page.view.open = true;
    each("select", from);
    const a = page.model.report.attempts[page.model.byId.get(id)];
    live.textContent = a ? visible(spoken(page.model, a)) : "";
    if (!focus) return;
    if (!details.node.contains(document.activeElement)) origin = document.activeElement;
    details.focus();
  };
  page.close = () => {
    if (!page.view.open) return;
    const inside = details.node.contains(document.activeElement);
    page.view.open = false;
    details.show();
    if (!inside) return;
    // A newer report may have replaced the element that had the focus.
    const {key} = origin ? origin.dataset : {};
    const back = !origin || origin.isConnected || !key ? origin :
      [...page.node.querySelectorAll("[data-key]")].find((n) => n.dataset.key === key);
    if (back && back.isConnected && back !== document.body) back.focus({preventScroll: true});
    else timeline.focus();
  };
  applyTheme(page.theme);
  page.node = el("div", {onkeydown: (event) => event.key === "Escape" && page.close()},
      el("a", {href: "#findings", class: "skip"}, "Skip to the findings"),
      el("div", {class: "columns"}, el("div", {class: "main"}, header.node, nav,
          el("main", null, sections.map((s) => s.node))), details.node), live);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", page.recolour);
  addPrinting(page, each);
  return page;
}

function spoken(model, a) {
  return `${attemptName(model, a)}, ${known(kCauses, a.cause).text}, ` +
      `${known(kOutcomes, outcomeOf(a)).text}, on worker ` +
      `${workerName(model, a.worker)} slot ${a.lane}, launched at ${duration(a.launched_us)}, ` +
      `${duration(endOf(model, a) - a.launched_us)} long` + (a.critical ? ", on the critical path" : "");
}

// Paper gets light colours, all details, and tables of limited length.
function addPrinting(page, each) {
  let closed = [];
  addEventListener("beforeprint", () => {
    document.documentElement.dataset.theme = "light";
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const d of closed) d.open = true;
    each("print", true);
  });
  addEventListener("afterprint", () => {
    applyTheme(page.theme);
    for (const d of closed) d.open = false;
    each("print", false);
  });
}
