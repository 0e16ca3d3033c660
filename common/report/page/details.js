// Shows the selected attempt: its times, bytes, worker, reasons, the end of its log, and the decisions about it.

function detailsPanel(page) {
  const body = el("div", {class: "panel-body"});
  const title = el("h2", {id: "details-title", tabindex: "-1"}, "Attempt");
  const node = el("aside", {id: "details", class: "panel", "aria-labelledby": "details-title", hidden: true},
      el("div", {class: "panel-head"}, title,
          button("✕", () => page.close(), {"aria-label": "Close the details", class: "close"})), body);
  const log = {id: null, text: "", problem: "", loading: false};  // the log's end that was loaded last
  const load = async (id) => {
    Object.assign(log, {id, text: "", problem: "", loading: true});
    show();
    try {
      const text = await page.frame.fetchText(page.frame.logUrl(id));
      if (log.id !== id) return;
      Object.assign(log, {text, problem: text.trim() === "" ? "The log is empty." : "", loading: false});
    } catch (problem) {
      if (log.id !== id) return;
      Object.assign(log, {problem: problem.error ? `${problem.error.message}.` : "The master does not answer.",
        loading: false});
    }
    show();
    const lines = body.querySelector(".log");
    if (lines) lines.scrollTop = lines.scrollHeight;
  };
  const show = () => {
    const {model} = page;
    const index = model.byId.get(page.view.selected);
    node.hidden = !page.view.open || index == null;
    document.documentElement.classList.toggle("opened", !node.hidden);
    if (node.hidden) return;
    const a = model.report.attempts[index];
    title.replaceChildren(sentence(attemptName(model, a)));
    const shown = log.id === a.id ? log : null;
    refill(body, [a, endOf(model, a), model.decisionsOf.get(index), siblingsOf(model, a), shown],
        () => detailsOf(page, model, a, index, logOf(page, a, shown, load)));
  };
  return {node, show, select: show, focus: () => title.focus()};
}

// Returns the other attempts of the same task, in time order.
function siblingsOf(model, a) {
  return model.report.attempts.filter((b) => b.stage === a.stage && b.task === a.task && b.id !== a.id)
      .sort((x, y) => x.launched_us - y.launched_us).map((b) => [b.id, b.number, b.cause, outcomeOf(b)]);
}

// Returns the end of a failed attempt's log that the master keeps, once it is asked for, and how to read other logs.
// loaded: {text, problem, loading} of this attempt, or null. load(id): loads it.
function logOf(page, a, loaded, load) {
  const command = el("code", null, `mrctl logs ${a.ended_us == null ? "-f " : ""}${visible(a.id)}`);
  const other = page.model.report.id.startsWith("local_") ?
    ["Logs of a local run are kept by ", el("code", null, "mrctl submit --keep-logs DIR"), "."] :
    ["Its log is on its worker: ", command];
  if (!page.frame || a.state !== "failed") return [el("h3", null, "Log"), el("p", null, other)];
  return [
    el("h3", null, "Log"),
    el("p", {class: "links"},
        button("Show the end of its log", () => load(a.id), {class: "link", "data-key": "log"}),
        el("a", {href: page.frame.logUrl(a.id), "data-key": "log-text"}, "Open it as plain text")),
    el("div", {role: "status", "data-key": "log-end"}, loaded && loaded.loading && "Loading.",
        loaded && loaded.problem && el("p", null, sentence(loaded.problem), " Read it from its worker: ", command)),
    loaded && loaded.text && !loaded.problem && el("pre", {class: "lines log", tabindex: "0", role: "region",
      "aria-label": "End of the log", "data-key": "log-lines"},
    document.createTextNode(visibleLines(loaded.text, Infinity))),
  ];
}

