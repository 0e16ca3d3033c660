#include "worker/daemon/log_owners.h"

#include <fcntl.h>
#include <stdio.h>

#include <sstream>
#include <utility>

#include "common/io/files.h"

namespace mr::worker {
namespace {

// The file is written anew when it has twice the lines that it needs, and so many more (guess: 40 KB).
constexpr size_t kSpareLines = 1000;

std::string Line(JobId job, const std::string& owner) { return Name(job) + " " + owner + "\n"; }

}  // namespace

LogOwners::LogOwners(std::string path) : path_(std::move(path)) {
  const auto text = ReadFile(path_);
  if (!text.ok()) return;
  // A line without its end was being written when the process or the machine stopped: its owner may be cut.
  const size_t whole = text->rfind('\n') == std::string::npos ? 0 : text->rfind('\n') + 1;
  std::istringstream lines(text->substr(0, whole));
  for (std::string line; std::getline(lines, line); ++lines_) {
    const size_t space = line.find(' ');
    const auto job = ParseJobId(line.substr(0, space));
    if (job && space != std::string::npos) owners_[*job] = line.substr(space + 1);
  }
  // Another line would be appended to the rest.
  cut_ = whole != text->size();
  if (cut_) Rewrite();
}

void LogOwners::Note(JobId job, const std::string& owner) {
  if (owner.empty() || owner.find('\n') != std::string::npos || !owners_.emplace(job, owner).second) return;
  ++lines_;
  if (cut_) return Rewrite();
  // Where the disk is full, the logs of the job count for nobody after a restart.
  const auto file = OpenFile(path_, O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (file.ok()) cut_ = !WriteAll(file->get(), Line(job, owner)).ok();
}

void LogOwners::Forget(const std::set<JobId>& jobs) {
  for (const JobId job : jobs) owners_.erase(job);
  if (lines_ > 2 * owners_.size() + kSpareLines) Rewrite();
}

void LogOwners::Rewrite() {
  std::string text;
  for (const auto& [job, owner] : owners_) text += Line(job, owner);
  const std::string next = path_ + ".new";
  const auto file = OpenFile(next, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (!file.ok() || !WriteAll(file->get(), text).ok() || ::rename(next.c_str(), path_.c_str()) != 0) return;
  lines_ = owners_.size();
  cut_ = false;
}

}  // namespace mr::worker
