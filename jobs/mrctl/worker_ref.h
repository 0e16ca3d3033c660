// Finds workers by what users type: an id such as w1, or the name of mrworker --name.
#pragma once

#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "jobs/mrctl/client.h"
#include "jobs/mrctl/model.h"

namespace mr::ctl {

struct NamedWorker {
  std::string word;  // as the user wrote it
  WorkerId id;
};

// Returns the worker that this word names. Errors: kInvalidArgument: no worker can have such an id or name; kNotFound.
Result<WorkerId> FindWorker(const std::string& word, const std::vector<WorkerStatus>& workers);
// Returns the workers in the order of the words. Whether an id exists is not checked. Cost: a call if a word is a name.
// Errors: those of FindWorker and of the call.
Result<std::vector<NamedWorker>> FindWorkers(Client& client, const std::vector<std::string>& words);

}  // namespace mr::ctl
