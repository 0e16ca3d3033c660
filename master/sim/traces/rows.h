// A text as rows of fields. Rows that are empty or begin with '#' are passed over.
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

  // To the next row; false at the end.
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

  // The whole of field i as a number that fits.
  template <class T>
  bool Get(size_t i, T* value) const {
    return i < fields_.size() && Parse(fields_[i], value);
  }
  template <class T>
  static bool Parse(std::string_view field, T* value) {
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), *value);
    return error == std::errc() && end == field.data() + field.size();
  }
  // Seconds from 0 to 30,000 years.
  bool GetSeconds(size_t i, double* value) const { return Get(i, value) && *value >= 0 && *value < 1e12; }

  // kInvalidArgument: "file:7: what".
  Status Wrong(const std::string& what) const {
    return InvalidArgument(file_.name + ":" + std::to_string(line_) + ": " + what);
  }

 private:
  const TraceText& file_;
  char separator_;
  size_t at_ = 0, line_ = 0;
  std::vector<std::string_view> fields_;
};

// More tasks than any recorded job has, and few enough to hold.
inline constexpr uint32_t kMaxTraceTasks = 1'000'000;

// By submission, which counts from the first; kInvalidArgument where there is none.
Status SortJobs(const std::string& name, std::vector<JobModel>* jobs);

// Of stages whose inputs name others in any order: each behind all that it reads, else as they were.
// `where` is for the message of the kInvalidArgument that a cycle gives.
Status OrderStages(const std::string& where, std::vector<StageModel>* stages);

inline sched::StageInput EdgeFrom(uint32_t upstream, sched::EdgeKind kind = sched::EdgeKind::kAllToAll) {
  return {true, kind, upstream};
}

}  // namespace mr::sim
