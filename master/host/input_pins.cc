#include "master/host/input_pins.h"

#include <fnmatch.h>

#include <set>
#include <utility>

#include "common/base/text.h"
#include "common/io/clock.h"
#include "dfs/meta/staging.h"
#include "master/core/input_places.h"

namespace mr::master {
namespace {

Status Missing(const dfs::CallerFiles& ns, const std::string& path, const Status& why) {
  if (why.code() != Code::kNotFound) return why;
  std::string message = "input dfs://" + path + " does not exist";
  if (const auto entries = ns.List(ParentOf(path)); entries.ok()) {
    std::vector<std::string> names;
    for (const auto& entry : *entries) names.push_back(entry.path.substr(entry.path.rfind('/') + 1));
    const std::vector<std::string_view> views(names.begin(), names.end());
    message += DidYouMean(path.substr(path.rfind('/') + 1), views);
  }
  return NotFound(message);
}

}  // namespace

Result<std::vector<InputFile>> DfsFiles(const dfs::CallerFiles& files, const std::string& uri) {
  const std::string path = DfsPath(uri);
  if (dfs::IsStaging(path)) {
    return Rejected("input " + uri + " cannot be read: " + std::string(dfs::kStaging) +
                    " holds what running jobs are writing");
  }
  std::vector<InputFile> found_files;
  const auto add = [&found_files](const std::vector<dfs::FileInfo>& found) {
    for (const auto& file : found) found_files.push_back({"dfs://" + file.path, file.bytes, file.id, {}});
  };
  auto found = files.FilesUnder(path);
  if (found.ok()) {
    add(*found);
    return found_files;
  }
  if (found.status().code() == Code::kNotAllowed) return found.status();
  if (path.find_first_of("*?[") == std::string::npos) return Missing(files, path, found.status());
  // A pattern in the last component.
  MR_ASSIGN_OR_RETURN(const auto entries, files.List(ParentOf(path)));
  for (const auto& entry : entries) {
    if (fnmatch(path.c_str(), entry.path.c_str(), FNM_PATHNAME | FNM_PERIOD) != 0) continue;
    MR_ASSIGN_OR_RETURN(const auto below, files.FilesUnder(entry.path));
    add(below);
  }
  if (found_files.empty()) {
    return NotFound("no input matches dfs://" + path + ": of the " + std::to_string(entries.size()) + " names in " +
                    ParentOf(path) + " none does (mrctl fs ls " + ParentOf(path) + ")");
  }
  return found_files;
}

InputPins::InputPins(Driver& driver, HostClock& clock) : driver_(driver), core_(driver.core()), clock_(clock) {}

uint64_t InputPins::Pin(const PlanContext& context) {
  std::vector<uint64_t> ids;
  for (const auto& [uri, files] : context.dfs_files) {
    if (!files.ok()) continue;
    for (const InputFile& file : *files) ids.push_back(file.id);
  }
  if (ids.empty()) return 0;
  const auto prepared = core_.files().PreparePin({clock_.Stamp(), WallClockMs()}, std::move(ids));
  MR_CHECK(prepared.ok() && prepared->has_value(), "files that were found at this instant can be pinned");
  driver_.FeedDfs(**prepared);
  return std::get<dfs::InputsPinned>(**prepared).pin;
}

void InputPins::Release(uint64_t pin) {
  const auto prepared = core_.files().PrepareRelease(pin);
  if (prepared.ok() && prepared->has_value()) driver_.FeedDfs(**prepared);
}

void InputPins::ReleaseStray() {
  std::set<uint64_t> held;
  for (const auto& [id, job] : core_.jobs().jobs()) {
    if (!Ended(job.state)) held.insert(job.plan.pin);
  }
  for (const uint64_t pin : core_.files().Pins()) {
    if (!held.contains(pin)) Release(pin);
  }
}

}  // namespace mr::master
