// Steps a real master's journal once more, record by record, and says whether the scheduler of this
// build comes to the state that the journal recorded behind each of them.
//
// Reads only. Beside a running master the last records may be half written (kTorn) or a file may go
// under the reader's hands: replay a copy of the directory then.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "master/sched/scheduler.h"
#include "master/sim/describe.h"

namespace mr::sim {

enum class Verdict : uint8_t {
  kEqual,         // every digest that was recorded is the one that came out
  kDiverged,      // one is not: this build decides otherwise than the one that wrote the journal
  kOtherVersion,  // it ends with records of another kSchedulerVersion, which only that release can replay
  kTorn,          // equal up to an interrupted write at the end, of which nobody was told
  kDamaged,       // equal up to a record that was durable and cannot be read any more
};
const char* Word(Verdict verdict);

// Where the replay went another way.
struct Divergence {
  uint64_t record = 0, offset = 0, event_number = 0;
  uint64_t recorded = 0, replayed = 0;  // digests
  std::string event;                    // kind and whom it is about
  // Entities of the state that the event changed here. `unchanged`: of these the one (or two) that did
  // not change in the recorded history; empty where no such one explains the difference.
  std::vector<std::string> changed, unchanged;
  std::string detail;  // what else is known: promises that differ, a list that this build does not have
};

struct Replayed {
  Verdict verdict = Verdict::kEqual;
  std::string directory;  // of the journal's files
  uint64_t snapshot = 0;  // the replay began behind it; 0: at the first record
  uint64_t records = 0, events = 0;
  uint64_t compared = 0;                    // digests; equal ones but for the last of a kDiverged
  uint64_t skipped = 0;                     // events of other versions
  std::map<std::string, uint64_t> by_kind;  // events
  std::vector<uint32_t> versions;           // of the epochs read, in order, each once
  uint32_t epochs = 0;
  uint64_t jobs = 0, succeeded = 0, failed = 0, killed = 0;
  uint64_t digest = 0;  // of the state at the end
  uint64_t cut_bytes = 0, cut_records = 0, cut_offset = 0;
  std::string damage;  // of kDamaged
  std::optional<Divergence> divergence;
};

// Called after each event that this build stepped.
using OnStep =
    std::function<void(const sched::StampedEvent&, const std::vector<sched::Decision>&, const sched::Scheduler&)>;

// path: a master's --data or the journal's directory in it. kNotFound where there is no journal;
// kInvalidArgument for a file. What is wrong with the journal itself is a verdict.
Result<Replayed> ReplayJournal(const std::string& path, const OnStep& on_step = nullptr);

std::string Table(const Replayed& replayed);
// One document and a newline.
std::string Json(const Replayed& replayed);
// Published (README.md).
int ExitOf(Verdict verdict);

}  // namespace mr::sim
