// The plan document (jobs/PLAN.md) and the other output of mrtask as plain structs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/abi/operator_calls.h"
#include "common/abi/type_tags.h"
#include "common/base/status.h"

namespace mr::ctl {

struct PlanInput {
  bool files = false;
  // files
  int input = 0;  // index of --input; -1 = all together; unused if uris are given
  std::vector<std::string> uris;
  std::string format;
  bool only_format = false;  // --format cannot override it
  uint64_t sample_bytes = 0, max_split_bytes = 0;
  // edge
  std::string kind;   // all_to_all, many_to_one, one_to_one, broadcast
  uint32_t from = 0;  // index of an earlier stage
  uint32_t port = 0;
  bool grouped = false;
  bool quotes = false;  // csv_stages.h
  bool splits = false;  // large partitions may be shared by tasks
  // For an edge that is read as files (chain.h): `format` is not empty, and these are the format and the name of the
  // files that the port would write.
  std::string written, file;
};

struct PlanPort {
  bool files = false;
  std::string format;
  std::string name;  // of a further port of files
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

// Expressions over the rows of the tables (RowExpressions in jobs/sdk/paceline/plan.h).
struct PlanExpressions {
  std::string where, select, types;
  std::vector<std::string> nulls;
  std::string decimal;
  uint64_t joined = 0;
  std::vector<std::string> hidden;
};

struct PlanStage {
  std::string name, op;
  std::string config;  // decoded
  uint32_t tasks = 0;
  uint64_t task_bytes = 0;
  uint64_t memory_bytes = 0;           // of an attempt; 0: that of the job
  bool builtin = false;                // an operator of the built-in library in a job with --lib
  std::optional<uint32_t> flags;       // absent: in Plan::operator_flags
  std::optional<OperatorTypes> types;  // absent: in Plan::operator_types
  std::optional<OperatorCalls> calls;  // absent: in Plan::operator_calls
  std::vector<PlanInput> inputs;
  std::vector<PlanPort> ports;
};

// The facts that a plan may depend on.
struct PlanSizes {
  uint64_t memory_bytes = 0;              // --memory; 0: no limit was given
  std::map<std::string, uint64_t> bytes;  // by URI as the plan wrote it
};

struct Plan {
  std::vector<PlanStage> stages;
  std::vector<std::string> notes;  // for people: the reasons for the plan's choices
  std::vector<PlanTable> tables;
  std::optional<PlanExpressions> expressions;
  std::vector<std::string> wants_bytes;  // URIs and paths of unknown sizes that the plan asked for
  std::map<std::string, uint32_t> operator_flags;
  std::map<std::string, OperatorTypes> operator_types;  // of operators that declare types
  std::map<std::string, OperatorCalls> operator_calls;

  const OperatorTypes& TypesOf(const PlanStage& stage) const;
  // Returns nothing for an operator of the engine.
  std::optional<OperatorCalls> CallsOf(const PlanStage& stage) const;
};

// Parses the output of `mrtask plan`. Errors: kInvalidArgument with the place, if it is no plan of version 1.
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
// Parses the output of `mrtask check`.
Result<LibraryInfo> ParseLibraryInfo(std::string_view json);

// Decodes base64 (RFC 4648, with padding).
Result<std::string> DecodeBase64(std::string_view text);

}  // namespace mr::ctl
