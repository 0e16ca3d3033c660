// Refuses in a LocalJob the plans that do not fit their operators, as mrctl does when a job is submitted.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/abi/operator_calls.h"
#include "common/abi/type_tags.h"
#include "paceline/error.h"

namespace mr::sdk {

// Errors: JobError, here and below.
inline void CheckPortUse(const std::string& stage, const mr_operator& op, size_t port, bool combine, bool custom) {
  const PortUse use{stage, op.name, CallsOf(op), static_cast<uint32_t>(port), combine, custom};
  if (std::string fault = PortFault(use); !fault.empty()) throw JobError(std::move(fault));
}

// `writes`: the operator behind an edge, or null for files. `combine`: that of its port. Returns `use`
// with its operators.
inline InputUse CheckInputUse(InputUse use, const mr_operator& reads, const mr_operator* writes, bool combine) {
  use.op = reads.name;
  use.calls = CallsOf(reads);
  if (writes != nullptr) {
    use.writer_op = writes->name;
    use.writes = CallsOf(*writes);
    if (use.grouped && (writes->compare == nullptr) != (reads.compare == nullptr)) {
      throw JobError("stage '" + use.stage + "': of operators '" + use.writer_op + "' and '" + use.op +
                     "' one has an order of keys of its own (Comparator) and the other has not; give both the same "
                     "one");
    }
    TypedEdge edge{use.writer, TypesOf(*writes), use.port, combine, use.stage, TypesOf(reads)};
    edge.input = use.input;
    edge.inputs = use.inputs;
    edge.grouped = use.grouped;
    if (std::string fault = EdgeFault(edge); !fault.empty()) throw JobError(std::move(fault));
  }
  if (std::string fault = InputFault(use); !fault.empty()) throw JobError(std::move(fault));
  return use;
}

// uses: all inputs of a stage.
inline void CheckPartitions(const std::vector<InputUse>& uses) {
  if (std::string fault = PartitionFault(uses); !fault.empty()) throw JobError(std::move(fault));
}

}  // namespace mr::sdk
