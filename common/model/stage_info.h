// The data that all tasks of a stage share, as their workers get them. control.capnp explains the fields.
#pragma once

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/base/time.h"
#include "common/model/job_spec.h"

namespace mr {

struct StageInfo {
  StageId id;
  std::string library;  // SHA-256; empty: the built-in one
  StageSpec spec;       // without the URIs of files: each launch has its own
  uint32_t tasks = 0;
  std::vector<uint32_t> port_partitions;
  std::vector<KeyValue> env;
  uint64_t memory_bytes = 0, sort_buffer_bytes = 0, partition_seed = 0;
  std::string staging_uri;  // of a final stage
  std::string job_name;
  std::vector<SideFile> files;
  uint64_t max_bad_records = 0;    // for the whole job
  Duration task_timeout;           // without progress; 0: none
  bool strict_inputs = false;      // a local input that grew fails the attempt
  bool allow_network = false;      // attempts may make sockets of the internet families
  uint8_t min_tier = 0;            // of the rooms in which attempts run
  std::string owner;               // the subject that submitted the job; empty (from older masters): kNoOwner
  uint64_t submitted_unix_ms = 0;  // when the job was submitted; 0 from older masters
  bool operator==(const StageInfo&) const = default;

  TaskLetter letter() const { return spec.letter(); }
  // Returns whether its ports are files: either all are, or none is.
  bool writes_files() const { return spec.is_final(); }
  uint32_t partitions() const { return std::accumulate(port_partitions.begin(), port_partitions.end(), 0u); }
};

}  // namespace mr
