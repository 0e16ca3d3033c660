#include "master/core/skew.h"

#include <algorithm>
#include <cstdio>

#include "common/base/text.h"

namespace mr::master {
namespace {

double ShareOf(uint64_t part, uint64_t of) { return of == 0 ? 0 : static_cast<double>(part) / static_cast<double>(of); }

std::string Percent(uint64_t part, uint64_t of) {
  const double share = 100 * ShareOf(part, of);
  char text[16];
  std::snprintf(text, sizeof text, share < 1 ? "%.1f %%" : "%.0f %%", std::min(share, 100.0));
  return text;
}

// Half of a character says nothing.
std::string WholeCharacters(const HotKey& key) {
  std::string prefix = key.prefix;
  if (!key.cut) return prefix;
  size_t at = prefix.size();
  while (at > 0 && prefix.size() - at < 3 && (static_cast<unsigned char>(prefix[at - 1]) & 0xC0) == 0x80) --at;
  const unsigned char lead = at > 0 ? static_cast<unsigned char>(prefix[at - 1]) : 0;
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
  if (length > 1 && prefix.size() - (at - 1) < length) prefix.resize(at - 1);
  return prefix;
}

}  // namespace

std::string SkewText(const Skew& s, const std::string& stage_name) {
  std::string text = "key '" + PrintableBytes(WholeCharacters(s.key)) + (s.key.cut ? "..." : "") + "' has about " +
                     Percent(s.key.records, s.stage_records) + " of the " + Grouped(s.stage_records) +
                     (s.partial ? " records seen" : " records");
  // Where few large records are the reason.
  if (ShareOf(s.key.bytes, s.stage_bytes) > 1.5 * ShareOf(s.key.records, s.stage_records)) {
    text += " and " + Percent(s.key.bytes, s.stage_bytes) + " of the " + HumanBytes(s.stage_bytes);
  }
  text += " from stage '" + PrintableBytes(stage_name) + "' (partition " + std::to_string(s.key.partition) + ": ";
  if (!s.partitions_known) return text + "at least " + HumanBytes(s.key.bytes) + ")";
  text += HumanBytes(s.partition_bytes);
  if (s.median_bytes == 0) return text + ", most others have nothing)";
  const double times = ShareOf(s.partition_bytes, s.median_bytes);
  char ratio[32];
  std::snprintf(ratio, sizeof ratio, times < 9.95 ? ", %.2g" : ", %.0f", times);
  return text + ratio + " times the median)";
}

bool SkewTable::Committed(const TaskId& task, const StagePlan& plan, uint64_t records, uint64_t bytes,
                          const FinishedExtra& extra, const std::vector<uint32_t>& kib,
                          const std::vector<HotKey>& hot) {
  const std::vector<uint32_t>& partitions_of = plan.port_partitions;
  if (std::none_of(partitions_of.begin(), partitions_of.end(), [](uint32_t p) { return p > 1; })) return false;
  OfStage& of = stages_[{task.job, task.stage}];
  if (of.ports.empty()) {
    of.counted.resize(plan.tasks);
    for (uint32_t begin = 0; const uint32_t count : partitions_of) {
      of.ports.push_back({begin, begin + count, 0, 0, HotKeys()});
      begin += count;
    }
    of.partition_bytes.resize(plan.partitions());
  }
  if (task.task >= of.counted.size() || of.counted[task.task]) return false;
  of.counted[task.task] = 1;
  const size_t partitions = plan.partitions();
  const bool rows = extra.rows.size() == partitions;
  if (!rows && kib.size() != partitions) of.partition_bytes.clear();
  for (size_t p = 0; p < of.partition_bytes.size(); ++p) {
    of.partition_bytes[p] += rows ? extra.rows[p].bytes : uint64_t{kib[p]} << 10;
  }
  for (Port& port : of.ports) {
    if (!rows) {
      // Where there are several ports, too much: shares are said too small rather than too large.
      port.records += records;
      port.bytes += bytes;
    }
    for (uint32_t p = port.begin; rows && p < port.end; ++p) {
      port.records += extra.rows[p].records;
      port.bytes += extra.rows[p].bytes;
    }
  }
  for (const HotKey& key : hot) {
    if (key.port >= of.ports.size()) continue;
    const Port& port = of.ports[key.port];
    if (key.partition < port.begin || key.partition >= port.end) continue;
    of.ports[key.port].keys.Add(key);
    of.any_hot = true;
  }
  return of.any_hot;
}

void SkewTable::Find(uint32_t stage, const OfStage& of, std::vector<Skew>* found) {
  if (!of.any_hot) return;
  std::vector<Skew> here;
  for (uint32_t i = 0; i < of.ports.size(); ++i) {
    const Port& port = of.ports[i];
    const uint32_t partitions = port.end - port.begin;
    if (partitions < 2 || port.bytes == 0) continue;
    for (HotKey& key : port.keys.Top(kSkewsOfStage)) {
      const double share = ShareOf(key.bytes, port.bytes);
      if (key.bytes < kSkewBytes || share < kSkewShare || 1 + (partitions - 1) * share < kTimesMean) continue;
      Skew& skew = here.emplace_back();
      skew.stage = stage;
      skew.key = std::move(key);
      skew.key.port = i;
      skew.stage_records = port.records;
      skew.stage_bytes = port.bytes;
      skew.partial = std::find(of.counted.begin(), of.counted.end(), 0) != of.counted.end();
      if (of.partition_bytes.empty()) continue;
      std::vector<uint64_t> sizes(of.partition_bytes.begin() + port.begin, of.partition_bytes.begin() + port.end);
      skew.partition_bytes = sizes[skew.key.partition - port.begin];
      // The lower median: with two partitions the fat one is compared with the other.
      const auto middle = sizes.begin() + (partitions - 1) / 2;
      std::nth_element(sizes.begin(), middle, sizes.end());
      skew.median_bytes = *middle;
      skew.partitions_known = true;
    }
  }
  std::stable_sort(here.begin(), here.end(), [](const Skew& a, const Skew& b) { return a.key.bytes > b.key.bytes; });
  if (here.size() > kSkewsOfStage) here.resize(kSkewsOfStage);
  found->insert(found->end(), here.begin(), here.end());
}

std::vector<Skew> SkewTable::Of(JobId job) const {
  std::vector<Skew> found;
  for (auto it = stages_.lower_bound({job, 0}); it != stages_.end() && it->first.job == job; ++it) {
    Find(it->first.stage, it->second, &found);
  }
  if (found.size() > kSkewsOfJob) found.resize(kSkewsOfJob);
  return found;
}

void SkewTable::Forget(JobId job) {
  std::erase_if(stages_, [job](const auto& entry) { return entry.first.job == job; });
}

std::string SkewTable::Save() const {
  std::vector<Entry> entries;
  for (const auto& [id, of] : stages_) {
    if (of.any_hot) entries.push_back({id, of});
  }
  return EncodeFields(entries);
}

bool SkewTable::Restore(const std::string& bytes) {
  std::vector<Entry> entries;
  if (!DecodeFields(bytes, &entries)) return false;
  for (Entry& entry : entries) stages_[entry.id] = std::move(entry.of);
  return true;
}

}  // namespace mr::master
