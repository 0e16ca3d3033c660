// Runs a built-in job in-process over several shapes: splits, batches, number of reduce tasks.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/builtin/builtin.h"
#include "paceline/testing.h"

namespace mr::builtin {

inline const mr_library* Builtins() {
  static Library* const library = [] {
    auto* l = new Library;
    AddAll(*l);
    return l;
  }();
  static const mr_library* const table = library->table();
  return table;
}

inline std::vector<LocalOptions> Shapes() {
  return {{.split_bytes = 1 << 20, .reduces = 1, .batch_records = 1000, .block_bytes = 1 << 20},
          {.split_bytes = 64, .reduces = 3, .batch_records = 5, .block_bytes = 20},
          {.split_bytes = 7, .reduces = 5, .batch_records = 1, .block_bytes = 1},
          {.split_bytes = 500, .reduces = 2, .batch_records = 3, .block_bytes = 200},
          {.split_bytes = 30, .reduces = 2, .batch_records = 4, .block_bytes = 16, .splits_per_task = 3}};
}

inline std::vector<std::string> LinesOf(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

inline std::vector<std::string> SortedLinesOf(std::string_view text) {
  auto lines = LinesOf(text);
  std::sort(lines.begin(), lines.end());
  return lines;
}

// Why the plan refuses the arguments; empty if it does not.
inline std::string PlanRefusal(const std::string& job, const std::vector<std::string>& args) {
  try {
    LocalJob(Builtins()).PlanText(job, args);
    return "";
  } catch (const JobError& e) {
    return e.what();
  }
}

}  // namespace mr::builtin
