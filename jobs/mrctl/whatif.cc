// mrctl whatif: fetches the histories of jobs, and simulates them with mrsim.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "common/base/count.h"
#include "common/base/text.h"
#include "common/io/files.h"
#include "jobs/mrctl/client.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/local_runs.h"
#include "jobs/mrctl/mrsim.h"
#include "jobs/mrctl/run_source.h"
#include "jobs/mrctl/verbs.h"

namespace mr::ctl {
namespace {

// Returns a file without a name that contains the text, positioned at its start.
Result<UniqueFd> Unnamed(const std::string& text) {
  UniqueFd fd(memfd_create("history", MFD_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, "cannot make a file in memory");
  MR_RETURN_IF_ERROR(WriteAll(fd.get(), text));
  if (lseek(fd.get(), 0, SEEK_SET) != 0) return ErrnoStatus(errno, "cannot rewind a file in memory");
  return fd;
}

// Histories of several jobs, and the number of those that are left out.
struct Histories {
  std::string text;
  size_t jobs = 0, left_out = 0;
};

uint64_t UnixMs() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

bool EndedSince(const JobStatus& job, uint64_t from_unix_ms) {
  return Ended(job.state) && job.submitted_unix_ms + job.elapsed_us / 1000 >= from_unix_ms;
}

// Returns one document with the jobs of a master that ended in this time.
Result<Histories> OfMaster(Duration since, const Settings& settings) {
  Client client(settings.master);
  MR_ASSIGN_OR_RETURN(const MasterInfo info, client.Info());
  MR_ASSIGN_OR_RETURN(std::vector<JobStatus> jobs, client.Jobs());
  const uint64_t now = info.unix_ms == 0 ? UnixMs() : info.unix_ms;
  const uint64_t from = now - std::min(now, static_cast<uint64_t>(since.millis()));
  std::erase_if(jobs, [from](const JobStatus& job) { return !EndedSince(job, from); });
  std::sort(jobs.begin(), jobs.end(), [](const JobStatus& a, const JobStatus& b) { return b.id < a.id; });
  Histories all;
  std::string head;
  for (const JobStatus& job : jobs) {
    auto history = all.text.size() > kEnoughHistory ? Result<JobHistory>(NotFound("too many")) : client.History(job.id);
    if (!history.ok() && history.status().code() != Code::kNotFound) return history.status();
    if (!history.ok()) {
      ++all.left_out;
      continue;
    }
    if (head.empty()) head = std::move(history->head);
    all.text += history->text;
    ++all.jobs;
  }
  all.text.insert(0, head);
  return all;
}

// Returns a document for each local run that ended in this time, the newest first.
Result<Histories> OfLocalRuns(Duration since, const Settings& settings) {
  const uint64_t now = UnixMs(), from = now - std::min(now, static_cast<uint64_t>(since.millis()));
  const LocalRuns runs(settings.runs_directory);
  MR_ASSIGN_OR_RETURN(const LocalRuns::Listed listed, runs.List(SIZE_MAX));
  Histories all;
  all.left_out = listed.unreadable.size();
  for (const JobStatus& job : listed.jobs) {
    if (!EndedSince(job, from)) continue;
    auto recorded = runs.Find(*ParseLocalId(job.local_id));
    if (!recorded.ok() || recorded->history.empty() || all.text.size() > kEnoughHistory) {
      ++all.left_out;
      continue;
    }
    all.text += HistoryOf(*recorded);
    ++all.jobs;
  }
  return all;
}

// Returns the options that compare all jobs under the changes that were asked for.
std::string AsComparison(const Command& command) {
  const WhatifOptions& o = command.whatif;
  std::string question = o.scheduler.empty() ? "recorded" : o.scheduler;
  if (o.workers > 0) question += " --workers " + std::to_string(o.workers);
  if (o.slots > 0) question += " --slots " + std::to_string(o.slots);
  return std::string(command.local_runs ? " --local" : "") + (o.since.empty() ? "" : " --since " + o.since) +
         " --compare '" + question + "'";
}

Status CheckOptions(const Command& command) {
  const WhatifOptions& o = command.whatif;
  const bool changes = !o.scheduler.empty() || o.workers > 0 || o.slots > 0;
  if (command.args.size() > 1) return InvalidArgument("whatif takes one job");
  if (!o.compare.empty() && changes) {
    return WithHint(InvalidArgument("--compare and --scheduler, --workers or --slots exclude each other"),
                    "each value of --compare may have its own: --compare 'recorded --workers 20'");
  }
  if (!command.args.empty() && (!o.since.empty() || command.local_runs)) {
    return InvalidArgument("a job and --since or --local exclude each other");
  }
  if (o.compare.empty() && command.args.empty() && changes) {
    return WithHint(InvalidArgument("whatif needs a job, or --compare for all jobs"),
                    "mrctl whatif" + AsComparison(command));
  }
  if (o.compare.empty() && command.args.empty()) {
    return WithHint(InvalidArgument("whatif needs a job, or --compare for all jobs"),
                    "mrctl whatif --since 7d --compare LIST...");
  }
  if (o.compare.empty() && !changes) {
    return WithHint(InvalidArgument("there is nothing to change"), "add --scheduler, --workers, --slots or --compare");
  }
  return Status::Ok();
}

// Returns the histories of all jobs that are asked for.
Result<Histories> AllJobs(const Command& command, const Settings& settings) {
  auto since = ParseDuration(command.whatif.since.empty() ? kDefaultSince : command.whatif.since);
  if (!since.ok()) return since.status().With("--since");
  MR_ASSIGN_OR_RETURN(Histories all, command.local_runs ? OfLocalRuns(*since, settings) : OfMaster(*since, settings));
  if (all.jobs == 0) {
    return WithHint(NotFound("no job ended in the last " + HumanDuration(*since)),
                    command.local_runs ? "mrctl history --local lists the local runs that are remembered"
                                       : "mrctl history lists ended jobs; --local compares on local runs");
  }
  if (all.left_out > 0) {
    Say(settings, "warning: " + CountOf(all.left_out, "job is", "jobs are") +
                      " left out: the times of their attempts are not kept, or there are too many attempts");
  }
  return all;
}

}  // namespace

Result<int> RunWhatif(const Command& command, const Settings& settings) {
  MR_RETURN_IF_ERROR(CheckOptions(command));
  const WhatifOptions& o = command.whatif;
  std::vector<std::string> argv = {"replay", "-"};
  std::string history;
  if (command.args.empty()) {
    MR_ASSIGN_OR_RETURN(Histories all, AllJobs(command, settings));
    history = std::move(all.text);
  } else {
    MR_ASSIGN_OR_RETURN(RunSource source, RunSource::Open(command.args[0], settings));
    MR_ASSIGN_OR_RETURN(history, source.History());
    if (!source.recorded()) argv.insert(argv.end(), {"--job", source.name()});
  }
  if (!o.scheduler.empty()) argv.insert(argv.end(), {"--scheduler", o.scheduler});
  if (o.workers > 0) argv.insert(argv.end(), {"--workers", std::to_string(o.workers)});
  if (o.slots > 0) argv.insert(argv.end(), {"--slots", std::to_string(o.slots)});
  if (settings.verbose) argv.push_back("--all-jobs");
  for (const std::string& list : o.compare) argv.push_back("--compare=" + list);
  MR_ASSIGN_OR_RETURN(const UniqueFd in, Unnamed(history));
  return RunMrsim(argv, in.get(), settings);
}

}  // namespace mr::ctl
