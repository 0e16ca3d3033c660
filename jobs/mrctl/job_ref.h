// How users name jobs: by id, by number, by name, or as `last`.
#pragma once

#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "jobs/mrctl/client.h"
#include "jobs/mrctl/last_job.h"
#include "jobs/mrctl/model.h"

namespace mr::ctl {

// Returns the job of the master that a word names: an id (job_1_0017) as it is, `last` by this user's newest submit, a
// number by the sequence number in the newest epoch that has it, and any other word by the only job of that name.
// The master is asked for its jobs only for numbers and names.
// Errors: kInvalidArgument (several jobs have the name: the hint lists them; `last` was submitted elsewhere);
// kNotFound; those of Last and of the connection.
Result<JobId> JobIdOf(Client& client, const std::string& word);
// The same for several words.
Result<std::vector<JobId>> JobIdsOf(Client& client, const std::vector<std::string>& words);

// Refuses a word that names a local run, or a task or an attempt of one, for a command that needs a cluster. what: what
// the command would need, such as "its logs". runs_directory: where the records of local runs are (Settings). Errors:
// kInvalidArgument, with what to do in place: where the logs are, if the run kept them.
Status NotOfLocalRun(const std::string& word, const std::string& what, const std::string& runs_directory);

// The parts of JobIdOf that need no connection. jobs: all that the master has.
Result<JobId> FindJob(const std::string& word, const std::vector<JobStatus>& jobs);
Result<JobId> LastOf(const LastJob& last, const std::string& master);

}  // namespace mr::ctl
