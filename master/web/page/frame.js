// Puts the frame around each page: navigation, search, the state of the connection, the theme, and where the data is.

const kPages = [["cluster", "Cluster", ""], ["history", "History", "history"], ["scheduler", "Scheduler", "scheduler"],
  ["store", "Store", "store"]];
const kConnections = {
  live: ["●", "Live", "good"], paused: ["‖", "Paused", ""], lost: ["✕", "Connection lost", "bad"],
  final: ["✓", "Final", ""], gone: ["✕", "No longer known", "bad"],
  ended: ["✕", "Session ended", "bad"],
};
const kOver = {
  gone: "The master no longer knows this. The page shows its last state.",
  ended: "The session has ended: run mrctl page, and open its link. The page shows the state of then.",
};

// pause(on): called by the button; null for a page without updates.
function createFrame(content, pause) {
  let paused = false;
  const state = el("span", {role: "status", class: "connection"});
  const updated = el("span", {class: "quiet small updated"});
  const lost = el("p", {class: "note warn lost-note", role: "alert", hidden: true});
  const toggle = button("Pause", () => {
    paused = !paused;
    toggle.textContent = paused ? "Resume" : "Pause";
    pause(paused);
  }, {class: "pause", hidden: !pause});
  const bar = el("div", {class: "site", role: "banner"},
      el("a", {href: "#content", class: "skip"}, "Skip to the content"),
      el("a", {href: urlOf(""), class: "brand"}, "Paceline"),
      el("nav", {"aria-label": "Pages"}, el("ul", null, kPages.map(([view, title, path]) => el("li", null,
          el("a", {href: urlOf(path), "aria-current": info.view === view && "page"}, title))))),
      searchBox(), el("div", {class: "status"}, state, updated, toggle, themeChoice()));
  const foot = el("div", {class: "foot quiet small", role: "contentinfo"}, "Paceline ", nameOf(info.release || ""),
      info.source && [" · ", el("a", {href: urlOf(info.source)}, "This page as JSON")]);
  document.body.append(bar, el("div", {id: "content", tabindex: "-1"}, content), lost, foot);
  return {
    // since: when the connection was lost, in milliseconds since 1970
    connection: (name, since) => {
      const [mark, text, tone] = kConnections[name];
      refill(state, name, () => [sign(mark), text]);
      state.className = "connection " + tone;
      toggle.hidden = !pause || name === "final" || name in kOver;
      lost.hidden = name !== "lost" && !(name in kOver);
      refill(lost, [name, since], () => kOver[name] ||
        `Connection lost at ${clockTime(since)}, trying again. The page shows the state of then.`);
    },
    updated: () => { updated.textContent = clockTime(Date.now()); },
  };
}
