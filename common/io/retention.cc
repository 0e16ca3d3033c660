#include "common/io/retention.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "common/io/files.h"

namespace mr {
namespace {

int64_t ModifiedMs(const struct stat& info) {
  return int64_t{info.st_mtim.tv_sec} * 1000 + info.st_mtim.tv_nsec / 1'000'000;
}

bool IsPart(const std::string& name) { return name.ends_with(".part"); }

}  // namespace

std::vector<StoredFile> Surplus(std::vector<StoredFile> files, const RetentionLimits& limits, int64_t now_ms,
                                const std::function<bool(const std::string&)>& in_use, Duration grace,
                                const std::function<bool(const std::string&)>& last) {
  std::sort(files.begin(), files.end(), [](const StoredFile& a, const StoredFile& b) {
    return std::tie(a.modified_ms, a.name) < std::tie(b.modified_ms, b.name);
  });
  uint64_t bytes = 0;
  for (const StoredFile& f : files) bytes += f.bytes;
  std::vector<StoredFile> surplus;
  const auto age_of = [now_ms](const StoredFile& f) { return Millis(now_ms - f.modified_ms); };
  const auto old = [&](const StoredFile& f) {
    return age_of(f) > (IsPart(f.name) ? std::min(kPartAge, limits.age) : limits.age);
  };
  const auto remove = [&](const std::function<bool(const StoredFile&)>& goes) {
    std::erase_if(files, [&](const StoredFile& f) {
      if (!goes(f) || age_of(f) < grace || in_use(f.name)) return false;
      bytes -= f.bytes;
      surplus.push_back(f);
      return true;
    });
  };
  remove(old);
  remove([&](const StoredFile& f) { return bytes > limits.bytes && !(last && last(f.name)); });
  remove([&](const StoredFile&) { return bytes > limits.bytes; });
  return surplus;
}

std::vector<StoredFile> SurplusOfGroups(std::vector<StoredFile> files, const RetentionLimits& limits,
                                        const GroupLimit& groups, int64_t now_ms,
                                        const std::function<bool(const std::string&)>& in_use, Duration grace,
                                        const std::function<bool(const std::string&)>& last) {
  std::vector<StoredFile> surplus;
  if (groups.bytes != 0) {
    std::map<std::string, std::vector<StoredFile>> by_group;
    for (const StoredFile& f : files) {
      by_group[groups.group_of(f.name)].push_back({f.name, std::max(f.bytes, groups.least_file_bytes), f.modified_ms});
    }
    by_group.erase("");
    std::set<std::string> gone;
    for (auto& [group, own] : by_group) {
      for (StoredFile& f : Surplus(std::move(own), {groups.bytes, limits.age}, now_ms, in_use, grace, last)) {
        gone.insert(f.name);
        surplus.push_back(std::move(f));
      }
    }
    std::erase_if(files, [&gone](const StoredFile& f) { return gone.contains(f.name); });
  }
  for (StoredFile& f : Surplus(std::move(files), limits, now_ms, in_use, grace, last)) surplus.push_back(std::move(f));
  return surplus;
}

std::vector<StoredFile> StoredFiles(const std::string& directory) {
  std::vector<StoredFile> files;
  const auto names = ListDirectory(directory);
  if (!names.ok()) return files;
  for (const std::string& name : *names) {
    struct stat info {};
    if (::lstat((directory + "/" + name).c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    files.push_back({name, static_cast<uint64_t>(info.st_size), ModifiedMs(info)});
  }
  return files;
}

bool RemoveStored(const std::string& directory, const StoredFile& file) {
  const std::string path = directory + "/" + file.name;
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return true;
  if (ModifiedMs(info) != file.modified_ms) return false;
  return ::unlink(path.c_str()) == 0;
}

void TouchFile(const std::string& path) { (void)::utimensat(AT_FDCWD, path.c_str(), nullptr, 0); }

}  // namespace mr
