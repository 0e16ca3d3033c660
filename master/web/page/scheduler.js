// The page of the scheduler: its policies, the figures that they steer by, and attempts by the cause of their launch.

function schedulerView() {
  const head = el("div");
  const policies = el("div");
  const figures = el("div");
  const causes = el("div");
  const queues = el("div");
  return {
    node: el("main", {class: "main"}, el("header", null, head), section("policies", "Policies", policies),
        section("figures", "Figures", figures), section("causes", "Attempts by cause", causes),
        section("queues", "Queues", queues)),
    title: () => "Scheduler - Paceline",
    show: ({scheduler: s}) => {
      refill(head, [s.list, s.seed, s.version], () => [
        el("h1", null, "Scheduler"),
        el("p", null, "The policies in their order. An earlier one decides before a later one."),
        el("pre", {class: "lines"}, s.list || kNone),
        terms([["Seed", String(s.seed ?? kNone)], ["Scheduler version", String(s.version ?? kNone)]], "terms tiles"),
      ]);
      refill(policies, s.policies, () => policyCards(s.policies || []));
      refill(figures, s.figures, () => figureTables(s.figures || []));
      refill(causes, [s.causes, s.clones], () => [causesTable(s.causes || []), s.clones && cloneTiles(s.clones)]);
      refill(queues, s.queues, () => queuesTable(s.queues || [], 0));
    },
  };
}

// A policy without a text has no card. The list above the cards has all.
function policyCards(policies) {
  const says = (p) => (p.does || []).length > 0 || p.text && p.text !== p.id;
  const silent = policies.filter((p) => !says(p));
  const cards = policies.map((p, i) => [p, i]).filter(([p]) => says(p));
  return [cards.length > 0 && el("ol", {class: "cards"}, cards.map(([p, i]) => el("li",
      {class: "card plain-card", "data-key": p.id},
      el("p", {class: "strong"}, `${i + 1}. `, nameOf(p.id),
          p.scope && el("span", {class: "quiet"}, ` per ${p.scope}`)),
      p.text && p.text !== p.id && el("p", null, el("code", null, nameOf(p.text))),
      (p.does || []).length > 0 && el("ul", {class: "does"}, p.does.map((line) => el("li", null, sentence(line))))))),
  silent.length > 0 && el("p", {class: "quiet small"}, cards.length > 0 ? "Without a description: " : "The policies: ",
      silent.map((p, i) => [i > 0 && ", ", nameOf(p.id)]), ".")];
}

// Returns a figure in the unit that its name ends with.
function figureText(id, value) {
  if (value === undefined) return kNone;
  if (value === null) return "unlimited";
  if (typeof value !== "number") return value;
  if (id.endsWith("_us")) return duration(value);
  if (/_(s|seconds)$/.test(id)) return seconds(value);
  if (id.endsWith("_bytes")) return bytes(value);
  if (id.endsWith("_share")) return percent(value);
  if (Math.abs(value) >= 1e6) return compact(value);
  return Number.isInteger(value) ? whole(value) : String(Number(value.toPrecision(4)));
}

// Figures that are worth more than the words of their name.
const kFigures = {
  clone_budget_slots: "Clone budget in slots", clone_budget_used_slots: "Slots of the clone budget in use",
  clone_lent_slots: "Idle slots lent to clones",
  clone_omega_seconds: "Longest wait of a clone for an exclusive replica (ω), per size of the job",
};

// The bins of jobs by their number of tasks, which label some figures.
const kJobSizes = {1: "up to 10 tasks", 2: "11 to 50 tasks", 3: "51 to 150 tasks", 4: "151 to 500 tasks",
  5: "more than 500 tasks"};

function figureLabel(id, label) {
  if (urlOfId(label)) return el("a", {href: urlOfId(label), "data-key": "a"}, label);
  return nameOf(id === "clone_omega_seconds" && Object.hasOwn(kJobSizes, label) ? kJobSizes[label] : label);
}

function figureTitle(id) {
  if (Object.hasOwn(kFigures, id)) return kFigures[id];
  if (id.endsWith("_guaranteed_slots")) return "Guaranteed slots of jobs with a deadline";
  const words = id.replaceAll("_", " ").replace(/ (us|s|seconds)$/, "");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

// Figures without a label are tiles, with a bar where they are part of another one ("x_used_slots" of "x_slots"). Those
// with labels are a table per id.
function figureTables(list) {
  if (list.length === 0) return el("p", {class: "quiet"}, "No figures yet.");
  const single = list.filter((f) => !f.label);
  const values = new Map(single.map((f) => [f.id, f.value]));
  const wholeOf = (id) => id.includes("_used_") ? id.replace("_used_", "_") : null;
  const wholes = new Set(single.map((f) => wholeOf(f.id)));
  const tile = (f) => {
    const text = figureText(f.id, f.value);
    if (!values.has(wholeOf(f.id))) return [figureTitle(f.id), text];
    const all = values.get(wholeOf(f.id));
    return [figureTitle(f.id), el("span", {class: "share"}, all > 0 && shareBar(f.value / all),
        `${text} of ${figureText(f.id, all)}`)];
  };
  const groups = new Map();
  for (const f of list) {
    if (f.label) groups.set(f.id, [...(groups.get(f.id) || []), f]);
  }
  return [
    single.length > 0 && terms(single.filter((f) => !wholes.has(f.id)).map(tile), "terms tiles"),
    [...groups].map(([id, rows]) => [el("h3", null, nameOf(figureTitle(id))),
      plainTable(figureTitle(id), [["For"], ["Value", true]], rows.slice(0, 1000).map((f) => [
        figureLabel(id, f.label), figureText(id, f.value)]), rows.map((f) => f.label))]),
  ];
}

function causesTable(list) {
  const causes = list.filter((c) => c.launched > 0);
  if (causes.length === 0) return el("p", {class: "quiet"}, "No attempts yet.");
  const all = Math.max(1, causes.reduce((sum, c) => sum + c.launched, 0));
  return plainTable("Attempts per cause", [["Cause"], ["Launched", true], ["Share of launches"], ["Won", true],
    ["Success rate", true], ["Slot time wasted", true]], causes.map((c) => [
    el("span", null, el("span", {class: "mark", "aria-hidden": "true"}, known(kCauses, c.cause).mark),
        nameOf(known(kCauses, c.cause).text)),
    whole(c.launched), shareBar(c.launched / all), whole(c.won), percent(c.launched ? c.won / c.launched : null),
    [duration(c.wasted_us), exactTime(c.wasted_us)]]));
}

function cloneTiles(c) {
  if (Object.values(c).every((n) => !n)) return null;
  return [el("h3", null, "Clones"), terms([
    ["Killed", whole(c.killed)], ["Extra slot time", duration(c.extra_us), exactTime(c.extra_us)],
    ["Clones on idle slots killed", whole(c.lent_killed)],
    ["Extra slot time of clones on idle slots", duration(c.lent_extra_us), exactTime(c.lent_extra_us)],
    ["Reads of an exclusive replica", whole(c.exclusive)], ["Reads of a contended replica", whole(c.contended)],
    ["Reads moved to another replica", whole(c.rebound)],
  ], "terms tiles")];
}
