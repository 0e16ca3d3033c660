// Which partition of a port each record of a batch belongs to.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "common/abi/batch.h"
#include "common/base/status.h"
#include "worker/task/operator_calls.h"

namespace mr::task {

struct Partitioning {
  uint32_t port = 0;
  uint32_t partitions = 1;
  bool custom = false;  // the operator's own partition(), else XXH3-64 of the key with the seed
  uint64_t seed = 0;
};

// One number for each record of `view`, which is of `bytes`. kInvalidArgument where the operator gives one that is
// not below `partitions`.
Status FindPartitions(const Partitioning& how, Operator* oper, std::string_view bytes, const BatchView& view,
                      std::vector<uint32_t>* places);

}  // namespace mr::task
