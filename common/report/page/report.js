// Puts the page of a report together, and connects its sections.

const pages = new WeakMap();

const kSlice = 12;  // milliseconds that an update may take without a break, so that no frame takes 50

// Renders a report below `root`. A newer report of the same job replaces the data, and keeps the selection, filters,
// zoom, scroll positions and focus. Settles when all is shown. frame: of the page around the report, if there is one:
// {workerUrl(id), urlOfId(id), logUrl(attempt), fetchText(url)}.
async function showReport(root, report, frame) {
  const page = pages.get(root);
  if (page && page.model.report.id === report.id) return page.update(report);
  const made = createPage(modelOf(report), frame);
  pages.set(root, made);
  // Filled before it is in the document, the page is laid out once instead of once per section.
  made.show();
  root.replaceChildren(made.node);
  made.selectLinked();
}

function createPage(model, frame) {
  const page = {model, frame, view: {selected: null, open: false, colour: "phase", from: null, to: null,
    follow: false}};
  const live = el("p", {class: "unseen", "aria-live": "polite"});
  const header = headerSection(page);
  const timeline = timelineSection(page);
  const attempts = attemptsSection(page);
  const sections = [findingsSection(page), timeline, pathSection(page), stagesSection(page), dagSection(page),
    planSection(), causesSection(page), attempts, decisionsSection(page), countersSection(), settingsSection()];
  const details = detailsPanel(page);
  const all = [header, ...sections, details];
  const each = (what, ...args) => all.forEach((s) => s[what] && s[what](...args));
  const nav = el("nav", {"aria-label": "Sections"}, el("ul", null, sections.map(({node}) =>
    el("li", null, el("a", {href: "#" + node.id}, node.firstChild.textContent)))));
  let origin = null;  // where the focus was before it went to the details

  page.show = () => {
    document.title = titleOf(page.model);
    each("show", page.model);
  };
  page.update = async (report) => {
    const rest = () => new Promise((go) => { setTimeout(go); });
    await rest();  // from the parsing of the report
    let begun = performance.now();
    const was = page.model.job.state;
    page.model = modelOf(report);
    document.title = titleOf(page.model);
    if (page.model.job.state !== was) live.textContent = visible(`The job is ${page.model.job.state}.`);
    for (const s of all) {
      if (performance.now() - begun > kSlice) {
        await rest();
        begun = performance.now();
      }
      if (s.show) s.show(page.model);
    }
  };
  page.filterAttempts = attempts.filter;
  // from: the section that selects. Others then scroll to the attempt. open: shows the details; focus: focuses them.
  page.select = (id, {open, focus, from} = {}) => {
    page.view.selected = id;
    if (open) page.view.open = true;
    each("select", from);
    const a = page.model.report.attempts[page.model.byId.get(id)];
    live.textContent = a ? visible(spoken(page.model, a)) : "";
    if (a && page.view.open) linkTo(id);
    if (!focus) return;
    if (!details.node.contains(document.activeElement)) origin = document.activeElement;
    details.focus();
  };
  page.close = () => {
    if (!page.view.open) return;
    const inside = details.node.contains(document.activeElement);
    page.view.open = false;
    details.show();
    linkTo("");
    if (!inside) return;
    // A newer report may have replaced the element that had the focus.
    const {key} = origin ? origin.dataset : {};
    const back = !origin || origin.isConnected || !key ? origin :
      [...page.node.querySelectorAll("[data-key]")].find((n) => n.dataset.key === key);
    if (back && back.isConnected && back !== document.body) back.focus({preventScroll: true});
    else timeline.focus();
  };
  // Selects the attempt that the address names, or the latest attempt of the task that it names.
  page.selectLinked = () => {
    const id = linkedAttempt(page.model.report.attempts, location.hash.slice(1));
    if (id == null) return;
    page.select(id, {open: true});
    timeline.node.scrollIntoView();
  };
  page.node = el("div", {onkeydown: (event) => event.key === "Escape" && page.close()},
      !frame && el("a", {href: "#findings", class: "skip"}, "Skip to the findings"),
      el("div", {class: "columns"}, el("main", {class: "main"}, header.node, nav, sections.map((s) => s.node)),
          details.node), live);
  themed.push(() => each("recolour"));
  addEventListener("hashchange", page.selectLinked);
  addPrinting((on) => each("print", on));
  return page;
}

function titleOf({report, job}) {
  return `${visible(job.name || report.id)} ${visible(job.state)} - Paceline job report`;
}

// Puts the selected attempt into the address, so that it can be sent to someone.
function linkTo(id) {
  const {pathname, search} = location;
  history.replaceState(null, "", id ? "#" + encodeURIComponent(id) : pathname + search);
}

// Returns the id of the attempt that `linked` names, or of the attempt that decided the task that it names, or null.
function linkedAttempt(attempts, linked) {
  if (/^attempt_\w+$/.test(linked)) return (attempts.find((a) => a.id === linked) || {}).id;
  const task = /^task_(\w+)$/.exec(linked);
  if (!task) return null;
  const own = attempts.filter((a) => a.id.startsWith(`attempt_${task[1]}_`));
  return own.length > 0 ? own.reduce((best, a) => a.won || !best.won && a.number > best.number ? a : best).id : null;
}

function spoken(model, a) {
  return `${attemptName(model, a)}, ${known(kCauses, a.cause).text}, ` +
      `${known(kOutcomes, outcomeOf(a)).text}, on worker ` +
      `${workerName(model, a.worker)} slot ${a.lane}, launched at ${duration(a.launched_us)}, ` +
      `${duration(endOf(model, a) - a.launched_us)} long` + (a.critical ? ", on the critical path" : "");
}
