// Converts the spec of a job (job.capnp) and the infos of its stages (control.capnp) to the structs of common/model and
// back, and a spec to the bytes that the journal keeps. Lists with a limit (common/model/job_spec.h) are read up to one
// element above it, so that a check can detect the excess. Cost: linear. Thread: any.
#pragma once

#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/model/job_spec.h"
#include "common/model/stage_info.h"
#include "schema/control.capnp.h"
#include "schema/job.capnp.h"

namespace mr::rpc {

// Translates a spec without checking it.
mr::JobSpec FromWire(JobSpec::Reader in);
void ToWire(const mr::JobSpec& spec, JobSpec::Builder out);

mr::StageInfo FromWire(StageInfo::Reader in);
void ToWire(const mr::StageInfo& stage, StageInfo::Builder out);

// Returns the canonical form of a spec: equal specs have equal bytes.
std::string CanonicalBytes(JobSpec::Reader spec);
std::string CanonicalBytes(const mr::JobSpec& spec);
// Returns the spec that has these canonical bytes. Errors: kCorrupted.
Result<mr::JobSpec> SpecOfBytes(std::string_view bytes);

}  // namespace mr::rpc
