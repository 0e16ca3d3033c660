// What the files that print JSON share. Member order is fixed (ordered_json): scripts and people compare output.
// Private to jobs/mrctl; whoever includes this waits for nlohmann's header.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include "jobs/mrctl/config.h"
#include "jobs/mrctl/model.h"

namespace mr::ctl {

using JsonOut = nlohmann::ordered_json;

// One line. Texts may hold any bytes that an operator wrote: what is no UTF-8 is replaced.
std::string DumpJson(const JsonOut& json);

// A list under `key` as one document, or one line per element.
std::string ListDocument(const char* key, const std::vector<JsonOut>& elements, OutputForm form);

JsonOut JobJson(const JobStatus& job);
JsonOut WorkerJson(const WorkerStatus& worker);
JsonOut AttemptJson(const AttemptStatus& attempt);

}  // namespace mr::ctl
