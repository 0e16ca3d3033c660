// Names and marks of the states of workers.

const kWorkerStates = {
  live: ["", "good"], draining: ["▽", "warn"], away: ["○", "warn"], excluded: ["⊘", "warn"], distrusted: ["?", "bad"],
  stalled: ["…", "warn"], unfit: ["✗", "bad"], full: ["▣", "warn"], stopped: ["□", "warn"], lost: ["✕", "bad"],
};

// A master of a later release may have other states.
function workerState(state) {
  return Object.hasOwn(kWorkerStates, state) ? kWorkerStates[state] : ["?", "warn"];
}

function workerBadge(state) {
  const [mark, tone] = workerState(state);
  return el("span", {class: "badge " + tone}, sign(mark), state);
}
