// Checks the stages of a job: their names, inputs, edges and ports, each alone and against the stages before. The
// master checks with it what clients submit, and mrctl what it would submit. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/model/job_spec.h"

namespace mr {

struct StageFaults {
  std::vector<std::string> faults;  // for people; empty: the stages are valid
  Status scheme;                    // kRejected: an input has a scheme that is not supported
};

// Looks at the stages alone, not at files.
StageFaults CheckStages(const std::vector<StageSpec>& stages);

// Returns Ok for an absolute URI of the block store or of a file. Errors: kRejected for known schemes that are not
// supported, else kInvalidArgument.
Status CheckUri(const std::string& uri);

// The same for an input, which may also be an http://, https:// or s3:// URL without user name and password.
Status CheckInputUri(const std::string& uri);

// Returns whether the text has no control characters.
bool PrintableName(std::string_view text);

}  // namespace mr
