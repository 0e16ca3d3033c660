// Prints the result of a replay, for people and for scripts.
#include <cinttypes>
#include <cstdio>

#include "common/base/text.h"
#include "master/sim/replay/replay.h"

namespace mr::sim {

namespace {

constexpr size_t kMostEntities = 8;  // most entities that the report names

std::string Hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "%016" PRIx64, value);
  return text;
}

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (size_t i = 0; i < words.size() && i < kMostEntities; ++i) text += (i > 0 ? ", " : "") + words[i];
  return words.size() <= kMostEntities ? text : text + " and " + std::to_string(words.size() - kMostEntities) + " more";
}

std::string JsonList(const std::vector<std::string>& words) {
  std::string text = "[";
  for (const std::string& word : words) text += (text.size() > 1 ? ",\"" : "\"") + JsonEscape(word) + "\"";
  return text + "]";
}

std::string Versions(const Replayed& r) {
  std::string text;
  for (const uint32_t v : r.versions) text += (text.empty() ? "" : ", ") + std::to_string(v);
  return text;
}

std::string Conclusion(const Replayed& r) {
  switch (r.verdict) {
    case Verdict::kEqual:
      return r.compared > 0 ? "the state is the recorded one behind each record that has its digest"
                            : "nothing could be compared: the journal holds no digest of this scheduler's version";
    case Verdict::kDiverged: return "this build does not decide as the one that wrote the journal";
    case Verdict::kOtherVersion:
      if (!r.damage.empty()) return r.damage + "; replay it with the release that wrote it";
      return "it ends with records of scheduler version " + Versions(r) + ", this build has version " +
             std::to_string(sched::kSchedulerVersion) + "; replay it with mrsim of the release that wrote it";
    case Verdict::kTorn:
      return "equal up to an interrupted write at offset " + std::to_string(r.cut_offset) +
             " of the last file: " + std::to_string(r.cut_bytes) + " bytes, " + std::to_string(r.cut_records) +
             " whole records that were never acknowledged; a master cuts them off when it starts";
    case Verdict::kDamaged: return "equal up to a damaged record: " + r.damage;
  }
  return "";
}

}  // namespace

const char* Word(Verdict verdict) {
  switch (verdict) {
    case Verdict::kEqual: return "equal";
    case Verdict::kDiverged: return "diverged";
    case Verdict::kOtherVersion: return "other version";
    case Verdict::kTorn: return "torn";
    case Verdict::kDamaged: return "damaged";
  }
  return "?";
}

int ExitOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kEqual: return 0;
    case Verdict::kDiverged: return 1;
    case Verdict::kOtherVersion: return 3;
    case Verdict::kTorn: return 9;
    case Verdict::kDamaged: return 10;
  }
  return 70;
}

std::string Table(const Replayed& r) {
  const auto n = [](uint64_t value) { return std::to_string(value); };
  std::string out =
      "journal   " + r.directory + (r.snapshot == 0 ? "" : ", behind the snapshot at record " + n(r.snapshot)) + "\n";
  out += "records   " + n(r.records) + ", of " + n(r.epochs) + " lives of the master" +
         (r.versions.empty() ? "" : ", scheduler version " + Versions(r)) + "\n";
  out += "jobs      " + n(r.jobs) + " submitted, " + n(r.succeeded) + " succeeded, " + n(r.failed) + " failed, " +
         n(r.killed) + " killed\n";
  out += "events    " + n(r.events) + " stepped, " + n(r.compared) + " digests compared" +
         (r.skipped == 0 ? "" : ", " + n(r.skipped) + " of other versions skipped") + "\n";
  for (const auto& [kind, count] : r.by_kind) {
    char line[64];
    std::snprintf(line, sizeof line, "  %-18s %10" PRIu64 "\n", kind.c_str(), count);
    out += line;
  }
  out += "digest    " + Hex(r.digest) + "\n";
  out += std::string("result    ") + Word(r.verdict) + ": " + Conclusion(r) + "\n";
  if (!r.divergence) return out;
  const Divergence& d = *r.divergence;
  out += "  at record " + n(d.record) + " (offset " + n(d.offset) + " of its file), event " + n(d.event_number) + ": " +
         d.event + "\n";
  out += "  digest recorded " + Hex(d.recorded) + ", replayed " + Hex(d.replayed) + "\n";
  if (!d.detail.empty()) out += "  " + d.detail + "\n";
  if (!d.unchanged.empty()) {
    out += "  first to differ: " + Joined(d.unchanged) + ", which the event changed here and not there\n";
  } else if (!d.changed.empty()) {
    out += "  it differs in one of what the event changed here: " + Joined(d.changed) +
           ", or in what it changed only there\n";
  }
  return out;
}

std::string Json(const Replayed& r) {
  const auto field = [](const char* name, uint64_t value) {
    return std::string("\"") + name + "\":" + std::to_string(value) + ",";
  };
  std::string out = "{\"version\":1,\"journal\":\"" + JsonEscape(r.directory) + "\",\"result\":\"" + Word(r.verdict) +
                    "\",\"message\":\"" + JsonEscape(Conclusion(r)) + "\",";
  out += field("snapshot", r.snapshot) + field("records", r.records) + field("epochs", r.epochs) +
         field("events", r.events) + field("compared", r.compared) + field("skipped", r.skipped) +
         field("jobs", r.jobs) + field("succeeded", r.succeeded) + field("failed", r.failed) +
         field("killed", r.killed);
  out += "\"scheduler_versions\":[" + Versions(r) + "],\"events_by_kind\":{";
  bool first = true;
  for (const auto& [kind, count] : r.by_kind) {
    out += std::string(first ? "" : ",") + "\"" + kind + "\":" + std::to_string(count);
    first = false;
  }
  out += "}," + field("cut_bytes", r.cut_bytes) + field("cut_records", r.cut_records);
  if (r.divergence) {
    const Divergence& d = *r.divergence;
    out += "\"divergence\":{" + field("record", d.record) + field("offset", d.offset) +
           field("event_number", d.event_number) + "\"event\":\"" + JsonEscape(d.event) + "\",\"recorded\":\"" +
           Hex(d.recorded) + "\",\"replayed\":\"" + Hex(d.replayed) + "\",\"detail\":\"" + JsonEscape(d.detail) +
           "\",\"changed\":" + JsonList(d.changed) + ",\"unchanged_there\":" + JsonList(d.unchanged) + "},";
  }
  return out + "\"digest\":\"" + Hex(r.digest) + "\"}\n";
}

}  // namespace mr::sim
