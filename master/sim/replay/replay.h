// Replays a real master's journal record by record. Compares the state of this build's scheduler with the digest that
// the journal recorded after each record.
//
// Reads only. Beside a running master the last records may be half written (kTorn), or a file may be removed meanwhile.
// Replay a copy of the directory then.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "master/sched/scheduler.h"
#include "master/sim/swarm/describe.h"

namespace mr::sim {

enum class Verdict : uint8_t {
  kEqual,         // all recorded digests are equal to the replayed ones
  kDiverged,      // a digest differs: this build decides otherwise than the build that wrote the journal
  kOtherVersion,  // it ends with records of another kSchedulerVersion; only that release can replay them
  kTorn,          // equal up to an interrupted write at the end, which was never acknowledged
  kDamaged,       // equal up to a durable record that can no longer be read
};
const char* Word(Verdict verdict);

// The place where the replay diverged.
struct Divergence {
  uint64_t record = 0, offset = 0, event_number = 0;
  uint64_t recorded = 0, replayed = 0;  // digests
  std::string event;                    // kind and subject
  // Entities of the state that the event changed here. `unchanged`: the one or two of these that did not change in the
  // recorded history; empty if that would not explain the difference.
  std::vector<std::string> changed, unchanged;
  std::string detail;  // other findings: promises that differ, a list that this build does not have
};

struct Replayed {
  Verdict verdict = Verdict::kEqual;
  std::string directory;  // the journal's directory
  uint64_t snapshot = 0;  // the snapshot after which the replay began; 0: at the first record
  uint64_t records = 0, events = 0;
  uint64_t compared = 0;                    // digests; all are equal, except the last one of a kDiverged
  uint64_t skipped = 0;                     // events of other versions
  std::map<std::string, uint64_t> by_kind;  // events per kind
  std::vector<uint32_t> versions;           // versions of the epochs read, in order, each once
  uint32_t epochs = 0;
  uint64_t jobs = 0, succeeded = 0, failed = 0, killed = 0;
  uint64_t digest = 0;  // digest of the final state
  uint64_t cut_bytes = 0, cut_records = 0, cut_offset = 0;
  std::string damage;  // fault of a kDamaged
  std::optional<Divergence> divergence;
};

// Called after each event that this build stepped.
using OnStep =
    std::function<void(const sched::StampedEvent&, const std::vector<sched::Decision>&, const sched::Scheduler&)>;

// Replays a journal. path: a master's --data or the journal's directory in it. Faults of the journal itself are a
// verdict.
// Errors: kNotFound: no journal there; kInvalidArgument: a file.
Result<Replayed> ReplayJournal(const std::string& path, const OnStep& on_step = nullptr);

std::string Table(const Replayed& replayed);
// Returns one JSON document and a newline.
std::string Json(const Replayed& replayed);
// Returns the published exit code (README.md).
int ExitOf(Verdict verdict);

}  // namespace mr::sim
