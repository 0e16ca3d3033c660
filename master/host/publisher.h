// Puts a committed job's staged files where the user expects them, and clears staging. All of it is
// idempotent: it is repeated after a crash at any point, with the same end. Blocks: pool threads.
// Hidden names hold the cluster's id: jobs of two clusters that share a path have the same names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/io/file_roots.h"
#include "common/model/output.h"
#include "master/core/output_totals.h"

namespace mr::master {

struct PublishRequest {
  std::string job;         // its name, job_1_0001
  std::string output_uri;  // file:///a/out
  bool overwrite = false;
  std::vector<FileOutput> parts;  // sorted by name
  uint64_t cluster_id = 0;
  std::string header;  // HeaderOf the job's spec
  FileRoots roots;     // below which the output must be still
};

// file:///a/.out.<job>.<cluster>.staging, the hidden sibling under which attempts write.
std::string StagingUri(const std::string& output_uri, const std::string& job, uint64_t cluster_id);

// Renames every staged part into a hidden directory beside the output, syncs, writes _SUCCESS last, and
// renames that: the output is there as a whole or not at all. kRejected: somebody else has put files
// there since the job was accepted (without overwrite); they stay as they are. kNotAllowed: a link leads out of the
// roots now.
Status PublishFiles(const PublishRequest& request);

// Removes what a job that has ended keeps beside its output.
Status RemoveStaging(const std::string& output_uri, const std::string& job, uint64_t cluster_id);

}  // namespace mr::master
