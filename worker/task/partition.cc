#include "worker/task/partition.h"

#include "common/base/digest.h"

namespace mr::task {

Status FindPartitions(const Partitioning& how, Operator* oper, std::string_view bytes, const BatchView& view,
                      std::vector<uint32_t>* places) {
  const uint32_t n = view.size();
  places->assign(n, 0);
  if (how.custom) {
    MR_RETURN_IF_ERROR(CallOperator(*oper, "partition", [&] {
      return oper->table->partition(oper->op, how.port, {bytes.data(), bytes.size()}, how.partitions, places->data());
    }));
    for (uint32_t p : *places) {
      if (p < how.partitions) continue;
      return InvalidArgument("PARTITION_OUT_OF_RANGE: operator " + oper->name() + " partition() gave " +
                             std::to_string(p) + " for port " + std::to_string(how.port) + ", which has " +
                             std::to_string(how.partitions) + " partitions");
    }
  } else if (how.partitions > 1) {
    for (uint32_t i = 0; i < n; ++i) {
      (*places)[i] = static_cast<uint32_t>(Hash64(view.key(i), how.seed) % how.partitions);
    }
  }
  return {};
}

}  // namespace mr::task
