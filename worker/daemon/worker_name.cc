#include "worker/daemon/worker_name.h"

#include <cstdio>

#include "common/io/clock.h"
#include "common/io/files.h"
#include "common/secure/names.h"

namespace mr::worker {

Result<std::string> WorkerName(const std::string& path, const std::string& wish) {
  if (!wish.empty()) MR_RETURN_IF_ERROR(secure::CheckChosenWorker(wish).With("--name"));
  auto known = ReadFile(path);
  if (known.ok() && !known->empty()) {
    std::string name = *known;
    while (!name.empty() && name.back() == '\n') name.pop_back();
    if (!wish.empty() && wish != name) {
      return Rejected(
          "--name " + wish + ": this --data belongs to the worker " + name + " (" + path +
          "), and a worker keeps its name, since its blocks are known by it; leave --name out, or start a " +
          "new worker with an empty --data, drain this one and forget it");
    }
    return name;
  }
  if (!known.ok() && known.status().code() != Code::kNotFound) return known.status();
  std::string name = wish;
  if (name.empty()) {
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(RandomId()));
    name = digits;
  }
  MR_RETURN_IF_ERROR(WriteFileDurably(path, name + "\n"));
  return name;
}

}  // namespace mr::worker
