// The page of ended jobs: filters by state and name, and older pages. The address keeps the choice.

const kTypedPause = 300;  // milliseconds after the last key until the list is asked for

// follow(source): asks for another list, and keeps that one up to date.
function historyView(follow) {
  const table = createJobsTable("Ended jobs", false);
  const none = el("p", {class: "quiet"});
  const count = el("p", {role: "status", class: "count"});
  let next = null;
  let timer = null;
  const given = new URLSearchParams(location.search);
  const query = (before) => {
    const made = new URLSearchParams();
    if (before) made.set("before", before);
    if (states.value()) made.set("state", states.value());
    if (typed.value()) made.set("name", typed.value());
    return made;
  };
  // Older pages are steps that the browser's back button returns from.
  const go = (before) => {
    clearTimeout(timer);
    const made = query(before);
    const url = String(made) ? "?" + made : location.pathname;
    if (before) history.pushState(null, "", url);
    else history.replaceState(null, "", url);
    ask(made);
  };
  const ask = (made) => {
    const source = new URLSearchParams(made);
    if (!source.has("state")) source.set("state", kEnded.join(",").toLowerCase());
    newest.hidden = !source.has("before");
    follow("api/v1/jobs?" + source);
  };
  const states = choice("State", () => go(null));
  const typed = searchField("Name", () => {
    clearTimeout(timer);
    timer = setTimeout(() => go(null), kTypedPause);
  });
  const newest = button("Newest", () => go(null), {hidden: true});
  const older = button("Older", () => go(next), {hidden: true});
  const read = (from) => {
    states.set(from.get("state") || "");
    typed.set(from.get("name") || "");
  };
  states.fill(kEnded.map((s) => [s.toLowerCase(), s.toLowerCase()]));
  read(given);
  addEventListener("popstate", () => {
    read(new URLSearchParams(location.search));
    ask(new URLSearchParams(location.search));
  });
  return {
    node: el("main", {class: "main history"}, el("header", null, el("h1", null, "History")),
        section("ended", "Ended jobs", el("div", {class: "controls"}, states.node, typed.node, count), none, table.node,
            el("div", {class: "controls"}, newest, older))),
    title: () => "History - Paceline",
    // The page comes with the list without filters. Another one must be asked for.
    begin: () => { if (String(given)) ask(given); },
    show: ({jobs = [], next: last}) => {
      next = last;
      older.hidden = !last;
      count.textContent = jobs.length === 0 ? "No jobs" : `${plural(jobs.length, "job")}${last ? " on this page" : ""}`;
      none.textContent = jobs.length > 0 ? "" :
        states.value() || typed.value() ? "No ended job matches." : "No job has ended yet.";
      return table.show(jobs);
    },
  };
}
