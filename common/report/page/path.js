// Shows the critical path: a stacked bar of its steps, a table of them, and the list of its segments.

const kMostSegments = 500;

const kSteps = {
  queue: "waiting for a slot", input: "waiting for its input", failed: "repeating failed attempts",
  slow: "waiting for a slow attempt", launch: "starting processes", shuffle: "shuffle", compute: "computing",
  commit: "committing the output", stop: "stopping the job",
};

// A master of a later release may have others.
function stepText(kind) {
  return Object.hasOwn(kSteps, kind) ? kSteps[kind] : kind.replaceAll("_", " ");
}

function pathSection(page) {
  const body = el("div");
  const make = (model) => {
    const {us, shares, segments: last, segments_total: total} = model.report.critical_path;
    const segments = last.slice(-kMostSegments);
    if (us === 0 || shares.length === 0) return [el("p", {class: "quiet"}, "No critical path yet.")];
    const tone = (s) => "kind-" + (Object.hasOwn(kSteps, s.kind) ? s.kind : "queue");
    const label = (s) => `${s.stage == null ? "" : shorten(visible(s.stage), 16) + ": "}${stepText(s.kind)}`;
    const stage = (s) => s.stage == null ? kNone : nameOf(s.stage);
    return [
      el("p", null, `The chain of steps that decided the elapsed time takes ${duration(us)}. ` +
          "Only a shorter chain makes the job faster."),
      el("div", {class: "stack", "aria-hidden": "true"}, shares.map((s, i) =>
        el("span", {class: tone(s), style: {"flex-grow": Math.max(s.share, 0.002)}, title: s.text},
            s.share >= 0.025 && el("b", null, String(i + 1)),
            s.share >= 0.15 && el("span", null, " ", sentence(label(s)))))),
      plainTable("Steps of the critical path",
          [["Step"], ["Stage"], ["Time", true], ["Share of the elapsed time", true]],
          shares.map((s, i) => [
            el("span", {class: "share-name"}, el("span", {class: "key " + tone(s)}, String(i + 1)),
                el("span", null, stepText(s.kind))),
            stage(s), [duration(s.us), exactTime(s.us)], percent(s.share)])),
      el("details", {"data-key": "segments"},
          el("summary", null, `Segments in time order (${whole(total)})`),
          total > segments.length && el("p", {class: "quiet"}, `The last ${whole(segments.length)} are shown.`),
          plainTable("Segments of the critical path",
              [["From", true], ["Duration", true], ["Step"], ["Stage"], ["Attempt"]],
              segments.map((s, i) => [
                [duration(s.from_us), exactTime(s.from_us)],
                [duration(s.to_us - s.from_us), exactTime(s.to_us - s.from_us)], stepText(s.kind), stage(s),
                attemptLink(page, s.attempt, "segment" + i)]))),
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
