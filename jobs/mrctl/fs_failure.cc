#include "jobs/mrctl/fs_failure.h"

#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/local_parts.h"

namespace mr::ctl {

bool IsGivenUp(const Status& status) { return status.code() == Code::kCancelled || status.code() == Code::kDeadline; }

Status GivenUpWrite(const Status& status, const std::string& target) {
  if (!IsGivenUp(status)) return status;
  const std::string why = status.code() == Code::kCancelled ? "interrupted" : "--timeout expired";
  return WithHint(Status(status.code(), why + " before " + target + " was written"),
                  "no file is visible in part, and older files stay until new ones are complete; run the command again "
                  "to write the rest");
}

Status WithReplaceHint(const Status& status) {
  // The message of the block store and of WriteTarget. Full quotas and disks are kRejected, too.
  const Failure failure = ToFailure(status);
  const bool exists = status.code() == Code::kRejected && failure.message.ends_with(" exists");
  return exists ? WithHint(status, kReplaceHint) : status;
}

}  // namespace mr::ctl
