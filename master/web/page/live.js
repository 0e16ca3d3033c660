// Keeps a page's document up to date: the master's events say that there is a newer one, which is then fetched.

const kSpread = 300;  // milliseconds within which many pages fetch the same change
const kGrace = 4000;  // milliseconds without a connection that are not worth a word: streams end and are opened again
const kRetry = 2000;  // milliseconds until the first retry; each further one waits twice as long
const kRetryMost = 30000;
const kSilence = 20000;  // milliseconds without any event after which a fetch checks that the master still answers

// Proxies that compress turn a tag into a weak one, and an event has it without quotes.
function sameTag(a, b) {
  const bare = (tag) => String(tag).replace(/^W\/|"/g, "");
  return Boolean(a) && Boolean(b) && bare(a) === bare(b);
}

// Returns {document, etag}, or null if it has not changed. Throws {status, error} for an answer that is an error.
async function fetchDocument(source, etag) {
  const headers = etag ? {"If-None-Match": etag} : {};
  const answer = await fetch(urlOf(source), {headers, cache: "no-store", signal: AbortSignal.timeout(kSilence)});
  if (answer.status === 304) return null;
  if (!answer.ok) throw {status: answer.status, error: await answer.json().then((d) => d.error, () => null)};
  return {etag: answer.headers.get("ETag"), document: await answer.json()};
}

// Returns the text at a URL. Throws as fetchDocument.
async function fetchText(url) {
  const answer = await fetch(url, {cache: "no-store", signal: AbortSignal.timeout(kSilence)});
  if (!answer.ok) throw {status: answer.status, error: await answer.json().then((d) => d.error, () => null)};
  return answer.text();
}

function wait(ms) {
  return new Promise((go) => { setTimeout(go, ms); });
}

// show(document): shows a newer document, and may return a promise. state(name, since): called if the connection is
// "live", "paused", "lost" since a time, or "final", if the document is "gone", or if the session has "ended".
function createLive(source, etag, {show, state}) {
  let events = null;
  let loading = null;  // settles when nothing newer is known
  let again = false;
  let paused = false;
  let over = false;
  let heard = Date.now();
  let lostAt = null;
  let retry = kRetry;
  let timer = null;

  const tell = (name) => state(name, lostAt);
  const found = () => {
    lostAt = null;
    if (events && events.readyState === EventSource.OPEN) retry = kRetry;
    heard = Date.now();
    if (!over && !paused) tell("live");
  };
  const lost = () => {
    if (over || paused || document.hidden) return;
    lostAt ||= Date.now();
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (!events || events.readyState === EventSource.CLOSED) open();
      load();
    }, retry);
    retry = Math.min(kRetryMost, retry * 2);
  };
  const close = () => {
    clearTimeout(timer);
    if (events) events.close();
    events = null;
  };
  const end = (name) => {
    over = true;
    close();
    tell(name);
  };
  // Never two at a time. A change during a load makes one more.
  const load = () => {
    again = true;
    return loading ||= loadAll().finally(() => { loading = null; });
  };
  const loadAll = async () => {
    while (again && !over && !paused && !document.hidden) {
      again = false;
      const asked = source;
      let newer = null;
      try {
        newer = await fetchDocument(asked, etag);
        if (asked !== source) continue;
        found();
      } catch (problem) {
        if (asked !== source) continue;
        if (problem.status === 404) end("gone");
        else if (problem.status === 401) end("ended");
        else lost();
      }
      if (!newer) continue;
      etag = newer.etag;
      const begun = performance.now();
      await show(newer.document);
      // A slow machine gets fewer updates instead of no pauses.
      await wait((performance.now() - begun) * 3);
    }
  };
  const open = () => {
    close();
    if (over || paused || document.hidden) return;
    events = new EventSource(urlOf("api/v1/events?of=" + encodeURIComponent(source.replace(/^api\/v1\//, ""))));
    const on = (name, call) => events.addEventListener(name, (event) => {
      heard = Date.now();
      call(event);
    });
    on("open", found);
    on("error", lost);
    on("changed", async (event) => {
      let newest = null;
      try { newest = JSON.parse(event.data).etag; } catch { }
      if (sameTag(newest, etag)) return;
      await wait(Math.random() * kSpread);
      load();
    });
    on("final", async () => {
      await load();
      end("final");
    });
    on("gone", load);  // The answer says whether that is for ever.
  };
  const resume = () => {
    lostAt = null;
    open();
    load();
  };
  document.addEventListener("visibilitychange", () => document.hidden ? close() : resume());
  addEventListener("pagehide", close);
  addEventListener("pageshow", (event) => event.persisted && resume());
  setInterval(() => {
    if (over || paused || document.hidden) return;
    if (lostAt && Date.now() - lostAt >= kGrace) tell("lost");
    else if (Date.now() - heard > kSilence) load();
  }, 1000);
  open();
  return {
    pause: (on) => {
      paused = on;
      if (!on) return resume();
      close();
      tell("paused");
    },
    // Follows another document.
    follow: (next) => {
      source = next;
      etag = null;
      resume();
    },
  };
}
