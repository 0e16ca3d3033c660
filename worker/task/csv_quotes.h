// How many quotes stand before each split of a csv file, modulo two: so that a split that begins within a quoted field
// knows it. An operator of the engine counts them, in a stage of its own; the host of the stage that reads the records
// is told by a broadcast (jobs/mrctl/csv_stages.h puts both into the plan).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "common/abi/engine_operators.h"
#include "common/abi/operator_table.h"
#include "common/base/status.h"

namespace mr::task {

// Reads splits as format raw; emits (offset of the split as 8 bytes big-endian and the file's URI) -> "0" or "1".
const mr_operator* CsvQuotesOperator();

class CsvQuotes {
 public:
  // One batch of the operator's.
  Status Add(std::string_view batch);
  // Whether `offset`, where a split of the file begins, is within quotes. kInternal where that was never counted.
  Result<bool> At(const std::string& file, uint64_t offset) const;

 private:
  std::map<std::string, std::map<uint64_t, bool>, std::less<>> odd_;  // by file and offset of the split
};

}  // namespace mr::task
