// Maps times and lanes of the timeline to pixels, and finds what is at a point.

const kRow = 18;  // pixels per lane
const kBar = 14;  // pixels of a bar in it
const kRuler = 20;
const kTicks = 14;  // pixels of the row of decisions
const kTop = kRuler + kTicks;
const kFollowed = 60e6;  // microseconds that are shown when a view of the whole job begins to follow its end

// Returns the visible [from, to] in microseconds. Without a zoom it is the whole job, also when that grows.
function spanOf(page) {
  return page.view.from == null ? [0, page.model.end * 1.01] : [page.view.from, page.view.to];
}

// Shows the whole job, also when that grows.
function showWhole(page) {
  page.view.from = page.view.to = null;
  page.view.follow = false;
}

function zoomBy(page, factor, at) {
  const [from, to] = spanOf(page);
  const whole = page.model.end * 1.01;
  const least = Math.min(whole, 50);  // microseconds; below that bars have no parts
  const length = Math.max(least, (to - from) * factor);
  if (length >= whole) return showWhole(page);
  const middle = at ?? (from + to) / 2;
  setSpan(page, middle - (middle - from) * length / (to - from), length);
}

function setSpan(page, from, length) {
  const whole = page.model.end * 1.01;
  const start = Math.max(0, Math.min(from, whole - length));
  page.view.from = start;
  page.view.to = start + length;
  page.view.follow = false;
}

// Keeps the end of the job at the right edge while it grows, until the user zooms or pans. A length of the whole job
// needs no span for that.
function follow(page) {
  const [from, to] = spanOf(page);
  const whole = page.model.end * 1.01;
  const length = page.view.from == null ? kFollowed : to - from;
  if (length >= whole) return showWhole(page);
  setSpan(page, whole - length, length);
  page.view.follow = true;
}

// Shows the span from `from` to `to`, with some room at both sides.
function zoomTo(page, from, to) {
  const length = Math.max(50, (to - from) * 1.2);
  if (length >= page.model.end * 1.01) showWhole(page);
  else setSpan(page, (from + to - length) / 2, length);
}

function panBy(page, us) {
  if (page.view.from == null) return;
  setSpan(page, page.view.from + us, page.view.to - page.view.from);
}

// Moves the visible span, keeping its length if possible, so that it contains an attempt.
function revealSpan(page, a) {
  if (page.view.from == null) return;
  const [from, to] = spanOf(page);
  const end = endOf(page.model, a);
  if (a.launched_us < to && end > from && (a.launched_us >= from || end <= to)) return;
  const length = Math.max(to - from, (end - a.launched_us) * 1.2);
  if (length >= page.model.end * 1.01) showWhole(page);
  else setSpan(page, (a.launched_us + end - length) / 2, length);
}

// area: {width, height, gutter, scroll, from, to}
function xOf(area, us) {
  return area.gutter + (us - area.from) * (area.width - area.gutter) / (area.to - area.from);
}

function timeAt(area, x) {
  return area.from + (x - area.gutter) * (area.to - area.from) / (area.width - area.gutter);
}

function laneAt(area, y) {
  return y < kTop ? -1 : Math.floor((y - kTop + area.scroll) / kRow);
}

// Returns the index of the attempt at a point, or null. Short ones can be hit within three pixels.
function attemptAt(page, area, x, y) {
  const lane = page.model.lanes[laneAt(area, y)];
  if (!lane || x < area.gutter) return null;
  const slack = 3 * (area.to - area.from) / (area.width - area.gutter);
  const at = timeAt(area, x);
  let best = null;
  let distance = slack;
  for (let k = lowerBound(lane.ends, at - slack, (end) => end); k < lane.attempts.length; k++) {
    const a = page.model.report.attempts[lane.attempts[k]];
    if (a.launched_us > at + slack) break;
    const far = Math.max(0, a.launched_us - at, at - endOf(page.model, a));
    if (far <= distance) {
      best = lane.attempts[k];
      distance = far;
    }
  }
  return best;
}

// Returns the decisions within three pixels of a point in their row.
function decisionsAt(page, area, x, y) {
  if (y < kRuler || y >= kTop || x < area.gutter - 3) return [];
  const from = timeAt(area, x - 3);
  const to = timeAt(area, x + 3);
  const list = page.model.decisions;
  const first = lowerBound(list, from, (d) => d.at_us);
  return list.slice(first, lowerBound(list, to, (d) => d.at_us));
}

// Returns the distance of the ruler's marks in microseconds, for at most `most` of them.
function rulerStep(us, most) {
  const least = us / Math.max(1, most);
  const steps = [];
  for (let power = 1; power <= 1e6; power *= 10) steps.push(power, 2 * power, 5 * power);
  for (const s of [10, 20, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 43200, 86400]) steps.push(s * 1e6);
  return steps.find((step) => step >= least) || Math.ceil(least / 86400e6) * 86400e6;
}
