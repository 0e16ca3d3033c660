#include "common/report/internal_stages.h"

#include <algorithm>

namespace mr::report {
namespace {

bool HasStageNamed(const std::vector<std::string>& names, const std::string& begin, const std::string& end) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return name.size() >= begin.size() + end.size() && name.starts_with(begin) && name.ends_with(end);
  });
}

}  // namespace

bool IsInternalStage(const std::string& name, const std::vector<std::string>& names) {
  const size_t dot = name.rfind('.');
  const std::string step = dot == std::string::npos ? "" : name.substr(0, dot + 1);
  const std::string stage = name.substr(step.size());
  const auto beside = [&](const char* other) { return HasStageNamed(names, step + other, ""); };
  if (stage.starts_with("csv_quotes")) return true;
  if (stage == "sample" || stage == "splitters") return beside("splitters") && beside("partition") && beside("sort");
  if (stage.ends_with("header")) return beside("columns");
  if (stage == "columns") return HasStageNamed(names, step, "header");
  return stage.starts_with("totals") && beside("edges") && beside("round");
}

}  // namespace mr::report
