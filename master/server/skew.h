// Keys that have so much of a stage's output that the task which reads them takes longer, and more memory, than others:
// found by what the winning attempts of the stage report of their hottest keys, and told to people. Nothing is decided
// by it. Soft: neither in the journal nor in a snapshot, so after a restart of the master only what is committed from
// then on counts. Bounded by the stages of jobs that run. Of the master's thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/base/hot_keys.h"
#include "common/base/ids.h"
#include "master/server/records.h"

namespace mr::master {

// One key that is too heavy, as far as is known now.
struct Skew {
  uint32_t stage = 0;
  HotKey key;  // about
  uint64_t stage_records = 0, stage_bytes = 0;        // of the key's port
  uint64_t partition_bytes = 0, median_bytes = 0;     // of its partition, and of the port's partitions
  bool partial = false;           // some tasks of the stage are not in it: not committed yet, or before a restart
  bool partitions_known = false;  // else the two are 0: an output did not say, as those of very many partitions do not
};

// "key 'GB' has about 41 % of the 12,000,000 records from stage 'left' (partition 3: 1.2 GiB, 9 times the median)"
std::string SkewText(const Skew& skew, const std::string& stage_name);

// What is too heavy (guesses): a key with at least so many bytes and this share of its port's, and so many that the
// partition which has it is expected to have kTimesMean as much as it would if keys were even: of P partitions
// 1 + (P - 1) * share.
inline constexpr uint64_t kSkewBytes = 16u << 20;
inline constexpr double kSkewShare = 0.1, kTimesMean = 1.5;
inline constexpr size_t kSkewsOfStage = 3, kSkewsOfJob = 8;  // that are told, the heaviest

class SkewTable {
 public:
  // An attempt's output became that of its task. plan: of its stage; records, bytes: of all its ports; kib: of each
  // partition, rounded up, where the table is not inline. A task that commits again counts once, as it did first. True
  // where what Of says of the job may be another one now.
  bool Committed(const TaskId& task, const StagePlan& plan, uint64_t records, uint64_t bytes,
                 const FinishedExtra& extra, const std::vector<uint32_t>& kib, const std::vector<HotKey>& hot);
  // By stage, the heaviest keys first.
  std::vector<Skew> Of(JobId job) const;
  void Forget(JobId job);

 private:
  struct Port {
    uint32_t begin = 0, end = 0;  // its partitions
    uint64_t records = 0, bytes = 0;
    HotKeys keys;
  };
  struct OfStage {
    std::vector<bool> counted;              // by task
    std::vector<Port> ports;
    std::vector<uint64_t> partition_bytes;  // empty where an output did not say
    bool any_hot = false;
  };
  static void Find(uint32_t stage, const OfStage& of, std::vector<Skew>* found);

  std::map<StageId, OfStage> stages_;
};

}  // namespace mr::master
