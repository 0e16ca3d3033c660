#include "jobs/mrctl/plan_cache.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "common/base/digest.h"
#include "common/io/files.h"

namespace mr::ctl {
namespace {

// Plans kept. One more removes all of them: a user who needs so many repeats few (guess).
constexpr size_t kMostPlans = 256;
constexpr size_t kMostPlanBytes = 1u << 20;  // of one kept plan; longer ones are rare, and not worth their bytes
constexpr mode_t kWritableByOthers = 022;

std::string CacheDirectory() {
  for (const auto& [variable, below] : {std::pair("XDG_CACHE_HOME", ""), std::pair("HOME", "/.cache")}) {
    const char* value = std::getenv(variable);
    if (value != nullptr && value[0] == '/') return std::string(value) + below + "/paceline/plans";
  }
  return "";
}

// Returns what changes when the file does, or "" if it cannot be read. The time of the last change of the inode cannot
// be set back, so a file that was replaced in place counts as another one.
std::string VersionOfFile(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return "";
  std::string text = path;
  for (const int64_t n :
       {static_cast<int64_t>(info.st_dev), static_cast<int64_t>(info.st_ino), static_cast<int64_t>(info.st_size),
        static_cast<int64_t>(info.st_mtim.tv_sec), static_cast<int64_t>(info.st_mtim.tv_nsec),
        static_cast<int64_t>(info.st_ctim.tv_sec), static_cast<int64_t>(info.st_ctim.tv_nsec)}) {
    text += " " + std::to_string(n);
  }
  return text;
}

}  // namespace

PlanCache::PlanCache(const std::vector<std::string>& words, const std::vector<std::string>& files) {
  const std::string directory = CacheDirectory();
  if (directory.empty()) return;
  for (const std::string& file : files) {
    const std::string version = VersionOfFile(file);
    if (version.empty()) return;
    key_ += version + "\n";
  }
  // Lengths keep words with line breaks apart.
  for (const std::string& word : words) key_ += std::to_string(word.size()) + " " + word + "\n";
  path_ = directory + "/" + Hash128(key_).Hex();
}

std::optional<std::string> PlanCache::Find() const {
  if (path_.empty()) return std::nullopt;
  const auto file = OpenFile(path_, O_RDONLY | O_NOFOLLOW);
  struct stat info {};
  if (!file.ok() || ::fstat(file->get(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != ::geteuid() ||
      (info.st_mode & kWritableByOthers) != 0 || info.st_size < 0 ||
      static_cast<size_t>(info.st_size) > kMostPlanBytes) {
    return std::nullopt;
  }
  std::string text(static_cast<size_t>(info.st_size), '\0');
  const auto got = PreadUpTo(file->get(), text.data(), text.size(), 0);
  // The key distinguishes two plans of one digest; a file that was cut lacks its end.
  const std::string end = "\n" + key_;
  if (!got.ok() || *got != text.size() || text.size() <= end.size() || !text.ends_with(end)) return std::nullopt;
  text.resize(text.size() - end.size());
  return text;
}

void PlanCache::Keep(const std::string& printed) const {
  if (path_.empty() || printed.size() + key_.size() >= kMostPlanBytes) return;
  const std::string directory = path_.substr(0, path_.rfind('/'));
  struct stat info {};
  // A link could lead to a directory of somebody else.
  if (!MakeDirectories(directory).ok() || ::lstat(directory.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) ||
      info.st_uid != ::geteuid() || ::chmod(directory.c_str(), 0700) != 0) {
    return;
  }
  if (const auto names = ListDirectory(directory); names.ok() && names->size() >= kMostPlans) {
    for (const std::string& name : *names) {
      if (name.find_first_not_of("0123456789abcdef") == std::string::npos) ::unlink((directory + "/" + name).c_str());
    }
  }
  const std::string fresh = path_ + "." + std::to_string(::getpid());
  const auto file = OpenFile(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
  if (!file.ok()) return;
  if (!WriteAll(file->get(), printed + "\n" + key_).ok() || ::rename(fresh.c_str(), path_.c_str()) != 0) {
    ::unlink(fresh.c_str());
  }
}

PlanRun PlanRun::Start(const std::string& library, const std::string& job, const std::vector<std::string>& args,
                       const PlanSizes& sizes) {
  PlanRun run;
  if (library == BuiltinLibrary()) {
    std::vector<std::string> words = {std::to_string(sizes.memory_bytes), std::to_string(sizes.bytes.size())};
    for (const auto& [uri, bytes] : sizes.bytes) words.insert(words.end(), {uri, std::to_string(bytes)});
    words.push_back(job);
    words.insert(words.end(), args.begin(), args.end());
    run.cache_.emplace(words, std::vector<std::string>{BinaryDirectory() + "/mrtask", library});
    run.found_ = run.cache_->Find();
  }
  if (!run.found_) run.run_.emplace(StartPlan(library, job, args, sizes));
  return run;
}

Result<std::string> PlanRun::Finish() {
  if (found_) return *std::move(found_);
  auto printed = run_->Finish();
  if (printed.ok() && cache_) cache_->Keep(*printed);
  return printed;
}

}  // namespace mr::ctl
