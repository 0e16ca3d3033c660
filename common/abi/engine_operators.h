// Operators of mrtask itself. Every job can use them, whatever its library. Their names begin with "mr.".
#pragma once

#include <cstdint>

#include "common/abi/operator_table.h"

namespace mr {

// Computes how each split of csv files changes a reader's state (worker/task/csv_quotes.h).
inline constexpr const char* kCsvQuotesOperator = "mr.csv_quotes";
inline constexpr uint32_t kCsvQuotesFlags = MR_DETERMINISTIC | MR_REUSABLE;

}  // namespace mr
