// Limits of one owner. 0 = no limit. Administrators have none.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/model/identity.h"

namespace mr::master {

// Defaults. Guesses: a fifth of --open_jobs, so that one owner does not keep others out, half of it not yet running.
inline constexpr size_t kOwnerJobs = 2'000, kOwnerQueued = 1'000;

struct OwnerLimits {
  size_t jobs = kOwnerJobs;      // planned or unfinished
  size_t queued = kOwnerQueued;  // of these, the ones without an attempt so far
  uint64_t store_bytes = 0;      // of files in the block store, without replicas (dfs::NamespaceConfig::owner_bytes)
  // Operator libraries and side files (host/libraries.h). A guess: a quarter of --lib_bytes, twice the largest one.
  uint64_t library_bytes = 2ull << 30;
  // The role whose holders may submit jobs that use the network (JobSpec::allow_network).
  RoleBit network = kAdmin;
};

}  // namespace mr::master
