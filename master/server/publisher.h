// Puts a committed job's staged files where the user expects them, and clears staging. All of it is
// idempotent: it is repeated after a crash at any point, with the same end. Blocks: pool threads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/digest.h"
#include "common/base/status.h"
#include "master/server/records.h"

namespace mr::master {

struct PublishRequest {
  std::string job;         // its name, job_1_0001
  std::string output_uri;  // file:///a/out
  bool overwrite = false;
  std::vector<FileOutput> parts;  // sorted by name
};

// file:///a/.out.<job>.staging, the hidden sibling under which attempts write.
std::string StagingUri(const std::string& output_uri, const std::string& job);

// Totals over parts: what _SUCCESS and the job's status say.
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

// The text of _SUCCESS. Without its list of parts where it would be longer than max_bytes.
std::string SuccessDocument(const PublishRequest& request, size_t max_bytes = SIZE_MAX);

// Renames every staged part into the output directory, syncs, writes _SUCCESS last, removes staging.
// With overwrite the new directory is made beside the old one and swapped in.
Status PublishFiles(const PublishRequest& request);

// Removes the staging directory of a job that ended without output.
Status RemoveStaging(const std::string& output_uri, const std::string& job);

}  // namespace mr::master
