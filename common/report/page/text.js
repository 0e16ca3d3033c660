// Formats names, numbers, bytes and times for people.

// Control characters and the ones that reorder or hide text. Names come from users, so these must be seen.
const kHidden = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;
const kSpace = "\u00a0";  // keeps a number and its unit on one line
const kNone = "\u2013";

function visible(text) {
  return String(text).replace(kHidden, (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
}

// Returns the text with its line ends kept, cut after `most` lines.
function visibleLines(text, most) {
  const lines = String(text).replace(/\r\n?/g, "\n").replace(/\n+$/, "").split("\n");
  const kept = lines.slice(0, most).map(visible);
  if (lines.length > most) kept.push(`(${whole(lines.length - most)} more lines)`);
  return kept.join("\n");
}

function shorten(text, most) {
  return text.length <= most ? text : text.slice(0, Math.max(0, most - 1)) + "\u2026";
}

const kGrouped = new Intl.NumberFormat("en");

function whole(n) {
  return n == null ? kNone : kGrouped.format(n);
}

function decimals(x) {
  if (x == null) return kNone;
  return x >= 99.95 ? x.toFixed(0) : x.toFixed(1);
}

// Returns a number with a decimal prefix, such as "3.2 M", for places where an exact one is too long.
function compact(n) {
  if (n == null) return kNone;
  const units = ["", "k", "M", "G", "T", "P"];
  let i = 0;
  let x = n;
  while (Math.abs(x) >= 999.5 && i + 1 < units.length) {
    x /= 1000;
    i++;
  }
  return i === 0 ? whole(n) : decimals(x) + kSpace + units[i];
}

function bytes(n) {
  if (n == null) return kNone;
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
  let i = 0;
  let x = n;
  while (Math.abs(x) >= 999.5 && i + 1 < units.length) {
    x /= 1024;
    i++;
  }
  return (i === 0 ? String(x) : decimals(x)) + kSpace + units[i];
}

function exactBytes(n) {
  return n == null ? "unknown" : `${whole(n)} bytes`;
}

// Returns a duration such as "1.2 s" or "3 min 20 s".
function duration(us) {
  if (us == null) return kNone;
  if (us < 0) return "-" + duration(-us);
  if (us === 0) return `0${kSpace}s`;
  if (us < 1000) return `${Math.round(us)}${kSpace}µs`;
  if (us < 999.5e3) return `${decimals(us / 1e3)}${kSpace}ms`;
  if (us < 59.95e6) return `${decimals(us / 1e6)}${kSpace}s`;
  const s = Math.round(us / 1e6);
  const pair = (big, unit, small, less) => `${big}${kSpace}${unit}` + (small ? ` ${small}${kSpace}${less}` : "");
  if (s < 3600) return pair(Math.floor(s / 60), "min", s % 60, "s");
  if (s < 86400) return pair(Math.floor(s / 3600), "h", Math.floor((s % 3600) / 60), "min");
  const year = 365 * 86400;
  if (s < year) return pair(Math.floor(s / 86400), "d", Math.floor((s % 86400) / 3600), "h");
  return pair(whole(Math.floor(s / year)), "y", Math.floor((s % year) / 86400), "d");
}

function seconds(s) {
  return s == null ? kNone : duration(s * 1e6);
}

function exactTime(us) {
  return us == null ? "unknown" : `${whole(us)} µs`;
}

function percent(share) {
  if (share == null) return kNone;
  const p = share * 100;
  if (p > 0 && p < 0.05) return "<0.1%";
  if (p >= 1000) return times(share);
  return (p > 0 && p < 0.95 ? p.toFixed(1) : p.toFixed(0)) + "%";
}

// Returns a ratio such as "2.5×".
function times(ratio) {
  return ratio == null ? kNone : `${ratio >= 9999.5 ? compact(Math.round(ratio)) : decimals(ratio)}×`;
}

function plural(n, one, many) {
  return `${whole(n)} ${n === 1 ? one : many || one + "s"}`;
}

// Returns a local date and time with its offset from UTC, in an order that cannot be misread.
function localTime(ms) {
  const d = new Date(ms);
  if (Number.isNaN(d.getTime())) return kNone;
  const two = (n) => String(n).padStart(2, "0");
  const off = -d.getTimezoneOffset();
  const far = Math.abs(off);
  const zone = off === 0 ? "UTC" : `UTC${off < 0 ? "-" : "+"}${two(Math.floor(far / 60))}:${two(far % 60)}`;
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ` +
      `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())} ${zone}`;
}

// Returns the local time of day, such as "14:02:31".
function clockTime(ms) {
  return localTime(ms).slice(11, 19);
}

// Returns whether lines contain what a user typed; in double quotes, whether one of them is exactly that.
function matches(lines, typed) {
  const exact = /^"(.*)"$/.exec(typed);
  return exact ? `\n${lines}\n`.includes(`\n${exact[1]}\n`) : lines.includes(typed);
}
