// Assigns each record of a batch to a partition of a port.
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

// Sets *places to one number for each record of `view`, which views `bytes`. Errors: kInvalidArgument if the operator
// returns a number that is not below `partitions`; sets its failure and place, too.
Status FindPartitions(const Partitioning& how, Operator* oper, std::string_view bytes, const BatchView& view,
                      std::vector<uint32_t>* places);

}  // namespace mr::task
