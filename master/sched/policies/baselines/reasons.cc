#include "master/sched/policies/baselines/reasons.h"

#include "master/sched/reason_text.h"

namespace mr::sched {

namespace {

constexpr ReasonText kBaselineTexts[] = {
    {BaselineReason::kBehindAverage, "behind_average",
     [](const Reason& r) -> std::string {
       return "speculative attempt: the task is at " + text::Number(r, 0) + " %, the average of its stage at " +
              text::Number(r, 1) + " %";
     }},
    {BaselineReason::kEndOfPhase, "end_of_phase",
     [](const Reason& r) -> std::string {
       return "speculative attempt: " + text::Number(r, 0) + " of " + text::Count(r, 1, "task", "tasks") +
              " of its stage are done";
     }},
    {BaselineReason::kBeyondMedian, "beyond_median",
     [](const Reason& r) -> std::string {
       return "speculative attempt: the task has run for " + text::Decimal(r, 0) +
              " s, and half of its stage took at most " + text::Decimal(r, 1) + " s";
     }},
    {BaselineReason::kPreempted, "preempted",
     [](const Reason& r) -> std::string {
       return "its queue held " + text::Count(r, 0, "slot", "slots") + ", its share is " + text::Number(r, 1) +
              ", and a queue below its own share had waited too long";
     }},
    {BaselineReason::kEvicted, "evicted",
     [](const Reason& r) -> std::string {
       return "evicted: another job is guaranteed " + text::Count(r, 1, "slot", "slots") + " and held " +
              text::Number(r, 0);
     }},
    {BaselineReason::kListed, "listed",
     [](const Reason& r) -> std::string {
       return "attempts keep failing there (score " + text::Decimal(r, 0) + ", blacklisted from " +
              text::Decimal(r, 1) + " on): it gets no first attempts while other workers can take them";
     }},
    {BaselineReason::kBeyondGuarantee, "beyond_guarantee",
     [](const Reason& r) -> std::string {
       return "preempted: its job held " + text::Count(r, 0, "slot", "slots") + " and is guaranteed " +
              text::Number(r, 1) + ", and a queue below its share had waited too long";
     }},
};

}  // namespace

std::span<const ReasonText> BaselineReasons() { return kBaselineTexts; }

}  // namespace mr::sched
