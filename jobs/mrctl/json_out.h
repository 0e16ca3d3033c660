// Shared by the files that print JSON. The order of members is fixed (ordered_json), since scripts and people compare
// output. Private to jobs/mrctl; includes nlohmann's header, which is slow to compile.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include "jobs/mrctl/config.h"
#include "jobs/mrctl/model.h"

namespace mr::ctl {

using JsonOut = nlohmann::ordered_json;

// Returns one line. Texts may contain any bytes of an operator; invalid UTF-8 is replaced.
std::string DumpJson(const JsonOut& json);

// Returns a list under `key` as one document, or one line per element.
std::string ListDocument(const char* key, const std::vector<JsonOut>& elements, OutputForm form);

JsonOut JobJson(const JobStatus& job);
JsonOut WorkerJson(const WorkerStatus& worker);
JsonOut AttemptJson(const AttemptStatus& attempt);

}  // namespace mr::ctl
