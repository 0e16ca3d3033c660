// Shows the queues and the slots that each holds.

// slots: of the cluster; 0 if not known.
function queuesTable(queues, slots) {
  if (queues.length === 0) return el("p", {class: "quiet"}, "No queues yet. A queue exists from its first job.");
  return plainTable("Queues", [["Queue"], ["Slots held"], ["Weight", true],
    ["Minimum", true], ["Maximum", true], ["Jobs", true], ["Waits for slots"]],
  queues.map((q) => [nameOf(q.id), slots > 0 ?
    el("span", {class: "share"}, shareBar(q.held_slots / slots), `${whole(q.held_slots)} of ${whole(slots)}`) :
    whole(q.held_slots),
  decimals(q.weight), whole(q.min_share), q.max_share ? whole(q.max_share) : "none", whole(q.jobs),
  q.waits ? el("span", {class: "strong"}, sign("…"), "yes") : "no"]), queues.map((q) => q.id));
}
