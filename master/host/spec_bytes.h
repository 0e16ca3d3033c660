// Reads the spec of a job from the bytes that the journal keeps (common/rpc/spec_wire.h).
#pragma once

#include <string_view>

#include "common/base/status.h"
#include "common/model/job_spec.h"

namespace mr::master {

// Returns the checked spec. Errors: kCorrupted for bytes that are no spec, and those of CheckSpec.
Result<JobSpec> SpecOf(std::string_view bytes);

}  // namespace mr::master
