// Why a decision was taken: a code and the numbers that made it. `mrctl why` prints the sentence.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/fields.h"

namespace mr::sched {

enum class ReasonCode : uint8_t {
  kNone = 0,
  kLocalInput = 1,         // launched where its input is          {candidates}
  kRackInput = 2,          // launched in the rack of its input    {candidates}
  kAnyWorker = 3,          // launched where a slot was free       {free slots}
  kRetryAfterFailure = 4,  // an earlier attempt failed            {failures so far}
  kOutputLost = 5,         // its output is gone and still needed  {generation}
  kWaitingEarly = 6,       // started before its inputs are done   {upstream unfinished}
  kUpstreamReturned = 7,   // taken back: upstream work is pending {upstream pending}
  kTaskCommitted = 8,      // another attempt committed            {winner}
  kJobEnded = 9,           // the job failed, was killed, or is done
  kFirstReport = 10,       // first valid report: it commits
  kEqualDigest = 11,       // a further copy of the same content
  kDifferentDigest = 12,   // not the content that was committed
  kStale = 13,             // unknown attempt, older epoch or incarnation
  kTooManyFailures = 14,   // {failures, limit}
  kAskedByUser = 15,
  kPlanFailed = 16,
  kStageReady = 17,  // {upstream stages planned}
  kWorkerLost = 18,
  kConsumedStale = 19,     // it read an output that is no longer the committed one
  kToldAgain = 20,         // its worker may not have heard what to read
  kIndeterminate = 21,     // a re-run gave other content          {consumers rolled back}
  kLongestToEnd = 22,      // copied: slow, and ends last          {seconds left, rate, limit: % per s}
  kBehindAverage = 23,     // copied: its score is low             {its score, average: %}
  kEndOfPhase = 24,        // copied: most others are done         {done, tasks}
  kBeyondMedian = 25,      // copied: it runs long                 {seconds, median of the done}
  kPreempted = 26,         // its queue held too many slots        {slots held, its share}
  kRedoCostsMore = 27,     // replicated: a loss would cost more   {expected s to make it again, s to copy it}
  kWorkerSuspected = 28,   // made a second time: a read failed there {worker}
  kRestartSooner = 29,     // ended, begun anew: that is sooner    {seconds left, of a new one, report period}
  kCopySaves = 30,         // copied though tasks wait             {seconds left, chance that it saves: %, copies}
  kCopySooner = 31,        // copied: a new one ends sooner        {seconds left, of a new one}
  kSlowestCopy = 32,       // ended: faster ones of its task run   {seconds left, how many are kept}
  kExplainedByInput = 33,  // not copied: slow for its input only  {times the usual input, the usual time per byte}
  kLargestInput = 34,      // launched first: it has most to read  {bytes, waiting tasks}
  kCopyElsewhere = 35,     // replicated: another worker could not {worker, which try this is}
  kCloned = 36,            // the job's tasks run as clones         {attempts of each, tasks, chance of a straggler: %}
  kOwnCopy = 37,           // told to read a copy of its own        {seconds after the first copy}
  kSharedCopy = 38,    // told to read what others read         {readers of it, seconds waited for a copy of its own}
  kNoMoreCopies = 39,  // ended: its output has its copies      {copies, seconds waited}
  kReadersDone = 40,   // copy dropped: nobody is to read it    {copies left}
  kIdleSlot = 41,    // cloned: the slot was idle              {attempts of its task that ran, free slots of the worker}
  kSlotWanted = 42,  // ended: what waits can use its slot     {tasks that wait}
  kToldNothing = 43,   // ended: the list has no policy any more that tells it what to read
  kSpareCopy = 44,     // ended: it only made a further copy, and what waits can use its slot {tasks that wait}
  kWorkerDrains = 45,  // ended: a clone on an idle slot of a worker that drains
  // Guaranteed to the job {slots, what would do now, progress: %, seconds since the submit, seconds left (median),
  // deadline: s or 0}
  kAllotted = 46,
  kNotSteered = 47,  // its guarantee is over: no policy steers it any more
  kNoDeadline = 49,  // its guarantee is over: it has no deadline any more
  kGivenUp = 50,     // the host found that the job cannot go on
  kEvicted = 48,     // ended: another job is guaranteed its slot {slots that one holds, slots it is guaranteed}
  // Why nothing was decided; said to who asks.
  kNotSlow = 64,         // no copy: as fast as others            {rate, limit: % per s}
  kNoGain = 65,          // no copy: it would not end sooner      {seconds left, seconds anew}
  kAtCap = 66,           // no copy: as many run as may           {copies}
  kSlowButNotYet = 67,   // it gets a copy where a worker is free {seconds left, rate, limit: % per s}
  kSideEffects = 68,     // no copy: its operator acts outside
  kCopiedOnce = 69,      // no copy: it had one
  kWaitsForInputs = 70,  // no copy: that would wait as well
  kTooYoung = 71,        // no copy yet                           {seconds, minimal age}
  kListed = 73,          // no new attempts here: too many failed {score, limit}
  kNoBudget = 75,        // no clones: they would not fit         {slots asked, slots in use, budget}
  kTooBusy = 76,         // no clones: too few slots are free     {slots asked, slots held, ceiling}
  kCloneEnough = 77,     // no clones: one attempt is enough      {tasks, chance of a straggler: %}
  kFewTold = 78,         // not judged: too few say what takes long {that told, needed}
  kNoEstimate = 79,      // not judged: nothing is known of it    {seconds since it began}
  kCopiesEnough = 80,    // no copy: as many of its task run      {attempts}
  kSavesLittle = 81,     // no copy: it would save too little     {seconds left, of a new one, least to save}
  // The same while tasks wait: {seconds left, of a new one, report period, chance that a copy saves: %, least: %}
  kSavesLittleNow = 82,
  kPays = 83,            // copied where a worker is free         {seconds left, of a new one}
  kNotSmall = 84,        // no clone on an idle slot: a large phase {tasks, most}
  kNoIdleSlot = 85,      // no clone on an idle slot: none is free {workers with a free slot}
  kRandomOperator = 86,  // no clone on an idle slot: equal input gives other content
  kQueueFull = 87,       // no clone on an idle slot: its queue is, or would be, full {slots held, most}
  kFailedTwice = 88,     // no clone: too often it failed         {attempts that failed}
  kSlowNode = 74,        // no copies here: slow for this job     {epoch, seq, progress, limit}
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

// A number that a policy steers by now, for people who ask: clone_budget_slots. label: of what, where
// there are several.
struct Figure {
  std::string name, label;
  double value = 0;
};

// Stable lower-case name of a code, for scenarios, JSON and logs ("local_input").
const char* ReasonName(ReasonCode code);
// One sentence for people, with the numbers.
std::string Explain(const Reason& reason);

}  // namespace mr::sched
