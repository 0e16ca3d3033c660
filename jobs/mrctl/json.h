// JSON that mrctl reads and prints. Private to jobs/mrctl; includes nlohmann's header, which is slow to compile.
#pragma once

#include <string>
#include <vector>

#include "common/report/documents.h"
#include "common/report/json.h"
#include "jobs/mrctl/config.h"
#include "jobs/mrctl/model.h"

namespace mr::ctl {

using report::DumpJson;
using report::Json;
using report::Object;
using report::ParseJson;
using report::ToJson;

// Returns a list under `key` as one document, or one line per element.
std::string ListDocument(const char* key, const std::vector<Json>& elements, OutputForm form);

}  // namespace mr::ctl
