#include "common/io/daemon_data.h"

#include <sys/stat.h>
#include <unistd.h>

namespace mr {
namespace {

bool Holds(const std::string& directory, const char* name) {
  return access((directory + "/" + name).c_str(), F_OK) == 0;
}

Status Mixed(const std::string& directory, const std::string& holds, const std::string& needs) {
  return Rejected("--data " + directory + " is " + holds + ": " + needs + " needs a directory of its own");
}

}  // namespace

Status CheckMasterData(const std::string& directory) {
  if (Holds(directory, "journal") || !Holds(directory, "worker_id")) return Status::Ok();
  return Mixed(directory, "the data of a worker", "a master");
}

Status CheckWorkerData(const std::string& directory) {
  if (Holds(directory, "worker_id") || !Holds(directory, "journal")) return Status::Ok();
  return Mixed(directory, "the data of a master", "a worker");
}

void MakePrivateData(const std::string& directory) { (void)mkdir(directory.c_str(), 0700); }

}  // namespace mr
