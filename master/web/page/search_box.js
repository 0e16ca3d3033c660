// Finds jobs, tasks, attempts and workers: an id leads straight to its page, other text lists what the master finds.

const kTypingPause = 200;  // milliseconds after the last key until the master is asked

function searchBox() {
  const input = el("input", {type: "search", autocomplete: "off", spellcheck: "false",
    "aria-describedby": "found", placeholder: "Job, worker, attempt"});
  const list = el("ul");
  const said = el("p", {id: "found", role: "status", class: "quiet small"});
  const box = el("div", {class: "found", hidden: true}, said, list);
  let timer = null;
  let latest = 0;  // only the newest question may show its answer
  const close = () => {
    clearTimeout(timer);
    latest++;
    box.hidden = true;
  };
  const show = (results) => {
    said.textContent = results.length === 0 ? "Nothing found." : plural(results.length, "result");
    list.replaceChildren(...results.map((r) => el("li", null, el("a", {href: urlOfId(r.id) || "#"}, nameOf(r.id)), " ",
        el("span", {class: "quiet"}, nameOf(r.text || "")))));
    box.hidden = false;
  };
  const ask = async () => {
    const text = input.value.trim();
    const own = ++latest;
    if (text === "") return close();
    if (urlOfId(text)) return show([{id: text, text: "press Enter"}]);
    try {
      const {document: found} = await fetchDocument("api/v1/search?q=" + encodeURIComponent(text));
      if (own === latest) show(found.results || []);
    } catch (problem) {
      if (own !== latest) return;
      show([]);
      said.textContent = visible(problem.error ? problem.error.message : "The master does not answer.");
    }
  };
  const submit = async (event) => {
    event.preventDefault();
    clearTimeout(timer);
    const url = urlOfId(input.value.trim());
    if (url) return location.assign(url);
    await ask();
    const first = list.querySelector("a");
    if (first) first.focus();
  };
  const move = (event) => {
    if (event.key === "Escape") {
      close();
      input.focus();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const stops = [input, ...list.querySelectorAll("a")];
      const next = stops[stops.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1)];
      if (next) next.focus();
      event.preventDefault();
    }
  };
  const form = el("form", {role: "search", class: "find", onsubmit: submit, onkeydown: move,
    onfocusout: (event) => { if (!form.contains(event.relatedTarget)) close(); }},
  el("label", {class: "field"}, el("span", null, "Search"), input), box);
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(ask, kTypingPause);
  });
  return form;
}
