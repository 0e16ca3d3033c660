// mrctl whatif: fetches the history of a job's run, and simulates it with mrsim.
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "common/io/files.h"
#include "jobs/mrctl/client.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/job_ref.h"
#include "jobs/mrctl/mrsim.h"
#include "jobs/mrctl/verbs.h"

namespace mr::ctl {
namespace {

// Size of the history past which jobs that ran beside it are left out (a guess: some hundred thousand attempts).
constexpr size_t kEnough = 64u << 20;

// Returns the history of the job and, within that size, of jobs that ran beside it.
Result<std::string> FetchHistory(Client& client, JobId id) {
  MR_ASSIGN_OR_RETURN(JobHistory history, client.History(id));
  std::string text = std::move(history.head) + std::move(history.text);
  for (const JobId other : history.beside) {
    if (text.size() > kEnough) break;
    auto beside = client.History(other);
    if (beside.ok())
      text += beside->text;
    else if (beside.status().code() != Code::kNotFound)
      return beside.status();
  }
  return text;
}

// Returns a file without a name that contains the text, positioned at its start.
Result<UniqueFd> Unnamed(const std::string& text) {
  UniqueFd fd(memfd_create("history", MFD_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, "cannot make a file in memory");
  MR_RETURN_IF_ERROR(WriteAll(fd.get(), text));
  if (lseek(fd.get(), 0, SEEK_SET) != 0) return ErrnoStatus(errno, "cannot rewind a file in memory");
  return fd;
}

}  // namespace

Result<int> RunWhatif(const Command& command, const Settings& settings) {
  if (command.args.size() != 1) return InvalidArgument("whatif takes one job");
  const WhatifOptions& o = command.whatif;
  if (o.scheduler.empty() && o.workers == 0 && o.slots == 0) {
    return WithHint(InvalidArgument("there is nothing to change"), "add --scheduler, --workers or --slots");
  }
  std::string history, job;
  {
    Client client(settings.master);
    MR_ASSIGN_OR_RETURN(const JobId id, JobIdOf(client, command.args[0]));
    job = Name(id);
    MR_ASSIGN_OR_RETURN(history, FetchHistory(client, id));
  }
  std::vector<std::string> argv = {"replay", "-", "--job", job};
  if (!o.scheduler.empty()) argv.insert(argv.end(), {"--scheduler", o.scheduler});
  if (o.workers > 0) argv.insert(argv.end(), {"--workers", std::to_string(o.workers)});
  if (o.slots > 0) argv.insert(argv.end(), {"--slots", std::to_string(o.slots)});
  MR_ASSIGN_OR_RETURN(const UniqueFd in, Unnamed(history));
  return RunMrsim(argv, in.get(), settings);
}

}  // namespace mr::ctl
