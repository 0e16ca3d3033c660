// Finds hot keys: keys with so much of a stage's output that the task which reads them takes longer, and more memory,
// than others. Sources are the hottest keys that the winning attempts of the stage report. People see them; no decision
// uses them. The hottest keys of an output are in the journal with its commit. Snapshots have the tables of stages with
// such keys. So a restart of the master loses neither. The sizes of more than 64 partitions are not stored: after a
// restart only the key's own bytes are known there. Bounded by the stages of running jobs. Thread: the master's.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/base/hot_keys.h"
#include "common/base/ids.h"
#include "master/core/records.h"

namespace mr::master {

// One key that is too heavy, as far as is known now.
struct Skew {
  uint32_t stage = 0;
  HotKey key;                                      // about
  uint64_t stage_records = 0, stage_bytes = 0;     // of the key's port
  uint64_t partition_bytes = 0, median_bytes = 0;  // of its partition, and of the port's partitions
  bool partial = false;           // some tasks of the stage are not in it: not committed yet, or before a restart
  bool partitions_known = false;  // else the two are 0: an output did not say, as those of very many partitions do not
  template <class V>
  static void Fields(V&& v) {
    using T = Skew;
    v(&T::stage, &T::key, &T::stage_records, &T::stage_bytes, &T::partition_bytes, &T::median_bytes, &T::partial,
      &T::partitions_known);
  }
  bool operator==(const Skew&) const = default;
};

// "key 'GB' has about 41 % of the 12,000,000 records from stage 'left' (partition 3: 1.2 GiB, 9 times the median)"
std::string SkewText(const Skew& skew, const std::string& stage_name);

// The limits of a hot key (guesses): at least kSkewBytes and kSkewShare of its port's bytes. Also, its partition must
// be expected to have kTimesMean times the mean; with P partitions it has 1 + (P - 1) * share times the mean.
inline constexpr uint64_t kSkewBytes = 16u << 20;
inline constexpr double kSkewShare = 0.1, kTimesMean = 1.5;
inline constexpr size_t kSkewsOfStage = 3, kSkewsOfJob = 8;  // the heaviest are reported

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

  // The tables of stages with hot keys as bytes and back, for snapshots. Restore: false where it cannot read them.
  std::string Save() const;
  bool Restore(const std::string& bytes);

  // The elements of the list that Save writes.
  struct Port {
    uint32_t begin = 0, end = 0;  // its partitions
    uint64_t records = 0, bytes = 0;
    HotKeys keys;
    template <class V>
    static void Fields(V&& v) {
      using T = Port;
      v(&T::begin, &T::end, &T::records, &T::bytes, &T::keys);
    }
  };
  struct OfStage {
    std::vector<uint8_t> counted;  // by task: 0 or 1
    std::vector<Port> ports;
    std::vector<uint64_t> partition_bytes;  // empty where an output did not say
    bool any_hot = false;
    template <class V>
    static void Fields(V&& v) {
      using T = OfStage;
      v(&T::counted, &T::ports, &T::partition_bytes, &T::any_hot);
    }
  };
  struct Entry {
    StageId id;
    OfStage of;
    template <class V>
    static void Fields(V&& v) {
      v(&Entry::id, &Entry::of);
    }
  };

 private:
  static void Find(uint32_t stage, const OfStage& of, std::vector<Skew>* found);

  std::map<StageId, OfStage> stages_;
};

}  // namespace mr::master
