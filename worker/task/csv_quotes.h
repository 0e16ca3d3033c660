// The state of a CSV reader at the start of each split (within quotes, at the start of a field, ...), known without
// reading the file in order: an operator of the engine computes, in a stage of its own, what each split makes of every
// state (CsvStateMap); the host of the stage that reads the records receives these maps by a broadcast and composes
// them. jobs/mrctl/csv_stages.h puts stage and edge into the plan; ADR: jobs/adr/0002.
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

// Reads splits as format raw; its config is the name of the csv format. Emits (offset of the split as 8 bytes
// big-endian and the file's URI) -> the states behind the split, a byte for each state before it.
const mr_operator* CsvQuotesOperator();

class CsvQuotes {
 public:
  // One batch of the operator's.
  Status Add(std::string_view batch);
  // The state at `offset`, where a split of the file begins. Errors: kInternal where the splits before it are unknown.
  Result<CsvState> At(const CsvDialect& dialect, const std::string& file, uint64_t offset) const;

 private:
  std::map<std::string, std::map<uint64_t, CsvStateMap>, std::less<>>
      maps_;  // by dialect and file, and offset of the split
};

}  // namespace mr::task
