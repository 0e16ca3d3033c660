#include "worker/task/partition.h"

#include <algorithm>

#include "common/base/digest.h"
#include "common/base/text.h"

namespace mr::task {
namespace {

constexpr size_t kKeyShown = 64;  // bytes

// Fails the operator for good: the partition follows from the key, so other attempts would fail in the same way.
Status OutOfRange(const Partitioning& how, uint32_t place, std::string_view key, Operator* oper) {
  oper->final = true;
  oper->place =
      "the emitted key '" + PrintableBytes(key.substr(0, kKeyShown)) + (key.size() > kKeyShown ? "...'" : "'");
  oper->failure =
      InvalidArgument("PARTITION_OUT_OF_RANGE: operator " + oper->name() + " partition() returned " +
                      std::to_string(place) + " for port " + std::to_string(how.port) + ", which has " +
                      std::to_string(how.partitions) + (how.partitions == 1 ? " partition" : " partitions") +
                      "; return a number from 0 to " + std::to_string(how.partitions - 1));
  return oper->failure;
}

}  // namespace

Status FindPartitions(const Partitioning& how, Operator* oper, std::string_view bytes, const BatchView& view,
                      std::vector<uint32_t>* places) {
  const uint32_t n = view.size();
  places->assign(n, 0);
  if (how.custom) {
    MR_RETURN_IF_ERROR(CallOperator(*oper, "partition", [&] {
      return oper->table->partition(oper->op, how.port, {bytes.data(), bytes.size()}, how.partitions, places->data());
    }));
    const auto wrong = std::find_if(places->begin(), places->end(), [&](uint32_t p) { return p >= how.partitions; });
    if (wrong != places->end()) {
      return OutOfRange(how, *wrong, view.key(static_cast<uint32_t>(wrong - places->begin())), oper);
    }
  } else if (how.partitions > 1) {
    for (uint32_t i = 0; i < n; ++i) {
      (*places)[i] = static_cast<uint32_t>(Hash64(view.key(i), how.seed) % how.partitions);
    }
  }
  return {};
}

}  // namespace mr::task