function detailsOf(page, model, a, index, log) {
  const end = endOf(model, a);
  const total = Math.max(1, end - a.launched_us);
  const worker = model.report.workers[a.worker];
  const outcome = known(kOutcomes, outcomeOf(a));
  const cause = known(kCauses, a.cause);
  const decisions = model.decisionsOf.get(index) || [];
  const siblings = siblingsOf(model, a);
  const segments = model.report.critical_path.segments.filter((s) => s.attempt === index);
  return [
    el("p", {class: "states"},
        el("span", {class: "badge " + (a.state === "failed" ? "bad" : a.won ? "good" : "waits")},
            sign(outcome.mark), outcome.text),
        el("span", {class: "badge"}, sign(cause.mark), cause.text),
        a.critical && el("span", {class: "badge strong"}, "critical path")),
    terms([
      ["Worker", !worker ? String(a.worker) : page.frame ?
        el("a", {href: page.frame.workerUrl(worker.id), "data-key": "worker"}, nameOf(worker.id)) : nameOf(worker.id)],
      worker && worker.name && ["Worker name", nameOf(worker.name)],
      worker && ["Rack", nameOf(worker.rack || kNone)],
      worker && ["Worker state", nameOf(worker.state)],
      ["Slot", String(a.lane)],
      ["Launched", duration(a.launched_us), exactTime(a.launched_us)],
      a.ended_us == null ? ["Ended", "still runs"] : ["Ended", duration(a.ended_us), exactTime(a.ended_us)],
      ["Duration", duration(end - a.launched_us), exactTime(end - a.launched_us)],
      a.ended_us == null && ["Progress", percent(a.progress)],
      ["Input", bytes(a.input_bytes), exactBytes(a.input_bytes)],
      ["Output", bytes(a.output_bytes), exactBytes(a.output_bytes)],
      ["Id", el("code", null, nameOf(a.id))],
    ]),
    el("h3", null, "Phases"),
    el("table", {class: "phases"}, el("thead", null, el("tr", null,
        ["Phase", "From", "Duration", "Share"].map((t) => el("th", {scope: "col"}, t)))),
    el("tbody", null, phasesOf(model, a).map((p) => el("tr", null, el("th", {scope: "row"}, p.phase),
        el("td", {class: "number", title: exactTime(p.from)}, duration(p.from)),
        el("td", {class: "number", title: exactTime(p.to - p.from)}, duration(p.to - p.from)),
        el("td", null, shareBar((p.to - p.from) / total), el("span", {class: "unseen"},
            percent((p.to - p.from) / total))))))),
    a.reason && [el("h3", null, "Why the scheduler launched it"), linkedLines(page, a.reason, 10)],
    a.message && [el("h3", null, "Message"), linkedLines(page, a.message, 20)],
    log,
    segments.length > 0 && [el("h3", null, "On the critical path"), el("ul", null, segments.slice(0, 50).map((s) =>
      el("li", null, `${duration(s.to_us - s.from_us)}: `, linked(page, s.text))))],
    siblings.length > 0 && [el("h3", null, "Other attempts of the task"), el("ul", {class: "plain"},
        siblings.slice(0, 50).map(([id, number, why, how]) => el("li", null,
            button(`Attempt ${number}`, () => page.select(id, {open: true, focus: true}),
                {class: "link", "data-key": "sibling" + number}), 
            ` ${known(kCauses, why).text}, ${known(kOutcomes, how).text}`)))],
    el("h3", null, "Decisions"),
    decisions.length === 0 ? el("p", {class: "quiet"}, "None about this attempt.") :
      el("ol", {class: "plain decisions"}, decisions.slice(0, 200).map((d) => el("li", null,
          el("span", {class: "when", title: exactTime(d.at_us)}, duration(d.at_us)),
          el("span", null, el("span", {class: "strong"}, sentence(d.what)), d.reason && [": ", linked(page, d.reason)])))),
    decisions.length > 200 && el("p", {class: "quiet"}, `The first 200 of ${whole(decisions.length)} are shown.`),
  ];
}
