// Computes the state of a CSV reader at the start of each split (within quotes, at the start of a field, ...) without
// reading the file in order.
//
// An operator of the engine runs in a stage of its own. For each split it computes the state at the end for every state
// at the start (CsvStateMap). The host of the stage that reads the records receives these maps by a broadcast and
// composes them. jobs/mrctl/csv_stages.h adds the stage and the edge to the plan. See jobs/adr/0002.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "common/abi/csv_scan.h"
#include "common/abi/engine_operators.h"
#include "common/abi/operator_table.h"
#include "common/base/status.h"

namespace mr::task {

// Returns the operator. It reads splits as format raw; its config is the name of the csv format. It emits (offset of
// the split as 8 bytes big-endian, csv format, URI of the file) -> the states after the split, one byte for each state
// before it.
const mr_operator* CsvQuotesOperator();

class CsvQuotes {
 public:
  // Adds one batch from the operator.
  Status Add(std::string_view batch);
  // Returns the state at `offset`, where a split of the file begins. Errors: kInternal if the splits before it are
  // unknown.
  Result<CsvState> At(const CsvDialect& dialect, const std::string& file, uint64_t offset) const;

 private:
  std::map<std::string, std::map<uint64_t, CsvStateMap>, std::less<>>
      maps_;  // by dialect and file, and offset of the split
};

}  // namespace mr::task
