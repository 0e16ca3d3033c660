// Reads what the master says about this page, and makes addresses relative to it.

// {view, id, root, source, release, etag}. Empty in a report of its own, which has no such element.
const info = JSON.parse(document.getElementById("page-info").textContent);

// All addresses are relative, so that the pages work below any path of a reverse proxy. The page of the cluster may be
// shown without the slash at the end of that path.
const kRoot = info.root || (info.view === "cluster" && !location.pathname.endsWith("/") ?
    `./${location.pathname.split("/").pop()}/` : "./");

function urlOf(path) {
  return kRoot + path;
}

function jobUrl(id) {
  return urlOf("jobs/" + encodeURIComponent(id));
}

function workerUrl(id) {
  return urlOf("workers/" + encodeURIComponent(id));
}

function attemptUrl(id) {
  const [, epoch, job] = id.split("_");
  return jobUrl(`job_${epoch}_${job}`) + "#" + encodeURIComponent(id);
}

// Returns the address of the end of an attempt's log that the master keeps.
function logUrl(attempt) {
  return urlOf(`api/v1/attempts/${encodeURIComponent(attempt)}/log`);
}

// Returns the address that an id of a job, task, attempt or worker leads to, or null for other text.
function urlOfId(text) {
  if (/^job_\d+_\d+$/.test(text)) return jobUrl(text);
  if (/^(task_\d+_\d+_\d+_[mr]_\d+|attempt_\d+_\d+_\d+_[mr]_\d+_\d+)$/.test(text)) return attemptUrl(text);
  return /^w\d+$/.test(text) ? workerUrl(text) : null;
}
