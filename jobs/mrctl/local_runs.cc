#include "jobs/mrctl/local_runs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>

#include "common/io/files.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/local_names.h"

namespace mr::ctl {
namespace {

constexpr std::string_view kLocalPrefix = "local_", kRunSuffix = ".run";
constexpr size_t kMostDigits = 9;      // so that a number fits
constexpr int kReserveTries = 10'000;  // a guess: more runs that begin at once than any machine has

// Makes the missing directories of a path for this user alone, as the XDG Base Directory Specification asks.
Status MakePrivate(const std::string& path) {
  for (size_t at = path.find('/', 1);; at = path.find('/', at + 1)) {
    const std::string part = path.substr(0, at);
    if (mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) return ErrnoStatus(errno, "cannot make directory " + part);
    if (at == std::string::npos) return Status::Ok();
  }
}

}  // namespace

std::optional<uint32_t> ParseLocalId(std::string_view text) {
  if (!text.starts_with(kLocalPrefix)) return std::nullopt;
  text.remove_prefix(kLocalPrefix.size());
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || text.size() > kMostDigits || number == 0)
    return std::nullopt;
  return number;
}

std::string LocalName(uint32_t number) {
  char text[24];
  std::snprintf(text, sizeof text, "local_%04u", number);
  return text;
}

std::string LocalRuns::Path(uint32_t number) const {
  return directory_ + "/" + LocalName(number) + std::string(kRunSuffix);
}

Result<std::vector<LocalRuns::File>> LocalRuns::Files() const {
  std::vector<File> files;
  if (!PathExists(directory_)) return files;
  MR_ASSIGN_OR_RETURN(const auto names, ListDirectory(directory_));
  for (const std::string& name : names) {
    const auto number = ParseLocalId(std::string_view(name).substr(0, name.find('.')));
    if (!number) continue;
    const auto bytes = FileSize(directory_ + "/" + name);
    files.push_back({*number, name, bytes.ok() ? *bytes : 0});  // another process may have removed it
  }
  std::stable_sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.number > b.number; });
  return files;
}

// Makes an empty file, which nobody else can make, under the next number.
Result<uint32_t> LocalRuns::Reserve() const {
  MR_RETURN_IF_ERROR(MakePrivate(directory_));
  MR_ASSIGN_OR_RETURN(const std::vector<File> files, Files());
  uint32_t number = files.empty() ? 0 : files.front().number;
  for (int i = 0; i < kReserveTries; ++i) {
    const std::string path = Path(++number);
    const UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (fd.valid()) return number;
    if (errno != EEXIST) return ErrnoStatus(errno, "cannot make " + path);
  }
  return Internal("no free number in " + directory_);
}

void LocalRuns::RemoveOld(size_t keep) const {
  const auto files = Files();
  if (!files.ok()) return;  // the next run tries again
  size_t runs = 0;
  uint64_t bytes = 0;
  uint32_t last = 0;
  for (const File& file : *files) {
    if (file.bytes > 0) {  // else it still runs, or its mrctl was killed
      runs += file.number != last;
      last = file.number;
    }
    bytes += file.bytes;
    const bool newest = file.number == files->front().number;
    if (!newest && (runs > keep || bytes > kKeptRunBytes)) (void)unlink((directory_ + "/" + file.name).c_str());
  }
}

Result<size_t> LocalRuns::KeepNewest(size_t keep) const {
  MR_ASSIGN_OR_RETURN(const std::vector<File> files, Files());
  size_t runs = 0, removed = 0;
  uint32_t last = 0;
  for (const File& file : files) {
    if (file.bytes == 0) continue;  // it still runs, or its mrctl was killed
    const bool next = file.number != last;
    runs += next ? 1 : 0;
    last = file.number;
    if (runs <= keep) continue;
    const std::string path = directory_ + "/" + file.name;
    if (unlink(path.c_str()) != 0 && errno != ENOENT) return ErrnoStatus(errno, "cannot remove " + path);
    removed += next ? 1 : 0;
  }
  return removed;
}

void LocalRuns::Release(uint32_t number) const {
  (void)unlink(Path(number).c_str());
  (void)unlink((Path(number) + ".tmp").c_str());
}

Status LocalRuns::Store(uint32_t number, const report::RecordedRun& recorded, size_t keep) const {
  const auto bytes = report::EncodeRun(recorded);
  Status written = bytes.ok() ? WriteFileDurably(Path(number), *bytes, 0600) : bytes.status();
  if (!written.ok()) {
    Release(number);
    return written;
  }
  RemoveOld(keep);
  return Status::Ok();
}

Result<std::string> LocalRuns::Add(const report::RecordedRun& recorded, size_t keep) const {
  MR_ASSIGN_OR_RETURN(const uint32_t number, Reserve());
  MR_RETURN_IF_ERROR(Store(number, recorded, keep));
  return LocalName(number);
}

Result<report::RecordedRun> LocalRuns::Find(uint32_t number) const {
  const std::string name = LocalName(number);
  if (!PathExists(Path(number))) {
    return WithHint(NotFound("there is no " + name + " in " + directory_),
                    "mrctl history --local lists the runs of `submit --local` that are kept");
  }
  MR_ASSIGN_OR_RETURN(const uint64_t size, FileSize(Path(number)));
  if (size > kKeptRunBytes) return Corrupted(name + " is not the record of a run: it is too large");
  MR_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(Path(number)));
  if (bytes.empty()) {
    return WithHint(NotFound(name + " has no record: it still runs, or its mrctl was killed"),
                    "mrctl history --local lists the runs that have one");
  }
  MR_ASSIGN_OR_RETURN(report::RecordedRun recorded, report::DecodeRun(bytes, name));
  UseLocalNames(&recorded.run.job, name);
  for (std::string& line : recorded.why) line = WithoutLogCommand(WithLocalNames(line, recorded.run.job.id, name));
  for (DecisionStatus& decision : recorded.run.decisions) decision.reason = WithoutLogCommand(decision.reason);
  return recorded;
}

Result<LocalRuns::Listed> LocalRuns::List(size_t limit) const {
  MR_ASSIGN_OR_RETURN(const std::vector<File> files, Files());
  Listed listed;
  for (const File& file : files) {
    if (listed.jobs.size() == limit) break;
    if (!file.name.ends_with(kRunSuffix) || file.bytes == 0) continue;
    auto recorded = Find(file.number);
    if (recorded.ok())
      listed.jobs.push_back(std::move(recorded->run.job));
    else if (recorded.status().code() != Code::kNotFound)
      listed.unreadable.push_back(recorded.status().message());
  }
  return listed;
}

}  // namespace mr::ctl
