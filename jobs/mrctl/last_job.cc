#include "jobs/mrctl/last_job.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "common/io/files.h"
#include "jobs/mrctl/exit_code.h"

namespace mr::ctl {
namespace {

std::string AbsoluteVariable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && value[0] == '/' ? value : "";
}

// Two lines: the id, and the address.
Status WriteLast(const std::string& directory, const std::string& path, const std::string& text) {
  MR_RETURN_IF_ERROR(MakeDirectories(directory));
  (void)chmod(directory.c_str(), 0700);
  const std::string fresh = path + "." + std::to_string(getpid());
  Status written = [&]() -> Status {
    MR_ASSIGN_OR_RETURN(const UniqueFd file, OpenFile(fresh, O_WRONLY | O_CREAT | O_TRUNC, 0600));
    MR_RETURN_IF_ERROR(WriteAll(file.get(), text));
    if (rename(fresh.c_str(), path.c_str()) != 0) return ErrnoStatus(errno, "cannot rename " + fresh);
    return Status::Ok();
  }();
  if (!written.ok()) unlink(fresh.c_str());
  return written;
}

}  // namespace

std::string StateDirectory() {
  if (const std::string state = AbsoluteVariable("XDG_STATE_HOME"); !state.empty()) return state + "/paceline";
  const std::string home = AbsoluteVariable("HOME");
  return home.empty() ? "" : home + "/.local/state/paceline";
}

Status RememberLast(const std::string& id, const std::string& master) {
  const std::string directory = StateDirectory();
  if (directory.empty()) return Status::Ok();
  const std::string path = directory + "/last";
  Status written = WriteLast(directory, path, id + "\n" + master + "\n");
  if (!written.ok()) unlink(path.c_str());
  return written;
}

Result<LastJob> Last() {
  const std::string directory = StateDirectory();
  const std::string path = directory + "/last";
  if (directory.empty() || !PathExists(path)) {
    return WithHint(NotFound("there is no last job: nothing was submitted from this account yet"),
                    "mrctl jobs lists the jobs of a cluster");
  }
  MR_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  const size_t first = text.find('\n');
  const size_t second = first == std::string::npos ? first : text.find('\n', first + 1);
  if (first == 0 || second == std::string::npos || second + 1 != text.size()) {
    return WithHint(Status(Code::kCorrupted, path + " does not name a job"), "remove it; the next submit writes it");
  }
  return LastJob{text.substr(0, first), text.substr(first + 1, second - first - 1)};
}

}  // namespace mr::ctl
