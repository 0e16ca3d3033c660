// Limits of one owner. 0 = no limit. Administrators have none.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mr::master {

// Defaults. Guesses: a fifth of --open_jobs, so that one owner does not keep others out, half of it not yet running.
inline constexpr size_t kOwnerJobs = 2'000, kOwnerQueued = 1'000;

struct OwnerLimits {
  size_t jobs = kOwnerJobs;      // planned or unfinished
  size_t queued = kOwnerQueued;  // of these, the ones without an attempt so far
  uint64_t store_bytes = 0;      // of files in the block store, without replicas (dfs::NamespaceConfig::owner_bytes)
};

}  // namespace mr::master
