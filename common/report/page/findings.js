// Shows the findings as cards with their level, share, text, advice, and links to the attempts concerned.

function findingsSection(page) {
  const body = el("div");
  const card = (f, i) => {
    const problem = f.level === "problem";
    return el("li", {class: "card " + (problem ? "bad" : "warn")},
        el("p", {class: "strong"}, sign(problem ? "▲" : "●"), problem ? "Problem" : "Hint",
            el("span", {class: "quiet"}, " " + f.id.replaceAll("_", " "))),
        el("p", null, linked(page, f.text)),
        f.share != null && el("p", {class: "share"}, shareBar(f.share),
            `${percent(f.share)} of the job's time`),
        f.advice && el("p", {class: "advice"}, el("span", {class: "strong"}, "What would help: "), linked(page, f.advice)),
        f.command && el("p", null, el("code", null, nameOf(f.command))),
        (f.stage != null || f.worker != null) && el("p", {class: "links"},
            f.stage != null && button("Attempts of stage ", () => page.filterAttempts({stage: f.stage}),
                {"data-key": `stage${i}`, class: "link"}, nameOf(f.stage)),
            f.worker != null && button("Attempts on worker ", () => page.filterAttempts({text: `"${f.worker}"`}),
                {"data-key": `worker${i}`, class: "link"}, nameOf(f.worker))));
  };
  return {
    node: section("findings", "Findings", body),
    show: ({report}) => refill(body, [report.findings, report.attempts.length], () => report.findings.length === 0 ?
        [el("p", {class: "quiet"}, sign("✓"), "No problems found.")] :
        [el("ul", {class: "cards"}, report.findings.map(card))]),
  };
}

function shareBar(share) {
  const width = Math.min(100, Math.max(0, share * 100)) + "%";
  return el("span", {class: "bar", "aria-hidden": "true"}, el("span", {style: {width}}));
}
