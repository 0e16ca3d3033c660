// Options and result of a LocalJob.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "paceline/testing/test_host.h"

namespace mr {

// Options of a LocalJob.
struct LocalOptions {
  uint64_t split_bytes = 64;                      // size of a split
  uint32_t reduces = 3;                           // tasks of stages with an open number
  uint32_t batch_records = 5;                     // records per batch of an edge
  uint64_t block_bytes = 40;                      // block size of MR_RAW_BLOCKS operators, about
  uint32_t splits_per_task = 1;                   // above 1: a task reads several, like small files in a cluster
  uint64_t max_bad_records = 0;                   // of the whole job, like submit --max-bad-records
  int64_t submitted_unix_ms = 1'700'000'000'000;  // when the job was submitted (2023-11-14 22:13:20 UTC)
  // Not 0: seed of the choices that the engine leaves open (testing/variation.h). Errors name it.
  uint64_t seed = 0;
  // Runs each task of an MR_DETERMINISTIC operator twice, like clones. Outputs that differ fail the job.
  bool twice = false;
};

// A stage of the plan that ran.
struct LocalStage {
  std::string name;          // of the stage
  std::string op;            // its operator
  uint32_t flags = 0;        // mr_operator_flags
  bool reads_files = false;  // an input is files
  std::string readers;       // operators of the stages that read this one, separated by commas
};

// Result of LocalJob::Run.
struct LocalResult {
  bool ok = false;                                        // the job succeeded
  std::string error;                                      // reason of the failure
  std::vector<std::string> parts;                         // the output files, in the order of tasks
  std::string header;                                     // of each part, if they have one (format csv)
  std::map<std::string, std::vector<std::string>> named;  // the same for each Stage::Named
  TestCounters counters;                                  // by group and name
  std::vector<std::string> bad_records;                   // place and reason
  std::map<std::string, uint32_t> tasks;                  // by stage
  std::string failed_operator;                            // of the failed task
  std::string failed_stage;                               // of the failed task
  std::string failed_record;                              // place of the record or key at which it failed, if known
  std::vector<LocalStage> stages;                         // in the order of the plan
  // Returns the failure as one line, with operator, stage and record: "operator 'visits.read' of stage 'read' failed at
  // access.log, byte 12: no number". Empty if the job succeeded.
  std::string Failure() const {
    if (ok || failed_operator.empty()) return error;
    return "operator '" + failed_operator + "' of stage '" + failed_stage + "' failed" +
           (failed_record.empty() ? "" : " at " + failed_record) + ": " + error;
  }
  // Returns all parts, with one header, as `mrctl fs getmerge` does.
  std::string Output() const { return header + Rows(); }
  // Returns all parts without their headers.
  std::string Rows() const {
    std::string all;
    for (const auto& part : parts) all += part.substr(header.size());
    return all;
  }
};

}  // namespace mr
