// The page of a job: its report, kept up to date.

function jobView() {
  const node = el("div");
  return {node, show: ({report}) => showReport(node, report, {workerUrl, urlOfId, logUrl, fetchText})};
}
