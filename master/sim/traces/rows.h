// Splits a text into rows of fields. Skips rows that are empty or begin with '#'.
#pragma once

#include <charconv>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "master/sim/traces/trace.h"

namespace mr::sim {

class Rows {
 public:
  Rows(const TraceText& file, char separator) : file_(file), separator_(separator) {}

  // Moves to the next row. Returns false at the end.
  bool Next() {
    while (at_ < file_.text.size()) {
      const size_t end = std::min(file_.text.find('\n', at_), file_.text.size());
      std::string_view row(file_.text.data() + at_, end - at_);
      at_ = end + 1;
      ++line_;
      if (!row.empty() && row.back() == '\r') row.remove_suffix(1);
      if (row.empty() || row[0] == '#') continue;
      fields_.clear();
      while (true) {
        const size_t stop = row.find(separator_);
        fields_.push_back(row.substr(0, stop));
        if (stop == std::string_view::npos) return true;
        row.remove_prefix(stop + 1);
      }
    }
    return false;
  }
  size_t size() const { return fields_.size(); }
  std::string_view operator[](size_t i) const { return fields_[i]; }
  std::string Text(size_t i) const { return std::string(fields_[i]); }

  // Parses the whole of field i as a number that fits in T.
  template <class T>
  bool Get(size_t i, T* value) const {
    return i < fields_.size() && Parse(fields_[i], value);
  }
  template <class T>
  static bool Parse(std::string_view field, T* value) {
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), *value);
    return error == std::errc() && end == field.data() + field.size();
  }
  // Parses seconds from 0 to 30,000 years.
  bool GetSeconds(size_t i, double* value) const { return Get(i, value) && *value >= 0 && *value < 1e12; }

  // Returns kInvalidArgument: "file:7: what".
  Status Wrong(const std::string& what) const {
    return InvalidArgument(file_.name + ":" + std::to_string(line_) + ": " + what);
  }

 private:
  const TraceText& file_;
  char separator_;
  size_t at_ = 0, line_ = 0;
  std::vector<std::string_view> fields_;
};

// More tasks than any recorded job has, and few enough for memory.
inline constexpr uint32_t kMaxTraceTasks = 1'000'000;

// Sorts by submission and counts it from the first job. Errors: kInvalidArgument: no job.
Status SortJobs(const std::string& name, std::vector<JobModel>* jobs);

// Puts each stage behind all that it reads, and else keeps their order. Stages may name inputs in any order. Errors:
// kInvalidArgument with `where`: a cycle.
Status OrderStages(const std::string& where, std::vector<StageModel>* stages);

inline sched::StageInput EdgeFrom(uint32_t upstream, sched::EdgeKind kind = sched::EdgeKind::kAllToAll) {
  return {true, kind, upstream};
}

}  // namespace mr::sim
