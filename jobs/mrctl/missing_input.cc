#include "jobs/mrctl/missing_input.h"

#include "common/io/files.h"
#include "jobs/mrctl/exit_code.h"

namespace mr::ctl {

Status WithLocalFile(const Status& status, const std::string& cwd) {
  // The text of master/host/input_pins.cc.
  static const std::string kBegin = "input dfs://", kEnd = " does not exist";
  if (status.code() != Code::kNotFound) return status;
  const std::string& message = status.message();
  const size_t begin = message.find(kBegin);
  const size_t end = begin == std::string::npos ? begin : message.find(kEnd, begin);
  if (end == std::string::npos) return status;
  const std::string path = message.substr(begin + kBegin.size(), end - begin - kBegin.size());
  if (path.empty() || path[0] != '/') return status;
  for (const std::string& local : {cwd == "/" ? path : cwd + path, path}) {
    if (!PathExists(local)) continue;
    return WithHint(status, "this machine has " + local + ": copy it with `mrctl fs put " + local + " " + path +
                                "`, name it as file://" + local +
                                " if all workers share that path, or run here with submit --local");
  }
  return status;
}

}  // namespace mr::ctl
