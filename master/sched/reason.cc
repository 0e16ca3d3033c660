#include "master/sched/reason.h"

#include <cmath>
#include <cstdio>

#include "master/sched/model.h"
#include "master/sched/policies/list.h"
#include "master/sched/reason_text.h"

namespace mr::sched {

namespace text {

std::string Count(const Reason& reason, size_t i, const char* one, const char* many) {
  if (i >= reason.numbers.size()) return std::string("some ") + many;
  const auto n = static_cast<long long>(std::llround(reason.numbers[i]));
  return std::to_string(n) + " " + (n == 1 ? one : many);
}

std::string Number(const Reason& reason, size_t i) {
  if (i >= reason.numbers.size()) return "?";
  return std::to_string(static_cast<long long>(std::llround(reason.numbers[i])));
}

std::string Decimal(const Reason& reason, size_t i) {
  if (i >= reason.numbers.size() || !std::isfinite(reason.numbers[i])) return "?";
  char text[64];
  std::snprintf(text, sizeof text, "%.2f", reason.numbers[i]);
  return text;
}

std::string JobName(const Reason& reason) {
  if (reason.numbers.size() < 2) return "a job";
  return Name(JobId{static_cast<uint32_t>(reason.numbers[0]), static_cast<uint32_t>(reason.numbers[1])});
}

}  // namespace text

namespace {

constexpr ReasonText kCoreTexts[] = {
    {ReasonCode::kNone, "none", [](const Reason&) -> std::string { return "no reason was recorded"; }},
    {ReasonCode::kLocalInput, "local_input",
     [](const Reason& r) -> std::string {
       return "this worker holds its input, and had a free slot (" + text::Count(r, 0, "such task", "such tasks") +
              " to choose from)";
     }},
    {ReasonCode::kRackInput, "rack_input",
     [](const Reason& r) -> std::string {
       return "its input is in this worker's rack (" + text::Count(r, 0, "such task", "such tasks") +
              " to choose from)";
     }},
    {ReasonCode::kAnyWorker, "any_worker",
     [](const Reason& r) -> std::string {
       return "a slot was free here (" + text::Count(r, 0, "slot", "slots") + " on this worker)";
     }},
    {ReasonCode::kRetryAfterFailure, "retry_after_failure",
     [](const Reason& r) -> std::string {
       return "an earlier attempt did not finish (" + text::Count(r, 0, "failure", "failures") + " so far)";
     }},
    {ReasonCode::kOutputLost, "output_lost",
     [](const Reason& r) -> std::string {
       return "its output is gone and still needed (generation " + text::Number(r, 0) + ")";
     }},
    {ReasonCode::kWaitingEarly, "waiting_early",
     [](const Reason& r) -> std::string {
       return "started early to wait for its inputs: no upstream task is left to start, " +
              text::Count(r, 0, "upstream task is", "upstream tasks are") + " unfinished";
     }},
    {ReasonCode::kUpstreamReturned, "upstream_returned",
     [](const Reason& r) -> std::string {
       return "preempted: " + text::Count(r, 0, "upstream task needs", "upstream tasks need") +
              " a slot, and it only waited for inputs";
     }},
    {ReasonCode::kTaskCommitted, "task_committed",
     [](const Reason& r) -> std::string {
       return "attempt " + text::Number(r, 0) + " of the same task committed first";
     }},
    {ReasonCode::kJobEnded, "job_ended", [](const Reason&) -> std::string { return "the job has ended"; }},
    {ReasonCode::kFirstReport, "first_report",
     [](const Reason&) -> std::string { return "the first valid report of its task"; }},
    {ReasonCode::kEqualDigest, "equal_digest",
     [](const Reason& r) -> std::string {
       return "the task had already committed equal content (attempt " + text::Number(r, 0) + ")";
     }},
    {ReasonCode::kDifferentDigest, "different_digest",
     [](const Reason&) -> std::string { return "its content differs from what the task committed"; }},
    {ReasonCode::kStale, "stale",
     [](const Reason&) -> std::string {
       return "it belongs to an attempt that is over, or to an earlier incarnation of the worker";
     }},
    {ReasonCode::kTooManyFailures, "too_many_failures",
     [](const Reason& r) -> std::string {
       return text::Count(r, 0, "failure", "failures") + ", the limit is " + text::Number(r, 1);
     }},
    {ReasonCode::kAskedByUser, "asked_by_user", [](const Reason&) -> std::string { return "a user asked for it"; }},
    {ReasonCode::kPlanFailed, "plan_failed",
     [](const Reason&) -> std::string { return "its tasks could not be planned"; }},
    {ReasonCode::kStageReady, "stage_ready",
     [](const Reason& r) -> std::string {
       if (!r.numbers.empty() && r.numbers[0] == 0) return "it reads no other stage";
       return "everything that it reads is planned (" + text::Count(r, 0, "edge", "edges") + ")";
     }},
    {ReasonCode::kWorkerLost, "worker_lost", [](const Reason&) -> std::string { return "its worker was lost"; }},
    {ReasonCode::kConsumedStale, "consumed_stale",
     [](const Reason&) -> std::string { return "it read an output that is not, or no longer, the committed one"; }},
    {ReasonCode::kToldAgain, "told_again",
     [](const Reason&) -> std::string { return "sent again, since its worker was away and may not have received it"; }},
    {ReasonCode::kIndeterminate, "indeterminate",
     [](const Reason& r) -> std::string {
       return "a re-run gave different content (" + text::Count(r, 0, "reader rolled back", "readers rolled back") +
              ")";
     }},
    {ReasonCode::kReadsBound, "reads_bound",
     [](const Reason& r) -> std::string {
       const std::string why =
           "without a further attempt on workers that lack its input: reading that from another one is slow here";
       return r.numbers.empty() ? why
                                : why + " (" + text::Decimal(r, 0) + " times as long as from its own, and " +
                                      text::Decimal(r, 1) + " is the limit)";
     }},
    {ReasonCode::kCopiesBound, "copies_bound",
     [](const Reason& r) -> std::string {
       const std::string why =
           "without a further attempt: the network bounds phases of its size, and it would copy all inputs once more";
       return r.numbers.empty() ? why
                                : why + " (" + text::Decimal(r, 0) + " % of their time is copying, and " +
                                      text::Decimal(r, 1) + " % is the limit)";
     }},
    {ReasonCode::kNarrowNetwork, "narrow_network",
     [](const Reason& r) -> std::string {
       const std::string slow =
           !r.numbers.empty() && r.numbers[0] == 0
               ? "stages spend " + text::Decimal(r, 1) + " % of their time on copies"
               : "reading from another worker takes " + text::Decimal(r, 0) + " times as long as from its own";
       return "without a further attempt: " + slow + ", and it would read beside the attempts that it should help";
     }},
    {ReasonCode::kUnseenNetwork, "unseen_network",
     [](const Reason&) -> std::string {
       return "without a further attempt: too few jobs have ended to know how long reading from another worker takes";
     }},
    {ReasonCode::kExplainedByInput, "explained_by_input",
     [](const Reason& r) -> std::string {
       return "without a speculative attempt: it takes long since it has " + text::Decimal(r, 0) +
              " times the input of others, at " + text::Decimal(r, 1) +
              " times their time per byte; a new attempt would take as long";
     }},
    {ReasonCode::kReadersDone, "readers_done",
     [](const Reason& r) -> std::string {
       return "its readers are done; " + text::Count(r, 0, "replica stays", "replicas stay") +
              " in case they have to run again";
     }},
    {ReasonCode::kSlotWanted, "slot_wanted",
     [](const Reason& r) -> std::string {
       return "its slot was lent while it was idle, and is needed: " + text::Count(r, 0, "task waits", "tasks wait") +
              " that can use it";
     }},
    {ReasonCode::kWorkerDrains, "worker_drains",
     [](const Reason&) -> std::string {
       return "its worker drains, and its slot was only lent: another attempt of its task runs elsewhere, or has "
              "committed";
     }},
    {ReasonCode::kOutputLeaves, "output_leaves",
     [](const Reason& r) -> std::string {
       return "an operator drains worker w" + text::Number(r, 0) + ", and no worker that stays has the output";
     }},
    {ReasonCode::kGivenUp, "given_up", [](const Reason&) -> std::string { return "its job cannot go on"; }},
    {ReasonCode::kSideEffects, "side_effects",
     [](const Reason&) -> std::string {
       return "without a speculative attempt: its operator has side effects outside the engine, and never runs twice "
              "at a time";
     }},
    {ReasonCode::kSpeculatedOnce, "copied_once",
     [](const Reason&) -> std::string { return "without another speculative attempt: its task has, or had, one"; }},
    {ReasonCode::kWaitsForInputs, "waits_for_inputs",
     [](const Reason&) -> std::string {
       return "without a speculative attempt: it waits for inputs, and a new attempt would wait, too";
     }},
    {ReasonCode::kTooYoung, "too_young",
     [](const Reason& r) -> std::string {
       return "not judged yet: it has run for " + text::Decimal(r, 0) + " s, and is left alone until " +
              text::Decimal(r, 1) + " s";
     }},
    {ReasonCode::kInputLost, "input_lost",
     [](const Reason& r) -> std::string {
       return "its task is committed, and it can no longer read an input: no replica of upstream task " +
              text::Number(r, 0) + " is left";
     }},
};

// Returns null for a code that neither the core nor a policy of the list has.
const ReasonText* Find(ReasonCode code) {
  const auto in = [code](std::span<const ReasonText> texts) -> const ReasonText* {
    for (const ReasonText& text : texts) {
      if (text.code == code) return &text;
    }
    return nullptr;
  };
  if (const ReasonText* found = in(CoreReasons())) return found;
  for (const PolicyEntry& entry : AllPolicies()) {
    if (const ReasonText* found = in(entry.reasons())) return found;
  }
  return nullptr;
}

}  // namespace

std::span<const ReasonText> CoreReasons() { return kCoreTexts; }

const char* ReasonName(ReasonCode code) {
  const ReasonText* found = Find(code);
  return found == nullptr ? "unknown" : found->name;
}

std::string Explain(const Reason& reason) {
  const ReasonText* found = Find(reason.code);
  const std::string sentence =
      found == nullptr ? "unknown reason " + std::to_string(static_cast<int>(reason.code)) : found->sentence(reason);
  return sentence + (reason.policy.empty() ? "" : " [" + reason.policy + "]");
}

}  // namespace mr::sched
