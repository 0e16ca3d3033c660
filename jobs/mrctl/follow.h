// Follows a job to its end, and reports the end.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "common/base/status.h"
#include "jobs/mrctl/client.h"
#include "jobs/mrctl/config.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/model.h"

namespace mr::ctl {

// Calls `ask` on new connections while it returns kUnavailable, until --timeout or, without one, for at most
// kMasterGraceSeconds: the master may be restarting. Returns the last answer, or that the user or --timeout ended the
// wait.
Status TryAgain(Client& client, Status broken, const Settings& settings, const std::function<Status()>& ask);

// Shows progress until the job has ended. A lost master is retried as in TryAgain, since its restart is no
// failure of the job. still_possible is called about twice per second; its error ends the wait (a local cluster that
// died). local_id: the name of a local run, which replaces that of the job.
Result<JobStatus> Follow(Client& client, JobId id, const Settings& settings,
                         const std::function<Status()>& still_possible, const std::string& local_id = "");
inline constexpr int kMasterGraceSeconds = 30;

// Returns the text at a job's end: one line for success, else at most ten. Pure. master: for the commands in the text;
// empty if no cluster is left, and then `next` is the advice. library: path of the job's own one, or empty if it has
// none, for the replay of a crash; without a value it is not known. A job without an output_uri wrote to standard
// output.
std::string EndText(const JobStatus& job, const std::string& master, const std::string& next = "",
                    const std::optional<std::string>& library = std::nullopt);
// Returns the same as an error for JSON. Requires: the job did not succeed.
Failure EndFailure(const JobStatus& job, const std::string& master, const std::string& next = "",
                   const std::optional<std::string>& library = std::nullopt);

// Returns whether the job has a stage of the built-in job `parse`.
bool HasParse(const JobSpec& spec);

// Returns a warning of the lines that `parse` could not read, or "" if it read all. Pure. counters: of the job.
// output_uri: empty if the job wrote to standard output.
std::string UnmatchedNote(const JobSpec& spec, const std::vector<CounterValue>& counters,
                          const std::string& output_uri);

// Adds to an interrupt or timeout that the job goes on, and how to follow it again.
Status GoesOn(const Status& status, JobId id, const std::string& master);

// Returns "task replay ATTEMPT --lib LIBRARY --gdb" for a job that failed by a crash of its operator, and the same
// without --gdb after an exception of an operator of the job's own library; else empty. library: as for EndText.
std::string ReplayOfFailure(const JobStatus& job, const std::optional<std::string>& library);

// Returns a note for the user where `wish` asked for clones and none was launched; else "".
std::string NoCloneNote(const JobStatus& job, Wish wish, const std::string& master);

// Returns "mrctl ", with --master if it is not the default.
std::string CommandPrefix(const std::string& master);

}  // namespace mr::ctl
