// Compares the plan of a job with the functions of its operators: combiners, partitioners and groups. The SDK's
// LocalJob and mrctl use these functions, so both refuse the same jobs with the same words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/abi/operator_table.h"

namespace mr {

// The optional functions of an operator, and its needs.
struct OperatorCalls {
  bool combine = false, partition = false;  // it has this function
  bool groups = false;                      // each input, apart from a side input, must be grouped
  bool part_groups = false;                 // a group is all keys with an equal first part (SortedReducer)
  bool side = false;                        // its last input, where that one is not grouped, is a side input
};

// Returns nothing known of groups for an operator that an older SDK built.
inline OperatorCalls CallsOf(const mr_operator& op) {
  OperatorCalls calls;
  calls.combine = op.combine != nullptr;
  calls.partition = op.partition != nullptr;
  calls.side = MR_HAS(&op, side_type) && op.side_type != nullptr;
  if (MR_HAS(&op, needs)) {
    calls.groups = (op.needs & MR_NEEDS_GROUPS) != 0;
    calls.part_groups = (op.needs & MR_NEEDS_PARTITION) != 0;
  }
  return calls;
}

// One shuffle port of a stage, for PortFault.
struct PortUse {
  std::string stage, op;
  OperatorCalls calls;
  uint32_t port = 0;
  bool combine = false, custom_partition = false;  // as the plan says
};

// Returns the error of a port that needs a function which its operator lacks, or "".
inline std::string PortFault(const PortUse& use) {
  const std::string where = "port " + std::to_string(use.port) + " of stage '" + use.stage + "' ";
  if (use.combine && !use.calls.combine) {
    return where + "has `combine`, but its operator '" + use.op +
           "' has no combiner: derive it from mr::Combiner, or leave `combine` out";
  }
  if (use.custom_partition && !use.calls.partition) {
    return where + "has `custom_partition`, but its operator '" + use.op +
           "' has no partitioner: derive it from mr::Partitioner, or leave `custom_partition` out";
  }
  return "";
}

// One input of a stage, for InputFault.
struct InputUse {
  std::string stage, op;
  OperatorCalls calls;
  uint32_t tasks = 0;  // of the stage; 0: open
  uint32_t input = 0, inputs = 1;
  bool grouped = false, all_to_all = false;
  std::string writer, writer_op;  // of the edge; empty: the input reads files
  OperatorCalls writes;
  uint32_t port = 0;
  bool custom_partition = false;  // of that port
};

// Returns the error of an input that the operator cannot read, or that gives it wrong groups, or "".
inline std::string InputFault(const InputUse& use) {
  const bool side = use.calls.side && !use.grouped && use.input + 1 == use.inputs;
  if (use.calls.groups && !use.grouped && !side) {
    return "operator '" + use.op + "' of stage '" + use.stage + "' takes groups of equal keys, but its input " +
           std::to_string(use.input) + " is " +
           (use.writer.empty() ? "files" : "stage '" + use.writer + "' without groups") +
           ": read a shuffle with Group() (edge `group` in a job file)";
  }
  if (use.calls.part_groups && use.grouped && use.all_to_all && use.tasks != 1 && !use.custom_partition) {
    return "stage '" + use.stage + "' groups by the first part of the key, but port " + std::to_string(use.port) +
           " of stage '" + use.writer + "' is partitioned by the whole key, so a group would be spread over tasks: " +
           (use.writes.partition ? "" : "derive operator '" + use.writer_op + "' from mr::ByFirst, and ") +
           "set `custom_partition` for that port, as in Shuffle({.custom_partition = true})";
  }
  return "";
}

// Returns the error of a stage with tasks that read equal keys from different partitions, or "". inputs: all of the
// stage. A task reads the partition of its own number from each all-to-all input, so these need one partitioner.
inline std::string PartitionFault(const std::vector<InputUse>& inputs) {
  const InputUse* first = nullptr;
  for (const InputUse& use : inputs) {
    const bool side = use.calls.side && !use.grouped && use.input + 1 == use.inputs;
    if (!use.all_to_all || side || use.tasks == 1) continue;
    if (first == nullptr) first = &use;
    if (first->custom_partition == use.custom_partition) continue;
    const InputUse& custom = use.custom_partition ? use : *first;
    const InputUse& hash = use.custom_partition ? *first : use;
    const auto name = [](const InputUse& one) {
      return "port " + std::to_string(one.port) + " of stage '" + one.writer + "'";
    };
    return "stage '" + use.stage + "' would get equal keys in different tasks: " + name(custom) +
           " has `custom_partition`, and " + name(hash) +
           " is partitioned by a hash of the key. Give both ports the same partitioner, or leave `custom_partition` "
           "out";
  }
  return "";
}

}  // namespace mr
