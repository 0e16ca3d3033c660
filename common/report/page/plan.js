// Shows the plan: each stage with its operator, its tasks, and what it reads and writes, as "mrctl explain" does.

const kKinds = {map: "reads files", reduce: "reads stages"};

function planSection() {
  const body = el("div");
  const lines = (texts) => texts.length === 0 ? kNone :
    el("ul", {class: "plain"}, texts.slice(0, 20).map((t) => el("li", null, sentence(t))),
        texts.length > 20 && el("li", {class: "quiet"}, `and ${whole(texts.length - 20)} more`));
  return {
    node: section("plan", "Plan", body),
    show: ({report, job}) => {
      const planned = new Map(job.stages.map((s) => [s.id, s.planned]));
      refill(body, [report.stages.map((s) => [s.id, s.tasks, s.operator, s.reads, s.writes, planned.get(s.id)])], () =>
        report.stages.length === 0 ? [el("p", {class: "quiet"}, "No stages yet.")] : [
          plainTable("Plan", [["Stage"], ["Operator"], ["Tasks", true], ["Reads"], ["Writes"]],
              report.stages.slice(0, 1000).map((s) => [
                [nameOf(s.id), kKinds[s.kind]], s.operator ? el("code", null, nameOf(s.operator)) : kNone,
                planned.get(s.id) === false && !s.tasks ? "when its inputs are known" : whole(s.tasks),
                lines(s.reads || []), lines(s.writes || [])])),
        ]);
    },
  };
}
