// How a LocalJob is run, and what it gave.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "paceline/testing/test_host.h"

namespace mr {

struct LocalOptions {
  uint64_t split_bytes = 64;     // of files
  uint32_t reduces = 3;          // tasks of stages that the plan leaves open
  uint32_t batch_records = 5;    // records in a batch of an edge
  uint64_t block_bytes = 40;     // of MR_RAW_BLOCKS, about
  uint32_t splits_per_task = 1;  // as many small files are read in a cluster
  uint64_t max_bad_records = 0;  // of the whole job, as submit has it
  // Not 0: what the engine leaves open is chosen by it (testing/variation.h), and it is told with what goes wrong.
  uint64_t seed = 0;
  // Each task of an operator that says MR_DETERMINISTIC is run twice, as clones are; outputs that differ fail the job.
  bool twice = false;
};

struct LocalStage {
  std::string name, op;
  uint32_t flags = 0;  // mr_operator_flags
  bool reads_files = false;
  std::string readers;  // operators of the stages that read it, with commas
};

struct LocalResult {
  bool ok = false;
  std::string error;                                      // why not
  std::vector<std::string> parts;                         // the output's files, in the order of tasks
  std::map<std::string, std::vector<std::string>> named;  // likewise, of Stage::Named
  TestCounters counters;
  std::vector<std::string> bad_records;       // where they are, and why
  std::map<std::string, uint32_t> tasks;      // of each stage
  std::string failed_operator, failed_stage;  // where a task failed
  std::vector<LocalStage> stages;
  std::string Output() const {
    std::string all;
    for (const auto& part : parts) all += part;
    return all;
  }
};

}  // namespace mr
