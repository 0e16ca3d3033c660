#include "master/sched/reason.h"

#include <cmath>
#include <cstdio>

#include "master/sched/model.h"

namespace mr::sched {

namespace {

std::string Count(const Reason& reason, size_t i, const char* one, const char* many) {
  if (i >= reason.numbers.size()) return std::string("some ") + many;
  const auto n = static_cast<long long>(std::llround(reason.numbers[i]));
  return std::to_string(n) + " " + (n == 1 ? one : many);
}

std::string Number(const Reason& reason, size_t i) {
  if (i >= reason.numbers.size()) return "?";
  return std::to_string(static_cast<long long>(std::llround(reason.numbers[i])));
}

// With two digits behind the point.
std::string Decimal(const Reason& reason, size_t i) {
  if (i >= reason.numbers.size() || !std::isfinite(reason.numbers[i])) return "?";
  char text[64];
  std::snprintf(text, sizeof text, "%.2f", reason.numbers[i]);
  return text;
}

// Of the two numbers of its id.
std::string JobName(const Reason& reason) {
  if (reason.numbers.size() < 2) return "a job";
  return Name(JobId{static_cast<uint32_t>(reason.numbers[0]), static_cast<uint32_t>(reason.numbers[1])});
}

std::string Sentence(const Reason& r) {
  switch (r.code) {
    case ReasonCode::kNone: return "no reason was recorded";
    case ReasonCode::kLocalInput:
      return "this worker holds its input, and had a free slot (" + Count(r, 0, "such task", "such tasks") +
             " to choose from)";
    case ReasonCode::kRackInput:
      return "its input is in this worker's rack (" + Count(r, 0, "such task", "such tasks") + " to choose from)";
    case ReasonCode::kAnyWorker: return "a slot was free here (" + Count(r, 0, "slot", "slots") + " on this worker)";
    case ReasonCode::kRetryAfterFailure:
      return "an earlier attempt did not finish (" + Count(r, 0, "failure", "failures") + " so far)";
    case ReasonCode::kOutputLost: return "its output is gone and still needed (generation " + Number(r, 0) + ")";
    case ReasonCode::kWaitingEarly:
      return "started early to wait for its inputs: nothing upstream is left to start, " +
             Count(r, 0, "upstream task is", "upstream tasks are") + " unfinished";
    case ReasonCode::kUpstreamReturned:
      return "taken back: " + Count(r, 0, "upstream task needs", "upstream tasks need") +
             " a slot, and it was only waiting";
    case ReasonCode::kTaskCommitted: return "attempt " + Number(r, 0) + " of the same task committed first";
    case ReasonCode::kJobEnded: return "the job has ended";
    case ReasonCode::kFirstReport: return "the first valid report of its task";
    case ReasonCode::kEqualDigest: return "the task had committed equal content already (attempt " + Number(r, 0) + ")";
    case ReasonCode::kDifferentDigest: return "its content differs from what the task committed";
    case ReasonCode::kStale: return "it belongs to an attempt or a life of the worker that is over";
    case ReasonCode::kTooManyFailures: return Count(r, 0, "failure", "failures") + ", the limit is " + Number(r, 1);
    case ReasonCode::kAskedByUser: return "a user asked for it";
    case ReasonCode::kPlanFailed: return "its tasks could not be worked out";
    case ReasonCode::kGivenUp: return "its job cannot go on";
    case ReasonCode::kStageReady:
      if (!r.numbers.empty() && r.numbers[0] == 0) return "it reads no other stage";
      return "everything that it reads is planned (" + Count(r, 0, "edge", "edges") + ")";
    case ReasonCode::kWorkerLost: return "its worker was lost";
    case ReasonCode::kConsumedStale: return "it read an output that is not, or no longer, the committed one";
    case ReasonCode::kToldAgain: return "told again, since its worker was away and may not have heard it";
    case ReasonCode::kIndeterminate:
      return "a repeated task gave other content (" + Count(r, 0, "reader rolled back", "readers rolled back") + ")";
    case ReasonCode::kLongestToEnd:
      return "a copy: it is slow, at " + Decimal(r, 1) + " % per second against a limit of " + Decimal(r, 2) +
             (!r.numbers.empty() && std::isinf(r.numbers[0])
                  ? ", and has not moved yet"
                  : ", and of the slow ones it would end last, in " + Decimal(r, 0) + " s");
    case ReasonCode::kBehindAverage:
      return "a copy: it is at " + Number(r, 0) + " %, the average of its stage at " + Number(r, 1) + " %";
    case ReasonCode::kEndOfPhase:
      return "a copy: " + Number(r, 0) + " of " + Number(r, 1) + " tasks of its stage are done";
    case ReasonCode::kBeyondMedian:
      return "a copy: it has run for " + Decimal(r, 0) + " s, and half of its stage took no more than " +
             Decimal(r, 1) + " s";
    case ReasonCode::kNotSlow:
      return "not copied: at " + Decimal(r, 0) + " % per second it is not among the slow ones, below " + Decimal(r, 1);
    case ReasonCode::kNoGain:
      return "not copied: it would end in " + Decimal(r, 0) + " s, and a copy would take " + Decimal(r, 1) + " s";
    case ReasonCode::kAtCap:
      return "not copied now: " + Count(r, 0, "copy runs", "copies run") + " already, and no more may at a time";
    case ReasonCode::kSlowButNotYet:
      return "slow, at " + Decimal(r, 1) + " % per second against a limit of " + Decimal(r, 2) + " and with " +
             Decimal(r, 0) +
             " s to go: it is copied as soon as a worker on which it never ran, and that is not slow itself, has a "
             "free slot";
    case ReasonCode::kSideEffects:
      return "not copied: its operator has side effects outside of the engine, and never runs twice at a time";
    case ReasonCode::kCopiedOnce: return "not copied again: its task has, or had, a copy";
    case ReasonCode::kWaitsForInputs: return "not copied: it waits for inputs, and so would a copy";
    case ReasonCode::kTooYoung:
      return "not judged yet: it has run for " + Decimal(r, 0) + " s, and is left alone until " + Decimal(r, 1) + " s";
    case ReasonCode::kListed:
      return "attempts keep failing there (score " + Decimal(r, 0) + ", listed from " + Decimal(r, 1) +
             " on): no first attempts as long as others can take them";
    case ReasonCode::kFewTold:
      return "not judged yet: " + Count(r, 0, "attempt of its stage tells", "attempts of its stage tell") +
             " how long one takes; " + Number(r, 1) + " must, and half of those that run or some that have finished";
    case ReasonCode::kNoEstimate:
      return "not judged yet: in " + Decimal(r, 0) +
             " s it has not reported enough to say how long it still takes, and "
             "has not taken longer than others did";
    case ReasonCode::kCopiesEnough:
      return "not copied: " + Count(r, 0, "attempt of its task runs", "attempts of its task run") + ", and no more may";
    case ReasonCode::kSavesLittle:
      return "not copied: " + Decimal(r, 0) + " s are left, and a new attempt takes " + Decimal(r, 1) +
             " s; once all have begun, a copy must save more than " + Decimal(r, 2) + " s";
    case ReasonCode::kSavesLittleNow:
      return "neither begun anew nor copied: " + Decimal(r, 0) + " s are left, and a new attempt takes " +
             Decimal(r, 1) + " s; while tasks wait, it must be sooner by more than a report, " + Decimal(r, 2) +
             " s, or a copy save slot time with a chance above " + Number(r, 4) + " %, and that is " + Number(r, 3) +
             " %";
    case ReasonCode::kPays:
      return "slow: " + Decimal(r, 0) + " s are left, and a new attempt takes " + Decimal(r, 1) +
             " s: it is copied or begun anew as soon as a worker on which it never ran has a free slot";
    case ReasonCode::kSlowNode:
      return "no copies of " + JobName(r) + " there: its attempts made " + Decimal(r, 2) +
             " tasks' worth of progress, and workers below " + Decimal(r, 3) + " count as slow";
    case ReasonCode::kPreempted:
      return "its queue held " + Count(r, 0, "slot", "slots") + ", its share is " + Number(r, 1) +
             ", and a queue below its own share had waited too long";
    case ReasonCode::kRedoCostsMore:
      return "a copy takes " + Decimal(r, 1) + " s; losing it would cost " + Decimal(r, 0) +
             " s, times as likely as outputs are lost there";
    case ReasonCode::kWorkerSuspected:
      return "made a second time: a read from worker " + Number(r, 0) + ", which holds it, has failed";
    case ReasonCode::kRestartSooner:
      return "begun anew elsewhere: it had " + Decimal(r, 0) + " s left, and a new attempt takes " + Decimal(r, 1) +
             " s (by more than a report, " + Decimal(r, 2) + " s)";
    case ReasonCode::kCopySaves:
      return "a copy though tasks wait: " + Decimal(r, 0) + " s are left, and at " + Number(r, 1) +
             " % one copy more takes fewer slot-seconds than the " + Number(r, 2) + " that ran";
    case ReasonCode::kCopySooner:
      return "a copy: it has " + Decimal(r, 0) + " s left, and a new attempt takes " + Decimal(r, 1) + " s";
    case ReasonCode::kSlowestCopy:
      return "the slowest of its task, with " + Decimal(r, 0) + " s left: only the fastest " + Number(r, 1) +
             " are kept";
    case ReasonCode::kExplainedByInput:
      return "not copied: it takes long since it has " + Decimal(r, 0) + " times the input of others, at " +
             Decimal(r, 1) + " times their time per byte; a copy would take as long";
    case ReasonCode::kCopyElsewhere:
      return "worker w" + Number(r, 0) + " could not make the copy (try " + Number(r, 1) + ")";
    case ReasonCode::kLargestInput:
      return "of " + Count(r, 1, "waiting task", "waiting tasks") + " it has most to read (" + Number(r, 0) + " bytes)";
    case ReasonCode::kCloned:
      return "each of " + Count(r, 1, "task", "tasks") + " runs as " + Count(r, 0, "attempt", "attempts") +
             ": an attempt straggles with a chance of " + Decimal(r, 2) + " %";
    case ReasonCode::kOwnCopy:
      return "told to read a copy for itself, finished " + Decimal(r, 0) + " s after the first";
    case ReasonCode::kSharedCopy:
      return "told to read a copy with others (" + Count(r, 0, "reader", "readers") + "): after " + Decimal(r, 1) +
             " s there was none for itself";
    case ReasonCode::kReadersDone:
      return "its readers are done; " + Count(r, 0, "copy stays", "copies stay") + " should they have to run again";
    case ReasonCode::kIdleSlot:
      return "a clone on a slot that nothing else could use (" + Count(r, 1, "slot", "slots") +
             " free on this worker), beside " + Count(r, 0, "attempt", "attempts") +
             " of its task; the slot is given back as soon as something else can use it";
    case ReasonCode::kSlotWanted:
      return "its slot was lent while it was idle, and is wanted: " + Count(r, 0, "task waits", "tasks wait") +
             " that can use it";
    case ReasonCode::kNotSmall:
      return "no clone on an idle slot: its phase has " + Count(r, 0, "task", "tasks") +
             ", and only phases of at most " + Number(r, 1) + " get them";
    case ReasonCode::kNoIdleSlot:
      return "no clone on an idle slot now: no worker without an attempt of its task is idle enough (" +
             Count(r, 0, "worker", "workers") + " with a free slot)";
    case ReasonCode::kRandomOperator:
      return "no clone on an idle slot: its operator, or one whose outputs it reads, gave other content for equal "
             "input";
    case ReasonCode::kFailedTwice:
      return "no clone: since its task last committed " + Count(r, 0, "attempt", "attempts") +
             " of it failed, and what has failed twice is not cloned any more";
    case ReasonCode::kQueueFull:
      return "no clone on an idle slot: its queue holds " + Count(r, 0, "slot", "slots") + " of the " + Number(r, 1) +
             " that it may, and clones leave the last one to what waits in it";
    case ReasonCode::kWorkerDrains:
      return "its worker drains, and its slot was only lent: another attempt of its task goes on elsewhere, or has "
             "done it";
    case ReasonCode::kSpareCopy:
      return "a clone on an idle slot has done its task, so that it would only have made a further copy, and its slot "
             "is "
             "wanted: " +
             Count(r, 0, "task waits", "tasks wait") + " that can use it";
    case ReasonCode::kToldNothing:
      return "it read what it was told only, and the list of policies has none any more that tells it; its task runs "
             "again";
    case ReasonCode::kNoMoreCopies:
      return "its output has " + Count(r, 0, "copy", "copies") + ", and readers have waited " + Decimal(r, 1) +
             " s for another";
    case ReasonCode::kAllotted:
      return Count(r, 0, "slot", "slots") + " guaranteed: " + Decimal(r, 2) + " % done after " + Decimal(r, 3) +
             " s, " + Number(r, 1) + " would do, and then about " + Decimal(r, 4) + " s are left" +
             (r.numbers.size() > 5 && r.numbers[5] > 0 ? " of a deadline of " + Decimal(r, 5) + " s" : "") +
             (r.numbers.size() > 6 ? "; its tasks take " + Decimal(r, 6) + " times what they took" : "");
    case ReasonCode::kNotSteered:
      return "no slots are guaranteed any more: the list of policies has none that steers by deadlines";
    case ReasonCode::kNoDeadline: return "no slots are guaranteed any more: the job has no deadline now";
    case ReasonCode::kEvicted:
      return "its slot went to what is owed it: another job is guaranteed " + Number(r, 1) + " and held " +
             Number(r, 0);
    case ReasonCode::kNoBudget:
      return "no clones: they would take " + Count(r, 0, "slot", "slots") + ", and of the " + Number(r, 2) +
             " for clones " + Number(r, 1) + " are in use";
    case ReasonCode::kTooBusy:
      return "no clones: they would take " + Count(r, 0, "slot", "slots") + ", and with " + Number(r, 1) +
             " in use the cluster may fill " + Number(r, 2);
    case ReasonCode::kCloneEnough:
      return "no clones: of " + Count(r, 0, "task", "tasks") + " with a chance of " + Decimal(r, 1) +
             " % to straggle, or among so few workers, one attempt each is enough";
  }
  return "unknown reason " + std::to_string(static_cast<int>(r.code));
}

}  // namespace

const char* ReasonName(ReasonCode code) {
  switch (code) {
    case ReasonCode::kNone: return "none";
    case ReasonCode::kLocalInput: return "local_input";
    case ReasonCode::kRackInput: return "rack_input";
    case ReasonCode::kAnyWorker: return "any_worker";
    case ReasonCode::kRetryAfterFailure: return "retry_after_failure";
    case ReasonCode::kOutputLost: return "output_lost";
    case ReasonCode::kWaitingEarly: return "waiting_early";
    case ReasonCode::kUpstreamReturned: return "upstream_returned";
    case ReasonCode::kTaskCommitted: return "task_committed";
    case ReasonCode::kJobEnded: return "job_ended";
    case ReasonCode::kFirstReport: return "first_report";
    case ReasonCode::kEqualDigest: return "equal_digest";
    case ReasonCode::kDifferentDigest: return "different_digest";
    case ReasonCode::kStale: return "stale";
    case ReasonCode::kTooManyFailures: return "too_many_failures";
    case ReasonCode::kAskedByUser: return "asked_by_user";
    case ReasonCode::kPlanFailed: return "plan_failed";
    case ReasonCode::kGivenUp: return "given_up";
    case ReasonCode::kStageReady: return "stage_ready";
    case ReasonCode::kWorkerLost: return "worker_lost";
    case ReasonCode::kConsumedStale: return "consumed_stale";
    case ReasonCode::kToldAgain: return "told_again";
    case ReasonCode::kIndeterminate: return "indeterminate";
    case ReasonCode::kLongestToEnd: return "longest_to_end";
    case ReasonCode::kBehindAverage: return "behind_average";
    case ReasonCode::kEndOfPhase: return "end_of_phase";
    case ReasonCode::kBeyondMedian: return "beyond_median";
    case ReasonCode::kNotSlow: return "not_slow";
    case ReasonCode::kNoGain: return "no_gain";
    case ReasonCode::kAtCap: return "at_cap";
    case ReasonCode::kSlowButNotYet: return "slow_but_not_yet";
    case ReasonCode::kSideEffects: return "side_effects";
    case ReasonCode::kCopiedOnce: return "copied_once";
    case ReasonCode::kWaitsForInputs: return "waits_for_inputs";
    case ReasonCode::kTooYoung: return "too_young";
    case ReasonCode::kListed: return "listed";
    case ReasonCode::kFewTold: return "few_told";
    case ReasonCode::kNoEstimate: return "no_estimate";
    case ReasonCode::kCopiesEnough: return "copies_enough";
    case ReasonCode::kSavesLittle: return "saves_little";
    case ReasonCode::kSavesLittleNow: return "saves_little_now";
    case ReasonCode::kPays: return "pays";
    case ReasonCode::kSlowNode: return "slow_node";
    case ReasonCode::kPreempted: return "preempted";
    case ReasonCode::kRedoCostsMore: return "redo_costs_more";
    case ReasonCode::kWorkerSuspected: return "worker_suspected";
    case ReasonCode::kRestartSooner: return "restart_sooner";
    case ReasonCode::kCopySaves: return "copy_saves";
    case ReasonCode::kCopySooner: return "copy_sooner";
    case ReasonCode::kSlowestCopy: return "slowest_copy";
    case ReasonCode::kExplainedByInput: return "explained_by_input";
    case ReasonCode::kCopyElsewhere: return "copy_elsewhere";
    case ReasonCode::kLargestInput: return "largest_input";
    case ReasonCode::kCloned: return "cloned";
    case ReasonCode::kOwnCopy: return "own_copy";
    case ReasonCode::kSharedCopy: return "shared_copy";
    case ReasonCode::kNoMoreCopies: return "no_more_copies";
    case ReasonCode::kAllotted: return "allotted";
    case ReasonCode::kNotSteered: return "not_steered";
    case ReasonCode::kEvicted: return "evicted";
    case ReasonCode::kNoDeadline: return "no_deadline";
    case ReasonCode::kReadersDone: return "readers_done";
    case ReasonCode::kIdleSlot: return "idle_slot";
    case ReasonCode::kSlotWanted: return "slot_wanted";
    case ReasonCode::kSpareCopy: return "spare_copy";
    case ReasonCode::kWorkerDrains: return "worker_drains";
    case ReasonCode::kToldNothing: return "told_nothing";
    case ReasonCode::kNotSmall: return "not_small";
    case ReasonCode::kNoIdleSlot: return "no_idle_slot";
    case ReasonCode::kRandomOperator: return "random_operator";
    case ReasonCode::kQueueFull: return "queue_full";
    case ReasonCode::kFailedTwice: return "failed_twice";
    case ReasonCode::kNoBudget: return "no_budget";
    case ReasonCode::kTooBusy: return "too_busy";
    case ReasonCode::kCloneEnough: return "clone_enough";
  }
  return "unknown";
}

const char* CauseName(Cause cause) {
  switch (cause) {
    case Cause::kFirst: return "first";
    case Cause::kRetry: return "retry";
    case Cause::kClone: return "clone";
    case Cause::kSpeculative: return "speculative";
    case Cause::kRestart: return "restart";
    case Cause::kOpportunistic: return "opportunistic";
  }
  return "?";
}

std::string Explain(const Reason& reason) {
  return Sentence(reason) + (reason.policy.empty() ? "" : " [" + reason.policy + "]");
}

}  // namespace mr::sched
