// Profiles of jobs as tables.
#include <algorithm>
#include <cstdio>

#include "common/base/text.h"
#include "jobs/mrctl/render.h"

namespace mr::ctl {
namespace {

constexpr size_t kCells = 20;  // cells of a histogram

std::string Took(double seconds) { return HumanDuration(FromSeconds(seconds)); }

// Returns the sample at this fraction of the sorted ones.
std::string At(const std::vector<float>& sorted, double share) {
  if (sorted.empty()) return "-";
  return Took(sorted[std::min(sorted.size() - 1, static_cast<size_t>(share * static_cast<double>(sorted.size())))]);
}

std::string Percent(double share) {
  char text[16];
  std::snprintf(text, sizeof text, share > 0 && share < .1 ? "%.1f%%" : "%.0f%%", share * 100);
  return text;
}

}  // namespace

std::string Histogram(const std::vector<float>& sorted, size_t cells) {
  static constexpr char kLevels[] = " .:-=+*#@";
  constexpr size_t kMost = sizeof kLevels - 2;
  if (sorted.empty() || cells == 0) return "";
  std::vector<size_t> counts(cells);
  for (const float sample : sorted) {
    const float share = sorted.back() > 0 ? sample / sorted.back() : 0;
    ++counts[std::min(cells - 1, static_cast<size_t>(share * static_cast<float>(cells)))];
  }
  const size_t most = *std::max_element(counts.begin(), counts.end());
  std::string text;
  // Rounded up, so that a single sample shows beside many.
  for (const size_t n : counts) text += kLevels[(n * kMost + most - 1) / most];
  return text;
}

std::string RenderProfiles(const std::vector<ProfileStatus>& profiles, OutputForm form) {
  if (form != OutputForm::kTable) return JsonProfiles(profiles, form);
  std::string text;
  for (const ProfileStatus& p : profiles) {
    if (!text.empty()) text += "\n";
    text += p.name + ", plan " + p.id + ": " + Grouped(p.runs) + (p.runs == 1 ? " run" : " runs") + ", the last " +
            Name(p.last) + " at " + DateTime(p.updated_unix_ms) + "\n";
    Table table(
        {"STAGE", "TASKS", "RUN P50", "P90", "MAX", "WAIT P50", "QUEUE", "FAILS", "INPUT", "RUN TIMES, 0 TO MAX"});
    for (const ProfileStage& s : p.stages) {
      table.Add({s.name, std::to_string(s.tasks), At(s.run, .5), At(s.run, .9), At(s.run, 1), At(s.wait, .5),
                 Took(s.queue), Percent(s.fails), HumanBytes(static_cast<uint64_t>(s.input_bytes)),
                 "|" + Histogram(s.run, kCells) + "|"});
    }
    text += table.Text();
  }
  return text;
}

}  // namespace mr::ctl
