// Shows the critical path: a stacked bar of its shares, their meaning, and the list of its segments.

const kMostSegments = 500;

function pathSection(page) {
  const body = el("div");
  const kindText = (kind) => kind.replaceAll("_", " ");
  const make = (model) => {
    const {us, shares, segments: last, segments_total: total} = model.report.critical_path;
    const segments = last.slice(-kMostSegments);
    if (us === 0 || shares.length === 0) return [el("p", {class: "quiet"}, "No critical path yet.")];
    const tone = (s) => "kind-" + (/^[a-z_]+$/.test(s.kind) ? s.kind : "queue");
    const name = (s) => s.stage == null ? [kindText(s.kind)] : [kindText(s.kind), " of ", nameOf(s.stage)];
    const label = (s) => `${kindText(s.kind)}${s.stage == null ? "" : " of " + shorten(visible(s.stage), 16)}`;
    return [
      el("p", null, `The chain of steps that decided the elapsed time takes ${duration(us)}. ` +
          "Only a shorter chain makes the job faster."),
      el("div", {class: "stack", "aria-hidden": "true"}, shares.map((s, i) =>
        el("span", {class: tone(s), style: {"flex-grow": Math.max(s.share, 0.002)}, title: s.text},
            s.share >= 0.025 && el("b", null, String(i + 1)),
            s.share >= 0.15 && el("span", null, " ", sentence(label(s)))))),
      plainTable("Shares of the critical path", [["Share"], ["Time", true], ["Part", true], ["What it is"]],
          shares.map((s, i) => [
            el("span", {class: "share-name"}, el("span", {class: "key " + tone(s)}, String(i + 1)),
                el("span", null, name(s))),
            [duration(s.us), exactTime(s.us)], percent(s.share), sentence(s.text)])),
      el("details", {"data-key": "segments"},
          el("summary", null, `Segments in time order (${whole(total)})`),
          total > segments.length && el("p", {class: "quiet"}, `The last ${whole(segments.length)} are shown.`),
          plainTable("Segments of the critical path",
              [["From", true], ["Duration", true], ["Kind"], ["Stage"], ["Attempt"], ["What happened"]],
              segments.map((s, i) => [
                [duration(s.from_us), exactTime(s.from_us)],
                [duration(s.to_us - s.from_us), exactTime(s.to_us - s.from_us)], kindText(s.kind),
                s.stage == null ? kNone : nameOf(s.stage), attemptLink(page, s.attempt, "segment" + i),
                sentence(s.text)]))),
    ];
  };
  return {
    node: section("path", "Critical path", body),
    show: (model) => refill(body, [model.report.critical_path, model.report.stages.map((s) => s.id)],
        () => make(model)),
  };
}

// Returns a button that selects an attempt, given its index.
function attemptLink(page, index, key) {
  const a = index == null ? null : page.model.report.attempts[index];
  return a ? button("", () => page.select(a.id, {open: true, focus: true}), {class: "link", "data-key": key},
      sentence(attemptName(page.model, a))) : kNone;
}
