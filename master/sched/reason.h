// Reasons of decisions: a code and the numbers that made it. `mrctl why` prints the sentence.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/fields.h"

namespace mr::sched {

enum class ReasonCode : uint8_t {
  kNone = 0,
  kLocalInput = 1,         // launched where its input is {candidates}
  kRackInput = 2,          // launched in the rack of its input {candidates}
  kAnyWorker = 3,          // launched where a slot was free {free slots}
  kRetryAfterFailure = 4,  // an earlier attempt failed {failures so far}
  kOutputLost = 5,         // its output is gone and still needed {generation}
  kWaitingEarly = 6,       // started before its inputs are done {upstream unfinished}
  kUpstreamReturned = 7,   // preempted: upstream work is pending {upstream pending}
  kTaskCommitted = 8,      // another attempt committed {winner}
  kJobEnded = 9,           // the job failed, was killed, or is done
  kFirstReport = 10,       // first valid report: it commits
  kEqualDigest = 11,       // a further replica of the same content
  kDifferentDigest = 12,   // not the content that was committed
  kStale = 13,             // unknown attempt, older epoch or incarnation
  kTooManyFailures = 14,   // {failures, limit}
  kAskedByUser = 15,
  kPlanFailed = 16,
  kStageReady = 17,  // {upstream stages planned}
  kWorkerLost = 18,
  kConsumedStale = 19,      // it read an output that is no longer committed
  kToldAgain = 20,          // sent again: its worker may not have received the bind
  kIndeterminate = 21,      // a re-run gave different content {readers rolled back}
  kLongestToEnd = 22,       // speculative: slow, and ends last {seconds left, rate, limit: % per s}
  kBehindAverage = 23,      // speculative: its score is low {its score, average: %}
  kEndOfPhase = 24,         // speculative: most others are done {done, tasks}
  kBeyondMedian = 25,       // speculative: it runs long {seconds, median of the done}
  kPreempted = 26,          // its queue held too many slots {slots held, its share}
  kRedoCostsMore = 27,      // replicated: a loss would cost more {expected s of a re-run, s of the replication}
  kWorkerSuspected = 28,    // made a second time: a read failed there {worker}
  kRestartSooner = 29,      // restarted: that is sooner {seconds left, of a new one, report period}
  kSpeculativeSaves = 30,   // speculative while tasks wait {seconds left, chance that it saves: %, attempts}
  kSpeculativeSooner = 31,  // speculative: a new attempt ends sooner {seconds left, of a new one}
  kSlowestAttempt = 32,     // ended: faster attempts of its task run {seconds left, how many are kept}
  kExplainedByInput = 33,   // slow only because of its input {times the usual input, the usual time per byte}
  kLargestInput = 34,       // launched first: it has the most to read {bytes, waiting tasks}
  kReplicaElsewhere = 35,   // replicated: another worker could not {worker, number of this try}
  kCloned = 36,             // the job's tasks run as clones {attempts of each, tasks, chance of a straggler: %}
  kOwnReplica = 37,         // reads a replica of its own {seconds after the first replica}
  kSharedReplica = 38,      // reads a shared replica {its readers, seconds waited for an own one}
  kNoMoreReplicas = 39,     // ended: its output has its replicas {replicas, seconds waited}
  kReadersDone = 40,        // replica dropped: no reader is left {replicas left}
  kIdleSlot = 41,           // clone on an idle slot {running attempts of its task, free slots of the worker}
  kSlotWanted = 42,         // ended: waiting tasks can use its slot {tasks that wait}
  kToldNothing = 43,        // ended: no policy of the list binds its reads any more
  kSpareClone = 44,         // ended: it only made a further replica, and tasks can use its slot {tasks that wait}
  kWorkerDrains = 45,       // ended: a clone on an idle slot of a worker that drains
  // Guaranteed to the job {slots, slots that would be enough now, progress: %, seconds since the submit, seconds left
  // (median), deadline: s or 0, how many times as long its tasks take as before}
  kAllotted = 46,
  kNotSteered = 47,  // its guarantee is over: no policy steers it any more
  kNoDeadline = 49,  // its guarantee is over: it has no deadline any more
  kGivenUp = 50,     // the host found that the job cannot go on
  kEvicted = 48,     // ended: another job is guaranteed its slot {slots that job holds, slots it is guaranteed}
  // Why nothing was decided, for people who ask. "None": no speculative attempt.
  kNotSlow = 64,         // none: as fast as others {rate, limit: % per s}
  kNoGain = 65,          // none: it would not end sooner {seconds left, seconds of a new one}
  kAtCap = 66,           // none: as many run as may {speculative attempts}
  kSlowButNotYet = 67,   // it gets one once a worker is free {seconds left, rate, limit: % per s}
  kSideEffects = 68,     // none: its operator acts outside the engine
  kSpeculatedOnce = 69,  // none: it had one
  kWaitsForInputs = 70,  // none: a new one would wait for inputs as well
  kTooYoung = 71,        // none yet {seconds, minimal age}
  kListed = 73,          // no first attempts here: too many failed {score, limit}
  kNoBudget = 75,        // no clones: they would not fit {slots asked, slots in use, budget}
  kTooBusy = 76,         // no clones: too few slots are free {slots asked, slots held, ceiling}
  kCloneEnough = 77,     // no clones: one attempt is enough {tasks, chance of a straggler: %}
  kFewTold = 78,         // not judged: too few attempts show the time {that show it, needed}
  kNoEstimate = 79,      // not judged: nothing is known of it {seconds since it began}
  kEnoughAttempts = 80,  // none: as many attempts of its task run as may {attempts}
  kSavesLittle = 81,     // none: it would save too little {seconds left, of a new one, least to save}
  // The same while tasks wait: {seconds left, of a new one, report period, chance that an attempt saves: %, least: %}
  kSavesLittleNow = 82,
  kPays = 83,            // it gets one once a worker is free {seconds left, of a new one}
  kNotSmall = 84,        // no clone on an idle slot: a large phase {tasks, most}
  kNoIdleSlot = 85,      // no clone on an idle slot: none is free {workers with a free slot}
  kRandomOperator = 86,  // no clone on an idle slot: equal input gives different content
  kQueueFull = 87,       // no clone on an idle slot: its queue is, or would be, full {slots held, most}
  kFailedTwice = 88,     // no clone: it failed too often {attempts that failed}
  kSlowNode = 74,        // none on this worker: slow for this job {epoch, seq, progress, limit}
};

struct Reason {
  ReasonCode code = ReasonCode::kNone;
  std::string policy;           // which policy; "" = the core
  std::vector<double> numbers;  // as the code says
  template <class V>
  static void Fields(V&& v) {
    v(&Reason::code, &Reason::policy, &Reason::numbers);
  }
  bool operator==(const Reason&) const = default;
};

// A number that a policy works with now, for people who ask: clone_budget_slots. label: the item, if there are
// several.
struct Figure {
  std::string name, label;
  double value = 0;
};

// Returns the stable lower-case name of a code, for scenarios, JSON and logs ("local_input").
const char* ReasonName(ReasonCode code);
// Returns one sentence for people, with the numbers.
std::string Explain(const Reason& reason);

}  // namespace mr::sched
