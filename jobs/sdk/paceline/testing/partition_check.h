// Checks what the partitioner of an operator returns.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "common/abi/operator_table.h"
#include "paceline/error.h"
#include "paceline/testing/shown_bytes.h"

namespace mr::sdk {

// Remembers the partition of each key: equal keys of all tasks must meet in one.
class PartitionCheck {
 public:
  // An output port of a stage.
  struct Port {
    const mr_operator& op;
    const std::string& stage;
    size_t stage_index;
    uint32_t port, partitions;
  };

  // Forgets all keys.
  void Clear() { placed_.clear(); }

  // Errors: JobError if the port has no partition `to`, or if an equal key had another one.
  void Check(const Port& from, const std::string& key, uint32_t to) {
    if (to >= from.partitions) {
      throw JobError(Gave(from, key) + " partition " + std::to_string(to) + ", and port " + std::to_string(from.port) +
                     " of stage '" + from.stage + "' has " + std::to_string(from.partitions) + ": it is to be 0 to " +
                     std::to_string(from.partitions - 1));
    }
    const auto [at, fresh] = placed_.try_emplace({from.stage_index, from.port, key}, to);
    if (fresh || at->second == to) return;
    throw JobError(Gave(from, key) + " partition " + std::to_string(at->second) + " once and " + std::to_string(to) +
                   " another time, of " + std::to_string(from.partitions));
  }

 private:
  static std::string Gave(const Port& from, const std::string& key) {
    return "Partition() of operator '" + std::string(from.op.name) + "' gave the key " + QuotedBytes(key, '"');
  }

  std::map<std::tuple<size_t, uint32_t, std::string>, uint32_t> placed_;  // by stage, port and key
};

}  // namespace mr::sdk
