#include "master/host/attempt_rights.h"

#include "common/secure/names.h"

namespace mr::master {

dfs::StagingRight AttemptRights::RightOf(const std::string& subject, const AttemptId& attempt) const {
  const Result<std::string> name = secure::WorkerInSubject(subject);
  if (!name.ok()) return dfs::StagingRight::kNone;
  // A worker registers under the name in its certificate only.
  const WorkerId worker = core_.workers().Named(*name);
  const sched::Attempt* known = core_.scheduler().state().FindAttempt(attempt);
  if (!worker.valid() || known == nullptr || known->worker != worker) return dfs::StagingRight::kNone;
  // An attempt that is being stopped may finish first.
  if (known->holds_slot()) return dfs::StagingRight::kWrite;
  // The commit of the job needs the files of an accepted output.
  return known->state == sched::AttemptState::kCommitted ? dfs::StagingRight::kNone : dfs::StagingRight::kRemove;
}

}  // namespace mr::master
