// Makes links of the ids in a text. What an id leads to differs: a report alone has its own attempts and tasks, the
// master's pages have jobs and workers, too.

const kIdsInText =
    /\b(?:attempt_(?:\d+|local)_\d+_\d+_[mr]_\d+_\d+|task_(?:\d+|local)_\d+_\d+_[mr]_\d+|job_\d+_\d+|w[1-9]\d{0,8})\b/g;

// Returns nodes for a text whose hidden characters are escapes, with line ends as they are. link(id): returns the
// properties of the id's link, or null for an id that leads nowhere.
function idNodes(text, link) {
  const nodes = [];
  let end = 0;
  for (const {0: id, index} of text.matchAll(kIdsInText)) {
    const props = link(id);
    if (!props) continue;
    nodes.push(document.createTextNode(text.slice(end, index)), el("a", props, id));
    end = index + id.length;
  }
  nodes.push(document.createTextNode(text.slice(end)));
  return nodes;
}

// Returns how a report links ids: to the details of its attempts and tasks, and to its attempts on a worker. frame: as
// in showReport; its pages have workers and other jobs.
function reportLinks(page) {
  return (id) => {
    const {model, frame} = page;
    if (id.startsWith("attempt_") ? model.byId.has(id) : id.startsWith("task_") && tasksOf(model).has(id)) {
      return {href: "#" + id, onclick: (event) => {
        event.preventDefault();
        page.select(linkedAttempt(page.model.report.attempts, id), {open: true, focus: true});
      }};
    }
    if (id.startsWith("w")) {
      if (!model.report.workers.some((w) => w.id === id)) return null;
      return frame ? {href: frame.workerUrl(id)} : {href: "#attempts", onclick: (event) => {
        event.preventDefault();
        page.filterAttempts({text: `"${id}"`});
      }};
    }
    // An attempt of this job that is not in the report has no details.
    return frame && jobOf(id) !== model.report.id ? {href: frame.urlOfId(id)} : null;
  };
}

function jobOf(id) {
  const [, epoch, number] = id.split("_");
  return `job_${epoch}_${number}`;
}

// Returns the ids of the tasks that have an attempt in the report.
function tasksOf(model) {
  return model.tasks ||= new Set(model.report.attempts.map((a) =>
    a.id.replace("attempt_", "task_").replace(/_\d+$/, "")));
}

// A sentence of a report with links.
function linked(page, text) {
  return el("span", {class: "isolated"}, idNodes(visible(text), reportLinks(page)));
}

// A block of a report that keeps line ends, with links.
function linkedLines(page, text, most) {
  return el("pre", {class: "lines"}, idNodes(visibleLines(text, most), reportLinks(page)));
}
