#include "master/host/spec_bytes.h"

#include <utility>

#include "common/rpc/spec_wire.h"
#include "master/core/spec_check.h"

namespace mr::master {

Result<JobSpec> SpecOf(std::string_view bytes) {
  MR_ASSIGN_OR_RETURN(JobSpec spec, rpc::SpecOfBytes(bytes));
  return CheckSpec(std::move(spec));
}

}  // namespace mr::master
