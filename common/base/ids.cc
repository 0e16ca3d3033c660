#include "common/base/ids.h"

#include <charconv>
#include <cstdio>
#include <vector>

namespace mr {
namespace {

std::vector<std::string_view> SplitUnderscore(std::string_view text) {
  std::vector<std::string_view> parts;
  size_t from = 0;
  while (true) {
    const size_t at = text.find('_', from);
    parts.push_back(text.substr(from, at == std::string_view::npos ? at : at - from));
    if (at == std::string_view::npos) return parts;
    from = at + 1;
  }
}

bool ParseNumber(std::string_view text, uint32_t* out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

}  // namespace

std::string Name(JobId id) {
  char text[40];
  std::snprintf(text, sizeof text, "job_%u_%04u", id.epoch, id.seq);
  return text;
}

std::string Name(TaskId id, TaskLetter letter) {
  char text[80];
  std::snprintf(text, sizeof text, "task_%u_%04u_%u_%c_%06u", id.job.epoch, id.job.seq, id.stage,
                static_cast<char>(letter), id.task);
  return text;
}

std::string Name(AttemptId id, TaskLetter letter) {
  char text[96];
  std::snprintf(text, sizeof text, "attempt_%u_%04u_%u_%c_%06u_%u", id.task.job.epoch, id.task.job.seq, id.task.stage,
                static_cast<char>(letter), id.task.task, id.number);
  return text;
}

std::string Name(WorkerId id) { return "w" + std::to_string(id.value); }

std::optional<JobId> ParseJobId(std::string_view text) {
  const auto parts = SplitUnderscore(text);
  JobId id;
  if (parts.size() != 3 || parts[0] != "job" || !ParseNumber(parts[1], &id.epoch) || !ParseNumber(parts[2], &id.seq) ||
      !id.valid()) {
    return std::nullopt;
  }
  return id;
}

std::optional<AttemptId> ParseAttemptId(std::string_view text) {
  const auto parts = SplitUnderscore(text);
  AttemptId id;
  if (parts.size() != 7 || parts[0] != "attempt" || !ParseNumber(parts[1], &id.task.job.epoch) ||
      !ParseNumber(parts[2], &id.task.job.seq) || !ParseNumber(parts[3], &id.task.stage) ||
      (parts[4] != "m" && parts[4] != "r") || !ParseNumber(parts[5], &id.task.task) ||
      !ParseNumber(parts[6], &id.number) || !id.valid()) {
    return std::nullopt;
  }
  return id;
}

std::optional<WorkerId> ParseWorkerId(std::string_view text) {
  WorkerId id;
  if (text.size() < 2 || text[0] != 'w' || !ParseNumber(text.substr(1), &id.value) || !id.valid()) {
    return std::nullopt;
  }
  return id;
}

}  // namespace mr
