// The committed output of a job as a whole: its totals, and the text of _SUCCESS. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/base/digest.h"
#include "common/model/job_spec.h"
#include "common/model/output.h"

namespace mr::master {

// Totals over parts, for _SUCCESS and the job's status.
struct OutputTotals {
  uint64_t bytes = 0, records = 0;
  uint32_t parts = 0;
  Digest128 digest;  // over the parts' names and content digests, in order
  template <class V>
  static void Fields(V&& v) {
    using T = OutputTotals;
    v(&T::bytes, &T::records, &T::parts, &T::digest);
  }
};
OutputTotals TotalsOf(const std::vector<FileOutput>& parts);

// Returns the csv format of the header with which each part-* file of the job begins, or "" where they have none.
std::string HeaderOf(const JobSpec& spec);

// Returns the text of _SUCCESS, without its list of parts where it would be longer than max_bytes. job: its name,
// job_1_0001. header: HeaderOf. parts: sorted by name.
std::string SuccessDocument(const std::string& job, const std::string& header, const std::vector<FileOutput>& parts,
                            size_t max_bytes = SIZE_MAX);

}  // namespace mr::master
