// Compares two attempts of one task. The output of an operator with MR_DETERMINISTIC must be the same, in the same
// order (with MR_UNORDERED too: in any order).
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>

#include "common/abi/operator_table.h"
#include "paceline/error.h"
#include "paceline/testing/shown_bytes.h"
#include "paceline/testing/test_host.h"

namespace mr::sdk {

// Errors: JobError with the first record that differs.
inline void CompareAttempts(const mr_operator& op, const std::string& stage, uint32_t task, uint32_t ports,
                            TestHost* one, TestHost* other) {
  const auto less = [](const TestRecord& a, const TestRecord& b) {
    return std::tie(a.key, a.value) < std::tie(b.key, b.value);
  };
  const auto shown = [](const TestRecords& records, const TestRecords& others, size_t i) {
    if (i >= records.size()) return std::string("missing");
    const TestRecord& r = records[i];
    const TestRecord other = i < others.size() ? others[i] : TestRecord();
    return "(" + QuotedBytes(r.key, '"', CommonPrefix(r.key, other.key)) + ", " +
           QuotedBytes(r.value, '"', CommonPrefix(r.value, other.value)) + ")";
  };
  for (uint32_t p = 0; p < ports; ++p) {
    TestRecords a = one->emitted(p), b = other->emitted(p);
    if (op.flags & MR_UNORDERED) {
      std::sort(a.begin(), a.end(), less);
      std::sort(b.begin(), b.end(), less);
    }
    if (a == b) continue;
    size_t at = 0;
    while (at < a.size() && at < b.size() && a[at] == b[at]) ++at;
    throw JobError("two attempts of task " + std::to_string(task) + " of stage '" + stage +
                   "' emitted different records to port " + std::to_string(p) + ", though operator '" + op.name +
                   "' has the flag MR_DETERMINISTIC: record " + std::to_string(at) + " is " + shown(a, b, at) +
                   " of one and " + shown(b, a, at) + " of the other");
  }
}

}  // namespace mr::sdk
