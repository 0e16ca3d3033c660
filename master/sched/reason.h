// Reasons of decisions: a code and the numbers that made it. `mrctl why` prints the sentence.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/base/fields.h"

namespace mr::sched {

// Codes of the core and of helpers that several policies share. Others are the policies' own: policies/*/reasons.h.
// Codes stand in journals, so all share one space of numbers, and a number is never used for two reasons. A new reason
// takes the number above the highest one: `grep -rhoE '(\{|= )[0-9]+[},]' master/sched --include='reason*.h'` lists
// all. Gaps (51 to 63, 72) are retired and never filled. Numbers from 200 on are for tests.
//
// A reason's name (ReasonText::name) stands in answers to users and in scenarios, and never changes. So some names
// differ from their constants: kSpeculatedOnce is `copied_once`.
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
  kConsumedStale = 19,     // it read an output that is no longer committed
  kToldAgain = 20,         // sent again: its worker may not have received the bind
  kIndeterminate = 21,     // a re-run gave different content {readers rolled back}
  kExplainedByInput = 33,  // slow only because of its input {times the usual input, the usual time per byte}
  kReadersDone = 40,       // replica dropped: no reader is left {replicas left}
  kSlotWanted = 42,        // ended: waiting tasks can use its slot {tasks that wait}
  kWorkerDrains = 45,      // ended: a clone on an idle slot of a worker that drains
  kGivenUp = 50,           // the host found that the job cannot go on
  kSideEffects = 68,       // no speculative attempt: its operator acts outside the engine
  kSpeculatedOnce = 69,    // no speculative attempt: it had one
  kWaitsForInputs = 70,    // no speculative attempt: a new one would wait for inputs as well
  kTooYoung = 71,          // no speculative attempt yet {seconds, minimal age}
  kInputLost = 89,         // ended: it can no longer read an input {upstream task}
  kReadsBound = 95,        // no further attempt: it would read its split over a slow network {times as slow, limit}
  kCopiesBound = 96,  // no further attempt: the network bounds such phases {share of time spent on copies: %, limit: %}
  kNarrowNetwork = 98,  // no further attempt: the network is slow {reads: times as slow, or 0; copies: % of time}
  kUnseenNetwork = 99,  // no further attempt: too few reads or copies show what the network takes
  kOutputLeaves = 102,  // replicated: an operator drains its worker {worker}
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

// A number that a policy works with now, shown to users: clone_budget_slots. label: the item, if there are several.
struct Figure {
  std::string name, label;
  double value = 0;
};

// A code, its stable lower-case name, and one sentence for people with the reason's numbers.
struct ReasonText {
  ReasonCode code = ReasonCode::kNone;
  const char* name = "";
  std::string (*sentence)(const Reason& reason) = nullptr;
};

// Returns the texts of the codes above.
std::span<const ReasonText> CoreReasons();

// Returns the stable lower-case name of a code, for scenarios, JSON and logs ("local_input").
const char* ReasonName(ReasonCode code);
// Returns one sentence for people, with the numbers.
std::string Explain(const Reason& reason);

}  // namespace mr::sched
