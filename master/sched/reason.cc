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

// Returns the number with two digits behind the point.
std::string Decimal(const Reason& reason, size_t i) {
  if (i >= reason.numbers.size() || !std::isfinite(reason.numbers[i])) return "?";
  char text[64];
  std::snprintf(text, sizeof text, "%.2f", reason.numbers[i]);
  return text;
}

// Returns the name of the job with the id of the first two numbers.
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
      return "started early to wait for its inputs: no upstream task is left to start, " +
             Count(r, 0, "upstream task is", "upstream tasks are") + " unfinished";
    case ReasonCode::kUpstreamReturned:
      return "preempted: " + Count(r, 0, "upstream task needs", "upstream tasks need") +
             " a slot, and it only waited for inputs";
    case ReasonCode::kTaskCommitted: return "attempt " + Number(r, 0) + " of the same task committed first";
    case ReasonCode::kJobEnded: return "the job has ended";
    case ReasonCode::kFirstReport: return "the first valid report of its task";
    case ReasonCode::kEqualDigest: return "the task had already committed equal content (attempt " + Number(r, 0) + ")";
    case ReasonCode::kDifferentDigest: return "its content differs from what the task committed";
    case ReasonCode::kStale: return "it belongs to an attempt that is over, or to an earlier incarnation of the worker";
    case ReasonCode::kTooManyFailures: return Count(r, 0, "failure", "failures") + ", the limit is " + Number(r, 1);
    case ReasonCode::kAskedByUser: return "a user asked for it";
    case ReasonCode::kPlanFailed: return "its tasks could not be planned";
    case ReasonCode::kGivenUp: return "its job cannot go on";
    case ReasonCode::kStageReady:
      if (!r.numbers.empty() && r.numbers[0] == 0) return "it reads no other stage";
      return "everything that it reads is planned (" + Count(r, 0, "edge", "edges") + ")";
    case ReasonCode::kWorkerLost: return "its worker was lost";
    case ReasonCode::kConsumedStale: return "it read an output that is not, or no longer, the committed one";
    case ReasonCode::kToldAgain: return "sent again, since its worker was away and may not have received it";
    case ReasonCode::kIndeterminate:
      return "a re-run gave different content (" + Count(r, 0, "reader rolled back", "readers rolled back") + ")";
    case ReasonCode::kLongestToEnd:
      return "speculative attempt: the task is slow, at " + Decimal(r, 1) + " % per second against a limit of " +
             Decimal(r, 2) +
             (!r.numbers.empty() && std::isinf(r.numbers[0])
                  ? ", and has not moved yet"
                  : ", and of the slow ones it would end last, in " + Decimal(r, 0) + " s");
    case ReasonCode::kBehindAverage:
      return "speculative attempt: the task is at " + Number(r, 0) + " %, the average of its stage at " + Number(r, 1) +
             " %";
    case ReasonCode::kEndOfPhase:
      return "speculative attempt: " + Number(r, 0) + " of " + Number(r, 1) + " tasks of its stage are done";
    case ReasonCode::kBeyondMedian:
      return "speculative attempt: the task has run for " + Decimal(r, 0) + " s, and half of its stage took at most " +
             Decimal(r, 1) + " s";
    case ReasonCode::kNotSlow:
      return "without a speculative attempt: it is not slow, at " + Decimal(r, 0) +
             " % per second against a limit of " + Decimal(r, 1);
    case ReasonCode::kNoGain:
      return "without a speculative attempt: it would end in " + Decimal(r, 0) + " s, and a new attempt would take " +
             Decimal(r, 1) + " s";
    case ReasonCode::kAtCap:
      return "without a speculative attempt now: " +
             Count(r, 0, "speculative attempt runs", "speculative attempts run") +
             " already, and no more may run at a time";
    case ReasonCode::kSlowButNotYet:
      return "slow, at " + Decimal(r, 1) + " % per second against a limit of " + Decimal(r, 2) + " and with " +
             Decimal(r, 0) +
             " s to go: it gets a speculative attempt as soon as a worker that never ran its task, and is not slow, "
             "has a free slot";
    case ReasonCode::kSideEffects:
      return "without a speculative attempt: its operator has side effects outside the engine, and never runs twice "
             "at a time";
    case ReasonCode::kSpeculatedOnce: return "without another speculative attempt: its task has, or had, one";
    case ReasonCode::kWaitsForInputs:
      return "without a speculative attempt: it waits for inputs, and a new attempt would wait, too";
    case ReasonCode::kTooYoung:
      return "not judged yet: it has run for " + Decimal(r, 0) + " s, and is left alone until " + Decimal(r, 1) + " s";
    case ReasonCode::kListed:
      return "attempts keep failing there (score " + Decimal(r, 0) + ", blacklisted from " + Decimal(r, 1) +
             " on): it gets no first attempts while other workers can take them";
    case ReasonCode::kFewTold:
      return "not judged yet: " + Count(r, 0, "attempt of its stage shows", "attempts of its stage show") +
             " how long one takes; at least " + Number(r, 1) +
             " must, and half of the running attempts or some finished ones";
    case ReasonCode::kNoEstimate:
      return "not judged yet: in " + Decimal(r, 0) +
             " s it has not reported enough to estimate the time left, and has not taken longer than others did";
    case ReasonCode::kEnoughAttempts:
      return "without another attempt: " + Count(r, 0, "attempt of its task runs", "attempts of its task run") +
             ", and no more may run at a time";
    case ReasonCode::kSavesLittle:
      return "without a speculative attempt: " + Decimal(r, 0) + " s are left, and a new attempt takes " +
             Decimal(r, 1) + " s; once all tasks have begun, a new attempt must save more than " + Decimal(r, 2) + " s";
    case ReasonCode::kSavesLittleNow:
      return "not restarted, and without a speculative attempt: " + Decimal(r, 0) +
             " s are left, and a new attempt takes " + Decimal(r, 1) +
             " s; while tasks wait, it must be sooner by more than a report period, " + Decimal(r, 2) +
             " s, or save slot time with a chance above " + Number(r, 4) + " %, and that is " + Number(r, 3) + " %";
    case ReasonCode::kPays:
      return "slow: " + Decimal(r, 0) + " s are left, and a new attempt takes " + Decimal(r, 1) +
             " s: it is restarted or gets a speculative attempt as soon as a worker that never ran its task has a free "
             "slot";
    case ReasonCode::kSlowNode:
      return "no speculative attempts of " + JobName(r) + " there: its attempts made " + Decimal(r, 2) +
             " tasks' worth of progress, and workers below " + Decimal(r, 3) + " count as slow";
    case ReasonCode::kPreempted:
      return "its queue held " + Count(r, 0, "slot", "slots") + ", its share is " + Number(r, 1) +
             ", and a queue below its own share had waited too long";
    case ReasonCode::kRedoCostsMore:
      return "a replica takes " + Decimal(r, 1) + " s to make; the loss of the output would cost " + Decimal(r, 0) +
             " s, weighted by how often outputs are lost there";
    case ReasonCode::kWorkerSuspected:
      return "made a second time: a read from worker w" + Number(r, 0) + ", which holds it, has failed";
    case ReasonCode::kRestartSooner:
      return "restarted elsewhere: it had " + Decimal(r, 0) + " s left, and a new attempt takes " + Decimal(r, 1) +
             " s (sooner by more than a report period, " + Decimal(r, 2) + " s)";
    case ReasonCode::kSpeculativeSaves:
      return "speculative attempt while tasks wait: " + Decimal(r, 0) + " s are left, and with a chance of " +
             Number(r, 1) + " % one more attempt takes fewer slot-seconds than the " + Number(r, 2) + " that ran";
    case ReasonCode::kSpeculativeSooner:
      return "speculative attempt: the task has " + Decimal(r, 0) + " s left, and a new attempt takes " +
             Decimal(r, 1) + " s";
    case ReasonCode::kSlowestAttempt:
      return "the slowest attempt of its task, with " + Decimal(r, 0) + " s left: only the fastest " + Number(r, 1) +
             " are kept";
    case ReasonCode::kExplainedByInput:
      return "without a speculative attempt: it takes long since it has " + Decimal(r, 0) +
             " times the input of others, at " + Decimal(r, 1) +
             " times their time per byte; a new attempt would take as long";
    case ReasonCode::kReplicaElsewhere:
      return "worker w" + Number(r, 0) + " could not make the replica (try " + Number(r, 1) + ")";
    case ReasonCode::kLargestInput:
      return "of " + Count(r, 1, "waiting task", "waiting tasks") + " it has the most to read (" + Number(r, 0) +
             " bytes)";
    case ReasonCode::kCloned:
      return "each of " + Count(r, 1, "task", "tasks") + " runs as " + Count(r, 0, "attempt", "attempts") +
             ": an attempt straggles with a chance of " + Decimal(r, 2) + " %";
    case ReasonCode::kOwnReplica:
      return "a replica that no other clone of its task reads, finished " + Decimal(r, 0) + " s after the first";
    case ReasonCode::kSharedReplica:
      return "a replica that it shares (" + Count(r, 0, "reader", "readers") + "): after " + Decimal(r, 1) +
             " s there was none for it alone";
    case ReasonCode::kReadersDone:
      return "its readers are done; " + Count(r, 0, "replica stays", "replicas stay") +
             " in case they have to run again";
    case ReasonCode::kIdleSlot:
      return "a clone on an idle slot (" + Count(r, 1, "slot", "slots") + " free on this worker), beside " +
             Count(r, 0, "attempt", "attempts") + " of its task; it ends as soon as other work can use the slot";
    case ReasonCode::kSlotWanted:
      return "its slot was lent while it was idle, and is needed: " + Count(r, 0, "task waits", "tasks wait") +
             " that can use it";
    case ReasonCode::kNotSmall:
      return "not cloned on an idle slot: its phase has " + Count(r, 0, "task", "tasks") +
             ", and only phases of at most " + Number(r, 1) + " get such clones";
    case ReasonCode::kNoIdleSlot:
      return "not cloned on an idle slot now: no worker without an attempt of its task is idle enough (" +
             Count(r, 0, "worker", "workers") + " with a free slot)";
    case ReasonCode::kRandomOperator:
      return "not cloned on an idle slot: its operator, or one whose outputs it reads, gave different content for "
             "equal input";
    case ReasonCode::kFailedTwice:
      return "not cloned: since its task last committed " + Count(r, 0, "attempt", "attempts") +
             " of it failed, and a task that has failed twice gets no clones";
    case ReasonCode::kQueueFull:
      return "not cloned on an idle slot: its queue holds " + Count(r, 0, "slot", "slots") + " of at most " +
             Number(r, 1) + ", and clones leave the last one to tasks that wait in it";
    case ReasonCode::kWorkerDrains:
      return "its worker drains, and its slot was only lent: another attempt of its task runs elsewhere, or has "
             "committed";
    case ReasonCode::kSpareClone:
      return "a clone on an idle slot that would only have made a further replica, since its task is done; its slot is "
             "needed: " +
             Count(r, 0, "task waits", "tasks wait") + " that can use it";
    case ReasonCode::kToldNothing:
      return "it read only the replicas that a policy named, and the list of policies has no such policy any more; "
             "its task runs again";
    case ReasonCode::kNoMoreReplicas:
      return "its output has " + Count(r, 0, "replica", "replicas") + ", and readers have waited " + Decimal(r, 1) +
             " s for another";
    case ReasonCode::kAllotted:
      return Count(r, 0, "slot", "slots") + " guaranteed: " + Decimal(r, 2) + " % done after " + Decimal(r, 3) +
             " s; " + Number(r, 1) + " would be enough, with about " + Decimal(r, 4) + " s left" +
             (r.numbers.size() > 5 && r.numbers[5] > 0 ? " of a deadline of " + Decimal(r, 5) + " s" : "") +
             (r.numbers.size() > 6 ? "; its tasks take " + Decimal(r, 6) + " times as long as before" : "");
    case ReasonCode::kNotSteered:
      return "no slots are guaranteed any more: the list of policies has none that steers by deadlines";
    case ReasonCode::kNoDeadline: return "no slots are guaranteed any more: the job has no deadline now";
    case ReasonCode::kEvicted:
      return "evicted: another job is guaranteed " + Number(r, 1) + " slots and held " + Number(r, 0);
    case ReasonCode::kNoBudget:
      return "not cloned: clones would take " + Count(r, 0, "slot", "slots") + ", and of the " + Number(r, 2) +
             " for clones " + Number(r, 1) + " are in use";
    case ReasonCode::kTooBusy:
      return "not cloned: clones would take " + Count(r, 0, "slot", "slots") + ", and with " + Number(r, 1) +
             " in use the cluster may fill " + Number(r, 2);
    case ReasonCode::kCloneEnough:
      return "not cloned: for " + Count(r, 0, "task", "tasks") + " that straggle with a chance of " + Decimal(r, 1) +
             " %, or among so few workers, one attempt each is enough";
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
    case ReasonCode::kSpeculatedOnce: return "copied_once";
    case ReasonCode::kWaitsForInputs: return "waits_for_inputs";
    case ReasonCode::kTooYoung: return "too_young";
    case ReasonCode::kListed: return "listed";
    case ReasonCode::kFewTold: return "few_told";
    case ReasonCode::kNoEstimate: return "no_estimate";
    case ReasonCode::kEnoughAttempts: return "copies_enough";
    case ReasonCode::kSavesLittle: return "saves_little";
    case ReasonCode::kSavesLittleNow: return "saves_little_now";
    case ReasonCode::kPays: return "pays";
    case ReasonCode::kSlowNode: return "slow_node";
    case ReasonCode::kPreempted: return "preempted";
    case ReasonCode::kRedoCostsMore: return "redo_costs_more";
    case ReasonCode::kWorkerSuspected: return "worker_suspected";
    case ReasonCode::kRestartSooner: return "restart_sooner";
    case ReasonCode::kSpeculativeSaves: return "copy_saves";
    case ReasonCode::kSpeculativeSooner: return "copy_sooner";
    case ReasonCode::kSlowestAttempt: return "slowest_copy";
    case ReasonCode::kExplainedByInput: return "explained_by_input";
    case ReasonCode::kReplicaElsewhere: return "copy_elsewhere";
    case ReasonCode::kLargestInput: return "largest_input";
    case ReasonCode::kCloned: return "cloned";
    case ReasonCode::kOwnReplica: return "own_copy";
    case ReasonCode::kSharedReplica: return "shared_copy";
    case ReasonCode::kNoMoreReplicas: return "no_more_copies";
    case ReasonCode::kAllotted: return "allotted";
    case ReasonCode::kNotSteered: return "not_steered";
    case ReasonCode::kEvicted: return "evicted";
    case ReasonCode::kNoDeadline: return "no_deadline";
    case ReasonCode::kReadersDone: return "readers_done";
    case ReasonCode::kIdleSlot: return "idle_slot";
    case ReasonCode::kSlotWanted: return "slot_wanted";
    case ReasonCode::kSpareClone: return "spare_copy";
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

std::string Explain(const Reason& reason) {
  return Sentence(reason) + (reason.policy.empty() ? "" : " [" + reason.policy + "]");
}

}  // namespace mr::sched
