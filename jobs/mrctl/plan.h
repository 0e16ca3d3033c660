// The plan document (jobs/PLAN.md) as plain structs, and what else mrtask prints.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/abi/type_tags.h"
#include "common/base/status.h"

namespace mr::ctl {

struct PlanInput {
  bool files = false;
  // files
  int input = 0;  // which --input; -1 = all together; unused where uris are given
  std::vector<std::string> uris;
  std::string format;
  bool only_format = false;  // --format cannot be another
  uint64_t sample_bytes = 0, max_split_bytes = 0;
  // edge
  std::string kind;   // all_to_all, many_to_one, one_to_one, broadcast
  uint32_t from = 0;  // index of an earlier stage
  uint32_t port = 0;
  bool grouped = false;
  bool quotes = false;  // csv_stages.h
  bool splits = false;  // fat partitions may be shared by tasks
  // Of an edge that is read as files (chain.h): `format` is not empty, and these say what the port's files would be
  // and are called.
  std::string written, file;
};

struct PlanPort {
  bool files = false;
  std::string format;
  std::string name;  // of a further files port
  bool sorted = false, combine = false, custom_partition = false;
};

// A table that the job reads, and the columns that it needs.
struct PlanTable {
  std::string side;
  std::vector<std::string> uris;  // empty: the job's inputs
  std::string format;
  bool header = true;
  std::vector<std::string> columns;
};

struct PlanStage {
  std::string name, op;
  std::string config;  // decoded
  uint32_t tasks = 0;
  uint64_t task_bytes = 0;
  uint64_t memory_bytes = 0;           // per attempt; 0: as the job has it
  bool builtin = false;                // an operator of the built-in library, although the job has its own
  std::optional<uint32_t> flags;       // of its operator; absent: Plan::operator_flags has them
  std::optional<OperatorTypes> types;  // and Plan::operator_types these
  std::vector<PlanInput> inputs;
  std::vector<PlanPort> ports;
};

// What a plan may be told of sizes.
struct PlanSizes {
  uint64_t memory_bytes = 0;              // --memory; 0: not given
  std::map<std::string, uint64_t> bytes;  // by the URI as the plan asked for it
};

struct Plan {
  std::vector<PlanStage> stages;
  std::vector<std::string> notes;  // why it is as it is, for people
  std::vector<PlanTable> tables;
  std::vector<std::string> wants_bytes;  // URIs and paths whose sizes it asked for and was not told
  std::map<std::string, uint32_t> operator_flags;
  std::map<std::string, OperatorTypes> operator_types;  // those that declare some

  const OperatorTypes& TypesOf(const PlanStage& stage) const;
};

// What `mrtask plan` prints. kInvalidArgument for what is not a plan of version 1, with the place.
Result<Plan> ParsePlan(std::string_view json);

struct LibraryInfo {
  struct Job {
    std::string name, help;
  };
  struct Op {
    std::string name;
    uint32_t flags = 0;
    OperatorTypes types;
  };
  std::vector<Job> jobs;
  std::vector<Op> operators;
  std::string built_with;
  uint32_t abi = 0;
};
// What `mrtask check` prints.
Result<LibraryInfo> ParseLibraryInfo(std::string_view json);

// RFC 4648 with padding.
Result<std::string> DecodeBase64(std::string_view text);

}  // namespace mr::ctl
