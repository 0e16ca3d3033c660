// The page of something that does not exist: what is known about it, and where to look next.

function missingView() {
  const node = el("main", {class: "main"});
  const kinds = [[/^job_/, "job"], [/^w\d/, "worker"]];
  return {
    node,
    title: () => "Not found - Paceline",
    show: (given) => {
      const {message, hint} = (given || {}).error || {};
      let id = location.pathname.split("/").pop();
      try { id = decodeURIComponent(id); } catch { }  // Not all that can be typed is encoded right.
      const [, kind] = kinds.find(([like]) => like.test(id)) || [null, "page"];
      node.replaceChildren(el("header", null,
          el("h1", null, `No ${kind} `, nameOf(id)),
          el("p", null, message ? sentence(message) : `The master knows no such ${kind}.`),
          kind === "job" && el("p", null, "The master forgets the oldest of the ended jobs. A job of another cluster " +
              "is known there only."),
          kind === "worker" && el("p", null, "Workers are known from their registration until they are forgotten."),
          hint && el("p", null, sentence(hint)),
          el("ul", {class: "lead"}, kind !== "worker" && el("li", null,
              el("a", {href: urlOf("history")}, "Ended jobs")),
          el("li", null, el("a", {href: urlOf("")}, "The cluster with its jobs and workers")))));
    },
  };
}
